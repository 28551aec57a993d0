"""Vectors in binary form, and spaCy's."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
import spacy
from gensim.models import KeyedVectors
from hypothesis import given
from hypothesis import strategies as st
from spacy.vectors import Vectors

from spacy_flat.vectors import binary, read_vectors

KEYS = ["重庆", "人和药店", "😀"]
ROWS = np.arange(12, dtype=np.float32).reshape(3, 4) / 3


def pack(keys: list[bytes], rows: np.ndarray, end: bytes = b"") -> bytes:
    header = f"{len(keys)} {rows.shape[1]}\n".encode()
    records = (
        key + b" " + struct.pack(f"<{len(row)}f", *row) + end
        for key, row in zip(keys, rows.tolist(), strict=True)
    )
    return header + b"".join(records)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some.bin"


def test_what_gensim_writes_is_read(path: Path) -> None:
    theirs = KeyedVectors(4)
    theirs.add_vectors(KEYS, ROWS)
    theirs.save_word2vec_format(str(path), binary=True)
    with gzip.open(path.with_suffix(".bin.gz"), "wb") as stream:
        # As the original program does, with line breaks.
        stream.write(pack([key.encode() for key in KEYS], ROWS, b"\n"))

    np.testing.assert_array_equal(read_vectors(path.with_suffix(".bin.gz")).data, ROWS)
    vectors = read_vectors(path)

    assert vectors.keys == KEYS
    np.testing.assert_array_equal(vectors.data, ROWS)


@given(st.integers(1, 60))
def test_pieces_of_the_file_may_end_anywhere(size: int) -> None:
    import io

    data = pack([key.encode() for key in KEYS], ROWS)
    stream = io.BytesIO(data)
    stream.readline()
    records = binary._records(stream, 4)
    old, binary.PIECE = binary.PIECE, size
    try:
        found = list(records)
    finally:
        binary.PIECE = old

    assert [key.decode() for key, _ in found] == KEYS
    np.testing.assert_array_equal([row for _, row in found], ROWS)


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        ([b"a", b"\xff", b"c"], 0.0, r"F017.*vector 2: its word b'\\xff' is not UTF-8"),
        ([b"a", b"b", b"c"], float("nan"), "F017.*vector 2: a number of 'b' is not finite"),
    ],
)
def test_bad_vectors_are_named(path: Path, keys: list[bytes], value: float, message: str) -> None:
    rows = ROWS.copy()
    rows[1, 2] = value
    path.write_bytes(pack(keys, rows))

    with pytest.raises(ValueError, match=message):
        read_vectors(path)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        *((data, "F015") for data in (b"", b"\x00\x01\x02", b"3\n", "重庆 0.1 0.2\n".encode())),
        (b"0 4\n", "F010"),
    ],
)
def test_no_vectors(path: Path, data: bytes, code: str) -> None:
    path.write_bytes(data)
    with pytest.raises(ValueError, match=code):
        read_vectors(path)


@pytest.mark.parametrize("folder", ["", "vocab"])
def test_vectors_of_a_pipeline(tmp_path: Path, folder: str) -> None:
    nlp = spacy.blank("zh")
    for key, row in zip(KEYS, ROWS, strict=True):
        nlp.vocab.set_vector(key, row)
    nlp.to_disk(tmp_path)

    vectors = read_vectors(tmp_path / folder)
    some = read_vectors(tmp_path / folder, keep={"😀"}.__contains__)

    assert sorted(vectors.keys) == sorted(KEYS)
    rows = [vectors.data[vectors.keys.index(key)] for key in KEYS]
    np.testing.assert_array_equal(rows, ROWS)
    assert some.keys == ["😀"]


def test_pipelines_without_vectors_of_words(tmp_path: Path) -> None:
    nlp = spacy.blank("zh")
    nlp.to_disk(tmp_path)
    with pytest.raises(ValueError, match="F010"):
        read_vectors(tmp_path)
    settings = {"mode": "floret", "hash_count": 1, "minn": 1, "maxn": 2}
    nlp.vocab.vectors = Vectors(strings=nlp.vocab.strings, data=ROWS, **settings)
    nlp.to_disk(tmp_path)
    with pytest.raises(ValueError, match="F018"):
        read_vectors(tmp_path)
