"""The usual exercise: two sentences learnt by heart, with the entities of their translations."""

from __future__ import annotations

from pathlib import Path

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed, load_config, load_model_from_config, minibatch

from spacy_flat.corpora import ConvertOptions
from spacy_flat.corpora.convert import Summary, read_file
from spacy_flat.translator.component import Seq2SeqTranslator

from .by_heart import DEMO, by_heart, check_known

ROOT = Path(__file__).parents[2]
PAIRS = [tuple(line.split("\t")) for line in (DEMO / "amazon.tsv").read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def english() -> Language:
    """configs/en_tener.cfg on the embedded English sentences, which have neither of the two."""
    fix_random_seed(1)
    config = load_config(ROOT / "configs/en_tener.cfg")
    nlp = load_model_from_config(config, auto_fill=True)
    options = ConvertOptions(format="bio", words=True)
    path = ROOT / "assets/demo_en/train.bio"
    gold = list(read_file(path, "bio", options, Summary("entity")))
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in gold]
    nlp.initialize(lambda: examples)
    optimizer = spacy.registry.resolve({"it": config["training"]["optimizer"]})["it"]
    for _ in range(20):
        for batch in minibatch(examples, 16):
            nlp.update(batch, sgd=optimizer)
    return nlp


def carried(nlp: Language) -> Doc:
    """The second sentence with two of its entities."""
    doc = nlp.make_doc(PAIRS[1][0])
    doc.set_ents([doc.char_span(0, 3, "COMPANY"), doc.char_span(10, 13, "CITY")])
    return doc


@pytest.fixture(scope="module")
def nlp(english: Language) -> Language:
    nlp = by_heart(PAIRS, steps=300)
    check_known(nlp, [(carried(nlp), PAIRS[1][1])])
    translator = nlp.get_pipe("seq2seq_translator")
    assert isinstance(translator, Seq2SeqTranslator)
    translator.entities = english
    return nlp


def test_their_entities_are_found(nlp: Language) -> None:
    found = []
    for source, _ in PAIRS:
        doc = nlp(source)
        for ent in doc._.translation_ents:
            assert doc._.translation[ent.start : ent.end] == ent.text
            assert ent.source is None
        found.append([(ent.text, ent.label) for ent in doc._.translation_ents])
    assert found == [
        [("Amazon", "ORG"), ("US", "LOC")],
        [("Amazon", "ORG"), ("Seattle", "LOC"), ("Washington", "LOC")],
    ]


def test_names_of_the_source_are_carried_through(nlp: Language) -> None:
    """What is carried through and what is found in the translation stand together, each once."""
    doc = nlp(carried(nlp))
    assert doc._.translation == PAIRS[1][1]
    assert [(ent.text, ent.label, ent.source) for ent in doc._.translation_ents] == [
        ("Amazon", "COMPANY", (0, 3)),
        ("Seattle", "CITY", (10, 13)),
        ("Washington", "LOC", None),
    ]
