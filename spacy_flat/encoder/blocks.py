"""Raw text, packed into blocks of equal length and shuffled."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from ..errors import Errors
from ..text.hashing import hash_characters
from ..util.arrays import Ints
from ..util.files import read_text_lines
from .featuriser import CODE_POINTS, LINE_END

HELD_OUT_EVERY = 200  # lines, the first included
HELD_OUT_BLOCKS = 200
SHUFFLED = 4096  # blocks in memory
LONGEST = 10_000  # characters of a line; longer ones are split


@dataclass(frozen=True)
class Place:
    """How far the texts have been read: passes, and batches of the current pass."""

    epoch: int = 0
    batches: int = 0


@dataclass(frozen=True)
class RawText:
    """Text files (plain, .gz or .xz, UTF-8), read a line at a time.

    size: characters of a block. Blocks are cut from lines joined by their ends, with white space
        as single spaces, without the remainder at the end.
    """

    paths: Sequence[Path]
    size: int
    seed: int

    def count(self) -> Ints:
        """[code points] counts. Errors as in `read_text_lines`."""
        counts = np.zeros(CODE_POINTS, dtype=np.int64)
        lines = self._lines()
        while some := "".join(islice(lines, SHUFFLED)):
            codes = hash_characters(some, False).astype(np.int64)
            counts += np.bincount(codes, minlength=CODE_POINTS)
        return counts

    def held_out(self) -> list[str]:
        """Held-out blocks. Raises ValueError (F381) for texts that are too short."""
        found = list(islice(self._blocks(self._part(held_out=True)), HELD_OUT_BLOCKS))
        if not found or next(self._epoch(0, 1), None) is None:
            names = ", ".join(map(str, self.paths)) or "(none)"
            raise ValueError(Errors.F381.format(paths=names, size=self.size, n=HELD_OUT_EVERY))
        return found

    def batches(self, n: int, start: Place) -> Iterator[tuple[Place, list[str]]]:
        """Endless batches of n blocks after `start`, each with the place that it reaches."""
        epoch, done = start.epoch, start.batches
        while True:
            for number, batch in enumerate(self._epoch(epoch, n), 1):
                if number > done:
                    yield Place(epoch, number), batch
            epoch, done = epoch + 1, 0

    def _epoch(self, epoch: int, n: int) -> Iterator[list[str]]:
        blocks = self._blocks(self._part(held_out=False))
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

    def _part(self, held_out: bool) -> Iterator[str]:
        numbered = enumerate(self._lines())
        return (line for n, line in numbered if (n % HELD_OUT_EVERY == 0) is held_out)

    def _lines(self) -> Iterator[str]:
        """Non-empty lines with plain spaces."""
        for path in self.paths:
            for _, text in read_text_lines(path):
                line = " ".join(text.split())
                yield from (line[n : n + LONGEST] for n in range(0, len(line), LONGEST))
