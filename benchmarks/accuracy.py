"""Train pipelines on corpora and measure their F1 and speed.

    python benchmarks/accuracy.py --corpus resume --seeds 1 2 3 --vectors DIR [--output FILE]
    python benchmarks/accuracy.py --corpus wnut17 --config configs/en_tener.cfg
    python benchmarks/accuracy.py --corpus resume --system spacy
    python benchmarks/accuracy.py --corpus weibo --components.flat_ner.model.network.layers 2

A corpus is a folder of train.spacy, dev.spacy and, where there is one, test.spacy, as written by
`python -m spacy flat convert`. "spacy-flat" trains --config; "spacy" trains spaCy's own `ner`, in
the language of --config, by the config of `spacy init config -p ner -o efficiency` on the same
files. --vectors is a folder of files such as zh.char.50d.vec.xz, zh.bigram.… and zh.word.….
Settings of the config are overridden as in `spacy train`.

As `spacy train` does, the pipeline that is best on dev is kept; F1 is its `ents_f`, by spaCy's
scorer. "Seen" and "unseen" are the entities of dev whose text is and is not that of an entity in
train. Seconds per epoch include the evaluations on dev. Characters a second are those of `nlp.pipe`
over dev.

--output gets a JSON line for each training. The table is of all lines in it, or of this run's:
means over seeds, with standard deviations.
"""

import argparse
import time
from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import mean, stdev
from tempfile import TemporaryDirectory
from typing import Any

import spacy
import torch
from report import environment, format_table, group_records, record_runs
from spacy.cli._util import parse_config_overrides
from spacy.cli.init_config import init_config
from spacy.language import Language
from spacy.scorer import PRFScore
from spacy.training import Corpus, Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import load_config, load_config_from_str, registry
from spacy.vocab import Vocab
from thinc.api import Config

from spacy_flat.corpora.docs import read_docs
from spacy_flat.ner.spans import get_char_ents, gold_annotation

ROOT = Path(__file__).parent.parent
LOGGER = "spacy-flat.benchmark_log.v1"
Info = dict[str, Any]


@dataclass(frozen=True)
class Evaluation:
    """An evaluation on dev during training: seconds since its start, tokens read, score."""

    seconds: float
    tokens: int
    epoch: int
    score: float


def main() -> None:
    arguments, extra = parse_arguments()
    overrides = parse_config_overrides(extra)
    torch.set_num_threads(arguments.threads)
    runs = [
        (
            f"{arguments.system} on {corpus}, seed {seed}",
            partial(run, arguments, arguments.data / corpus, seed, overrides),
        )
        for corpus in arguments.corpus
        for seed in arguments.seeds
    ]
    print_table(record_runs(runs, arguments.output))


def parse_arguments() -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="Other options override settings of the config, as in spacy train.",
        allow_abbrev=False,
    )
    parser.add_argument("--corpus", nargs="+", required=True, help="names of folders in --data")
    parser.add_argument("--data", type=Path, default=ROOT / "corpus")
    parser.add_argument("--system", choices=["spacy-flat", "spacy"], default="spacy-flat")
    parser.add_argument("--config", type=Path, default=ROOT / "configs" / "zh_flat.cfg")
    parser.add_argument("--vectors", type=folder_or_none, help='folder of vectors, or "none"')
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--models", type=Path, help="keep the trained pipelines here")
    parser.add_argument("--output", type=Path, help="append to this file of JSON lines")
    arguments, extra = parser.parse_known_args()
    if arguments.system == "spacy" and arguments.vectors:
        parser.error("--vectors are for --system spacy-flat")
    return arguments, extra


def folder_or_none(text: str) -> Path | None:
    return None if text == "none" else Path(text)


