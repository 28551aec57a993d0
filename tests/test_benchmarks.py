"""What isn't in the package fits it: benchmarks, scripts, and the pictures of docs."""

import json
import re
import runpy
from pathlib import Path

import pytest

from spacy_flat.viz.svg import COLOURS

ROOT = Path(__file__).parents[1]
PROGRAMS = sorted(path for name in ("benchmarks", "scripts") for path in (ROOT / name).glob("*.py"))
KINDS = sorted((ROOT / "assets").glob("kinds*/kinds.jsonl"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_every_program_can_be_imported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(path.parent))
    runpy.run_path(str(path), run_name="imported")


@pytest.mark.parametrize("path", KINDS, ids=lambda path: path.parent.name)
def test_entities_are_where_they_say(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    texts = runpy.run_path(str(ROOT / "benchmarks/kinds.py"))["read_texts"](path)
    for text, line in zip(texts, path.read_text("utf-8").splitlines(), strict=True):
        record, taken = json.loads(line), set()
        assert text.text == record["text"]
        read = sorted(text.text[each.start : each.end] for each in text.entities)
        assert read == sorted(
            name for own in record["label"].values() for name, at in own.items() for _ in at
        )
        for surface, spans in (pair for own in record["label"].values() for pair in own.items()):
            for start, last in spans:
                assert record["text"][start : last + 1] == surface == surface.strip()
                assert taken.isdisjoint(range(start, last + 1))
                taken.update(range(start, last + 1))


@pytest.mark.parametrize("name", ["pipeline", "lattice"])
def test_pictures_of_docs(name: str) -> None:
    picture = runpy.run_path(str(ROOT / "docs/pictures/draw.py"))[name]()
    classes = {word for words in re.findall('class="(.*?)"', picture) for word in words.split()}
    assert classes <= {*COLOURS, "line"}
