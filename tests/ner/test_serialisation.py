"""Saving, loading and copying a pipeline with `flat_ner`."""

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language

from .conftest import (
    GOLD,
    TEXTS,
    TINY,
    add_flat,
    blank,
    entities,
    flat,
    found,
    marked,
    train,
)


def test_not_initialised_is_saved_and_loaded(tmp_path: Path) -> None:
    nlp = blank()
    add_flat(nlp).add_label("LOC")
    nlp.to_disk(tmp_path)
    again = blank()
    add_flat(again)
    copies = [
        spacy.load(tmp_path),
        again.from_bytes(nlp.to_bytes()),
        pickle.loads(pickle.dumps(nlp)),
        copy.deepcopy(nlp),
    ]
    for loaded in copies:
        assert flat(loaded).labels == ("LOC",)
        train(loaded)
        assert found(loaded) == GOLD


def test_a_copy_is_apart(trained: Language) -> None:
    nlp = copy.deepcopy(trained)
    train(nlp, steps=1)
    flat(nlp).lexicon.add(["天津"])
    assert found(trained) == GOLD
    assert "天津" not in flat(trained).lexicon


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


@pytest.mark.parametrize(
    ("option", "value"),
    [("layers", 2), ("variant", {"scheme": "BIO"})],
)
def test_what_the_weights_rely_on_cannot_be_changed(
    trained: Language, tmp_path: Path, option: str, value: Any
) -> None:
    trained.to_disk(tmp_path)
    network = {"components": {"flat_ner": {"model": {"network": {option: value}}}}}
    with pytest.raises(ValueError, match=r"F307.*model.network"):
        spacy.load(tmp_path, config=network)


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


@pytest.mark.parametrize("share", [0.0, 0.3, 0.999])
def test_damaged_models(trained: Language, tmp_path: Path, share: float) -> None:
    """A flipped bit or a lost end anywhere is noticed, and the folder named."""
    trained.to_disk(tmp_path)
    model = tmp_path / "flat_ner" / "model"
    whole = model.read_bytes()
    place = int(share * len(whole))
    flipped = bytes([whole[place] ^ 4])
    for data in (whole[:place], whole[:place] + flipped + whole[place + 1 :], whole + b" "):
        model.write_bytes(data)
        with pytest.raises(ValueError, match=r"F309.*flat_ner.*F200"):
            spacy.load(tmp_path)
    model.write_bytes(whole)
    assert found(spacy.load(tmp_path)) == GOLD


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


@pytest.mark.parametrize("damage", ["cfg", "model"])
def test_files_that_are_missing_or_empty(trained: Language, tmp_path: Path, damage: str) -> None:
    trained.to_disk(tmp_path)
    (tmp_path / "flat_ner" / damage).write_text("")
    with pytest.raises(ValueError, match=r"F309.*flat_ner"):
        spacy.load(tmp_path)
