"""The learning curve: what is read from a log, and what is drawn."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import spacy
from commands import said
from hypothesis import example, given
from hypothesis import strategies as st
from spacy.training.loggers import console_logger_v3

from spacy_flat.cli.curve import read_log
from spacy_flat.viz.curve import Axis, Evaluation, best_of, draw, series

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def write_log(path: Path, evaluations: list[Evaluation]) -> Path:
    """Let spaCy's own logger write the log."""
    nlp = spacy.blank("zh")
    nlp.add_pipe("ner")
    scores = {"score_weights": {"ents_f": 1.0}}
    nlp.config["training"] = {"max_steps": 10, "eval_frequency": 1, **scores}
    log_step, finalize = console_logger_v3(console_output=False, output_file=path)(nlp)
    for each in evaluations:
        log_step({"epoch": 0, **each._asdict(), "other_scores": {"ents_f": each.score}})
        log_step(None)  # a step without an evaluation
    finalize()
    return path


LOSSES = st.floats(0, 1e9) | st.floats()
EVALUATIONS = [
    Evaluation(0, 0.0, {"ner": 80.5}),
    Evaluation(200, 0.61, {"ner": 300.25}),
    Evaluation(400, 0.93, {"ner": 120.0}),
    Evaluation(600, 0.93, {"ner": 60.0}),
]


def test_from_spacys_log_to_a_drawing(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.jsonl", EVALUATIONS)
    assert read_log(log) == EVALUATIONS
    output = said("curve", log, tmp_path / "new/curve.svg")
    assert "best score 0.9300 at step 400" in output
    svg = (tmp_path / "new" / "curve.svg").read_text("utf-8")
    shown = {"score on dev (0–1)", "loss per update", "loss of ner", "best 0.9300 at step 400"}
    assert shown <= set(texts(svg))
    assert "prefers-color-scheme:dark" in svg


def test_log_probabilities_are_not_said_to_be_shares() -> None:
    shown = texts(draw([Evaluation(0, -6.2, {"ner": 1.0}), Evaluation(200, -4.3, {"ner": 1.0})]))
    assert "score on dev" in shown


@given(
    st.lists(
        st.builds(
            Evaluation,
            st.integers(0, 10**6),
            st.floats(0, 1) | st.floats(),
            st.dictionaries(st.sampled_from(["ner", "a<b", "&", "\0\ud800"]), LOSSES),
        ),
        min_size=1,
        max_size=20,
    )
)
@example([Evaluation(0, -1.7e308, {}), Evaluation(1, 1.7e308, {})])
def test_every_log_makes_a_well_formed_drawing(evaluations: list[Evaluation]) -> None:
    svg = draw(evaluations)
    ElementTree.fromstring(svg)
    assert not re.search(r'"[^"]*\b(nan|inf)\b[^"]*"', svg)


def test_values_that_are_not_finite_leave_gaps_and_a_warning(tmp_path: Path) -> None:
    scores = [0.1, 0.2, math.nan, 0.4, 0.3]
    losses = [5.0, 50.0, math.inf, 30.0, math.nan]
    records = [
        json.dumps({"step": 10 * number, "score": score, "losses": {"ner": loss}})
        for number, (score, loss) in enumerate(zip(scores, losses, strict=True))
    ]
    log, output = tmp_path / "log.jsonl", tmp_path / "curve.svg"
    log.write_text("\n".join(records), "utf-8")
    printed = said("curve", log, output)
    for note in (
        "score: NaN or infinite at 1 of 5 evaluations, first at step 20",
        "loss of ner: NaN or infinite at 2 of 5 evaluations, first at step 20",
        "best score 0.4000 at step 30",
    ):
        assert note in printed


def test_losses_are_per_update() -> None:
    losses = [(0, 8.0), (10, 80.0), (30, 60.0)]
    found = series([Evaluation(step, 0, {"ner": loss}) for step, loss in losses])
    assert found["loss of ner"] == [(0, 8.0), (10, 8.0), (30, 3.0)]


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_are_few_round_and_within(low: float, width: float) -> None:
    ticks = Axis([low, low + width], 0, 100).ticks()
    assert 2 <= len(ticks) <= 7
    assert all(low - 1e-6 * width <= tick <= low + width * (1 + 1e-6) for tick in ticks)


def test_the_best_is_the_first_of_the_highest() -> None:
    assert best_of(EVALUATIONS).step == 400
    assert best_of([Evaluation(0, math.nan, {}), EVALUATIONS[1]]).step == 200


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
    path.write_text(f'{{"step": 1, "score": 0.5, "losses": {{}}}}\n{line}\n', "utf-8")
    with pytest.raises(ValueError, match=r"F130.*log\.jsonl, line 2: "):
        read_log(path)
