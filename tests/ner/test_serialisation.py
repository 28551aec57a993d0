"""Saving, loading and copying a pipeline with `flat_ner`."""

import json
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language

from .conftest import GOLD, TEXTS, TINY, add_flat, blank, entities, flat, found, marked, train


def test_the_same_pipeline_gives_the_same_files(trained: Language, tmp_path: Path) -> None:
    model = Path("flat_ner", "model")
    trained.to_disk(tmp_path / "a")
    spacy.load(tmp_path / "a").to_disk(tmp_path / "b")
    assert (tmp_path / "a" / model).read_bytes() == (tmp_path / "b" / model).read_bytes()


def test_labels_of_a_loaded_pipeline_need_no_vocabulary(trained: Language) -> None:
    nlp = spacy.util.load_model_from_config(trained.config)
    nlp.from_bytes(trained.to_bytes(exclude=["vocab"]), exclude=["vocab"])
    assert [entities(doc) for doc in nlp.pipe(TEXTS)] == [marked(text) for text in TEXTS]


def test_settings_changed_at_run_time_are_saved(trained: Language, tmp_path: Path) -> None:
    flat(trained).overwrite = True
    try:
        trained.to_disk(tmp_path)
    finally:
        flat(trained).overwrite = False
    loaded = spacy.load(tmp_path)
    assert flat(loaded).overwrite is True
    assert flat(loaded).on_misaligned == "expand"
    config = {"components": {"flat_ner": {"on_misaligned": "drop"}}}
    assert flat(spacy.load(tmp_path, config=config)).on_misaligned == "drop"


def test_the_names_of_the_training_corpus_are_saved() -> None:
    nlp = blank()
    lattice = {**TINY["model"]["lattice"], "gazetteer_rate": 0.5}
    add_flat(nlp, {"model": {**TINY["model"], "lattice": lattice}})
    train(nlp, steps=1)
    other = blank()
    other.add_pipe("flat_ner", source=nlp)
    for pipeline in (spacy.blank("zh").from_config(nlp.config).from_bytes(nlp.to_bytes()), other):
        names = flat(pipeline).model.attrs["featuriser"].gazetteer.names
        assert {"重庆", "王小明", "北京大学"} <= set(names)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("on_misaligned", "nonsense"),
        ("overwrite", "no"),
        ("constrained_decoding", 1),
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
