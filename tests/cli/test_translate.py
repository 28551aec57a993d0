"""`flat translate`: translations and their entities."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import commands
import pytest
from commands import printed
from translator.by_heart import english

run = partial(printed, "translate")
failure = partial(commands.failure, "translate")

TEXT = "王小明住在上海。"


def test_texts_and_their_names(translation_pipeline: Path) -> None:
    out = run(translation_pipeline, TEXT, "李华住在北京。")
    assert "Wang Xiaoming lives in Shanghai." in out
    assert "Li Hua lives in Beijing." in out
    rows = [line.split("  ") for line in out.splitlines() if "PER" in line]
    assert [[cell.strip() for cell in row if cell.strip()] for row in rows] == [
        ["0–13", "PER", "Wang Xiaoming", "王小明"],
        ["0–6", "PER", "Li Hua", "李华"],
    ]


def test_options(translation_pipeline: Path, tmp_path: Path) -> None:
    english().to_disk(tmp_path / "english")
    (tmp_path / "texts.txt").write_text(f"\n{TEXT}\n", "utf-8")
    (tmp_path / "names.tsv").write_text("王小明\tMing Wang\n", "utf-8")
    out = run(
        translation_pipeline,
        *("--file", f"{tmp_path}/texts.txt", "--names", f"{tmp_path}/names.tsv"),
        *("--beam", "3", "--entities", f"{tmp_path}/english"),
    )
    assert "Ming Wang lives in Shanghai." in out


def test_line_by_line(translation_pipeline: Path, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text(f"{TEXT}\n\n\u2028{TEXT}李华\t住在北京。\n", "utf-8")
    (tmp_path / "glossary.tsv").write_text("住\tdwell\n", "utf-8")
    options = ["--file", f"{tmp_path}/texts.txt", "--beam", "4", "--batch-size", "1"]
    out = {name: tmp_path / name for name in ("out.txt", "out.tsv", "out.jsonl")}
    for name, path in out.items():
        n_best = [] if name == "out.txt" else ["--n-best", "2"]
        run(translation_pipeline, *options, *n_best, "--output", str(path))
    first, blank, second = out["out.txt"].read_text("utf-8").splitlines()
    assert (first, blank) == ("Wang Xiaoming lives in Shanghai.", "")
    assert second.startswith(first)
    rows = [line.split("\t") for line in out["out.tsv"].read_text("utf-8").split("\n")]
    assert [row[:2] for row in rows[:4]] == [[TEXT, first], [TEXT, rows[1][1]], [""], rows[3][:2]]
    assert rows[3][:2] == [f"{TEXT}李华 住在北京。", second]
    assert float(rows[0][2]) > float(rows[1][2])
    records = [json.loads(line) for line in out["out.jsonl"].read_text("utf-8").splitlines()]
    assert [each["text"] for each in records] == [TEXT, "", f"{TEXT}李华\t住在北京。"]
    assert [each["text"] for each in records[0]["translations"]] == [first, rows[1][1]]
    best = records[0]["translations"][0]
    assert best["score"] == float(rows[0][2])
    assert best["ents"][0] == {
        "text": "Wang Xiaoming",
        "label": "PER",
        "start": 0,
        "end": 13,
        "source": [0, 3],
    }
    options += ["--glossary", f"{tmp_path}/glossary.tsv", "--n-best", "2"]
    shown = run(translation_pipeline, *options)
    assert "dwell" in shown
    assert rows[0][2] not in shown
    assert shown.count("score") == 2


def test_what_can_not_be_written(translation_pipeline: Path, tmp_path: Path) -> None:
    """Nothing is there then."""
    (tmp_path / "texts.txt").write_bytes(f"{TEXT}\n".encode() + b"\xff\n")
    pipeline, out = translation_pipeline, str(tmp_path / "out.txt")
    assert "F432" in failure(pipeline, TEXT, "--output", "out.doc")
    assert "F174" in failure(pipeline, TEXT, "--output", out, "--n-best", "2")
    assert "F341" in failure(pipeline, TEXT, "--n-best", "2")
    assert "F004" in failure(pipeline, "--file", f"{tmp_path}/texts.txt", "--output", out)
    assert not Path(out).exists()


def test_show_has_the_translation(translation_pipeline: Path) -> None:
    out = printed("show", translation_pipeline, TEXT)
    assert "Wang Xiaoming lives in Shanghai." in out
    assert "no entities" not in out


def test_what_is_not_there(
    translation_pipeline: Path, pairs_pipeline: Path, tmp_path: Path
) -> None:
    assert "F137" in failure(translation_pipeline)
    assert "F136" in failure(pairs_pipeline, TEXT)
    assert "F136" in failure(translation_pipeline, TEXT, "--component", "entity_ruler")
    (tmp_path / "names.tsv").write_text("王小明\n", "utf-8")
    assert "F425" in failure(translation_pipeline, TEXT, "--names", f"{tmp_path}/names.tsv")
    (tmp_path / "names.tsv").write_text("王小明\tMing Wang\n", "utf-8")
    assert "W402" in run(translation_pipeline, "你好", "--names", f"{tmp_path}/names.tsv")


@pytest.mark.parametrize("beam", ["0", "101", "x"])
def test_beams_are_numbers(translation_pipeline: Path, beam: str) -> None:
    run(translation_pipeline, TEXT, "--beam", beam, code=2)
