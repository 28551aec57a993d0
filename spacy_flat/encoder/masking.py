"""Blocks of raw text as keys, with masked words.

Shapes: B blocks, C characters with marks, M masked characters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..util.arrays import Ints
from .featuriser import END, MARKS, MASK, START, CharacterFeaturiser
from .options import PretrainOptions

if TYPE_CHECKING:
    from ..lexicon import Lexicon

TO_MASK, TO_OTHER = 0.8, 0.1  # shares of BERT's masked characters; the rest stay


@dataclass(frozen=True)
class Masking:
    """Makes batches of blocks. words: their characters are masked together."""

    characters: CharacterFeaturiser
    options: PretrainOptions
    words: "Lexicon | None" = None

    def arrays(self, blocks: Sequence[str], rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
        """The arrays of a `PretrainBatch`: keys [B, C], places [M], originals [M]."""
        characters = self.characters
        keys = np.stack([characters.block_keys(block) for block in blocks])
        marks = [np.full((len(blocks), 1), characters.mark(name)) for name in (START, END)]
        keys = np.concatenate([marks[0], keys, marks[1]], axis=1)
        places = np.zeros(0, dtype=np.int64)
        if self.options.recipe.masks != "none":
            places = self._places(blocks, keys, rng)
        flat = keys.ravel()
        originals = flat[places]
        flat[places] = self._masked(originals, rng)
        return keys, places, originals

    def _places(self, blocks: Sequence[str], keys: Ints, rng: np.random.Generator) -> Ints:
        """[M] characters of drawn words, at least one."""
        words = self._words(blocks)
        inner = np.ones(keys.shape, dtype=np.bool_)
        inner[:, [0, -1]] = False
        drawn = rng.random(int(words[-1]) + 1)[words] < self.options.masked
        may = keys[inner] != self.characters.mark(END)
        chosen = np.flatnonzero(inner)[drawn & may]
        places: Ints = chosen if len(chosen) else np.flatnonzero(inner)[may][:1]
        return places

    def _words(self, blocks: Sequence[str]) -> Ints:
        """[characters of all blocks] each character's word, cut by longest match from left to right
        within blocks."""
        total = sum(map(len, blocks))
        is_start = np.ones(total, dtype=np.bool_)
        if self.words is not None:
            matches = self.words.match(blocks)
            firsts = np.cumsum([0, *map(len, blocks)])[matches.texts]
            starts, ends = (firsts + matches.starts).tolist(), (firsts + matches.ends).tolist()
            longest = dict(zip(starts, ends, strict=True))
            place = 0
            for start, end in longest.items():
                if start >= place:
                    is_start[start + 1 : end] = False
                    place = end
        return np.cumsum(is_start) - 1

    def _masked(self, originals: Ints, rng: np.random.Generator) -> Ints:
        """[M] replacements: BERT's mixture, or masks for ELECTRA's generator."""
        mask = self.characters.mark(MASK)
        if self.options.recipe.masks == "all":
            return np.full_like(originals, mask)
        draws = rng.random(len(originals))
        others = rng.integers(len(MARKS), len(self.characters), len(originals))
        read = np.where(draws < TO_MASK + TO_OTHER, others, originals)
        return np.where(draws < TO_MASK, mask, read)
