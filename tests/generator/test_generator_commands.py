"""spaCy's commands with `char_generator` in the pipeline."""

import json
from pathlib import Path

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import DocBin

from .conftest import POEMS, TEXTS, add, blank, found, generator, same, written


@pytest.fixture(scope="module")
def workplace(trained: Language, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a trained pipeline, its data and a config to train with."""
    folder = tmp_path_factory.mktemp("workplace")
    trained.to_disk(folder / "pipeline")
    DocBin(docs=[blank().make_doc(text) for text in TEXTS]).to_disk(folder / "data.spacy")
    nlp = blank()
    add(nlp)
    config = nlp.config.copy()
    data = {name: str(folder / "data.spacy") for name in ("train", "dev")}
    config["paths"] = {**data, "vectors": None, "init_tok2vec": None}
    config["training"].update(max_steps=30, eval_frequency=10, patience=0)
    config["training"]["optimizer"] = {
        "@optimizers": "spacy-flat.AdamW.v1",
        "learn_rate": 0.02,
    }
    config.to_disk(folder / "config.cfg")
    return folder


def spacy_command(*arguments: object) -> str:
    """Run a command of spaCy in this process."""
    import spacy.cli  # noqa: F401  (knows the commands)
    from spacy.cli._util import app
    from typer.testing import CliRunner

    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def test_train_and_evaluate(workplace: Path, tmp_path: Path) -> None:
    """The best pipeline is that of the highest score, which is below 0."""
    spacy_command("train", workplace / "config.cfg", "--output", tmp_path)
    best, last = (
        spacy.load(tmp_path / name).meta["performance"] for name in ("model-best", "model-last")
    )
    assert best["char_log_prob"] >= last["char_log_prob"]
    assert 1 < best["perplexity"] <= last["perplexity"] < 40
    assert best["oov_rate"] == 0
    metrics = tmp_path / "metrics.json"
    spacy_command("evaluate", workplace / "pipeline", workplace / "data.spacy", "--output", metrics)
    scores = json.loads(metrics.read_text(encoding="utf-8"))
    assert scores["perplexity"] < 1.5
    assert -0.4 < scores["char_log_prob"] < 0


def test_debug_config(workplace: Path) -> None:
    spacy_command("debug", "config", workplace / "config.cfg")


def test_assemble(workplace: Path, tmp_path: Path, trained: Language) -> None:
    config = spacy.util.load_config(workplace / "config.cfg")
    config["components"] = {"char_generator": {"source": str(workplace / "pipeline")}}
    config.to_disk(tmp_path / "config.cfg")
    spacy_command("assemble", tmp_path / "config.cfg", tmp_path / "out")
    nlp = spacy.load(tmp_path / "out")
    assert same(found(nlp, TEXTS), found(trained, TEXTS))
    assert generator(nlp).poem("五绝", POEMS[0])[0].text == POEMS[0]


def test_apply(workplace: Path, tmp_path: Path, trained: Language) -> None:
    texts = tmp_path / "texts.jsonl"
    texts.write_text("\n".join(json.dumps({"text": text}) for text in TEXTS), encoding="utf-8")
    spacy_command("apply", workplace / "pipeline", texts, tmp_path / "out.spacy")
    docs = DocBin(store_user_data=True).from_disk(tmp_path / "out.spacy").get_docs(blank().vocab)
    assert same([written(doc) for doc in docs], found(trained, TEXTS))


def test_benchmark_speed(workplace: Path) -> None:
    command = ["benchmark", "speed", workplace / "pipeline", workplace / "data.spacy"]
    assert "Benchmarking" in spacy_command(*command, "--batches", 30, "--batch-size", 4)