def run(
    arguments: argparse.Namespace, corpus: Path, seed: int, overrides: dict[str, Any]
) -> dict[str, Any]:
    """Train and evaluate once; a record of it."""
    system, vectors = arguments.system, arguments.vectors
    paths = {"paths.train": str(corpus / "train.spacy"), "paths.dev": str(corpus / "dev.spacy")}
    base = load_config(arguments.config)
    if system == "spacy":
        lang = base["nlp"]["lang"]
        base = init_config(lang=lang, pipeline=["ner"], optimize="efficiency", gpu=False)
    name = arguments.config.stem if system == "spacy-flat" else "efficiency"
    files = {
        path: file for path, file in vector_paths(vectors).items() if path[6:] in base["paths"]
    }
    settings = {**paths, "system.seed": seed, **files, **overrides}
    config = load_config_from_str(base.to_str(), overrides=settings)
    kept = arguments.models and arguments.models / f"{name}-{corpus.name}-{seed}"
    with nullcontext(kept) if kept else TemporaryDirectory() as folder:
        training = train_pipeline(config, Path(folder))
        nlp = spacy.load(Path(folder) / "model-best")
    parts = {part: corpus / f"{part}.spacy" for part in ("dev", "test")}
    gold = read_docs(corpus / "train.spacy", Vocab())
    known = {ent.text for doc in gold for ent in doc.ents}
    scores = {part: evaluate(nlp, path, known) for part, path in parts.items() if path.exists()}
    return {
        "system": system,
        "corpus": corpus.name,
        "seed": seed,
        "config": name,
        "vectors": vectors.name if vectors else "none",
        "overrides": overrides,
        "threads": arguments.threads,
        **training,
        **scores,
        "characters_per_second": measure_speed(nlp, parts["dev"]),
        "environment": environment(),
    }


def vector_paths(folder: Path | None) -> dict[str, str]:
    """Overrides of the config for the files of vectors in a folder.

    Raises FileNotFoundError where the folder has none, ValueError where one kind has several.
    """
    if folder is None:
        return {}
    found = {}
    for kind in ("char", "bigram", "word"):
        files = [path for path in folder.iterdir() if kind in path.name.split(".")]
        if len(files) > 1:
            names = ", ".join(sorted(path.name for path in files))
            raise ValueError(f"{folder}: several files of {kind} vectors: {names}. Leave one.")
        if files:
            found[f"paths.{kind}_vectors"] = str(files[0])
    if not found:
        raise FileNotFoundError(
            f"{folder}: no vectors here. Files must be called like zh.char.50d.vec.xz, with "
            f"char, bigram or word between full stops."
        )
    return found


def train_pipeline(config: Config, output: Path) -> dict[str, Any]:
    """Train as `spacy train` does; what it cost."""
    output.mkdir(parents=True, exist_ok=True)
    history: list[Evaluation] = []
    registry.loggers.register(LOGGER, func=lambda: record_to(history))
    logger, config["training"]["logger"] = config["training"]["logger"], {"@loggers": LOGGER}
    start = time.perf_counter()
    nlp = init_nlp(config)
    initialised = time.perf_counter()
    train(nlp, output)
    total = time.perf_counter() - initialised
    restore_logger(output / "model-best" / "config.cfg", logger)
    last = history[-1]
    tokens = sum(len(example) for example in Corpus(config["paths"]["train"])(nlp))
    return {
        "initialise_seconds": initialised - start,
        "train_seconds": total,
        "seconds_per_epoch": last.seconds * tokens / last.tokens,
        "epochs": last.tokens / tokens,
        "best_epoch": max(history, key=lambda evaluation: evaluation.score).epoch,
        "history": [asdict(evaluation) for evaluation in history],
    }


def record_to(history: list[Evaluation]) -> Callable[..., Any]:
    """A logger for `[training.logger]` that keeps and prints every evaluation."""

    def set_up(nlp: Language, stdout: object, stderr: object) -> tuple[Callable[..., None], Any]:
        start = time.perf_counter()

        def log(info: Info | None) -> None:
            if info is None:
                return
            seconds = time.perf_counter() - start
            history.append(Evaluation(seconds, info["words"], info["epoch"], info["score"]))
            print(
                f"{seconds:8.0f} s  epoch {info['epoch']:3d}  dev {info['score']:.4f}", flush=True
            )

        return log, lambda: None

    return set_up


