"""The real corpora, where they are at hand: all is read, and their defects are the known ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from spacy_flat.corpora import convert_file
from spacy_flat.corpora.convert import ConvertOptions, read_corpus
from spacy_flat.corpora.fetch import corpus_files, fetch_corpus
from spacy_flat.corpora.sentence import Repairs
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
    ("msra", "dev"): (3000, 4747),
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
def test_counts(name: str, part: str) -> None:
    repairs = Repairs(enabled=True)
    found = list(read_corpus(path_of(name, part), SOURCES[name].options, repairs))
    assert (len(found), sum(len(s.entities) for s in found)) == COUNTS[name, part]
    assert repairs.counts == REPAIRS.get((name, part), {})


def test_fetched_from_the_local_folder_and_converted(tmp_path: Path) -> None:
    fetch_corpus("resume", tmp_path, DATA)
    path = corpus_files("resume", tmp_path)["dev"]
    summary = convert_file(path, tmp_path / "dev.spacy", SOURCES["resume"].options)
    assert (summary.sentences, summary.characters) == (463, 13890)


def test_the_illegal_tags_of_weibo_are_an_error_without_repair(tmp_path: Path) -> None:
    options = ConvertOptions(format="bio", strip_position=True)
    with pytest.raises(ValueError, match=r"F104.*line 1266: 'I-PER\.NOM'"):
        convert_file(path_of("weibo", "train"), tmp_path / "train.spacy", options)
