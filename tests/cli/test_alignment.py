"""`python -m spacy flat alignment`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import commands
import pytest
from commands import said

run = partial(said, "alignment")
failure = partial(commands.failure, "alignment")


SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def pipeline(pairs_pipeline: Path) -> str:
    return str(pairs_pipeline)


def test_a_picture_of_two_texts(pipeline: str, tmp_path: Path) -> None:
    output = tmp_path / "new/alignment.svg"
    assert "4 × 2 units, blocks 2" in run(pipeline, "怎么退款", "如何", output)
    root = ElementTree.fromstring(output.read_text("utf-8"))
    drawn = [text.text for text in root.iter(f"{SVG}text")]
    assert drawn.count("款") == drawn.count("如") == 4


@pytest.mark.parametrize(
    ("left", "right", "code"),
    [("", "a", "F160"), ("a", "", "F160"), ("\udce4", "a", "F162"), ("a", "b\udce4", "F162")],
)
def test_texts_that_are_refused(
    pipeline: str, tmp_path: Path, left: str, right: str, code: str
) -> None:
    assert f"[{code}]" in failure(pipeline, left, right, str(tmp_path / "a.svg"))
    assert not list(tmp_path.iterdir())


def test_texts_that_are_too_long(pipeline: str, tmp_path: Path) -> None:
    message = failure(pipeline, "退" * 4000, "款" * 4000, str(tmp_path / "a.svg"))
    assert "[F327] The texts have 4,000 and 4,000 characters" in message
    message = failure(pipeline, "a", "b", str(tmp_path / "a.svg"), "--component", "third")
    assert "[F136]" in message
    assert "Found: re2_similarity." in message
