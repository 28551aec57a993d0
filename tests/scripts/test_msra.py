"""The split of MSRA from the chunks of the public archive."""

from pathlib import Path
from zipfile import ZipFile

import msra
import pytest
from fetch import fetch_corpus
from msra import Rows, join_chunks, split_sentences


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


def test_chunks_of_one_sentence() -> None:
    assert joined(rows("在北"), rows("京市", "I-LOC")) == ["在北京市"]
    # The last chunk counts: the second is short and ends without a comma.
    assert joined(rows("春" * 99), rows("花"), rows("秋")) == ["春" * 99 + "花", "秋"]


def test_development_is_ten_runs() -> None:
    sentences = [rows(chr(0x4E00 + n)) for n in range(5003)]
    parts = split_sentences(sentences)
    dev = [sentence[0][0] for sentence in parts["dev"]]
    assert dev == [chr(0x4E00 + run * 5003 // 10 + n) for run in range(10) for n in range(350)]
    train = [sentence[0][0] for sentence in parts["train"]]
    assert sorted(dev + train) == [sentence[0][0] for sentence in sentences]
    assert train != sorted(train)


@pytest.mark.parametrize(("n", "error"), [(0, "not a zip"), (40, "40 chunks"), (300, "more than")])
def test_wrong_archives(
    n: int, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ner_zh/msra/dh_msra.zip"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no archive")
    if n:
        with ZipFile(path, "w") as archive:
            archive.writestr("dh_msra.txt", "春 O\n。 O\n\n" * n)
    monkeypatch.setattr(msra, "MAX_SIZE", 2000)
    with pytest.raises(ValueError, match=error):
        fetch_corpus("msra", tmp_path / "out", tmp_path)
    assert not list((tmp_path / "out").rglob("*.bio"))
