"""spaCy's commands with `flat_ner` in the pipeline."""

import json
from pathlib import Path

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import DocBin

from .conftest import GOLD, HASH_EMBED, LISTENER, add_flat, blank, examples_of, flat, found


@pytest.fixture(scope="module")
def workplace(trained: Language, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a trained pipeline, its data and a config to train with."""
    folder = tmp_path_factory.mktemp("workplace")
    trained.to_disk(folder / "pipeline")
    DocBin(docs=[example.reference for example in examples_of(trained)]).to_disk(
        folder / "data.spacy"
    )
    nlp = blank()
    add_flat(nlp)
    config = nlp.config.copy()
    config["paths"] = {
        **{name: str(folder / "data.spacy") for name in ("train", "dev")},
        "vectors": None,
        "init_tok2vec": None,
    }
    config["initialize"]["components"] = {"flat_ner": {"lexicon": {"@misc": "test.lexicon"}}}
    config["training"].update(max_steps=4, eval_frequency=2, patience=0)
    config["training"]["optimizer"] = {
        "@optimizers": "spacy-flat.AdamW.v1",
        "learn_rate": 0.01,
        "use_averages": True,
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


def test_train_beside_frozen_and_annotating_components(workplace: Path, tmp_path: Path) -> None:
    """A trained flat_ner is taken over frozen and annotates for another one, which listens to a
    tok2vec that is trained, too."""
    config = spacy.util.load_config(workplace / "config.cfg")
    second = config["components"].pop("flat_ner")
    second["model"]["tok2vec"] = LISTENER
    config["components"]["old"] = {"source": str(workplace / "pipeline"), "component": "flat_ner"}
    config["components"]["tok2vec"] = {"factory": "tok2vec", "model": HASH_EMBED}
    config["components"]["new"] = {**second, "overwrite": True}
    config["nlp"]["pipeline"] = ["old", "tok2vec", "new"]
    config["training"]["frozen_components"] = ["old"]
    config["training"]["annotating_components"] = ["old"]
    settings = config["initialize"]["components"].pop("flat_ner")
    config["initialize"]["components"]["new"] = settings
    config.to_disk(tmp_path / "config.cfg")
    spacy_command("train", tmp_path / "config.cfg", "--output", tmp_path)
    nlp = spacy.load(tmp_path / "model-last")
    assert nlp.pipe_names == ["old", "tok2vec", "new"]
    with nlp.select_pipes(enable=["old"]):
        assert found(nlp) == GOLD


def test_init_labels(workplace: Path, tmp_path: Path) -> None:
    spacy_command("init", "labels", workplace / "config.cfg", tmp_path)
    labels = tmp_path / "flat_ner.json"
    assert json.loads(labels.read_text(encoding="utf-8")) == ["LOC", "ORG", "PER"]
    config = spacy.util.load_config(workplace / "config.cfg")
    reader = {"@readers": "spacy.read_labels.v1", "path": str(labels)}
    config["initialize"]["components"]["flat_ner"]["labels"] = reader
    nlp = spacy.training.initialize.init_nlp(config)
    assert flat(nlp).labels == ("LOC", "ORG", "PER")
