"""docs/generator.md: what it shows runs and is so."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs/generator.md").read_text("utf-8")


def test_the_snippet(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    names: dict[str, object] = {}
    exec(compile(code, "snippet", "exec"), names)
    likelier, odd, streamed, *poem, couplet, novelty = capsys.readouterr().out.splitlines()
    assert likelier == "True"
    assert odd == "夜"
    assert len(streamed) > 1
    assert [line[0] for line in poem] == list("春夏秋冬")
    assert poem[-1].endswith("。 True ()")
    assert couplet.startswith("('明月")
    assert novelty.startswith("Novelty(ngrams=")
    assert all(text.startswith("白日") for text in names["texts"])  # type: ignore[attr-defined]
