"""Train comparisons of two texts and measure them beside simple ones.

    python benchmarks/pairs.py --corpus afqmc bq --seeds 1 2 3 --vectors DIR [--output FILE]
    python benchmarks/pairs.py --corpus afqmc --systems textcat overlap
    python benchmarks/pairs.py --corpus afqmc --components.re2_similarity.model.text.inputs chars

A corpus is a folder of train.spacy, dev.spacy and, where there is one, test.spacy, as written by
`scripts/convert.py`. Systems:

    re2      --config, with settings overridden as in `spacy train`
    textcat  spaCy's own, of `spacy init config -p textcat -o efficiency`, on the text of the pair
    overlap  scikit-learn's logistic regression on shares of character n-grams (1 to 3) that the
             texts have in common, and on their lengths

As `spacy train` does, the pipeline that is best on dev is kept. Scores are accuracy, F1 and the
area under the ROC curve of the class "same", by `score_pairs`, at the threshold 0.5.

--output gets a JSON line for each training. The table is of all lines in it, or of this run's:
means over seeds, with standard deviations.
"""

import argparse
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import spacy
import torch
from accuracy import ROOT, folder_or_none, train_pipeline, vector_paths
from numpy.typing import NDArray
from report import environment, format_table, group_records, percent, record_runs
from spacy.cli._util import parse_config_overrides
from spacy.cli.init_config import init_config
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Corpus, Example
from spacy.util import load_config, load_config_from_str
from spacy.vocab import Vocab

from spacy_flat.similarity.pairs import pair_of
from spacy_flat.similarity.scores import score_pairs

SCORES = ("acc", "f", "auc")
LABELS = ("different", "same")
Scores = dict[str, float]


class Predictions(NamedTuple):
    """[N] whether pairs are the same, and [N] the probabilities that they are."""

    gold: NDArray[np.bool_]
    found: NDArray[np.float64]


