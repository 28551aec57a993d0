"""Raw text, packed into blocks of equal length, shuffled a part at a time."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from ..errors import Errors
from ..text.hashing import hash_characters
from ..text.units import Ints
from ..util.files import read_text_lines
from .vocabulary import CODE_POINTS, LINE_END

HELD_OUT_EVERY = 200  # one line of so many, the first of all included
HELD_OUT_BLOCKS = 200
SHUFFLED = 4096  # blocks in memory
COUNTED = 1_000_000  # characters at once
LONGEST = 10_000  # characters of a line: what is longer is several


@dataclass(frozen=True)
class Place:
    """How far the texts have been read: batches of a pass over them, passes from 0."""

    epoch: int = 0
    batches: int = 0


@dataclass(frozen=True)
class RawText:
    """Text files (plain, .gz or .xz, UTF-8), read a line at a time.

    size: characters of a block. A block is cut from lines joined by their ends, where white space
        is one space; what is left at the end of all is not read.
    """

    paths: Sequence[Path]
    size: int
    seed: int

    def count(self) -> Ints:
        """[code points] how often each occurs.

        File errors as in `read_lines`, encoding errors as in `decode`.
        """
        counts = np.zeros(CODE_POINTS, dtype=np.int64)
        for part in _parts(self._lines(), COUNTED):
            counts += np.bincount(
                hash_characters(part, False).astype(np.int64), minlength=CODE_POINTS
            )
        return counts

    def held_out(self) -> list[str]:
        """Blocks of lines that are not trained on.

        Raises ValueError (F381) where the texts are shorter than that.
        """
        lines = (line for number, line in enumerate(self._lines()) if _is_held_out(number))
        found = list(islice(self._blocks(lines), HELD_OUT_BLOCKS))
        if not found or next(self._epoch(0, 1), None) is None:
            names = ", ".join(map(str, self.paths)) or "(none)"
            raise ValueError(Errors.F381.format(paths=names, size=self.size, n=HELD_OUT_EVERY))
        return found

    def batches(self, n: int, start: Place) -> Iterator[tuple[Place, list[str]]]:
        """Batches of n blocks without end, each with the place behind it, as from the beginning;
        those up to `start` are left out."""
        epoch, done = start.epoch, start.batches
        while True:
            for number, batch in enumerate(self._epoch(epoch, n), 1):
                if number > done:
                    yield Place(epoch, number), batch
            epoch, done = epoch + 1, 0

    def _epoch(self, epoch: int, n: int) -> Iterator[list[str]]:
        lines = (line for number, line in enumerate(self._lines()) if not _is_held_out(number))
        blocks = self._blocks(lines)
        rng = np.random.default_rng([self.seed, epoch])
        while some := list(islice(blocks, SHUFFLED)):
            order = rng.permutation(len(some)).tolist()
            for first in range(0, len(some), n):
                yield [some[number] for number in order[first : first + n]]

    def _blocks(self, lines: Iterable[str]) -> Iterator[str]:
        rest = ""
        for line in lines:
            rest += line + LINE_END
            whole = len(rest) - len(rest) % self.size
            yield from (rest[place : place + self.size] for place in range(0, whole, self.size))
            rest = rest[whole:]

    def _lines(self) -> Iterator[str]:
        """Lines that are not empty, with plain spaces alone."""
        for path in self.paths:
            for _, text in read_text_lines(path):
                line = " ".join(text.split())
                yield from (line[n : n + LONGEST] for n in range(0, len(line), LONGEST))


def _is_held_out(number: int) -> bool:
    return number % HELD_OUT_EVERY == 0


def _parts(lines: Iterable[str], size: int) -> Iterator[str]:
    """Lines joined to parts of some size."""
    part: list[str] = []
    length = 0
    for line in lines:
        part.append(line)
        length += len(line)
        if length >= size:
            yield "".join(part)
            part, length = [], 0
    yield "".join(part)
