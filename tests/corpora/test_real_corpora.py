"""The real corpora, where they are at hand: all is read, and their defects are the known ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from spacy.tokens import DocBin
from spacy.vocab import Vocab

from spacy_flat.corpora import ConvertOptions, convert_file
from spacy_flat.corpora.convert import detect_format
from spacy_flat.corpora.fetch import corpus_files, fetch_corpus
from spacy_flat.corpora.pairs import key_of
from spacy_flat.corpora.parts import convert_corpus
from spacy_flat.corpora.sources import SOURCES

DATA = Path(__file__).parents[3] / "shared" / "data"

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the real corpora are not at hand")


def path_of(name: str, part: str) -> Path:
    return DATA / SOURCES[name].folder / SOURCES[name].files[part].name


# sentences, entities (MSRA's large training part is left out for time)
COUNTS = {
    ("resume", "train"): (3821, 13440),
    ("resume", "dev"): (463, 1497),
    ("resume", "test"): (477, 1630),
    ("weibo", "train"): (1350, 1895),
    ("weibo", "dev"): (270, 389),
    ("msra", "dev"): (3500, 5181),
    ("cluener", "train"): (10748, 23969),
    ("cluener", "dev"): (1343, 3072),
    ("wnut17", "train"): (3394, 1975),
    ("wnut17", "dev"): (1009, 836),
    ("wnut17", "test"): (1287, 1079),
    ("wikiann", "dev"): (10000, 14146),
}
REPAIRS = {
    ("resume", "train"): {"unclosed entity closed": 2, "illegal start made a start": 2},
    ("weibo", "train"): {"illegal start made a start": 10},
    ("cluener", "train"): {"overlapping entity dropped": 2},
    ("wnut17", "dev"): {"illegal start made a start": 1},
}


@pytest.mark.parametrize(("name", "part"), COUNTS)
def test_counts(tmp_path: Path, name: str, part: str) -> None:
    options = replace(SOURCES[name].options, repair=True)
    summary = convert_file(path_of(name, part), tmp_path / "corpus.spacy", options)
    assert (summary.sentences, sum(summary.labels.values())) == COUNTS[name, part]
    assert summary.repairs == REPAIRS.get((name, part), {})


def test_fetched_from_the_local_folder_and_converted(tmp_path: Path) -> None:
    fetch_corpus("resume", tmp_path, DATA)
    path = corpus_files("resume", tmp_path)["dev"]
    summary = convert_file(path, tmp_path / "dev.spacy", SOURCES["resume"].options)
    assert (summary.sentences, summary.characters) == (463, 13890)


def test_the_illegal_tags_of_weibo_are_an_error_without_repair(tmp_path: Path) -> None:
    options = ConvertOptions(format="bio", strip_position=True)
    with pytest.raises(ValueError, match=r"F104.*line 1266: 'I-PER\.NOM'"):
        convert_file(path_of("weibo", "train"), tmp_path / "train.spacy", options)


@pytest.mark.parametrize(
    ("name", "code"), [("weibo", "F114"), ("wnut17", "F115"), ("wikiann", "F115")]
)
@pytest.mark.parametrize("repair", [False, True])
def test_a_forgotten_option_is_an_error(tmp_path: Path, name: str, code: str, repair: bool) -> None:
    with pytest.raises(ValueError, match=code):
        convert_file(path_of(name, "dev"), tmp_path / "dev.spacy", ConvertOptions(repair=repair))


# Pairs: different, same, and how many were left out. Of ATEC and BQ the first lines alone, and
# nothing of AFQMC and the mixture, for time.

FIRST = {"atec": 2000, "bq": 1500}
PAIRS = {
    "atec": {"train": (1397, 331, 81), "dev": (155, 36, 0)},
    "bq": {"train": (1409, 1300, 0), "dev": (129, 160, 0)},
    "lcqmc": {"train": (3904, 3917, 2), "dev": (496, 483, 0)},
    "oppo": {"train": (4857, 2121, 0), "dev": (714, 308, 0)},
}


TOLD = {
    "ner": ("bio", "bmes", "cluener"),
    "pairs": ("pairs-tsv", "pairs-csv"),
    "poems": ("poems", "poems-jsonl"),
    "parallel": ("parallel-tsv",),
}


@pytest.mark.parametrize("name", PAIRS)
def test_parts_of_pairs(tmp_path: Path, name: str) -> None:
    for path in fetch_corpus(name, tmp_path, DATA):
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[: FIRST.get(name)]))
    keys = {}
    counts = {}
    for path, summary in convert_corpus(name, tmp_path, tmp_path):
        labels = summary.labels
        counts[path.stem] = (labels["different"], labels["same"], summary.left_out)
        keys[path.stem] = {key_of(doc) for doc in DocBin().from_disk(path).get_docs(Vocab())}
        assert not summary.repairs
    assert counts == PAIRS[name]
    for part in keys.keys() - {"train"}:
        assert not keys[part] & keys["train"]
    assert len(keys["train"]) == sum(counts["train"][:2])


@pytest.mark.parametrize("name", SOURCES)
def test_formats_are_told(name: str) -> None:
    source = SOURCES[name]
    for file in source.files.values():
        path = DATA / source.folder / file.name
        if not source.embedded and path.stat().st_size < 4_000_000:
            assert detect_format(path) in TOLD[source.task]
