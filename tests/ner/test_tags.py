"""Spans to tags and back, and which tag sequences are legal."""

import itertools
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.training.iob_utils import tags_to_entities

from spacy_flat.ner.tags import TagSet

from .paths import spans_of

LABELS = ["PER", "LOC", "ORG"]
Span = tuple[int, int, str]


@st.composite
def sentences(draw: st.DrawFn) -> tuple[int, list[Span]]:
    """A length and entities that do not overlap, in order."""
    widths = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), max_size=5))
    spans: list[Span] = []
    end = 0
    for gap, width in widths:
        spans.append((end + gap, end + gap + width, draw(st.sampled_from(LABELS))))
        end += gap + width
    return end + draw(st.integers(0, 3)), spans


@given(sentences())
def test_spans_survive_and_spacy_reads_the_same(sentence: tuple[int, list[Span]]) -> None:
    length, spans = sentence
    tags = TagSet(LABELS)
    encoded = tags.encode(reversed(spans), length)  # order does not matter
    assert spans_of(tags, encoded.tolist()) == spans

    names = [tags.names[tag] for tag in encoded]
    biluo = [name.replace("E-", "L-").replace("S-", "U-") for name in names]
    found = [(start, last + 1, label) for label, start, last in tags_to_entities(biluo)]
    assert found == spans


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_legal_sequences_are_those_that_stand_for_entities(length: int) -> None:
    """Every set of spans has one legal sequence, and there are no others."""
    tags = TagSet(["A", "B"])
    legal = {
        path
        for path in itertools.product(range(len(tags)), repeat=length)
        if tags.allowed_starts[path[0]]
        and tags.allowed_ends[path[-1]]
        and all(tags.allowed_transitions[i, j] for i, j in pairwise(path))
    }
    assert legal == {
        tuple(tags.encode(spans, length).tolist()) for spans in all_segmentations(0, length)
    }


def all_segmentations(start: int, length: int) -> list[list[Span]]:
    if start == length:
        return [[]]
    found = all_segmentations(start + 1, length)
    for end in range(start + 1, length + 1):
        for label in "AB":
            found = found + [
                [(start, end, label), *more] for more in all_segmentations(end, length)
            ]
    return found


# Incomplete annotation


@given(
    known=st.sampled_from(
        [[], [(1, 2, "A")], [(0, 2, "B")], [(2, 4, "A")], [(0, 1, "A"), (2, 3, "B")]]
    ),
    unknown=st.lists(
        st.tuples(
            st.sampled_from([(0, 1), (1, 2), (2, 3), (1, 3), (3, 4), (0, 4)]),
            st.sampled_from(["", "A", "B", "C"]),
        ).map(lambda pair: (*pair[0], pair[1])),
        max_size=3,
    ),
    coarse=st.sampled_from([{}, {"A": ["A", "B"]}, {"A": ["B"], "B": ["B", "A"]}]),
)
def test_allowed_sequences_are_those_that_agree_with_the_annotation(
    known: list[Span], unknown: list[Span], coarse: dict[str, list[str]]
) -> None:
    """Of all ways to annotate four units: those that have the known entities, with one of the
    labels that theirs stands for, and others only of units that are unknown, or of which their
    label is."""
    tags = TagSet(["A", "B"])
    free = {(unit, label) for start, end, label in unknown for unit in range(start, end)}

    choices = [
        {(start, end, fine) for fine in coarse.get(label, [label])} for start, end, label in known
    ]

    def agrees(spans: list[Span]) -> bool:
        others = set(spans).difference(*choices)
        return all(choice & set(spans) for choice in choices) and all(
            {(unit, ""), (unit, label)} & free
            for start, end, label in others
            for unit in range(start, end)
        )

    allowed = tags.allowed(known, 4, unknown, coarse)
    assert allowed.shape == (4, len(tags))
    assert allowed.dtype == bool
    found = {
        tuple(path)
        for spans in all_segmentations(0, 4)
        if allowed[np.arange(4), path := tags.encode(spans, 4)].all()
    }
    assert found == {
        tuple(tags.encode(spans, 4)) for spans in all_segmentations(0, 4) if agrees(spans)
    }


def test_errors() -> None:
    for labels in (["PER", "PER"], ["PER", ""]):
        with pytest.raises(ValueError, match="F230"):
            TagSet(labels)
