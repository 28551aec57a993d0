"""`flat translate`: translations and their entities."""

import json
from functools import partial
from pathlib import Path

import commands
from commands import printed

run = partial(printed, "translate")
failure = partial(commands.failure, "translate")

TEXT = "王芳喜欢北京。"


def test_texts_and_their_names(translation_pipeline: Path) -> None:
    out = run(translation_pipeline, TEXT, "我喜欢茶。")
    assert "Wang Fang likes Beijing." in out
    assert "I like tea." in out
    rows = [line.split("  ") for line in out.splitlines() if "PER" in line]
    assert [[cell.strip() for cell in row if cell.strip()] for row in rows] == [
        ["0–9", "PER", "Wang Fang", "王芳"]
    ]


def test_options(translation_pipeline: Path, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text(f"\n{TEXT}\n我喜欢茶。\n", "utf-8")
    (tmp_path / "names.tsv").write_text("王芳\tFang Wang\n", "utf-8")
    out = run(
        translation_pipeline,
        *("--file", f"{tmp_path}/texts.txt", "--names", f"{tmp_path}/names.tsv"),
        *("--beam", "3"),
    )
    assert "Fang Wang likes Beijing." in out


def test_line_by_line(translation_pipeline: Path, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text(f"{TEXT}\n\n\u2028{TEXT}他\t住在北京。\n", "utf-8")
    (tmp_path / "glossary.tsv").write_text("喜欢\tadore\n", "utf-8")
    options = [translation_pipeline, "--file", tmp_path / "texts.txt", "--beam", "4"]
    out = {name: tmp_path / name for name in ("out.txt", "out.jsonl")}
    for path in out.values():
        run(*options, "--output", path)
    first, blank, second = out["out.txt"].read_text("utf-8").splitlines()
    assert (first, blank) == ("Wang Fang likes Beijing.", "")
    assert second.startswith(first)
    records = [json.loads(line) for line in out["out.jsonl"].read_text("utf-8").splitlines()]
    assert [each["text"] for each in records] == [TEXT, "", f"{TEXT}他\t住在北京。"]
    assert records[0]["translation"] == first
    assert records[0]["score"] > -0.2
    ent = {"text": "Wang Fang", "label": "PER", "start": 0, "end": 9, "source": [0, 2]}
    assert records[0]["ents"][0] == ent
    shown = run(*options, "--glossary", tmp_path / "glossary.tsv")
    assert "adore" in shown


def test_what_can_not_be_written(translation_pipeline: Path, tmp_path: Path) -> None:
    """Nothing is there then."""
    (tmp_path / "texts.txt").write_bytes(f"{TEXT}\n".encode() + b"\xff\n")
    pipeline, out = translation_pipeline, str(tmp_path / "out.txt")
    assert "F433" in failure(
        pipeline, "--file", f"{tmp_path}/texts.txt", "--output", f"{tmp_path}/texts.txt"
    )
    assert "F432" in failure(pipeline, TEXT, "--output", "out.doc")
    assert "F004" in failure(pipeline, "--file", f"{tmp_path}/texts.txt", "--output", out)
    assert not Path(out).exists()


def test_show_has_the_translation(translation_pipeline: Path) -> None:
    out = printed("show", translation_pipeline, TEXT)
    assert "Wang Fang likes Beijing." in out
    assert "no entities" not in out


def test_what_is_not_there(
    translation_pipeline: Path, pairs_pipeline: Path, tmp_path: Path
) -> None:
    assert "F137" in failure(translation_pipeline)
    assert "F136" in failure(pairs_pipeline, TEXT)
    (tmp_path / "names.tsv").write_text("王芳\n", "utf-8")
    assert "F425" in failure(translation_pipeline, TEXT, "--names", f"{tmp_path}/names.tsv")
