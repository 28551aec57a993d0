"""Vectors in text files and in spaCy's folders."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import spacy
from gensim.models import KeyedVectors
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from spacy.vectors import Vectors

from spacy_flat.vectors import TextVectors, VectorFile, read_vectors

# Any character but the two that the format is made of; a number at a word's end would be ambiguous.
KEYS = st.text(st.characters(exclude_characters="\r\n ", codec="utf-8"), min_size=1).map(
    lambda key: f"词{key}"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some.vec"


def check(vectors: TextVectors, keys: list[str], rows: list[list[float]]) -> None:
    assert vectors.keys == keys
    assert vectors.data.dtype == np.float32
    np.testing.assert_array_equal(vectors.data, np.array(rows, np.float32))


@pytest.mark.parametrize("header", ["", "2 3\n"])
def test_with_and_without_header(path: Path, header: str):
    # word2vec ends lines with a space
    path.write_text(f"{header}重庆 1 -2.5 3e-2\r北 京 4 5 6 \n", "utf-8-sig", newline="")
    check(read_vectors(str(path)), ["重庆", "北 京"], [[1, -2.5, 0.03], [4, 5, 6]])


@given(st.lists(KEYS, min_size=1, unique=True), st.integers(2, 5), st.booleans(), st.data())
def test_whatever_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, keys, width, header, data
):
    rows = data.draw(
        arrays.arrays(np.float32, (len(keys), width), elements=st.floats(-1e6, 1e6, width=32))
    )
    lines = [f"{len(keys)} {width}"] * header
    lines += [" ".join([key, *map(str, row)]) for key, row in zip(keys, rows, strict=True)]
    path = tmp_path_factory.mktemp("vectors") / "some.vec"
    path.write_bytes("\n".join(lines).encode())
    check(read_vectors(path), keys, rows.tolist())


def test_only_the_words_wanted(path: Path):
    path.write_text("3 2\n重庆 1 2\n北京 3 4\n上海 5 6\n", "utf-8")
    check(read_vectors(path, keep={"北京", "天津"}.__contains__), ["北京"], [[3, 4]])
    path.write_text("重庆 1 2\n北京 3 4\n重庆 5 6\n北京 x 6\n", "utf-8")
    # Of repeated words the first counts; others aren't checked.
    check(read_vectors(path, keep="重庆".__eq__), ["重庆"], [[1, 2]])


def test_a_file_and_loaded_vectors_are_read_alike(path: Path):
    with pytest.raises(FileNotFoundError, match=r"F001.*some\.vec"):
        VectorFile(path)
    path.write_text("重庆 1 2\n上海 5 6\n", "utf-8")
    file = VectorFile(str(path))
    for source in (file, file.read()):
        check(source.read(), ["重庆", "上海"], [[1, 2], [5, 6]])
        check(source.read(lambda key: key == "上海"), ["上海"], [[5, 6]])
        assert source.read(lambda key: False).data.shape == (0, 2)


def test_memory_is_bounded_by_what_is_kept(path: Path):
    lines = (f"词{number} {' '.join('1' * 100)}\n" for number in range(20_000))
    path.write_text("20000 100\n" + "".join(lines), "utf-8")

    def peak(kept: int) -> int:
        tracemalloc.start()
        vectors = VectorFile(path).read(lambda key: int(key[1:]) < kept)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert vectors.data.shape == (kept, 100)
        return peak

    assert peak(200) < 4_000_000 < peak(20_000)


BAD_LINES = [
    *((line, "F011") for line in ("a 3", "a 3 4 5", "a", " 3 4", "a 3  4")),
    *((line, "F012") for line in ("a 3 x", "a nan 4", "a 3 -inf", "a 1e39 4")),
    ("重庆 3 4", "F004"),
]


@pytest.mark.parametrize(("line", "code"), BAD_LINES)
def test_bad_lines_are_named(path: Path, line: str, code: str):
    path.write_bytes("重庆 1 2\n".encode() + line.encode("gb18030") + "\n\n上海 5 6\n".encode())
    with pytest.raises(ValueError, match=rf"{code}.*some\.vec, line 2"):
        read_vectors(path)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        *((text, "F010") for text in ("", "\n \n", "5 2\n")),
        *((text, "F011.*line 1") for text in ("重庆\n", "重庆 是 市\n", "重庆 1 x\n")),
        *((f"{n} 2\n重庆 1 2\n北京 3 4\n", f"F014.*{n}.*2") for n in (1, 3)),
    ],
)
def test_no_vectors(path: Path, content: str, code: str):
    path.write_text(content, "utf-8")
    with pytest.raises(ValueError, match=code):
        read_vectors(path)
    with pytest.raises(ValueError, match="F019"):
        read_vectors(path.parent)


def test_binary_files_are_written_as_text_first(tmp_path: Path):
    theirs = KeyedVectors(2)
    theirs.add_vectors(["重庆", "😀"], np.eye(2, dtype=np.float32))
    theirs.save_word2vec_format(str(tmp_path / "some.bin"), binary=True)
    with pytest.raises(ValueError, match=r"F015.*gensim\.models\.KeyedVectors"):
        read_vectors(tmp_path / "some.bin")
    again = KeyedVectors.load_word2vec_format(str(tmp_path / "some.bin"), binary=True)
    again.save_word2vec_format(str(tmp_path / "some.txt"))
    check(read_vectors(tmp_path / "some.txt"), ["重庆", "😀"], [[1, 0], [0, 1]])


def test_vectors_of_a_pipeline(tmp_path: Path):
    nlp = spacy.blank("zh")
    nlp.to_disk(tmp_path)
    with pytest.raises(ValueError, match="F010"):
        read_vectors(tmp_path)
    for key, row in (("重庆", [1, 2]), ("😀", [3, 4])):
        nlp.vocab.set_vector(key, np.array(row, np.float32))
    nlp.to_disk(tmp_path)
    for folder in ("", "vocab"):
        vectors = read_vectors(tmp_path / folder)
        assert dict(zip(vectors.keys, vectors.data.tolist(), strict=True)) == {
            "重庆": [1, 2],
            "😀": [3, 4],
        }
        check(read_vectors(tmp_path / folder, keep={"😀"}.__contains__), ["😀"], [[3, 4]])
    settings = {"mode": "floret", "hash_count": 1, "minn": 1, "maxn": 2}
    rows = np.ones((3, 4), np.float32)
    nlp.vocab.vectors = Vectors(strings=nlp.vocab.strings, data=rows, **settings)
    nlp.to_disk(tmp_path)
    with pytest.raises(ValueError, match="F018"):
        read_vectors(tmp_path)
