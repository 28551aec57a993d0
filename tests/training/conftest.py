"""Small trainings, described by a config as `flat train` reads it."""

import contextlib
import io
import multiprocessing
import os
import signal
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import spacy
import torch
from blocks import pipe_config
from generator.conftest import POEMS
from ner.conftest import GOLD, HASH_EMBED, LISTENER, TEXTS
from safetensors.torch import load_file, save_file
from similarity.conftest import examples_of as pair_examples
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.util import registry
from thinc.api import Config
from translator.conftest import PAIRS as TRANSLATIONS
from wasabi.printer import Printer

from spacy_flat.cli.train import pipeline_of
from spacy_flat.nn.workers import Workers
from spacy_flat.training.parameters import parameters_of
from spacy_flat.training.trainer import Trainer, load, train

KINDS = ("ner", "tener", "pairs", "poems", "translations")
SIZES = {
    "ner": {"network": {"num_heads": 2, "head_dim": 8}, "lattice": {"embed_width": 8}},
    "tener": {"network": {"num_heads": 2, "head_dim": 8}},
    "pairs": {"network": {"hidden": 8}},
    "poems": {"network": {"width": 16}, "text": {"embed_width": 8, "min_freq": 1}},
    "translations": {
        "network": {"width": 16, "num_heads": 2, "ff_width": 16}
        | {"encoder_layers": 1, "decoder_layers": 1},
        "text": {"min_freq": 1, "target_pieces": 300},
    },
}
FACTORIES = {"ner": "flat_ner", "tener": "tener_ner", "pairs": "re2_similarity"}
FACTORIES |= {"poems": "char_generator", "translations": "seq2seq_translator"}

ALONE = Workers()


def docs_of(kind: str) -> list[Doc]:
    nlp = spacy.blank("zh")
    if kind == "pairs":
        return [example.reference for example in pair_examples(nlp)]
    if kind == "translations":
        docs = [nlp.make_doc(source) for source, _ in TRANSLATIONS]
        for doc, (_, target) in zip(docs, TRANSLATIONS, strict=True):
            doc._.translation = target
        return docs
    if kind == "poems":
        return [nlp.make_doc(text) for text in POEMS * 2]
    docs = [nlp.make_doc(text) for text in TEXTS]
    for doc, spans in zip(docs, GOLD, strict=True):
        doc.set_ents([doc.char_span(*span) for span in spans])  # type: ignore[list-item]
        for token in doc:
            token.tag_ = "X" if token.ent_type_ else "Y"
    return docs


def make_config(folder: Path, kind: str, **training: Any) -> Config:
    """Of a training on a few texts. "ner" has a tok2vec beneath, and a tagger of spaCy's."""
    nlp = spacy.blank("zh")
    model = {**SIZES[kind]}
    if kind == "ner":
        nlp.add_pipe("tok2vec", config={"model": HASH_EMBED})
        nlp.add_pipe("tagger", config={"model": {"tok2vec": LISTENER}})
        model["tok2vec"] = LISTENER
    nlp.add_pipe(FACTORIES[kind], config=pipe_config(FACTORIES[kind], model))
    return config_of(folder, nlp, docs_of(kind), **training)


def config_of(folder: Path, nlp: Language, docs: Sequence[Doc], **training: Any) -> Config:
    """Of a training of a pipeline on Docs, which are written to a folder."""
    folder.mkdir(exist_ok=True)
    DocBin(docs=docs, store_user_data=True).to_disk(folder / "train.spacy")
    (folder / "words.txt").write_text("药店\n重庆\n南京市\n长江大桥\n北京大学\n", "utf-8")
    config = nlp.config.copy()
    reader = {"@readers": "spacy.Corpus.v1", "path": str(folder / "train.spacy")}
    config["corpora"] = {
        part: {**reader, "gold_preproc": False, "max_length": 0, "limit": 0, "augmenter": None}
        for part in ("train", "dev")
    }
    if "flat_ner" in nlp.pipe_names:
        words = {"@readers": "spacy-flat.Words.v1", "path": str(folder / "words.txt")}
        lexicon = {"@readers": "spacy-flat.Lexicon.v1", "sources": {"words": words}}
        config["initialize"]["components"]["flat_ner"] = {"lexicon": lexicon}
    config["training"] |= {
        "max_steps": 8,
        "eval_frequency": 3,
        "patience": 0,
        "batcher": {"@batchers": "spacy.batch_by_sequence.v1", "size": 4, "get_length": None},
        "optimizer": {
            "@optimizers": "spacy-flat.AdamW.v1",
            "use_averages": True,
            "learn_rate": {
                "@schedules": "spacy-flat.warmup.v1",
                "initial_rate": 0.01,
                "warmup_steps": 7,  # longer than until a checkpoint
            },
        },
        **training,
    }
    return config


