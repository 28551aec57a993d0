"""The learning curve: what is read from a log, and what is drawn."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import spacy
from hypothesis import example, given
from hypothesis import strategies as st
from spacy.training.loggers import console_logger_v3
from typer.testing import CliRunner

from spacy_flat.cli import app
from spacy_flat.cli.curve import Point, Scale, best_point, draw, loss_series, read_log
from spacy_flat.viz.svg import COLOURS

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def lines(svg: str, colour: str) -> list[list[str]]:
    """The places of each line of a colour."""
    found = ElementTree.fromstring(svg).iter(f"{SVG}polyline")
    return [
        line.attrib["points"].split() for line in found if line.attrib["class"].endswith(colour)
    ]


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


LOSSES = st.floats(0, 1e9) | st.floats()
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
    assert {
        "training step (updates)",
        "score on dev (0–1)",
        "loss per update",
        "loss of ner",
        "best 0.9300 at step 400",
    } <= set(texts(svg))
    assert sorted(len(line) for line in lines(svg, "orange") + lines(svg, "blue")) == [4, 4]


def test_log_probabilities_are_not_said_to_be_shares(tmp_path: Path) -> None:
    log = write_log(
        tmp_path / "log.jsonl", [Point(0, -6.2, {"ner": 1.0}), Point(200, -4.3, {"ner": 1.0})]
    )
    CliRunner().invoke(app, ["curve", str(log), str(tmp_path / "curve.svg")])
    shown = texts((tmp_path / "curve.svg").read_text("utf-8"))
    assert "score on dev" in shown
    assert "score on dev (0–1)" not in shown


@given(
    st.lists(
        st.builds(
            Point,
            st.integers(0, 10**6),
            st.floats(0, 1) | st.floats(),
            st.dictionaries(st.sampled_from(["ner", "a<b", "&", "\0\ud800"]), LOSSES),
        ),
        min_size=1,
        max_size=20,
    )
)
@example([Point(0, -1.7e308, {}), Point(1, 1.7e308, {})])
def test_every_log_makes_a_well_formed_drawing(points: list[Point]) -> None:
    svg = draw(points)
    ElementTree.fromstring(svg)
    assert not re.search(r'"[^"]*\b(nan|inf)\b[^"]*"', svg)


def test_values_that_are_not_finite_leave_gaps_and_a_note(tmp_path: Path) -> None:
    nan, inf = math.nan, math.inf
    records = [
        {"step": step, "score": score, "losses": {"ner": loss}}
        for step, score, loss in [
            (0, 0.1, 5.0),
            (10, 0.2, 50.0),
            (20, nan, inf),
            (30, 0.4, 30.0),
            (40, 0.3, nan),
        ]
    ]
    log, output = tmp_path / "log.jsonl", tmp_path / "curve.svg"
    log.write_text("\n".join(map(json.dumps, records)), "utf-8")
    result = CliRunner().invoke(app, ["curve", str(log), str(output)])
    assert result.exit_code == 0
    printed = " ".join(result.output.split())
    svg = output.read_text("utf-8")
    for note in (
        "score: NaN or infinite at 1 of 5 evaluations, first at step 20",
        "loss of ner: NaN or infinite at 2 of 5 evaluations, first at step 20",
    ):
        assert note in printed
        assert f"× {note}" in texts(svg)
    assert "best score 0.4000 at step 30" in printed
    assert texts(svg).count("×") == 3
    assert [len(line) for line in lines(svg, "blue")] == [2, 2]
    assert [len(line) for line in lines(svg, "orange")] == [2]  # the value at 30 is a dot
    assert len(list(ElementTree.fromstring(svg).iter(f"{SVG}circle"))) == 3


def test_no_score_is_finite(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"step": 5, "score": NaN, "losses": {}}', "utf-8")
    result = CliRunner().invoke(app, ["curve", str(log), str(tmp_path / "curve.svg")])
    assert result.exit_code == 0
    assert "no score is a finite number" in " ".join(result.output.split())


def test_a_single_evaluation() -> None:
    svg = draw([Point(200, 0.5, {"ner": 600.0})])
    assert {"0", "50", "200", "best 0.5000 at step 200"} <= set(texts(svg))
    dots = [dot.attrib for dot in ElementTree.fromstring(svg).iter(f"{SVG}circle")]
    assert {dot["class"] for dot in dots} == {"blue", "page", "orange"}


def test_losses_are_per_update() -> None:
    points = [Point(0, 0, {"ner": 8.0}), Point(10, 0, {"ner": 80.0}), Point(30, 0, {"ner": 60.0})]
    (series,) = loss_series(points)
    assert series.values == [(0, 8.0), (10, 8.0), (30, 3.0)]


def test_colours_for_dark_pages() -> None:
    style = ElementTree.fromstring(draw(POINTS)).find(f"{SVG}style")
    assert style is not None
    light, dark = (style.text or "").split("@media (prefers-color-scheme:dark)")
    for name in COLOURS:
        assert f".{name}{{color:{COLOURS[name][0]}}}" in light
        assert f".{name}{{color:{COLOURS[name][1]}}}" in dark


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
    [
        "no json",
        "[]",
        "{}",
        '{"step": Infinity, "score": 1, "losses": {}}',
        '{"step": 1, "score": 1}',
        '{"step": 1, "score": null, "losses": {}}',
    ],
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
