"""What the commands do with a pipeline that writes."""

from pathlib import Path

import pytest
import spacy
from commands import printed as run
from commands import said

POEM = "床前明月光，疑是地上霜。举头望明月，低头思故乡。"


# generate


def test_a_text_begins_with_its_prompt(poems_pipeline: Path) -> None:
    output = run("generate", poems_pipeline, "--prompt", "床前", "--temperature", 0)
    assert output == POEM + "\n"
    assert (
        run("generate", poems_pipeline, "-p", "床前", "-t", 0, "--max-length", 3) == "床前明月光\n"
    )


def test_texts_are_several_and_the_same_with_a_seed(poems_pipeline: Path) -> None:
    command = ["generate", poems_pipeline, "-n", 3, "--seed", 1, "--temperature", 3]
    first = run(*command, "--max-length", 9)
    assert len(first.split("\n\n")) == 3
    assert run(*command, "--max-length", 9) == first
    assert run(*command[:-3], 2, *command[-2:], "--max-length", 9) != first


def test_sampling(poems_pipeline: Path) -> None:
    greedy = run("generate", poems_pipeline, "-p", "白", "-t", 0)
    assert run("generate", poems_pipeline, "-p", "白", "--top-k", 1) == greedy
    assert run("generate", poems_pipeline, "-p", "白", "--top-p", 0.01) == greedy


def test_an_acrostic(poems_pipeline: Path) -> None:
    lines = run("generate", poems_pipeline, "--acrostic", "春夏秋冬", "--seed", 1).splitlines()
    assert [line[0] for line in lines] == list("春夏秋冬")
    assert [len(line) for line in lines] == [8] * 4


@pytest.mark.parametrize(
    ("form", "lengths"), [("五律", [6] * 8), ("3x4", [5] * 3), ("2×2", [3] * 2)]
)
def test_forms(poems_pipeline: Path, form: str, lengths: list[int]) -> None:
    output = run("generate", poems_pipeline, "--form", form, "--prompt", "白日", "-n", 2)
    for poem in output.split("\n\n"):
        assert [len(line) for line in poem.split()] == lengths
        assert poem.startswith("白日")


def test_rhymes(poems_pipeline: Path) -> None:
    """They make a text a poem."""
    poem = run("generate", poems_pipeline, "--rhyme", "--seed", 1)
    assert [len(line) for line in poem.splitlines()] == [8] * 4
    ends = [line[-2] for line in poem.splitlines()[1::2]]
    assert ends[0] != ends[1]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--prompt", "山", "--acrostic", "春夏秋冬"], "F173"),
        (["--component", "other"], "F136"),
        (["--form", "词"], "F343"),
        (["--acrostic", "春夏"], "F344"),
    ],
)
def test_what_is_wrong_is_said(poems_pipeline: Path, options: list[object], code: str) -> None:
    assert f"[{code}]" in run("generate", poems_pipeline, *options, code=1)


# show


def test_show_has_the_perplexity(poems_pipeline: Path) -> None:
    output = said("show", poems_pipeline, "床前明月夜")
    assert "perplexity" in output
    assert "unknown characters, per cent 0.00" in output
    assert "夜 (4)" in output
    assert "no entities" not in output


def test_show_has_what_may_be_wrong(poems_pipeline: Path, tmp_path: Path) -> None:
    config = {"components": {"char_generator": {"suspicion": 6.0}}}
    nlp = spacy.load(poems_pipeline, config=config)
    nlp.to_disk(tmp_path)
    output = said("show", tmp_path, POEM.replace("上霜", "上双"), POEM)
    assert "may be wrong 双 (10) → 霜" in output
    assert "may be wrong none" in output
