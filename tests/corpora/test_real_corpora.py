"""The real corpora, where they are at hand: all is read, and their defects are the known ones."""

import json
import re
from pathlib import Path

import pytest
from published import CORPORA

from spacy_flat.corpora import ConvertOptions, Summary, convert_file
from spacy_flat.corpora.tools import read_layout

DATA = Path(__file__).parents[3] / "shared" / "data"

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the real corpora are not at hand")


def path_of(name: str, part: str) -> Path:
    return DATA / CORPORA[name].folder / CORPORA[name].files[part].name


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
    options = ConvertOptions(**{**CORPORA[name].options, "repair": True})
    path = path_of(name, part)
    if CORPORA[name].strip:
        text = re.sub(CORPORA[name].strip, "", path.read_text("utf-8"), flags=re.MULTILINE)
        path = tmp_path / path.name
        path.write_text(text, "utf-8")
    summary = convert_file(path, tmp_path / "corpus.spacy", options)
    assert (summary.docs, sum(summary.labels.values())) == COUNTS[name, part]
    assert summary.repairs == REPAIRS.get((name, part), {})


@pytest.mark.filterwarnings("ignore:.*W163")
@pytest.mark.parametrize("inclusive", [0, 1])
@pytest.mark.parametrize("emoji", [1, 2])  # units
def test_what_tools_write(tmp_path: Path, emoji: int, inclusive: int) -> None:
    """Offsets without texts in characters or UTF-16, with either ends."""
    sentences = [*read_layout(path_of("cluener", "dev"), ConvertOptions(), Summary(repair=True))]
    records = []
    for units, entities, *_ in sentences:
        spans = [[a + emoji, b + emoji - inclusive, label] for a, b, label in entities]
        records.append(json.dumps({"text": "".join(["😂", *units]), "label": spans}) + "\n")
    (tmp_path / "c.json").write_text("".join(records), "utf-8")
    found = read_layout(tmp_path / "c.json", ConvertOptions(), Summary())
    expected = [[(a + 1, b + 1, label) for a, b, label in each.entities] for each in sentences]
    assert [each.entities for each in found] == expected
