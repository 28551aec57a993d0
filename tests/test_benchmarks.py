"""What isn't in the package fits it: benchmarks, and the pictures of docs."""

import re
import runpy
from pathlib import Path

import pytest

from spacy_flat.viz.svg import COLOURS

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.mark.parametrize("path", sorted(BENCHMARKS.glob("*.py")), ids=lambda path: path.stem)
def test_every_benchmark_can_be_imported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    runpy.run_path(str(path), run_name="imported")


@pytest.mark.parametrize("name", ["pipeline", "lattice"])
def test_pictures_of_docs(name: str) -> None:
    picture = runpy.run_path(str(BENCHMARKS.parent / "docs/pictures/draw.py"))[name]()
    classes = {word for words in re.findall('class="(.*?)"', picture) for word in words.split()}
    assert classes <= {*COLOURS, "line"}