# Linear in the gradients: where Adam would make much of a rounding error.
SGD = {
    "@optimizers": "spacy-flat.SGD.v1",
    "learn_rate": 0.002,
    "clip_value": 0.0,
    "use_averages": True,
}


def plain(folder: Path, kind: str, **training: object) -> Config:
    """A training without random numbers but those of the corpus."""
    config = make_config(folder, kind, dropout=0.0, optimizer=SGD, **training)
    for name, component in config["components"].items():
        switch_off(component, name)
    return config


def switch_off(block: dict[str, Any], name: str) -> None:
    if "variant" in block:
        options = vars(registry.misc.get(block["@misc"])(variant=block["variant"]))
        hidden = {key: value for key, value in options.items() if key not in block}
        block["variant"] = hidden
    for key, value in block.items():
        if isinstance(value, dict):
            switch_off(value, key)
        elif key.endswith(("dropout", "_rate")) or key == "label_smoothing":
            block[key] = 0.0


class StopError(Exception):
    """Of a training, from outside."""


def run(
    config: Config,
    output: Path | None,
    *,
    resume: bool = False,
    stop_before: int | None = None,
    workers: Workers = ALONE,
    checkpoint_steps: int = 0,
    told: Callable[[int], object] = lambda _: None,
) -> Trainer:
    """Train as the command does. stop_before: the step at which the process dies, as it were."""
    saved = load(output) if resume and output is not None else None
    nlp = pipeline_of(config, saved, -1, Printer(no_print=True))
    training = Trainer(nlp, output, config.interpolate(), saved, workers, checkpoint_steps)

    before_update = training.settings["before_update"]

    def begin_step(nlp: Language, info: dict[str, int]) -> None:
        if info["step"] == stop_before:
            raise StopError
        told(info["step"])
        if before_update:
            before_update(nlp, info)

    training.settings["before_update"] = begin_step
    with contextlib.suppress(StopError):
        train(training, io.StringIO(), io.StringIO())
    return training


def weights(nlp: Language) -> dict[str, torch.Tensor]:
    return {each.name: each.weights().detach().clone() for each in parameters_of(nlp)}


def assert_same_weights(
    found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor], atol: float = 1e-5
) -> None:
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        most = (found[name] - tensor).abs().max().item() if tensor.numel() else 0.0
        assert most <= atol, f"{name} differs by {most}"


def forked(target: Callable[..., object], *args: Any) -> multiprocessing.Process:
    """A process that has all modules loaded already."""
    if not hasattr(os, "fork"):
        pytest.skip("needs fork")
    process = multiprocessing.get_context("fork").Process(target=target, args=args)
    process.start()
    return process  # type: ignore[return-value]


def with_workers(
    size: int, folder: Path, work: Callable[[Workers], dict[str, torch.Tensor]]
) -> list[dict[str, torch.Tensor]]:
    """What each of several workers gives, each in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def begin(rank: int) -> None:
        signal.alarm(240)  # rather than wait for one that died
        torch.set_num_threads(1)
        os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size)}
        os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        workers = Workers.from_environment()
        workers.join(use_gpu=False)
        result = work(workers)
        save_file({name: each.contiguous() for name, each in result.items()}, folder / f"{rank}.st")
        workers.leave()

    processes = [forked(begin, rank) for rank in range(size)]
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * size
    return [load_file(folder / f"{rank}.st") for rank in range(size)]
