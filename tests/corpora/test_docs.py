"""Docs whose tokens are given."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.util import get_words_and_spaces
from spacy.vocab import Vocab

from spacy_flat.corpora.docs import make_doc

VOCAB = Vocab()
UNITS = st.lists(st.sampled_from(["a", "ab", "a b", "重", " ", "  ", "\t", "\n", "\u3000"]))


@pytest.mark.parametrize("separator", ["", " "])
@given(units=UNITS)
def test_tokens_are_those_of_spacy(separator: str, units: list[str]) -> None:
    doc = make_doc(VOCAB, units, separator)
    words, spaces = get_words_and_spaces(units, separator.join(units))
    assert [token.text for token in doc] == words
    assert [bool(token.whitespace_) for token in doc] == spaces


def test_a_file_of_one_sentence() -> None:
    """Four times the characters take about four times as long, not 16 times."""
    times = []
    for n in (50_000, 200_000):
        start = process_time()
        make_doc(VOCAB, "好" * n)
        times.append(process_time() - start)
    assert times[1] < 8 * times[0]
