"""A small pipeline that learns eight pairs of texts by heart; see the fixture `eight_pairs`."""

from collections.abc import Iterable
from typing import Any

import spacy
import torch
from spacy.language import Language
from spacy.training import Example
from thinc.api import fix_random_seed

from spacy_flat.nn.optimizers import AdamW
from spacy_flat.similarity.component import PairClassifier
from spacy_flat.similarity.pairs import join_pair

LabelledPair = tuple[str, str, str]

PAIRS: list[LabelledPair] = [
    ("怎么退款", "如何退款", "same"),
    ("怎么退款", "如何付款", "different"),
    ("快递几天到", "几天能收到快递", "same"),
    ("快递几天到", "快递多少钱", "different"),
    ("能开发票吗", "可以开发票吗", "same"),
    ("能开发票吗", "可以退货吗", "different"),
    ("可以退货吗", "能退货吗", "same"),
    ("如何付款", "可以退货吗", "different"),
]
TINY_PAIRS = {"network": {"hidden": 16}, "text": {"embed_width": 16}}


def pair_examples(nlp: Language, pairs: Iterable[LabelledPair] = PAIRS) -> list[Example]:
    examples = []
    for left, right, gold in pairs:
        reference = nlp.make_doc(join_pair(left, right))
        reference.cats = {label: float(label == gold) for label in ("different", "same")}
        examples.append(Example(nlp.make_doc(reference.text), reference))
    return examples


def train_pairs(nlp: Language, steps: int = 20) -> Language:
    """Initialise a pipeline with `re2_similarity` and train it on the eight pairs."""
    fix_random_seed(0)
    examples = pair_examples(nlp)
    optimizer = nlp.initialize(lambda: examples, sgd=AdamW(0.01))
    for _ in range(steps):
        nlp.update(examples, sgd=optimizer)
    return nlp


def add_pairs(nlp: Language, model: dict[str, Any] = TINY_PAIRS, **settings: Any) -> PairClassifier:
    pipe = nlp.add_pipe("re2_similarity", config={"model": model, **settings})
    assert isinstance(pipe, PairClassifier)
    return pipe


def classifier(nlp: Language) -> PairClassifier:
    pipe = nlp.get_pipe("re2_similarity")
    assert isinstance(pipe, PairClassifier)
    return pipe


def copy_of_pairs(nlp: Language) -> Language:
    return spacy.util.load_model_from_config(nlp.config).from_bytes(nlp.to_bytes())


def make_eight_pairs() -> Language:
    torch.set_num_threads(1)
    nlp = spacy.blank("zh")
    add_pairs(nlp)
    return train_pairs(nlp)
