"""Several workers train as one would."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import spacy
import torch
from torch import Tensor

from spacy_flat.nn.workers import Workers, all_reduce_sum
from spacy_flat.training.trainer import Trainer

from .conftest import (
    KINDS,
    SGD,
    assert_same_weights,
    config_of,
    docs_of,
    make_config,
    plain,
    run,
    switch_off,
    weights,
    with_workers,
)


@pytest.mark.parametrize("kind", KINDS)
def test_two_workers_train_as_one(kind: str, tmp_path: Path) -> None:
    """Batches of 4 leave a last one of 1 or 2 examples, which not every worker has a part of."""
    config = plain(tmp_path, kind)
    alone = run(config, tmp_path / "alone")
    found = with_workers(
        2, tmp_path, lambda workers: weights(run(config, tmp_path / "two", workers=workers).nlp)
    )
    for each in found:
        assert_same_weights(each, weights(alone.nlp))
    best, expected = (spacy.load(tmp_path / name / "model-best") for name in ("two", "alone"))
    assert_same_weights(weights(best), weights(expected))
    for name, loss in expected.meta["performance"].items():
        if name.endswith("_loss"):
            assert best.meta["performance"][name] == pytest.approx(loss, rel=1e-3)


def test_part_without_gold_lets_the_encoder_learn(tmp_path: Path) -> None:
    """The last component, which passes the gradients of all on, learns nothing from some parts."""
    nlp = spacy.blank("zh")
    bert = pytest.importorskip("transformer.conftest")
    still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    bert.add_transformer(nlp, bert.save_encoder(tmp_path / "bert", **still), bfloat16=False)
    bert.add_ner(nlp, "tener_ner")
    docs = docs_of("tener")
    for doc in docs[::2]:
        doc.set_ents([], default="missing")
    config = config_of(
        tmp_path / "corpus", nlp, docs, dropout=0.0, optimizer=SGD, accumulate_gradient=2
    )
    switch_off(config["components"], "")
    alone = run(config, None)
    for each in with_workers(
        2, tmp_path, lambda workers: weights(run(config, None, workers=workers).nlp)
    ):
        assert_same_weights(each, weights(alone.nlp))


def test_workers_are_resumed(tmp_path: Path) -> None:
    """Each with its own random numbers: there is dropout."""
    config = make_config(tmp_path, "tener", eval_frequency=100)

    def result(trainer: Trainer) -> dict[str, Tensor]:
        return weights(trainer.nlp) | {"loss": torch.tensor(trainer.progress.losses["tener_ner"])}

    def whole(workers: Workers) -> dict[str, Tensor]:
        return result(run(config, tmp_path / "whole", workers=workers))

    def cut(workers: Workers) -> dict[str, Tensor]:
        run(config, tmp_path / "cut", workers=workers, stop_before=5, checkpoint_steps=2)
        workers.all_gather(None)
        return result(run(config, tmp_path / "cut", workers=workers, resume=True))

    found, expected = with_workers(2, tmp_path, cut), with_workers(2, tmp_path, whole)
    losses = [sum(each.pop("loss").item() for each in both) for both in (found, expected)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    for one, other in zip(found, expected, strict=True):
        assert_same_weights(one, other)


def test_labels_that_one_worker_meets(tmp_path: Path) -> None:
    config = plain(tmp_path, "tener")
    config["initialize"]["components"]["tener_ner"] = {"labels": ["LOC"]}

    def labels(workers: Workers) -> dict[str, Tensor]:
        nlp = run(config, None, workers=workers).nlp
        names = "".join(nlp.get_pipe("tener_ner").labels)  # type: ignore[attr-defined]
        return {**weights(nlp), "labels": torch.tensor(list(names.encode()))}

    first, second = with_workers(2, tmp_path, labels)
    assert first["labels"].numel() == len("LOCORGPER")
    assert_same_weights(first, second, atol=0.0)


def test_lost_worker(tmp_path: Path) -> None:
    def begin(workers: Workers) -> dict[str, Tensor]:
        if workers.rank == 0:
            with pytest.raises(ConnectionError, match="F444"):
                all_reduce_sum(1)
        return {}

    with_workers(2, tmp_path, begin)


DIES_ONCE = """
import os
import signal
from pathlib import Path
from typing import Any

import spacy


@spacy.registry.callbacks("test.dies_once")
def dies_once(marker: str):
    def before_update(nlp, info):
        if info["step"] == 5 and os.environ["RANK"] == "1" and not Path(marker).exists():
            Path(marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)

    return before_update
"""


def test_torchrun_starts_again(tmp_path: Path) -> None:
    """A worker is killed: torchrun says so, and the training goes on at its checkpoint."""
    (tmp_path / "code.py").write_text(DIES_ONCE, "utf-8")
    callback = {"@callbacks": "test.dies_once", "marker": str(tmp_path / "died")}
    plain(tmp_path, "tener", before_update=callback).to_disk(tmp_path / "config.cfg")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    command = ["-m", "spacy", "flat", "train", "config.cfg", "--code", "code.py", "--resume"]
    done = subprocess.run(
        [*torchrun, "--max-restarts=1", *command, "--output", "out"],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "died").exists()
    assert "SIGKILL" in done.stderr or "-9" in done.stderr
    assert done.stdout.count("Going on after step 3") == 1
    alone = run(plain(tmp_path / "again", "tener"), tmp_path / "alone")
    assert_same_weights(
        weights(spacy.load(tmp_path / "out" / "model-last")),
        weights(spacy.load(tmp_path / "alone" / "model-last")),
    )
    assert alone.progress.steps == 9
