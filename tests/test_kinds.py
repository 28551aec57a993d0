"""The texts of `assets/kinds` and `assets/kinds_en`, and scores on them."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import kinds

LABELS = set(kinds.COARSE)


ENGLISH, DEV = (kinds.TEXTS.parents[1] / name / "kinds.jsonl" for name in ("kinds_en", "kinds_dev"))


@pytest.fixture(scope="module", params=[kinds.TEXTS, ENGLISH, DEV], ids=["zh", "en", "dev"])
def records(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    return [json.loads(line) for line in request.param.read_text("utf-8").splitlines()]


def test_entities_are_where_they_say(records: list[dict[str, Any]]) -> None:
    for record in records:
        taken: set[int] = set()
        assert set(record["label"]) <= LABELS
        places = [place for each in record["label"].values() for place in each.items()]
        for surface, (start, last) in ((name, span) for name, spans in places for span in spans):
            assert record["text"][start : last + 1] == surface == surface.strip()
            assert taken.isdisjoint(range(start, last + 1))
            taken.update(range(start, last + 1))


@pytest.fixture
def ruled() -> Language:
    nlp = spacy.blank("zh")
    patterns = {"name": "王明", "company": "小米", "address": "南京市", "food": "南京"}
    nlp.add_pipe("entity_ruler").add_patterns(  # type: ignore[attr-defined]
        [{"label": label, "pattern": text} for label, text in patterns.items()]
    )
    return nlp


def test_scores_by_kind_and_label(ruled: Language, tmp_path: Path) -> None:
    lines = [
        {"text": "王明在南京", "label": {"PER": {"王明": [[0, 1]]}, "GPE": {"南京": [[3, 4]]}}},
        {"text": "小米粥", "label": {}},
        {"text": "小米和清华", "label": {"COMPANY": {"小米": [[0, 1]]}, "ORG": {"清华": [[3, 4]]}}},
    ]
    path = tmp_path / "texts.jsonl"
    for line, kind in zip(lines, ("names", "food", "food"), strict=True):
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line | {"kind": kind}) + "\n")
    label_map = kinds.make_label_map(kinds.entity_labels(ruled), {})
    assert label_map == {"address": "LOC", "company": "COMPANY", "food": "", "name": "PER"}
    rows = kinds.score(ruled, kinds.read_texts(path), label_map)
    found = {name: (row["gold"], row["p"], row["r"], row["found"]) for name, row in rows.items()}
    assert found == {
        "names": (2, 1, 0.5, 1),  # 南京 is found as food, which isn't scored
        "food": (2, 0.5, 0.5, 0.5),
        "all": (4, pytest.approx(2 / 3), 0.5, 0.75),
        "PER": (1, 1, 1, 1),
        "LOC": (1, 0, 0, 1),
        "ORG": (2, 0.5, 0.5, 0.5),
        "ORG: ORG": (1, 0, 0, 0),
        "ORG: COMPANY": (1, 0.5, 1, 1),
    }
    assert kinds.make_label_map(["food", "name"], {"food": "GPE", "name": ""}) == {
        "food": "GPE",
        "name": "",
    }
