"""A training that is killed goes on with the same result."""

import json
import random
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from commands import failure
from spacy.tokens import DocBin, Span
from spacy.training.initialize import init_nlp
from spacy.training.loop import train as spacy_train
from thinc.api import Adam, Config, PyTorchWrapper
from torch import nn
from typer.testing import CliRunner

from spacy_flat.cli import app
from spacy_flat.cli.train import saved_in
from spacy_flat.training.checkpoints import read_checkpoint, write_checkpoint
from spacy_flat.training.parameters import load_optimizer, save_optimizer
from spacy_flat.training.trainer import CHECKPOINTS, OPTIMIZER, STATE, Saved, load

from .conftest import (
    KINDS,
    assert_same_weights,
    config_of,
    docs_of,
    forked,
    make_config,
    plain,
    run,
    weights,
)


def test_result_is_that_of_spacy_train(tmp_path: Path) -> None:
    """But for the random numbers of dropout."""
    config = plain(tmp_path, "ner")
    config["training"]["logger"] = {"@loggers": "test.silent"}
    (tmp_path / "spacy").mkdir()
    nlp, _ = spacy_train(init_nlp(config), tmp_path / "spacy")
    ours = run(config, tmp_path / "ours")
    assert_same_weights(weights(ours.nlp), weights(nlp))
    for name in ("model-best", "model-last"):
        found, expected = (spacy.load(tmp_path / by / name) for by in ("ours", "spacy"))
        assert_same_weights(weights(found), weights(expected))
        assert found.meta["performance"] == expected.meta["performance"]


@spacy.registry.loggers("test.silent")
def silent() -> Any:
    return lambda nlp, stdout, stderr: (lambda info: None, lambda: None)


@pytest.mark.parametrize("kind", KINDS)
def test_resumed_training_has_the_same_result(kind: str, tmp_path: Path) -> None:
    """With dropout, averages, warm-up, rows of tables and spaCy's own components."""
    config = make_config(tmp_path, kind)
    whole = run(config, tmp_path / "whole")
    run(config, tmp_path / "cut", stop_before=6)
    steps: list[int] = []
    resumed = run(config, tmp_path / "cut", resume=True, told=steps.append)
    assert steps == list(range(4, 9))
    assert_same_weights(weights(resumed.nlp), weights(whole.nlp))
    assert resumed.progress.results == whole.progress.results
    assert resumed.progress.words == whole.progress.words
    assert resumed.progress.losses == whole.progress.losses
    for name in ("model-best", "model-last"):
        found, expected = (spacy.load(tmp_path / by / name) for by in ("cut", "whole"))
        assert_same_weights(weights(found), weights(expected))


def test_place_in_a_streamed_corpus_with_growing_batches(tmp_path: Path) -> None:
    """The corpus draws random numbers while it is read, and batches grow over the epochs."""
    sizes = {"@schedules": "compounding.v1", "start": 1, "stop": 4, "compound": 1.3}
    batcher = {"@batchers": "spacy.batch_by_sequence.v1", "size": sizes, "get_length": None}
    config = make_config(tmp_path, "ner", max_epochs=-1, batcher=batcher, max_steps=9)
    config["corpora"]["train"]["augmenter"] = {"@augmenters": "test.some_twice"}
    config["initialize"]["components"]["flat_ner"]["labels"] = ["LOC", "ORG", "PER"]
    config["initialize"]["components"]["tagger"] = {"labels": ["X", "Y"]}
    whole = run(config, tmp_path / "whole")
    run(config, tmp_path / "cut", stop_before=6)
    resumed = run(config, tmp_path / "cut", resume=True)
    assert resumed.progress.words == whole.progress.words
    assert_same_weights(weights(resumed.nlp), weights(whole.nlp))


@spacy.registry.augmenters("test.some_twice")
def some_twice() -> Any:
    return lambda nlp, example: [example] * random.choice([1, 2])


