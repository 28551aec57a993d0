"""A small pipeline that has learnt ten pairs by heart, and what it was made of."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import spacy
from blocks import pipe_config
from ner.conftest import HASH_EMBED, LISTENER, blank
from numpy.typing import NDArray
from spacy.language import Language
from spacy.training import Example
from thinc.api import fix_random_seed

from spacy_flat.nn.optimizers import AdamW
from spacy_flat.similarity.component import PairClassifier
from spacy_flat.similarity.pairs import join_pair

LabelledPair = tuple[str, str, str]

PAIRS: list[LabelledPair] = [
    ("怎么退款？", "如何退款", "same"),
    ("怎么退款？", "如何付款", "different"),
    ("快递几天到", "几天能收到快递", "same"),
    ("快递几天到", "快递多少钱", "different"),
    ("能开发票吗", "可以开发票吗", "same"),
    ("能开发票吗", "可以退货吗", "different"),
    ("iPhone 15 多少钱", "iPhone 15 的价格", "same"),
    ("iPhone 15 多少钱", "iPhone 14 多少钱", "different"),
    ("😀", "笑脸", "same"),
    ("", "退货", "different"),
]
TEXTS = [(left, right) for left, right, _ in PAIRS]
NETWORK = {"hidden": 16, "dropout": 0.0, "embed_dropout": 0.0}


def add_re2(
    nlp: Language,
    name: str = "re2_similarity",
    network: dict[str, Any] | None = None,
    text: dict[str, Any] | None = None,
    tok2vec: dict[str, Any] | None = None,
    **options: Any,
) -> PairClassifier:
    """Add the component, not initialised, to a pipeline, with the tok2vec that it listens to."""
    if tok2vec is LISTENER and not nlp.has_pipe("tok2vec"):
        nlp.add_pipe("tok2vec", config={"model": HASH_EMBED})
    model = {
        "network": {**NETWORK, **(network or {})},
        "text": {"embed_width": 16, **(text or {})},
        "tok2vec": tok2vec,
    }
    pipe = nlp.add_pipe(
        "re2_similarity", name=name, config=pipe_config("re2_similarity", model, **options)
    )
    assert isinstance(pipe, PairClassifier)
    return pipe


def example(nlp: Language, left: str, right: str, cats: dict[str, float]) -> Example:
    text = join_pair(left, right)
    reference = spacy.blank("zh").make_doc(text)
    reference.cats = cats
    return Example(nlp.make_doc(text), reference)


def examples_of(nlp: Language, pairs: Iterable[LabelledPair] = PAIRS) -> list[Example]:
    labels = ("different", "same")
    return [
        example(nlp, left, right, {each: float(each == label) for each in labels})
        for left, right, label in pairs
    ]


def train(nlp: Language, examples: list[Example] | None = None, steps: int = 40) -> list[float]:
    """Initialise and train the pipeline; the losses of all steps, summed over the components."""
    fix_random_seed(0)
    examples = examples_of(nlp) if examples is None else examples
    optimizer = nlp.initialize(lambda: examples, sgd=AdamW(0.01))
    return [sum(nlp.update(examples, sgd=optimizer, losses={}).values()) for _ in range(steps)]


def re2(nlp: Language, name: str = "re2_similarity") -> PairClassifier:
    pipe = nlp.get_pipe(name)
    assert isinstance(pipe, PairClassifier)
    return pipe


def cats_of(nlp: Language, pairs: Iterable[tuple[str, str]] = TEXTS) -> NDArray[np.float64]:
    """[N, K] as `nlp.pipe` writes them to doc.cats."""
    docs = nlp.pipe([join_pair(*pair) for pair in pairs])
    return np.array([[doc.cats[label] for label in ("different", "same")] for doc in docs])


GOLD = np.array([[label != "same", label == "same"] for *_, label in PAIRS], dtype=np.float64)


def knows_by_heart(nlp: Language) -> bool:
    return bool(((cats_of(nlp) > 0.5) == GOLD).all())


def make_trained() -> Language:
    """See the fixture `trained_pairs`."""
    nlp = blank()
    add_re2(nlp)
    train(nlp, steps=6)  # with more, all probabilities would be 0 and 1
    return nlp
