"""Measure the lexicon with jieba's dictionary: build, match, save, load, add.

    python benchmarks/lexicon.py [TEXT] [--full-width]

TEXT is a UTF-8 file, a text a line; by default texts are made of words drawn from the dictionary.
Searches run in one thread; the best of several runs counts, since others may use the machine.
"""

import argparse
import random
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from spacy_flat.lexicon import Lexicon, WordList, jieba_words

Result = TypeVar("Result")

ADDED = 100_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", nargs="?", type=Path)
    parser.add_argument("--full-width", action="store_true")
    arguments = parser.parse_args()

    words, seconds = clock(jieba_words)
    print(f"read jieba's dictionary   {seconds:6.2f} s, {len(words):,} lines")
    lexicon, seconds = clock(lambda: Lexicon(words, full_width=arguments.full_width))
    print(f"build                     {seconds:6.2f} s, {len(lexicon):,} words")
    texts = read_texts(arguments.text) if arguments.text else make_texts(words)
    before = report_match("match", lexicon, texts)
    report_match("match, batches of 16", lexicon, texts, batch=16)

    with TemporaryDirectory() as folder:
        _, seconds = clock(lambda: lexicon.to_disk(folder))
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        print(f"save                      {seconds:6.2f} s, {size / 1e6:.1f} MB")
        _, seconds = clock(lambda: Lexicon.from_disk(folder), runs=5)
        print(f"load                      {seconds:6.2f} s")

    added = make_words(lexicon)
    _, seconds = clock(lambda: (lexicon.add(added), lexicon.match(texts[:1])))
    print(f"add {ADDED:,} and search   {seconds:6.2f} s")
    after = report_match("match after adding", lexicon, texts)
    print(f"slower by                 {after / before - 1:6.0%}")


def clock(function: Callable[[], Result], runs: int = 1) -> tuple[Result, float]:
    """The function's result, and the seconds of its fastest run."""
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        result = function()
        best = min(best, time.perf_counter() - start)
    return result, best


def report_match(name: str, lexicon: Lexicon, texts: list[str], batch: int | None = None) -> float:
    """Print the speed of matching; returns seconds."""
    step = batch or len(texts)
    characters = sum(map(len, texts))
    found, seconds = clock(
        lambda: sum(len(lexicon.match(texts[i : i + step])) for i in range(0, len(texts), step)),
        runs=7,
    )
    print(
        f"{name:25s} {seconds:6.2f} s, {characters / seconds / 1e6:.2f} M characters/s, "
        f"{characters:,} characters, {found / characters:.2f} matches a character"
    )
    return seconds


def read_texts(path: Path) -> list[str]:
    return [line for line in path.read_text("utf-8").splitlines() if line]


def make_texts(words: WordList, count: int = 20_000) -> list[str]:
    """Texts of ten words drawn by frequency, about 20 characters long."""
    draw = random.Random(0)
    weights = [entry.frequency for entry in words]
    drawn = draw.choices([entry.word for entry in words], weights, k=10 * count)
    return ["".join(drawn[i : i + 10]) + "。" for i in range(0, len(drawn), 10)]


def make_words(lexicon: Lexicon) -> list[str]:
    """New words of the lexicon's own characters: the halves of two words joined, as names are."""
    draw = random.Random(0)
    known = list(lexicon)
    made: dict[str, None] = {}
    while len(made) < ADDED:
        word = draw.choice(known)[:2] + draw.choice(known)[-1]
        if word not in lexicon:
            made[word] = None
    return list(made)


if __name__ == "__main__":
    main()