@pytest.mark.parametrize("new", ["", "PERSON"])
@pytest.mark.parametrize(("kind", "name"), [("tener", "tener_ner"), ("ner", "flat_ner")])
def test_rehearsal_is_resumed(kind: str, name: str, new: str, tmp_path: Path) -> None:
    """The teacher is the source's component, with its own copy of a shared tok2vec. New labels have
    a branch."""
    config = make_config(tmp_path, kind)
    run(config, tmp_path / "before")
    block: dict[str, Any] = {"source": str(tmp_path / "before" / "model-last")}
    if kind == "ner":
        block["replace_listeners"] = ["model.tok2vec"]
    config["components"] = {name: block}
    config["initialize"]["components"] = {}
    config["nlp"]["pipeline"] = [name]
    docs = docs_of(kind)
    for doc in docs:
        doc.set_ents([Span(doc, e.start, e.end, new or e.label_) for e in doc.ents])
    DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / "new.spacy")
    (tmp_path / "raw.txt").write_text("昨天南京下雨\n王芳在北京大学\n", "utf-8")
    paths = {"one": str(tmp_path / "new.spacy"), "raw": str(tmp_path / "raw.txt")}
    config["corpora"]["train"] = {"@readers": "spacy-flat.MixedCorpus.v1", "paths": paths}
    whole = run(config, tmp_path / "whole")
    run(config, tmp_path / "cut", stop_before=6)
    resumed = run(config, tmp_path / "cut", resume=True)
    assert_same_weights(weights(resumed.nlp), weights(whole.nlp))
    assert resumed.progress.losses == whole.progress.losses
    before, after = weights(spacy.load(tmp_path / "before" / "model-last")), weights(whole.nlp)
    old = [(own, after[key]) for key, own in before.items() if key in after]
    kept = [now[tuple(map(slice, own.shape))].equal(own) for own, now in old]
    assert all(kept) == bool(new)


def test_labels_that_were_met_in_training_are_resumed(tmp_path: Path) -> None:
    config = make_config(tmp_path, "tener")
    config["initialize"]["components"]["tener_ner"] = {"labels": ["LOC"]}
    whole = run(config, tmp_path / "whole")
    run(config, tmp_path / "cut", stop_before=6)
    resumed = run(config, tmp_path / "cut", resume=True)
    assert set(resumed.nlp.get_pipe("tener_ner").labels) == {"LOC", "ORG", "PER"}  # type: ignore[attr-defined]
    assert_same_weights(weights(resumed.nlp), weights(whole.nlp))


def test_state_of_a_network_in_thinc_is_arrays() -> None:
    nlp = spacy.blank("xx")
    model = nlp.add_pipe("tagger").model = PyTorchWrapper(nn.Linear(2, 2))
    optimizer, loaded = Adam(0.1), Adam(0.1)
    for each in (optimizer, loaded):
        _, backprop = model.begin_update(np.ones((1, 2), np.float32))
        backprop(np.ones((1, 2), np.float32))
        model.finish_update(each)
        load_optimizer(loaded, nlp, *save_optimizer(optimizer, nlp))
    assert len(loaded.mom1) == 2
    for table in (loaded.mom1, loaded.mom2, loaded.averages):
        assert all(isinstance(value, np.ndarray) for value in table.values())


def test_encoder_goes_on_thawing(tmp_path: Path) -> None:
    """A BERT that is frozen for 5 steps and then warmed up."""
    bert = pytest.importorskip("transformer.conftest")
    nlp = bert.blank()
    folder = bert.save_encoder(tmp_path / "bert")
    bert.add_transformer(nlp, folder, frozen_steps=5, warmup_steps=2)
    bert.add_ner(nlp, "tener_ner")
    config = config_of(tmp_path / "corpus", nlp, docs_of("tener"))
    whole = run(config, tmp_path / "whole")
    run(config, tmp_path / "cut", stop_before=5)
    resumed = run(config, tmp_path / "cut", resume=True)
    assert_same_weights(weights(resumed.nlp), weights(whole.nlp))


