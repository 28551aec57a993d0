"""How segments are put into batches: what is computed at once, and how much of it is padding."""

from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spacy_flat.ner.tener.options import SequenceOptions
from spacy_flat.text.batches import BATCH_PAIRS, batch_by_cost
from spacy_flat.text.vocabulary import hash_characters, normalise_word

sizes = st.lists(
    st.tuples(st.integers(1, 400), st.sampled_from([0, 0, 1, 30, 700])), min_size=1, max_size=40
)


def group(sizes: list[tuple[int, int]], max_nodes: int) -> list[list[int]]:
    n_units, n_words = np.array(sizes).T
    return [rows.tolist() for rows in batch_by_cost(n_units, max_nodes, n_words)]


def fits(sizes: list[tuple[int, int]], rows: list[int], max_nodes: int) -> bool:
    """Whether these make one batch: as many nodes as allowed, and padding that costs less than
    half of what is no padding, and another batch, do. The cost is pairs of units and nodes."""
    some: Any = np.array([sizes[row] for row in rows])
    units, words = some.max(axis=0).tolist()
    nodes = len(rows) * (units + words)
    pairs = int((some[:, 0] * some.sum(axis=1)).sum())
    return nodes <= max_nodes and nodes * units - pairs <= pairs // 2 + BATCH_PAIRS


@given(sizes, st.integers(1, 20_000))
def test_batches_are_as_large_as_they_may_be_and_no_larger(
    sizes: list[tuple[int, int]], max_nodes: int
) -> None:
    batches = group(sizes, max_nodes)
    assert sorted(row for rows in batches for row in rows) == list(range(len(sizes)))
    for rows in batches:
        assert fits(sizes, rows, max_nodes) or len(rows) == 1
    for rows, following in pairwise(batches):
        assert not fits(sizes, [*rows, following[0]], max_nodes)


def test_digits_are_alike() -> None:
    """Also full-width ones; the characters beside them in Unicode are none."""
    digits = "0123456789０１２３４５６７８９"
    form = SequenceOptions(lower_case=False, normalise_numbers=True)
    assert normalise_word(digits + "/:／：", form) == "0" * 20 + "/:／："
    assert hash_characters(digits + "/:／：", True).tolist() == list(map(ord, "0" * 20 + "/:／："))
    assert hash_characters(digits, False).tolist() == list(map(ord, digits))
