"""Commands with a pipeline that was saved with a device that this machine does not have."""

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


@pytest.mark.parametrize(
    ("pipeline", "words"),
    [
        ("mini", "show cuda 重庆的药店"),
        ("mini", "compact cuda out"),
        ("pairs", "search cuda faq.txt 如何退款"),
        ("pairs", "calibrate cuda dev.spacy out"),
        ("poems", "generate cuda --max-length 5"),
        ("translation", "translate cuda 李华住在北京。"),
    ],
)
def test_commands_say_what_helps(
    pipeline: str, words: str, on_a_gpu: Saved, request: pytest.FixtureRequest
) -> None:
    if pipeline == "mini":
        on_a_gpu(request.getfixturevalue("mini_project") / MODEL)
    else:
        on_a_gpu(request.getfixturevalue(f"{pipeline}_pipeline"))
    Path("faq.txt").write_text("怎么退款？\t…\n", "utf-8")
    DocBin(docs=[each.reference for each in examples_of(spacy.blank("zh"))]).to_disk("dev.spacy")
    message = run(*words.split(), code=1)
    assert "[F350]" in message
    assert "--device cpu" in message
    run(*words.split(), "--device", "cpu")
    if "compact" in words:
        assert spacy.load("out").config["components"]["flat_ner"]["device"] == "cpu"


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
