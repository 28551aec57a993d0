"""Saving, loading and copying a pipeline with `flat_ner`."""

import json
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language

from .conftest import GOLD, TEXTS, entities, flat, found, marked


def test_the_same_pipeline_gives_the_same_files(trained: Language, tmp_path: Path) -> None:
    model = Path("flat_ner", "model")
    trained.to_disk(tmp_path / "a")
    spacy.load(tmp_path / "a").to_disk(tmp_path / "b")
    assert (tmp_path / "a" / model).read_bytes() == (tmp_path / "b" / model).read_bytes()


def test_labels_of_a_loaded_pipeline_need_no_vocabulary(trained: Language) -> None:
    nlp = spacy.util.load_model_from_config(trained.config)
    nlp.from_bytes(trained.to_bytes(exclude=["vocab"]), exclude=["vocab"])
    assert [entities(doc) for doc in nlp.pipe(TEXTS)] == [marked(text) for text in TEXTS]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("on_misaligned", "nonsense"),
        ("unannotated_labels", "PER"),
        ("unannotated_labels", [1]),
    ],
)
def test_settings_are_checked_at_run_time(trained: Language, setting: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"F310.*flat_ner.*{setting}"):
        setattr(flat(trained), setting, value)
    with pytest.raises(AttributeError):
        flat(trained).unannotated_labels.append("PER")


def test_labels_are_those_of_the_network(trained: Language, tmp_path: Path) -> None:
    """Also where the small file beside it says something else."""
    trained.to_disk(tmp_path)
    cfg = json.loads((tmp_path / "flat_ner/cfg").read_text())
    (tmp_path / "flat_ner/cfg").write_text(json.dumps({**cfg, "labels": ["PER", "LOC"]}))
    assert found(spacy.load(tmp_path)) == GOLD
