"""Measure the lexicon with jieba's dictionary: build, match, save, load, add.

    python benchmarks/lexicon.py [TEXT]

TEXT is a UTF-8 file, a text a line, or a `.spacy` file; by default, texts are made of words drawn
from the dictionary.
Searches run in one thread. Their speeds are by processor time: the ways to search take turns on
each slice of the texts, and of several rounds the fastest counts, since others may use the machine.
The other figures are by the clock.
"""

import argparse
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sentences import draw_texts, read_texts

from spacy_flat.lexicon import Lexicon, jieba_words

Result = TypeVar("Result")

ADDED = 100_000
ROUNDS = 10
SLICE = 2000  # texts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", nargs="?", type=Path)
    arguments = parser.parse_args()

    words, seconds = clock(jieba_words)
    print(f"read jieba's dictionary    {seconds:5.2f} s, {len(words):,} lines")
    lexicon, seconds = clock(lambda: Lexicon(words))
    print(f"build                      {seconds:5.2f} s, {len(lexicon):,} words")

    data, seconds = clock(lexicon.to_bytes)
    print(f"save                       {seconds:5.2f} s, {len(data) / 1e6:.1f} MB")
    grown, seconds = clock(lambda: Lexicon.from_bytes(data))
    print(f"load                       {seconds:5.2f} s")

    added = make_words(lexicon)
    _, seconds = clock(lambda: (grown.add(added), grown.match(added[:1])))
    print(f"add {ADDED:,} and search    {seconds:5.2f} s")

    texts = read_texts(arguments.text) if arguments.text else draw_texts(10_000)
    report_speeds(lexicon, grown, texts)


def clock(function: Callable[[], Result]) -> tuple[Result, float]:
    start = time.perf_counter()
    return function(), time.perf_counter() - start


def report_speeds(lexicon: Lexicon, grown: Lexicon, texts: list[str]) -> None:
    """Match the same texts at once, in batches, and with the words added."""
    characters = sum(map(len, texts))
    found = len(lexicon.match(texts))
    print(f"texts: {characters:,} characters, {found / characters:.2f} matches a character")
    searches: dict[str, Callable[[list[str]], object]] = {
        "match": lexicon.match,
        "match, batches of 16": lambda part: [lexicon.match(some) for some in cut(part, 16)],
        "match, words added": grown.match,
    }
    seconds = dict.fromkeys(searches, 0.0)
    for part in cut(texts, SLICE):
        fastest = dict.fromkeys(searches, float("inf"))
        for _ in range(ROUNDS):
            for name, search in searches.items():
                start = time.process_time()
                search(part)
                fastest[name] = min(fastest[name], time.process_time() - start)
        for name in searches:
            seconds[name] += fastest[name]
    for name in searches:
        print(f"{name:25s} {characters / seconds[name] / 1e6:6.2f} M characters/s")
    slower = seconds["match, words added"] / seconds["match"] - 1
    print(f"slower by the added words {slower:6.0%}")


def cut(texts: list[str], size: int) -> list[list[str]]:
    return [texts[i : i + size] for i in range(0, len(texts), size)]


def make_words(lexicon: Lexicon) -> list[str]:
    """New words of the lexicon's own characters: pieces of two words joined, as names are."""
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