def test_killed_at_any_moment(tmp_path: Path) -> None:
    """Also while a checkpoint or a pipeline is written: at most one interval is lost."""
    linear = {"@optimizers": "spacy-flat.SGD.v1", "learn_rate": 0.002, "use_averages": True}
    config = make_config(tmp_path, "tener", max_steps=60, eval_frequency=4, optimizer=linear)
    expected = weights(run(config, tmp_path / "whole").nlp)
    output, told = tmp_path / "killed", tmp_path / "steps.txt"
    told.touch()
    moments = np.random.default_rng(1)
    for _ in range(5):
        process = forked(train_telling, config, output, told)
        time.sleep(moments.uniform(0.05, 0.8))
        process.kill()
        process.join()
        reached = [int(line) for line in told.read_text().split()]
        saved = load(output)
        kept = -1 if saved is None else saved.progress.steps - 1
        # The last evaluation that was told may not have been saved any more.
        assert max(reached, default=-1) - kept <= 4 + 1
    assert_same_weights(weights(run(config, output, resume=True).nlp), expected)
    for name in ("model-best", "model-last"):
        found, whole = (spacy.load(folder / name) for folder in (output, tmp_path / "whole"))
        assert_same_weights(weights(found), weights(whole))
    assert not list(output.glob("*.tmp"))


def train_telling(config: Config, output: Path, told: Path) -> None:
    with told.open("a") as file:
        run(config, output, resume=True, told=lambda step: print(step, file=file, flush=True))


def test_patience_goes_on(tmp_path: Path) -> None:
    """The rate is 0, so that the first evaluation stays the best."""
    still = {"@optimizers": "spacy-flat.SGD.v1", "learn_rate": 0.0}
    config = make_config(tmp_path, "tener", patience=9, max_steps=30, optimizer=still)
    run(config, tmp_path / "out", stop_before=8)
    steps: list[int] = []
    run(config, tmp_path / "out", resume=True, told=steps.append)
    assert steps == [7, 8, 9]


