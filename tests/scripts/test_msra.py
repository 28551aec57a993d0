"""The split of MSRA from the chunks of the public archive."""

from __future__ import annotations

import hashlib
from pathlib import Path
from zipfile import ZipFile

import msra
import pytest
from fetch import fetch_corpus
from msra import Rows, join_chunks, read_chunks, split_sentences, to_columns
from published import CORPORA

DATA = Path(__file__).parents[2] / "../shared/data/ner_zh/msra"


def rows(text: str, first: str = "O") -> Rows:
    return [(text[0], first), *((character, "O") for character in text[1:])]


def joined(*chunks: Rows) -> list[str]:
    return ["".join(c for c, _ in sentence) for sentence in join_chunks(iter(chunks))]


@pytest.mark.parametrize(
    ("last", "following", "together"),
    [
        ("春" * 59 + "，", "花" * 40, True),
        ("春" * 58 + "，", "花" * 40, False),
        ("春" * 60, "花" * 40, False),
        ("春" * 99, "花", True),
        ("春" * 98, "花", False),
        ("春" * 99 + "。", "花", False),
        ("春。", "”花", True),
        ("春。", "（花）", True),
        ("春", "（花）", False),
        ("春。", f"（{'花' * 12}）", True),
        ("春。", f"（{'花' * 13}）", False),
        ("春。", "（春）花", False),
    ],
)
def test_what_belongs_together(last: str, following: str, together: bool) -> None:
    found = joined(rows(last), rows(following))
    assert found == ([last + following] if together else [last, following])


def test_a_name_stays_whole() -> None:
    assert joined(rows("在北"), rows("京市", "I-LOC")) == ["在北京市"]


def test_the_last_chunk_counts_and_not_the_sentence() -> None:
    """A sentence of three chunks: the second is short and ends without a comma."""
    assert joined(rows("春" * 99), rows("花"), rows("秋")) == ["春" * 99 + "花", "秋"]


def test_development_is_ten_runs() -> None:
    sentences = [rows(chr(0x4E00 + n)) for n in range(5003)]
    parts = split_sentences(sentences)
    dev = [sentence[0][0] for sentence in parts["dev"]]
    assert dev == [chr(0x4E00 + run * 5003 // 10 + n) for run in range(10) for n in range(350)]
    train = [sentence[0][0] for sentence in parts["train"]]
    assert sorted(dev + train) == [sentence[0][0] for sentence in sentences]
    assert train != sorted(train)


def archive_of(sentences: list[Rows], path: Path) -> Path:
    """Sentences as an archive, cut at 100 characters."""
    path.parent.mkdir(parents=True)
    chunks = [s[at : at + 100] for s in sentences for at in range(0, len(s), 100)]
    lines = "\n".join("".join(f"{c} {t}\n" for c, t in chunk) for chunk in chunks)
    with ZipFile(path, "w") as archive:
        archive.writestr("dh_msra.txt", lines)
    return path


def test_the_real_parts_come_from_an_archive(tmp_path: Path) -> None:
    """The order of the archive follows from the parts; its chunks do not: the archive here has the
    sentences whole, each a chunk, which the rules of joining are kept away from."""
    if not DATA.is_dir():
        pytest.skip("../shared/data is not there")
    parts = {name: (DATA / f"{name}.bio").read_text("utf-8") for name in ("train", "dev")}
    found = {name: list(read_chunks(text.splitlines())) for name, text in parts.items()}
    n = sum(map(len, found.values()))
    places = split_sentences([[(str(place), "O")] for place in range(n)])
    sentences: list[Rows] = [[] for _ in range(n)]
    for name, order in places.items():
        for ((place, _),), sentence in zip(order, found[name], strict=True):
            sentences[int(place)] = sentence
    again = split_sentences(sentences)
    for name, text in parts.items():
        data = to_columns(again[name])
        assert data == text
        digest = hashlib.sha256(data.encode("utf-8")).hexdigest()
        assert digest == CORPORA["msra"].files[name].sha256


@pytest.mark.parametrize(
    ("n", "error"),
    [(0, "not a zip"), (40, "40 chunks"), (300, "more than 1,000 bytes"), (50_658, "checksum")],
)
def test_wrong_archives(
    n: int, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = archive_of([rows("春。")] * n, tmp_path / "ner_zh/msra/dh_msra.zip")
    if not n:
        path.write_bytes(b"no archive")
    if n == 300:
        monkeypatch.setattr(msra, "MAX_SIZE", 1000)
    with pytest.raises(ValueError, match=error):
        fetch_corpus("msra", tmp_path / "out", tmp_path)
    assert not list((tmp_path / "out").rglob("*.bio"))
