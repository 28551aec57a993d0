"""Fetching: from a local folder or an address, verified, never half a file."""

from __future__ import annotations

import hashlib
import io
import urllib.request
from dataclasses import replace
from pathlib import Path
from urllib.error import URLError

import pytest

from spacy_flat.corpora import fetch
from spacy_flat.corpora.fetch import corpus_files, fetch_corpus
from spacy_flat.corpora.sources import SOURCES, CorpusFile, CorpusSource, get_source

CONTENT = "甲 O\n".encode()


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> CorpusSource:
    """A corpus of one file with an address."""
    digest = hashlib.sha256(CONTENT).hexdigest()
    file = CorpusFile("train.txt", digest, "https://example.org/train.txt")
    source = replace(SOURCES["resume"], folder="ner_zh/toy", files={"train": file})
    monkeypatch.setitem(SOURCES, "toy", source)
    monkeypatch.setattr(fetch, "CHUNK", 4)  # files come in pieces
    return source


def local(folder: Path, content: bytes = CONTENT) -> Path:
    (folder / "ner_zh" / "toy").mkdir(parents=True)
    (folder / "ner_zh" / "toy" / "train.txt").write_bytes(content)
    return folder


def answer(monkeypatch: pytest.MonkeyPatch, result: bytes | Exception) -> list[str]:
    """Let every address answer so, and return the list of those that were asked."""
    asked: list[str] = []

    def urlopen(url: str, timeout: float) -> io.BytesIO:
        asked.append(url)
        if isinstance(result, Exception):
            raise result
        return io.BytesIO(result)

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    return asked


def test_from_a_local_folder(tmp_path: Path, toy: CorpusSource) -> None:
    paths = fetch_corpus("toy", tmp_path / "data", local(tmp_path / "source"))
    assert paths == [tmp_path / "data" / "toy" / "train.txt"]
    assert paths[0].read_bytes() == CONTENT
    assert corpus_files("toy", tmp_path / "data") == {"train": paths[0]}


def test_from_its_address(
    tmp_path: Path, toy: CorpusSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answer(monkeypatch, CONTENT)
    (path,) = fetch_corpus("toy", tmp_path)
    assert path.read_bytes() == CONTENT
    fetch_corpus("toy", tmp_path)
    assert asked == ["https://example.org/train.txt"]  # what is there already is not asked for


def test_a_wrong_checksum_writes_nothing(tmp_path: Path, toy: CorpusSource) -> None:
    with pytest.raises(
        ValueError, match=r"F122.*train\.txt: the SHA-256 checksum is [0-9a-f]{64}, expected"
    ):
        fetch_corpus("toy", tmp_path / "data", local(tmp_path / "source", b"other"))
    assert list((tmp_path / "data" / "toy").iterdir()) == []


def test_a_damaged_file_is_fetched_again(tmp_path: Path, toy: CorpusSource) -> None:
    source = local(tmp_path / "source")
    (path,) = fetch_corpus("toy", tmp_path, source)
    path.write_bytes(b"damaged")
    fetch_corpus("toy", tmp_path, source)
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize("reason", [URLError("no host"), TimeoutError("too slow")])
def test_a_failed_download(
    tmp_path: Path, toy: CorpusSource, monkeypatch: pytest.MonkeyPatch, reason: Exception
) -> None:
    answer(monkeypatch, reason)
    with pytest.raises(ValueError, match=r"F123.*example\.org.*DIR/ner_zh/toy/train\.txt"):
        fetch_corpus("toy", tmp_path)


def test_a_missing_local_file(tmp_path: Path, toy: CorpusSource) -> None:
    with pytest.raises(ValueError, match=r"F121.*train\.txt does not exist.*correct --source"):
        fetch_corpus("toy", tmp_path, tmp_path)


def test_a_missing_local_folder(tmp_path: Path, toy: CorpusSource) -> None:
    """Also where the files were fetched before."""
    fetch_corpus("toy", tmp_path, local(tmp_path / "local"))
    with pytest.raises(ValueError, match=r"F121.*nowhere does not exist.*--source"):
        fetch_corpus("toy", tmp_path, tmp_path / "nowhere")


def test_a_corpus_that_was_not_fetched(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"F121.*spacy flat fetch weibo "):
        corpus_files("weibo", tmp_path)


@pytest.mark.parametrize("name", ["cluener", "wikiann"])
def test_a_corpus_without_public_files(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=rf"F124.*{name}.*https://github\.com/.*--source DIR"):
        fetch_corpus(name, tmp_path)


def test_an_unknown_corpus() -> None:
    with pytest.raises(ValueError, match=r"F118.*'ontonotes'.*demo, resume, weibo"):
        get_source("ontonotes")


def test_the_demo_corpus_comes_from_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"F121.*demo/train\.jsonl.*in the project's folder"):
        fetch_corpus("demo", tmp_path / "data")
    folder = tmp_path / "assets" / "demo"
    folder.mkdir(parents=True)
    for part in ("train", "dev", "test"):
        (folder / f"{part}.jsonl").write_text('{"text": "好", "label": {}}\n', "utf-8")
    paths = fetch_corpus("demo", tmp_path / "data", tmp_path / "elsewhere")
    assert [path.name for path in paths] == ["train.jsonl", "dev.jsonl", "test.jsonl"]


@pytest.mark.parametrize("name", SOURCES)
def test_every_corpus_can_be_got(name: str) -> None:
    source = SOURCES[name]
    parts = source.made_of or source.files
    assert "train" in parts
    assert "dev" in parts or source.dev_share
    for file in source.files.values():
        assert source.embedded or len(file.sha256) == 64
        ways = [file.url, source.no_download, source.archive]
        assert source.embedded or sum(map(bool, ways)) == 1
