"""Augmentation of corpora whose language has capital letters, for `[corpora.train.augmenter]`."""

import random
from collections.abc import Callable, Iterator

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.training.iob_utils import _doc_to_biluo_tags_with_partial

from ..util.arguments import require
from .edits import copy_attributes

CasingAugmenter = Callable[[Language, Example], Iterator[Example]]


def casing_augmenter(lower: float = 0.0, upper: float = 0.0) -> CasingAugmenter:
    """`spacy-flat.casing_augmenter.v1`: adds texts in lower case or capitals, as in messages and
    headlines.

    lower: share of texts to add in lower case.
    upper: share of texts to add in capitals.

    Raises ValueError (F341) for a share that isn't from 0 to 1.
    """
    rates = {"lower": (lower, str.lower), "upper": (upper, str.upper)}
    for name, (rate, _) in rates.items():
        require(name, rate, lambda: 0 <= rate <= 1, "a number from 0 to 1")  # noqa: B023

    def augment(nlp: Language, example: Example) -> Iterator[Example]:
        yield example
        for rate, change in rates.values():
            if random.random() < rate:
                yield recased(nlp, example, change)

    return augment


def recased(nlp: Language, example: Example, change: Callable[[str], str]) -> Example:
    """The example in another case, with the token annotation of spaCy's `make_lowercase_variant`,
    and the attributes `doc._`."""
    old = example.reference
    annotation = example.to_dict()
    # Spans and links go by characters there, which may become more: "ß" → "SS".
    tags = _doc_to_biluo_tags_with_partial(old)
    annotation["doc_annotation"].update(entities=tags, spans={}, links={})
    words = annotation["token_annotation"]["ORTH"] = [change(token.text) for token in old]
    spaces = [bool(token.whitespace_) for token in old]
    text = Doc(nlp.vocab, words=words, spaces=spaces)
    predicted = text if old.has_unknown_spaces else nlp.make_doc(text.text)
    new = Example.from_dict(predicted, annotation)
    for token, twin in zip(old, new.reference, strict=True):
        twin.ent_kb_id = token.ent_kb_id
    for key, spans in old.spans.items():
        new.reference.spans[key] = [
            Span(new.reference, span.start, span.end, span.label, kb_id=span.kb_id)
            for span in spans
        ]
    copy_attributes(old, new.reference)
    return new
