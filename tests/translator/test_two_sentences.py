"""The usual exercise: two sentences learnt by heart, with the entities of their translations."""

from __future__ import annotations

import spacy
from learning import settle
from spacy.util import fix_random_seed

from spacy_flat.translator.component import Seq2SeqTranslator
from spacy_flat.util.characters import HAN

from .by_heart import DEMO, by_heart, check_known, examples_of

PAIRS = [tuple(line.split("\t")) for line in (DEMO / "amazon.tsv").read_text("utf-8").splitlines()]


def test_the_default_settings_learn_them() -> None:
    """Those of a bare `add_pipe`, with spaCy's own optimizer."""
    fix_random_seed(0)
    nlp = spacy.blank("zh")
    nlp.add_pipe("seq2seq_translator", config={"carry_names": False})
    examples = examples_of(nlp, PAIRS)
    settle(nlp, examples, nlp.initialize(lambda: examples), 100)
    # Smoothed labels allow for no more than −0.1.
    assert nlp.evaluate(examples)["translation_log_prob"] > -0.2
    for source, translation in PAIRS:
        assert nlp(source)._.translation == translation
    assert not HAN.search(nlp("华为位于广东省深圳市。")._.translation)


def test_their_entities_carried_and_found() -> None:
    """What is carried through and what is found in the translation stand together, each once."""
    nlp = by_heart(PAIRS, steps=300)
    english = spacy.blank("en")
    names = {"Amazon": "ORG", "US": "LOC", "Seattle": "LOC", "Washington": "LOC"}
    english.add_pipe("entity_ruler").add_patterns(  # type: ignore[attr-defined]
        [{"label": label, "pattern": name} for name, label in names.items()]
    )
    translator = nlp.get_pipe("seq2seq_translator")
    assert isinstance(translator, Seq2SeqTranslator)
    translator.entities = english
    doc = nlp.make_doc(PAIRS[1][0])
    doc.set_ents([doc.char_span(0, 3, "COMPANY"), doc.char_span(10, 13, "CITY")])
    check_known(nlp, [(doc, PAIRS[1][1])])
    assert [(ent.text, ent.label, ent.source) for ent in nlp(doc)._.translation_ents] == [
        ("Amazon", "COMPANY", (0, 3)),
        ("Seattle", "CITY", (10, 13)),
        ("Washington", "LOC", None),
    ]
