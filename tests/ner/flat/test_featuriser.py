"""Texts as lattice batches, against a slow construction of one sentence at a time."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spacy_flat.lexicon import Entry, Lexicon
from spacy_flat.ner.batch import LatticeBatch
from spacy_flat.ner.flat.featuriser import N_BANDS, LatticeFeaturiser, build_vocabulary
from spacy_flat.ner.flat.options import LatticeOptions
from spacy_flat.text.segments import Segment
from spacy_flat.text.spans import Units
from spacy_flat.text.vocabulary import TableVocab

WORDS = [
    Entry("重庆", 2000, "ns"),
    Entry("药店", 300, "n"),
    Entry("人和", 120, "nz"),
    Entry("人和药店", 5, "nt"),
    Entry("😀药", 0),
    Entry("店在"),
]
TRAINING = ["人和药店在重庆", "药店😀药店在"]
ALPHABET = "人和药店在重庆😀字3"
END = "\0"

texts = st.lists(st.text(alphabet=ALPHABET, min_size=1, max_size=12), min_size=1, max_size=8)


def make_encoder(lexicon: Lexicon | None = None, **options: Any) -> LatticeFeaturiser:
    words = lexicon or Lexicon(WORDS)
    return build_vocabulary(LatticeOptions(**options), TRAINING, words, labels=["LOC"]).featuriser


def batches_of(encoder: LatticeFeaturiser, texts: list[str]) -> list[LatticeBatch]:
    segments = [Segment(number, 0, len(text)) for number, text in enumerate(texts)]
    return list(encoder.batches([Units.visible_characters(text) for text in texts], segments))


def rows_of(batches: list[LatticeBatch]) -> Iterator[tuple[Segment, dict[str, list[Any]]]]:
    """Each segment's own part of a batch, without padding."""
    for batch in batches:
        C = batch.chars.shape[1]
        for row, segment in enumerate(batch.segments):
            n_chars = int(batch.n_units[row])
            n_words = int(batch.present[row, C:].sum())
            yield (
                segment,
                {
                    "chars": batch.chars[row, :n_chars].tolist(),
                    "bigrams": batch.bigrams[row, :n_chars].tolist(),
                    "words": batch.words[row, :n_words].tolist(),
                    "types": batch.types[row, :n_words].tolist(),
                    "lengths": batch.lengths[row, :n_words].tolist(),
                    "bands": batch.bands[row, :n_words].tolist(),
                    "heads": batch.heads[row][batch.present[row]].tolist(),
                    "tails": batch.tails[row][batch.present[row]].tolist(),
                },
            )


def code(char: str) -> int:
    return 0 if char == END else ord(char)


def key(index: TableVocab, wanted: int) -> int:
    return dict(zip(index.hashes.tolist(), index.ids.tolist(), strict=True)).get(wanted, 0)


def band(frequency: float) -> int:
    """0 unknown, then equal steps of log(1 + frequency) up to a million."""
    if frequency < 0:
        return 0
    steps = N_BANDS - 1
    return 1 + min(int(steps * math.log1p(frequency) / math.log1p(1e6)), steps - 1)


def slow_row(encoder: LatticeFeaturiser, text: str) -> dict[str, list[Any]]:
    lexicon = encoder.lexicon
    found = [
        (start, end, lexicon.index(text[start:end]))
        for start in range(len(text))
        for end in range(start + 2, len(text) + 1)
        if text[start:end] in lexicon
    ]
    types = [int(lexicon.snapshot.types[word]) for *_, word in found]
    pairs = zip(text, text[1:] + END, strict=True)
    return {
        "chars": [key(encoder.chars, code(char)) for char in text],
        "bigrams": [
            key(encoder.bigrams, code(left) * 2**21 + code(right)) for left, right in pairs
        ],
        "words": [key(encoder.words, word) for *_, word in found],
        "types": [kind if kind < encoder.n_types else 0 for kind in types],
        "lengths": [end - start for start, end, _ in found],
        "bands": [band(float(lexicon.snapshot.frequencies[word])) for *_, word in found],
        "heads": [*range(len(text)), *(start for start, *_ in found)],
        "tails": [*range(len(text)), *(end - 1 for _, end, _ in found)],
    }


ENCODER = make_encoder()


@given(texts, st.integers(1, 200))
def test_batches_are_the_sentences_one_by_one(texts: list[str], batch_size: int) -> None:
    encoder = replace(ENCODER, options=LatticeOptions(batch_size=batch_size))
    batches = batches_of(encoder, texts)
    rows = {segment.text: row for segment, row in rows_of(batches)}
    assert rows == {number: slow_row(encoder, text) for number, text in enumerate(texts)}
    for batch in batches:
        assert batch.present.size <= batch_size or len(batch.segments) == 1


@given(texts)
def test_padding(texts: list[str]) -> None:
    for batch in batches_of(ENCODER, texts):
        B, C = batch.chars.shape
        M = batch.words.shape[1]
        assert batch.heads.shape == batch.tails.shape == batch.present.shape == (B, C + M)
        assert (batch.present[:, :C] == (np.arange(C) < batch.n_units[:, None])).all()
        for name in ("chars", "bigrams", "words", "types", "lengths", "bands"):
            chars, words = batch.present[:, :C], batch.present[:, C:]
            present = chars if name in ("chars", "bigrams") else words
            assert not getattr(batch, name)[~present].any()
        # The network takes padding for nodes of one character within the batch.
        nowhere = ~batch.present
        assert (batch.heads[nowhere] == batch.tails[nowhere]).all()
        assert batch.heads.min() >= 0
        assert batch.tails.max() < C


def only_row(encoder: LatticeFeaturiser, text: str) -> dict[str, list[Any]]:
    ((_, row),) = rows_of(batches_of(encoder, [text]))
    return row


def test_a_new_word_that_is_no_entity_is_hidden() -> None:
    encoder, text = make_encoder(), "人和药店在重庆"
    before = only_row(encoder, text)
    encoder.lexicon.add(["在重"], type="not_entity")
    assert only_row(encoder, text) == before


def test_only_known_words() -> None:
    """A word of the lexicon that training did not show, and without vector, is left out."""
    text = "人和药店在重庆店在重庆"
    lexicon = Lexicon([*WORDS, Entry("庆店", 10, "n")])
    assert 0 in only_row(make_encoder(lexicon), text)["words"]
    encoder = make_encoder(lexicon, only_known_words=True)
    row = only_row(encoder, text)
    assert 0 not in row["words"]
    assert row["heads"][len(text) :] == [0, 0, 2, 3, 5, 7, 9]