@pytest.mark.parametrize("name", [OPTIMIZER, STATE, "pipeline/tener_ner/model"])
def test_damaged_checkpoint_falls_back(name: str, tmp_path: Path) -> None:
    config = make_config(tmp_path, "tener")
    whole = run(config, tmp_path / "out")
    path = tmp_path / "out" / CHECKPOINTS / "000000007" / name
    content = bytearray(path.read_bytes())
    content[-len(content) // 3] ^= 1  # one bit
    path.write_bytes(content)
    steps: list[int] = []
    with pytest.warns(UserWarning, match=r"W380.*000000007"):
        resumed = run(config, tmp_path / "out", resume=True, told=steps.append)
    assert steps == list(range(4, 9))
    assert_same_weights(weights(resumed.nlp), weights(whole.nlp))


def test_checkpoints_later_than_a_new_one_go(tmp_path: Path) -> None:
    """They were damaged, or the training wouldn't have gone back."""

    def write(step: int) -> list[str]:
        write_checkpoint(tmp_path, step, lambda folder: (folder / "step").write_text(str(step)))
        return sorted(path.name[-1:] for path in tmp_path.iterdir())

    assert [write(step) for step in (2, 5, 9)] == [["2"], ["2", "5"], ["5", "9"]]
    (tmp_path / "000000009" / "step").write_text("8")
    with pytest.warns(UserWarning, match=r"W380.*000000009"):
        assert read_checkpoint(tmp_path, lambda folder: (folder / "step").read_text()) == "5"
    assert write(7) == ["5", "7"]
    assert write(6) == ["5", "6"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a training of three steps, and its corpus beside it."""
    folder = tmp_path_factory.mktemp("finished")
    run(make_config(folder, "tener", max_steps=3), folder / "out")
    return folder


def test_checkpoint_of_an_earlier_version(finished: Path, tmp_path: Path) -> None:
    """It has what the logger was told in the config."""
    *_, last = sorted((finished / "out" / "checkpoints").glob("[0-9]*"))
    shutil.copytree(last, tmp_path / "old")
    state = json.loads((last / STATE).read_text("utf-8"))
    del state["progress"]["told"]
    state["config"]["told"] = [{"step": 3}]
    (tmp_path / "old" / STATE).write_text(json.dumps(state), "utf-8")
    old = Saved.read(tmp_path / "old")
    assert old.progress.told == [{"step": 3}]
    assert old.config == Saved.read(last).config


def test_training_is_not_begun_anew_by_mistake(finished: Path, tmp_path: Path) -> None:
    config = make_config(finished, "tener", max_steps=3).interpolate()
    with pytest.raises(ValueError, match=r"F441.*out.*checkpoints"):
        saved_in(finished / "out", False, config)
    with pytest.raises(ValueError, match="F440"):
        saved_in(None, True, {})
    assert saved_in(finished / "out", True, config) is not None
    assert saved_in(tmp_path / "new", True, config) is None


@pytest.mark.parametrize(
    ("section", "name", "value"),
    [
        ("training", "seed", 5),
        ("training", "dropout", 0.5),
        ("nlp", "batch_size", 7),
        ("components", "tener_ner", {"factory": "flat_ner"}),
    ],
)
def test_other_settings_are_not_resumed(
    section: str, name: str, value: object, finished: Path
) -> None:
    config = make_config(finished, "tener", max_steps=3)
    config[section][name] = value
    with pytest.raises(ValueError, match=rf"F44\d.*{section}\.{name}"):
        saved_in(finished / "out", True, config.interpolate())


def test_a_corpus_that_is_missing(tmp_path: Path) -> None:
    """spaCy would train on, with a score of 0."""
    config = make_config(tmp_path, "tener")
    config["corpora"]["dev"]["path"] = str(tmp_path / "gone.spacy")
    config.to_disk(tmp_path / "config.cfg")
    assert "[F001]" in failure("train", tmp_path / "config.cfg")
    path = (
        Path(__file__).parents[2] / "configs/zh_tener.cfg"
    )  # leaves the readers to spaCy's defaults
    assert "[F001]" in failure("train", path, "--paths.train", tmp_path / "gone.spacy")


def flat_train(config: Config, output: Path, *overrides: str) -> str:
    """What `flat train --resume` says."""
    path = output.with_suffix(".cfg")
    config.to_disk(path)
    arguments = ["train", str(path), "-o", str(output), "--resume", *overrides]
    return CliRunner().invoke(app, arguments).output


def test_log_of_a_resumed_training_is_whole(tmp_path: Path) -> None:
    for name, parts in {"whole": ("8",), "cut": ("4", "8")}.items():
        log = tmp_path / name / "log.jsonl"
        logger = {"@loggers": "spacy.ConsoleLogger.v3", "output_file": str(log)}
        config = make_config(tmp_path, "tener", logger=logger)
        for steps in parts:
            flat_train(config, tmp_path / name, "--training.max_steps", steps)
    whole, cut = ((tmp_path / name / "log.jsonl").read_text("utf-8") for name in ("whole", "cut"))
    assert [json.loads(line)["step"] for line in whole.splitlines()] == [0, 3, 6]
    assert cut == whole


def test_files_may_move(tmp_path: Path) -> None:
    config, output = make_config(tmp_path, "tener", max_steps=3), tmp_path / "out"
    train, vectors = tmp_path / "train.spacy", tmp_path / "chars.vec"
    vectors.write_text("1 2\n中 1 2\n", "utf-8")
    reader = {"@readers": "spacy-flat.MixedCorpus.v1", "paths": {"one": str(train)}}
    config["corpora"]["train"] = reader
    given = {"@readers": "spacy-flat.Vectors.v1", "path": str(vectors)}
    config["initialize"]["components"] = {"tener_ner": {"char_vectors": given}}
    flat_train(config, output)
    reader["paths"] = {"one": str(train.rename(tmp_path / "moved.spacy"))}
    given["path"] = str(vectors.rename(tmp_path / "moved.vec"))
    config["corpora"]["dev"]["path"] = reader["paths"]["one"]
    assert "Already finished" in flat_train(config, output)


def test_a_finished_training_stays(tmp_path: Path) -> None:
    config, output = make_config(tmp_path, "tener", max_steps=3), tmp_path / "out"
    assert "Saved pipeline" in flat_train(config, output)

    def contents() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in output.rglob("*") if path.is_file()}

    before = contents()
    assert "Already finished" in flat_train(config, output)
    assert "F445" in flat_train(config, output, "--training.seed", "5")
    shutil.rmtree(output / CHECKPOINTS)
    assert "F384" in flat_train(config, output, "--training.max_steps", "9")
    assert contents() == {path: found for path, found in before.items() if path.exists()}
