"""Saving, loading and copying a pipeline with `flat_ner`."""

import copy
import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import spacy
import torch
from spacy.language import Language

from spacy_flat.nn.optimizers import AdamW

from .conftest import (
    GOLD,
    TEXTS,
    add_flat,
    blank,
    entities,
    examples_of,
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


def copies_of(nlp: Language, folder: Path) -> Iterator[Language]:
    nlp.to_disk(folder)
    yield spacy.load(folder)
    yield spacy.util.load_model_from_config(nlp.config).from_bytes(nlp.to_bytes())
    yield pickle.loads(pickle.dumps(nlp))
    yield copy.deepcopy(nlp)
    sourced = blank()
    sourced.add_pipe("flat_ner", source=nlp)
    yield sourced


def components_of(nlp: Language) -> str:
    """As JSON, which has lists for tuples."""
    return json.dumps(nlp.config["components"], sort_keys=True)


def test_copies_find_the_same(trained: Language, tmp_path: Path) -> None:
    texts = [*TEXTS, "韩梅梅去北京大学。", "南京市的药店开业！"]
    expected = found(trained, texts)
    for nlp in copies_of(trained, tmp_path):
        assert found(nlp, texts) == expected
        assert flat(nlp).labels == flat(trained).labels
        assert components_of(nlp) == components_of(trained)


def test_copies_can_be_trained_on(trained: Language, tmp_path: Path) -> None:
    for nlp in copies_of(trained, tmp_path):
        nlp.update(examples_of(nlp), sgd=AdamW(0.001))
        assert found(nlp) == GOLD


def test_a_copy_is_apart(trained: Language) -> None:
    nlp = copy.deepcopy(trained)
    train(nlp, steps=1)
    flat(nlp).lexicon.add(["天津"])
    assert found(trained) == GOLD
    assert "天津" not in flat(trained).lexicon


def test_loading_executes_nothing_from_the_files(
    trained: Language, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained.to_disk(tmp_path)

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("loading unpickles")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    monkeypatch.setattr(torch, "load", refuse)
    assert found(spacy.load(tmp_path)) == GOLD


def test_the_vocabulary_is_stored_once(trained: Language, tmp_path: Path) -> None:
    trained.to_disk(tmp_path)
    assert sorted(path.name for path in (tmp_path / "flat_ner").iterdir()) == ["cfg", "model"]


def test_the_same_pipeline_gives_the_same_files(trained: Language, tmp_path: Path) -> None:
    model = Path("flat_ner", "model")
    trained.to_disk(tmp_path / "a")
    spacy.load(tmp_path / "a").to_disk(tmp_path / "b")
    assert (tmp_path / "a" / model).read_bytes() == (tmp_path / "b" / model).read_bytes()


def test_exclude(trained: Language, tmp_path: Path) -> None:
    ner = flat(trained)
    ner.to_disk(tmp_path / "some", exclude=["vocab", "cfg"])
    assert [path.name for path in (tmp_path / "some").iterdir()] == ["model"]
    nlp = blank()
    fresh = add_flat(nlp)
    fresh.from_bytes(ner.to_bytes(exclude=["vocab"]), exclude=["model"])
    assert fresh.labels == ner.labels
    assert not fresh.model.shims[0].is_initialised
    trained.to_disk(tmp_path / "all", exclude=["flat_ner"])
    assert not (tmp_path / "all" / "flat_ner").exists()


def test_labels_of_a_loaded_pipeline_need_no_vocabulary(trained: Language) -> None:
    nlp = spacy.util.load_model_from_config(trained.config)
    nlp.from_bytes(trained.to_bytes(exclude=["vocab"]), exclude=["vocab"])
    assert [entities(doc) for doc in nlp.pipe(TEXTS)] == [marked(text) for text in TEXTS]


def test_damaged_model(trained: Language, tmp_path: Path) -> None:
    """Another architecture's options than those the weights are of."""
    trained.to_disk(tmp_path)
    config = spacy.util.load_config(tmp_path / "config.cfg")
    assert config["components"]["flat_ner"]["model"]["network"]["layers"] == 1
    path = tmp_path / "flat_ner" / "model"
    data = path.read_bytes()
    place = data.index(b"classify.weight")
    path.write_bytes(data[:place] + b"classify.wEight" + data[place + 15 :])
    with pytest.raises(ValueError, match="F20"):
        spacy.load(tmp_path)
