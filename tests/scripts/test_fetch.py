"""Fetching: from a local folder or an address, verified, never half a file."""

import hashlib
import io
import urllib.request
from dataclasses import replace
from pathlib import Path
from urllib.error import URLError

import pytest
from fetch import fetch_corpus
from published import CORPORA, Corpus, CorpusFile

CONTENT = "甲 O\n".encode()


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Corpus:
    """A corpus of one file with an address."""
    digest = hashlib.sha256(CONTENT).hexdigest()
    file = CorpusFile("train.txt", digest, "https://example.org/train.txt")
    corpus = replace(CORPORA["resume"], folder="ner_zh/toy", files={"train": file})
    monkeypatch.setitem(CORPORA, "toy", corpus)
    return corpus


def local(folder: Path, content: bytes = CONTENT) -> Path:
    (folder / "ner_zh" / "toy").mkdir(parents=True)
    (folder / "ner_zh" / "toy" / "train.txt").write_bytes(content)
    return folder


def test_a_damaged_file_is_fetched_again(tmp_path: Path, toy: Corpus) -> None:
    source = local(tmp_path / "source")
    (path,) = fetch_corpus("toy", tmp_path, source)
    assert path == tmp_path / "toy/train.txt"
    path.write_bytes(b"damaged")
    fetch_corpus("toy", tmp_path, source)
    assert path.read_bytes() == CONTENT


def test_from_its_address(tmp_path: Path, toy: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def urlopen(url: str, timeout: float) -> io.BytesIO:
        asked.append(url)
        return io.BytesIO(CONTENT)

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    (path,) = fetch_corpus("toy", tmp_path)
    assert path.read_bytes() == CONTENT
    fetch_corpus("toy", tmp_path)
    assert asked == ["https://example.org/train.txt"]  # nothing is fetched twice

    def fail(url: str, timeout: float) -> io.BytesIO:
        raise URLError("no host")

    path.unlink()
    monkeypatch.setattr(urllib.request, "urlopen", fail)
    with pytest.raises(ValueError, match=r"example\.org.*DIR/ner_zh/toy/train\.txt"):
        fetch_corpus("toy", tmp_path)


def test_a_wrong_checksum_writes_nothing(tmp_path: Path, toy: Corpus) -> None:
    with pytest.raises(ValueError, match=r"train\.txt: the SHA-256 checksum is [0-9a-f]{64}"):
        fetch_corpus("toy", tmp_path / "data", local(tmp_path / "source", b"other"))
    assert list((tmp_path / "data" / "toy").iterdir()) == []


def test_missing_files(tmp_path: Path, toy: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"train\.txt does not exist.*correct --source"):
        fetch_corpus("toy", tmp_path, tmp_path)
    with pytest.raises(ValueError, match=r"demo/train\.jsonl.*in the project's folder"):
        fetch_corpus("demo", tmp_path / "data")
    with pytest.raises(ValueError, match=r"archive.*https://github\.com/.*--source DIR"):
        fetch_corpus("cluener", tmp_path)


@pytest.mark.parametrize("name", CORPORA)
def test_every_corpus_can_be_fetched(name: str) -> None:
    corpus = CORPORA[name]
    parts = corpus.made_of or corpus.files
    assert "train" in parts
    assert "dev" in parts or corpus.dev_share
    for file in corpus.files.values():
        assert corpus.embedded or len(file.sha256) == 64
        ways = [file.url, corpus.no_download, corpus.archive]
        assert corpus.embedded or sum(map(bool, ways)) == 1