def restore_logger(path: Path, logger: dict[str, Any]) -> None:
    """A pipeline that is kept is to know no functions of this file."""
    config = Config().from_disk(path, interpolate=False)
    config["training"]["logger"] = logger
    config.to_disk(path)


def evaluate(nlp: Language, path: Path, train_texts: set[str]) -> dict[str, Any]:
    examples = list(Corpus(path)(nlp))
    scores = nlp.evaluate(examples)
    docs = nlp.pipe(example.predicted.text for example in examples)
    pairs = [Example(*pair) for pair in zip(docs, (e.reference for e in examples), strict=True)]
    figures = {name: scores[f"ents_{name}"] for name in ("p", "r", "f")}
    return {**figures, **score_seen(pairs, train_texts)}


def score_seen(examples: Iterable[Example], train_texts: Container[str]) -> dict[str, Any]:
    """Scores of entities whose texts are among those of the training part's entities, with any
    label, and of others: `seen_p`, `seen_r`, `seen_f`, `unseen_p` and so on, and the number of gold
    entities, `seen_entities` and `unseen_entities`."""
    parts = {"seen": PRFScore(), "unseen": PRFScore()}
    for example in examples:
        text = example.predicted.text
        gold = gold_annotation(example)
        found = gold.judged(get_char_ents(example.predicted), len(text)).values()
        for name, counts in parts.items():
            of_both = (
                {s for s in spans if (text[s.start : s.end] in train_texts) == (name == "seen")}
                for spans in (found, gold.spans)
            )
            counts.score_set(*of_both)
    scores: dict[str, Any] = {}
    for name, counts in parts.items():
        values = (counts.precision, counts.recall, counts.fscore)
        figures = zip("prf", values if len(counts) else (None,) * 3, strict=True)
        scores |= {f"{name}_{letter}": value for letter, value in figures}
        scores[f"{name}_entities"] = counts.tp + counts.fn
    return scores


def measure_speed(nlp: Language, path: Path) -> float:
    """Characters a second of `nlp.pipe`, the best of three passes."""
    texts = [example.text for example in Corpus(path)(nlp)]
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        for _ in nlp.pipe(texts):
            pass
        best = min(best, time.perf_counter() - start)
    return sum(map(len, texts)) / best


def print_table(records: Iterable[dict[str, Any]]) -> None:
    header = [
        *("corpus", "system", "vectors", "seeds", "dev F1", "test F1"),
        *("seen recall", "seen F1", "unseen recall", "unseen F1"),
        *("best epoch", "seconds/epoch", "characters/s"),
    ]
    rows = [
        [
            *names,
            str(len(group)),
            percent(group, "dev", "f"),
            percent(group, "test", "f"),
            *(percent(group, "dev", name) for name in ("seen_r", "seen_f", "unseen_r", "unseen_f")),
            f"{mean(record['best_epoch'] for record in group):.0f}",
            f"{mean(record['seconds_per_epoch'] for record in group):.0f}",
            f"{mean(record['characters_per_second'] for record in group):,.0f}",
        ]
        for names, group in group_records(records)
    ]
    print(format_table(header, rows, text_columns=3))


def percent(records: Sequence[dict[str, Any]], part: str, score: str) -> str:
    """Mean and standard deviation in percent."""
    scores = [record.get(part, {}).get(score) for record in records]
    values = [100 * value for value in scores if value is not None]
    if not values:
        return "–"
    spread = f" ± {stdev(values):.2f}" if len(values) > 1 else ""
    return f"{mean(values):.2f}{spread}"


if __name__ == "__main__":
    main()