def main() -> None:
    arguments, extra = parse_arguments()
    torch.set_num_threads(arguments.threads)
    overrides = parse_config_overrides(extra)
    runs = [
        (
            f"{system} on {corpus}, seed {seed}",
            partial(run, arguments, system, arguments.data / corpus, seed, overrides),
        )
        for corpus in arguments.corpus
        for system in arguments.systems
        for seed in (arguments.seeds if system in TRAINED else arguments.seeds[:1])
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
    parser.add_argument("--systems", nargs="+", choices=[*TRAINED, "overlap"], default=["re2"])
    parser.add_argument("--config", type=Path, default=ROOT / "configs" / "zh_re2.cfg")
    parser.add_argument("--vectors", type=folder_or_none, help='folder of vectors, or "none"')
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--epochs", type=int, help="instead of the config's")
    parser.add_argument("--models", type=Path, help="keep the trained pipelines here")
    parser.add_argument("--output", type=Path, help="append to this file of JSON lines")
    return parser.parse_known_args()


def run(
    arguments: argparse.Namespace,
    system: str,
    corpus: Path,
    seed: int,
    overrides: dict[str, Any],
) -> dict[str, Any]:
    """Train and evaluate once; a record of it."""
    start = time.perf_counter()
    of_re2 = {"overrides": overrides, "config": arguments.config.stem} if system == "re2" else {}
    if system in TRAINED:
        found = TRAINED[system](arguments, corpus, seed, overrides)
    else:
        found = compare_by_overlap(corpus)
    return {
        "system": system,
        "corpus": corpus.name,
        "seed": seed,
        "overrides": {},
        "config": "",
        **of_re2,
        "vectors": arguments.vectors.name if arguments.vectors and system == "re2" else "none",
        "threads": arguments.threads,
        "seconds": time.perf_counter() - start,
        **found,
        "environment": environment(),
    }


# Pipelines


def train_re2(
    arguments: argparse.Namespace, corpus: Path, seed: int, overrides: dict[str, Any]
) -> dict[str, Any]:
    base = load_config(arguments.config)
    known = vector_paths(arguments.vectors)
    used = {path: file for path, file in known.items() if path[6:] in inputs_of(base, overrides)}
    return train(arguments, base, corpus, seed, {**used, **overrides})


def inputs_of(base: dict[str, Any], overrides: dict[str, Any]) -> tuple[str, ...]:
    """The vectors that the component reads."""
    key = "components.re2_similarity.model.text.inputs"
    inputs = overrides.get(key, base["components"]["re2_similarity"]["model"]["text"]["inputs"])
    kinds = {"chars": ("char", "bigram"), "tokens": ("word",)}
    return tuple(f"{kind}_vectors" for kind in kinds[inputs])


def train_textcat(
    arguments: argparse.Namespace, corpus: Path, seed: int, overrides: dict[str, Any]
) -> dict[str, Any]:
    base = init_config(lang="zh", pipeline=["textcat"], optimize="efficiency", gpu=False)
    epochs = {"training.max_steps": 0, "training.patience": 0, "training.max_epochs": 5}
    return train(arguments, base, corpus, seed, epochs)


def train(
    arguments: argparse.Namespace,
    base: Any,
    corpus: Path,
    seed: int,
    settings: dict[str, Any],
) -> dict[str, Any]:
    paths = {f"paths.{part}": str(corpus / f"{part}.spacy") for part in ("train", "dev")}
    given = {"training.max_epochs": arguments.epochs} if arguments.epochs else {}
    overrides = {**paths, "system.seed": seed, **settings, **given}
    config = load_config_from_str(base.to_str(), overrides=overrides)
    with TemporaryDirectory() as temporary:
        folder = arguments.models / f"{corpus.name}-{seed}" if arguments.models else Path(temporary)
        training = train_pipeline(config, folder)
        nlp = spacy.load(folder / "model-best")
    return {
        **training,
        **score({part: predict(nlp, path) for part, path in parts_of(corpus)}),
    }


def parts_of(corpus: Path) -> list[tuple[str, Path]]:
    """What is scored."""
    paths = [(part, corpus / f"{part}.spacy") for part in ("dev", "test")]
    return [(part, path) for part, path in paths if path.exists()]


def predict(nlp: Language, path: Path) -> Predictions:
    examples = list(Corpus(path)(nlp))
    docs = nlp.pipe(example.predicted for example in examples)
    return Predictions(
        np.array([example.reference.cats["same"] > 0.5 for example in examples]),
        np.array([doc.cats["same"] for doc in docs]),
    )


# Scores


def score(parts: dict[str, Predictions]) -> dict[str, Any]:
    return {part: score_part(predictions) for part, predictions in parts.items()}


def score_part(predictions: Predictions) -> Scores:
    vocab = Vocab()
    examples = []
    for is_same, probability in zip(*map(np.ndarray.tolist, predictions), strict=True):
        reference, predicted = Doc(vocab, words=["a"]), Doc(vocab, words=["a"])
        reference.cats = {"different": float(not is_same), "same": float(is_same)}
        predicted.cats = {"different": 1 - probability, "same": probability}
        examples.append(Example(predicted, reference))
    scores = score_pairs(examples, labels=LABELS, positive="same")
    return {name: scores[f"pairs_{name}"] for name in SCORES}


# Overlaps


def compare_by_overlap(corpus: Path) -> dict[str, Any]:
    """Scores of a logistic regression on features of the pairs."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    features, gold = {}, {}
    for part, (pairs, labels) in read(corpus).items():
        features[part], gold[part] = np.array([overlaps(*texts) for texts in pairs]), labels
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    model.fit(features["train"], gold["train"])
    return score(
        {
            part: Predictions(gold[part], model.predict_proba(features[part])[:, 1])
            for part, _ in parts_of(corpus)
        }
    )


def overlaps(left: str, right: str) -> list[float]:
    """Shares of n-grams that both texts have, of each and of both, and how their lengths differ."""
    found = []
    for n in (1, 2, 3):
        first, second = (
            {text[place : place + n] for place in range(len(text) - n + 1)}
            for text in (left, right)
        )
        common = len(first & second)
        found += [common / max(1, len(some)) for some in (first, second, first | second)]
    lengths = sorted((len(left), len(right)))
    return [*found, (lengths[0] + 1) / (lengths[1] + 1), lengths[1] - lengths[0]]


def read(corpus: Path) -> dict[str, tuple[list[tuple[str, str]], NDArray[np.bool_]]]:
    """The texts of each part, and whether they are the same."""
    found = {}
    for part in ("train", "dev", "test"):
        path = corpus / f"{part}.spacy"
        docs = list(DocBin().from_disk(path).get_docs(Vocab())) if path.exists() else []
        pairs = [pair_of(doc) for doc in docs]
        texts = [(pair[0].text, pair[1].text) for pair in pairs if pair is not None]
        found[part] = texts, np.array([doc.cats["same"] > 0.5 for doc in docs])
    return found


# The other system, of overlaps, has no random part.
TRAINED = {"re2": train_re2, "textcat": train_textcat}


# The table


def print_table(records: Iterable[dict[str, Any]]) -> None:
    parts = [(part, name) for part in ("dev", "test") for name in SCORES]
    header = [
        *("corpus", "system", "vectors", "seeds"),
        *(" ".join(each) for each in parts),
        "seconds",
    ]
    rows = [
        [
            *names,
            str(len(group)),
            *(percent([record[part][name] for record in group if part in record])
              for part, name in parts),
            f"{mean(record['seconds'] for record in group):.0f}",
        ]
        for names, group in group_records(records)
    ]  # fmt: skip
    print(format_table(header, rows, text_columns=3))


if __name__ == "__main__":
    main()
