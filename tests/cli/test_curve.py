"""The learning curve: what is read from a log, and what is drawn."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.training.loggers import console_logger_v3
from typer.testing import CliRunner

from spacy_flat.cli import app
from spacy_flat.cli.curve import Point, Scale, best_point, draw, read_log

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def write_log(path: Path, points: list[Point]) -> Path:
    """Let spaCy's own logger write the log."""
    nlp = spacy.blank("zh")
    nlp.add_pipe("ner")
    nlp.config["training"] = {
        "max_steps": 10,
        "eval_frequency": 1,
        "score_weights": {"ents_f": 1.0},
    }
    log_step, finalize = console_logger_v3(console_output=False, output_file=path)(nlp)
    for step, score, losses in points:
        log_step(
            {
                "epoch": 0,
                "step": step,
                "losses": losses,
                "score": score,
                "other_scores": {"ents_f": score},
            }
        )
        log_step(None)  # a step without an evaluation
    finalize()
    return path


LOSSES = st.floats(0, 1e9) | st.sampled_from([math.nan, math.inf])
POINTS = [
    Point(0, 0.0, {"ner": 80.5}),
    Point(200, 0.61, {"ner": 300.25}),
    Point(400, 0.93, {"ner": 120.0}),
    Point(600, 0.93, {"ner": 60.0}),
]


def test_from_spacys_log_to_a_drawing(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.jsonl", POINTS)
    assert read_log(log) == POINTS
    result = CliRunner().invoke(app, ["curve", str(log), str(tmp_path / "new" / "curve.svg")])
    assert result.exit_code == 0
    assert "best score 0.9300 at step 400" in " ".join(result.output.split())
    svg = (tmp_path / "new" / "curve.svg").read_text("utf-8")
    assert {"step", "score on dev", "loss", "ner", "best 0.9300 at step 400"} <= set(texts(svg))
    lines = list(ElementTree.fromstring(svg).iter(f"{SVG}polyline"))
    assert [len(line.attrib["points"].split()) for line in lines] == [4, 4]


@given(
    st.lists(
        st.builds(
            Point,
            st.integers(0, 10**6),
            st.floats(0, 1) | st.just(math.nan),
            st.dictionaries(st.sampled_from(["ner", "a<b", "&"]), LOSSES),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_every_log_makes_a_well_formed_drawing(points: list[Point]) -> None:
    svg = draw(points)
    ElementTree.fromstring(svg)
    assert not re.search(r'"[^"]*\b(nan|inf)\b[^"]*"', svg)


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_are_few_round_and_within(low: float, width: float) -> None:
    ticks = Scale(low, low + width, 0, 100).ticks()
    assert 2 <= len(ticks) <= 7
    assert all(low - 1e-6 * width <= tick <= low + width * (1 + 1e-6) for tick in ticks)


def test_the_best_point_is_the_first_of_the_highest() -> None:
    assert best_point(POINTS).step == 400
    assert best_point([Point(0, float("nan"), {}), POINTS[1]]).step == 200


@pytest.mark.parametrize(
    "line",
    ["no json", "[]", "{}", '{"step": 1, "score": 1}', '{"step": 1, "score": null, "losses": {}}'],
)
def test_a_line_that_is_no_log_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "log.jsonl"
    good = json.dumps({"step": 1, "score": 0.5, "losses": {}})
    path.write_text(f"{good}\n{line}\n", "utf-8")
    with pytest.raises(ValueError, match=r"F130.*log\.jsonl, line 2: .*ConsoleLogger"):
        read_log(path)


def test_an_empty_log(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.touch()
    with pytest.raises(ValueError, match="F131"):
        read_log(path)
    result = CliRunner().invoke(app, ["curve", str(path), str(tmp_path / "curve.svg")])
    assert result.exit_code == 1
    assert "[F131]" in result.output
    assert not (tmp_path / "curve.svg").exists()
