"""Vectors of characters, bigrams and words, trained on raw text (Mikolov et al., 2013; with
subwords Bojanowski et al., 2017)."""

import gzip
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
from tqdm import tqdm

from ..errors import Errors, Warnings
from ..util.arguments import needed
from ..util.arrays import Float32s
from ..util.files import decode, read_lines, replacing
from .text import key_in_text

Kind = Literal["char", "bigram", "word"]
Cut = Callable[[Sequence[str]], Iterator[list[str]]]
"""Cuts texts into words."""

LINES_AT_ONCE = 1000
LONGEST = 5000  # units of a line; gensim leaves out what comes after the 10,000th
MOST_KEYS = 10_000_000  # while counting; beyond it the rarest are forgotten
NGRAMS = (1, 3)  # characters of a subword, with the marks < and > at a word's ends
BUCKETS = 500_000

# gensim cuts its lines at any white space: noncharacters stand for that within words.
_SPACES = "".join(filter(str.isspace, map(chr, range(0x3001))))
_STAND_INS = "".join(chr(0xFDD0 + number) for number in range(len(_SPACES)))
_HIDE = str.maketrans(_SPACES, _STAND_INS)
_SHOW = str.maketrans(_STAND_INS, _SPACES)


@dataclass(frozen=True)
class VectorOptions:
    """How vectors are trained.

    window: units to each side. min_count: rarer units get no vector.
    subwords: for words: add up vectors of character n-grams, so that every word of the lexicon has
        a vector, even if the text lacks it.
    workers: threads. With one, the same seed gives the same file.
    """

    width: int = 50
    window: int = 5
    min_count: int = 5
    epochs: int = 5
    subwords: bool = False
    workers: int = 1
    seed: int = 1


@dataclass(frozen=True)
class Trained:
    """The units read, the vectors written, and the cost."""

    units: int
    vectors: int
    seconds: float
    size: int  # bytes


def train_vectors(
    kind: Kind,
    texts: Sequence[Path],
    target: Path,
    words: Iterable[str],
    cut: Cut,
    options: VectorOptions,
    *,
    show_progress: bool = False,
) -> Trained:
    """Train vectors of one kind on text files (plain, .gz or .xz, UTF-8) and write them.

    words: get a vector from their subwords even if no text has them.
    cut: cuts the texts into words.
    target: word2vec text, packed if the name ends in .gz, the most frequent unit first.
    Memory grows with the number of distinct units, not with the text: the units go through a
    temporary file next to the target. Characters and words are trained as skip-grams, bigrams,
    being many, as continuous bags of words.

    Warns (W003) of words with a line break, which get no vector from their subwords. Raises
    ModuleNotFoundError (F030) without gensim, ValueError if no unit is frequent enough (F031);
    otherwise as `read_lines` and `decode`.
    """
    start = time.perf_counter()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        spool = Path(folder) / "units"
        units = _write_units(spool, _units(kind, _lines(texts, kind, show_progress), cut))
        model = _train(kind, spool, options, show_progress)
    keys: list[str] = model.wv.index_to_key
    rows: Float32s = model.wv.vectors
    if kind == "word" and options.subwords:
        words = list(words)
        writable = [word for word in words if "\n" not in word]
        if broken := len(words) - len(writable):
            warnings.warn(Warnings.W003.format(count=broken), stacklevel=2)
        unseen = [word.translate(_HIDE) for word in writable]
        unseen = [word for word in unseen if word not in model.wv.key_to_index]
        keys = [*keys, *unseen]
        rows = np.concatenate([rows, *(model.wv[word][None] for word in unseen)])
    # A single stand-in is a character of the text: no word is a space.
    keys = [key.translate(_SHOW) if kind == "word" and len(key) > 1 else key for key in keys]
    write_vectors(target, keys, rows)
    return Trained(units, len(keys), time.perf_counter() - start, target.stat().st_size)


def write_vectors(path: Path, keys: Sequence[str], rows: Float32s) -> None:
    """Write word2vec text, packed if the name ends in .gz. Equal vectors give equal files."""
    with replacing(path) as temporary, temporary.open("wb") as raw:
        packed = path.suffix == ".gz"
        # Without name and time in its header a packed file depends on its content only.
        binary: Any = gzip.GzipFile("", "wb", 6, raw, mtime=0) if packed else raw
        with TextIOWrapper(binary, encoding="utf-8", newline="\n") as stream:
            stream.write(f"{len(keys)} {rows.shape[1]}\n")
            for key, row in zip(keys, rows.tolist(), strict=True):
                stream.write(f"{key_in_text(key)} {' '.join(map('%.5g'.__mod__, row))}\n")


def _lines(paths: Sequence[Path], kind: Kind, show_progress: bool) -> Iterator[str]:
    for path in paths:
        lines = tqdm(
            read_lines(path),
            desc=f"{kind}: {path.name}",
            unit=" lines",
            unit_scale=True,
            disable=not show_progress,
        )
        for number, raw in lines:
            yield decode(raw, path, number)


def _units(kind: Kind, lines: Iterator[str], cut: Cut) -> Iterable[list[str]]:
    if kind == "char":
        return (list("".join(line.split())) for line in lines)
    if kind == "bigram":
        return (
            [first + second for word in line.split() for first, second in pairwise(word)]
            for line in lines
        )
    batches = iter(lambda: list(islice(lines, LINES_AT_ONCE)), [])
    return ([unit.translate(_HIDE) for unit in units] for some in batches for units in cut(some))


def _write_units(path: Path, lines: Iterable[list[str]]) -> int:
    """Write the units with spaces between them; returns their number."""
    count = 0
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        for units in lines:
            count += len(units)
            for start in range(0, len(units), LONGEST):
                stream.write(" ".join(units[start : start + LONGEST]) + "\n")
    return count


def _train(kind: Kind, spool: Path, options: VectorOptions, show_progress: bool) -> Any:
    """Train a model of gensim."""
    with needed("Training vectors", "gensim", "vectors"):
        from gensim.models import FastText, Word2Vec
        from gensim.models.callbacks import CallbackAny2Vec

    bar = tqdm(
        total=options.epochs, desc=f"{kind}: training", unit=" epochs", disable=not show_progress
    )

    class EpochBar(CallbackAny2Vec):  # type: ignore[misc]
        def on_epoch_end(self, model: object) -> None:
            bar.update()

    settings: dict[str, Any] = {
        "vector_size": options.width,
        "window": options.window,
        "min_count": options.min_count,
        "max_vocab_size": MOST_KEYS,
        "sg": 0 if kind == "bigram" else 1,
        "workers": options.workers,
        "seed": options.seed,
    }
    if kind == "word" and options.subwords:
        settings.update(min_n=NGRAMS[0], max_n=NGRAMS[1], bucket=BUCKETS)
        model = FastText(**settings)
    else:
        model = Word2Vec(**settings)
    model.build_vocab(corpus_file=str(spool))
    if not len(model.wv):
        raise ValueError(Errors.F031.format(kind=kind, count=options.min_count))
    with bar:
        model.train(
            corpus_file=str(spool),
            total_examples=model.corpus_count,
            total_words=model.corpus_total_words,
            epochs=options.epochs,
            callbacks=[EpochBar()],
        )
    return model
