"""The embedded corpora: no example of train is in dev or test, and labels are balanced."""

from pathlib import Path

import pytest

ASSETS = Path(__file__).parents[2] / "assets"
NAMES = ("demo", "demo_en", "demo_pairs", "demo_parallel", "demo_poems")


@pytest.mark.parametrize("name", NAMES)
def test_splits(name: str) -> None:
    separator = "\n\n" if name in ("demo_en", "demo_poems") else "\n"
    files = [
        path for part in ("train", "dev", "test") for path in (ASSETS / name).glob(f"{part}.*")
    ]
    parts = [path.read_text("utf-8").strip().split(separator) for path in files]
    assert len(parts) >= 2
    examples = [example for part in parts for example in part]
    assert len({*examples}) == len(examples)
    if name == "demo_pairs":
        for part in parts:
            same = sum(line.endswith("\t1") for line in part)
            assert 0.48 <= same / len(part) <= 0.52
        texts = [{text for line in part for text in line.split("\t")[:2]} for part in parts]
        assert texts[0].isdisjoint(texts[1] | texts[2])
