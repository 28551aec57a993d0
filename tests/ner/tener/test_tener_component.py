"""`tener_ner` in a pipeline, over characters and over words: what a user of spaCy relies on."""

from functools import cache
from typing import Any

import numpy as np
import pytest
import spacy
from blocks import pipe_config
from learning import settle
from spacy.language import Language
from spacy.training import Example
from thinc.api import fix_random_seed

from spacy_flat.ner.tener.component import TenerEntityRecognizer
from spacy_flat.nn.optimizers import AdamW
from spacy_flat.vectors import TextVectors

from ..conftest import GOLD, TEXTS, Span, blank, char_example, check_known, examples_of, spans_of

DROPOUTS = ("embed", "output", "ff", "key")
NETWORK = {"num_heads": 2, "head_dim": 8, **{f"{name}_dropout": 0.0 for name in DROPOUTS}}

ENGLISH = [
    ("Ann Lee went to New York.", ["PER Ann Lee", "LOC New York"]),
    ("The U.N. met in Geneva on 3 May 2021", ["ORG U.N.", "LOC Geneva"]),
    ("no news today", []),
    ("iPhone 12 is not a person", []),
    ("IBM hired  Bob\n\nand Eve", ["ORG IBM", "PER Bob", "PER Eve"]),
    ("Geneva", ["LOC Geneva"]),
]
ENGLISH_TEXTS = [text for text, _ in ENGLISH]
ENGLISH_GOLD = [spans_of(text, marks) for text, marks in ENGLISH]

KINDS: dict[str, dict[str, Any]] = {
    "characters": {},
    "words": {"char_encoder": "adatrans", "char_width": 12},
    "lstm": {"char_encoder": "lstm", "char_width": 12},
}


def is_english(kind: str) -> bool:
    return kind != "characters"


def make(kind: str = "characters", **sequence: Any) -> Language:
    """A pipeline that is not initialised."""
    english = is_english(kind)
    nlp = spacy.blank("en") if english else blank()
    unit = "token" if english else "char"
    options = {"unit": unit, "embed_width": 16, **sequence}
    model = {"network": {**NETWORK, **KINDS[kind]}, "sequence": options}
    nlp.add_pipe("tener_ner", config=pipe_config("tener_ner", model))
    return nlp


def gold_of(nlp: Language) -> list[Example]:
    if nlp.lang == "zh":
        return examples_of(nlp)
    pairs = zip(ENGLISH_TEXTS, ENGLISH_GOLD, strict=True)
    return [Example.from_dict(nlp.make_doc(text), {"entities": spans}) for text, spans in pairs]


def train(nlp: Language, steps: int = 40, examples: list[Example] | None = None) -> list[float]:
    """Initialise and train the pipeline until it knows the sentences; the losses of all steps."""
    fix_random_seed(0)
    examples = gold_of(nlp) if examples is None else examples
    optimizer = nlp.initialize(lambda: examples, sgd=AdamW(0.02))
    losses = settle(nlp, examples, optimizer, steps)
    check_known(nlp, "tener_ner", examples)
    return losses


def tener(nlp: Language) -> TenerEntityRecognizer:
    ner = nlp.get_pipe("tener_ner")
    assert isinstance(ner, TenerEntityRecognizer)
    return ner


def found(nlp: Language, texts: list[str]) -> list[list[Span]]:
    return [doc._.char_ents for doc in nlp.pipe(texts)]


@cache
def trained_on(kind: str) -> Language:
    """Knows its sentences. Not to be changed."""
    nlp = make(kind)
    train(nlp)
    return nlp


@pytest.mark.parametrize("kind", list(KINDS))
def test_learns_its_sentences_by_heart(kind: str) -> None:
    nlp = trained_on(kind)
    texts, gold = (TEXTS, GOLD) if nlp.lang == "zh" else (ENGLISH_TEXTS, ENGLISH_GOLD)
    assert found(nlp, texts) == gold
    assert [[(e.start_char, e.end_char, e.label_) for e in nlp(t).ents] for t in texts] == gold


def test_gold_that_cuts_tokens_is_of_the_tokens() -> None:
    """A word that holds a part of an entity is of it."""
    nlp = blank("jieba")
    options = {"network": NETWORK, "sequence": {"unit": "token", "embed_width": 16}}
    nlp.add_pipe("tener_ner", config=pipe_config("tener_ner", options))
    text = "南京市长江大桥来了。"
    train(nlp, examples=[char_example(nlp, text, [(0, 2, "LOC"), (4, 7, "PER")])])
    assert [(ent.text, ent.label_) for ent in nlp(text).ents] == [
        ("南京市", "LOC"),
        ("长江大桥", "PER"),
    ]


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        ("characters", "word_vectors", "F325.*tener_ner .*word_vectors.*unit = 'char'"),
        ("words", "char_vectors", "F325.*char_vectors.*unit = 'token'"),
    ],
)
def test_vectors_of_what_is_not_read(kind: str, given: str, message: str) -> None:
    nlp = make(kind)
    vectors = TextVectors(["a"], np.ones((1, 3), dtype=np.float32))
    with pytest.raises(ValueError, match=message):
        tener(nlp).initialize(lambda: gold_of(nlp), **{given: vectors})


def test_another_tokenizer_triggers_a_warning() -> None:
    nlp = blank("jieba")
    options = {"network": NETWORK, "sequence": {"unit": "token", "embed_width": 16}}
    nlp.add_pipe("tener_ner", config=pipe_config("tener_ner", options))
    text = "南京市长江大桥今天正式通车。"
    train(nlp, examples=[char_example(nlp, text, [(0, 3, "LOC")])])
    other = spacy.blank("zh")
    other.add_pipe("tener_ner", source=nlp)
    with pytest.warns(UserWarning, match=r"W304.*tener_ner"):
        list(other.pipe([text] * 4))
