"""Commands with a pipeline that was saved with a device that this machine does not have."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import spacy
import torch
from commands import said as run
from similarity.conftest import examples_of
from spacy.tokens import DocBin

from spacy_flat.loading import load_on_device

MODEL = "training/zh_flat_demo/model-best"

Saved = Callable[[str | Path], Path]


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.fixture
def on_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Saved:
    """Copies a pipeline, as if it had been saved with a device of Nvidia's."""
    monkeypatch.chdir(tmp_path)

    def save(pipeline: str | Path) -> Path:
        copied = shutil.copytree(pipeline, tmp_path / "cuda")
        config = (copied / "config.cfg").read_text("utf-8")
        assert 'device = "auto"' in config
        config = config.replace('device = "auto"', 'device = "cuda"')
        (copied / "config.cfg").write_text(config, "utf-8")
        return copied

    return save


def needs_the_option(*words: object) -> None:
    """Without it the command says what helps."""
    message = run(*words, code=1)
    assert "[F350]" in message
    assert "--device cpu" in message
    run(*words, "--device", "cpu")


def test_of_entities(mini_project: Path, on_a_gpu: Saved) -> None:
    pipeline = on_a_gpu(mini_project / MODEL)
    needs_the_option("show", pipeline, "重庆的药店")
    needs_the_option("compact", pipeline, "compact")
    assert spacy.load("compact").config["components"]["flat_ner"]["device"] == "cpu"


def test_of_pairs(pairs_pipeline: Path, on_a_gpu: Saved) -> None:
    pipeline = on_a_gpu(pairs_pipeline)
    Path("faq.txt").write_text("怎么退款？\t…\n", "utf-8")
    DocBin(docs=[each.reference for each in examples_of(spacy.blank("zh"))]).to_disk("dev.spacy")
    needs_the_option("search", pipeline, "faq.txt", "如何退款")
    needs_the_option("calibrate", pipeline, "dev.spacy", "calibrated")


def test_of_poems(poems_pipeline: Path, on_a_gpu: Saved) -> None:
    needs_the_option("generate", on_a_gpu(poems_pipeline), "--max-length", 5)


def test_of_translations(translation_pipeline: Path, on_a_gpu: Saved) -> None:
    needs_the_option("translate", on_a_gpu(translation_pipeline), "李华住在北京。")


def test_of_entities_in_translations(
    translation_pipeline: Path, mini_project: Path, on_a_gpu: Saved
) -> None:
    reader = on_a_gpu(mini_project / MODEL)
    needs_the_option("translate", translation_pipeline, "李华住在北京。", "--entities", reader)


def test_annotation(mini_project: Path, on_a_gpu: Saved) -> None:
    pytest.importorskip("pyarrow")
    from spacy_flat.annotate.run import load_pipeline
    from spacy_flat.annotate.settings import Settings

    pipeline = str(on_a_gpu(mini_project / MODEL))
    with pytest.raises(ValueError, match="F350"):
        load_pipeline(Settings(pipeline))
    assert load_pipeline(Settings(pipeline, device="cpu"))("重庆的药店")


@pytest.mark.usefixtures("zh_flat_demo")
def test_of_a_package() -> None:
    def device(nlp: Any) -> str:
        return str(nlp.get_pipe("flat_ner").device)

    assert device(load_on_device("zh_flat_demo")) == "auto"
    assert device(load_on_device("zh_flat_demo", "cpu")) == "cpu"
    with pytest.raises(ValueError, match="F350"):
        load_on_device("zh_flat_demo", "cuda")
    with pytest.raises(ValueError, match=r"F350.*'gpu'"):
        load_on_device("zh_flat_demo", "gpu")


def test_what_is_no_pipeline() -> None:
    with pytest.raises(OSError, match="E050"):
        load_on_device("no_such_pipeline", "cpu")
