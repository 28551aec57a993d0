"""A small pipeline that has learnt a few pairs, and what it was made of."""

from functools import cache
from typing import Any

import spacy
import torch
from spacy.language import Language
from spacy.training import Example
from thinc.api import fix_random_seed

from spacy_flat.nn.optimizers import AdamW
from spacy_flat.similarity.pairs import join_pair

PAIRS = [
    ("怎么退款", "如何退款", "same"),
    ("怎么退款", "如何付款", "different"),
    ("快递几天到", "几天能收到快递", "same"),
    ("快递几天到", "快递多少钱", "different"),
    ("能开发票吗", "可以开发票吗", "same"),
    ("能开发票吗", "可以退货吗", "different"),
    ("where is my order", "my order, where is it", "same"),
    ("where is my order", "cancel my order", "different"),
]
TINY = {"network": {"hidden": 12}, "text": {"embed_width": 12}}


def examples_of(nlp: Language) -> list[Example]:
    examples = []
    for left, right, label in PAIRS:
        doc = nlp.make_doc(join_pair(left, right))
        reference = doc.copy()
        reference.cats = {name: float(name == label) for name in ("same", "different")}
        examples.append(Example(doc, reference))
    return examples


def train(nlp: Language, steps: int = 40) -> Language:
    fix_random_seed(0)
    torch.set_num_threads(1)
    examples = examples_of(nlp)
    optimizer = nlp.initialize(lambda: examples, sgd=AdamW(0.01))
    for _ in range(steps):
        nlp.update(examples, sgd=optimizer)
    return nlp


@cache
def trained_bytes() -> bytes:
    return train(blank()).to_bytes()


def blank(model: dict[str, Any] = TINY, **settings: Any) -> Language:
    nlp = spacy.blank("zh")
    nlp.add_pipe("re2_similarity", config={"model": model, **settings})
    return nlp
