"""Sampling the next characters from their scores.

Shapes: N texts written side by side, K keys.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import Errors
from ..util.arguments import require, require_count
from ..util.arrays import Bools, Floats, Ints

Seed = np.random.SeedSequence

_DRAWN_AT_ONCE = 256
_GREEDY = 1e-6  # below it, only the best has a probability, and float32 underflows


@dataclass(frozen=True)
class Sampling:
    """How the next character is chosen.

    temperature: divides the scores, up to 1000; 0 takes the most probable character ("greedy").
    top_k: keep the k most probable characters; 0 for all.
    top_p: keep the most probable characters that together have this probability (nucleus sampling,
        Holtzman et al., 2020); 1 for all.
    repetition_penalty: divides positive scores of characters in the text so far, and multiplies
        negative ones (Keskar et al., 2019), 0.001 to 1000; 1 for none.

    Raises ValueError (F341) for a value out of range.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    repetition_penalty: float = 1.0

    def __post_init__(self) -> None:
        t, p, r = self.temperature, self.top_p, self.repetition_penalty
        wanted = "a number from 0.001 to 1000"
        require("temperature", t, lambda: 0 <= t <= 1000, "a number from 0 to 1000")
        require_count("top_k", self.top_k, 0)
        require("top_p", p, lambda: 0 < p <= 1, "above 0, and 1 at most")
        require("repetition_penalty", r, lambda: 0.001 <= r <= 1000, wanted)

    def choose(self, scores: Floats, seen: Bools, allowed: Bools, draws: Floats) -> Ints:
        """[N] keys.

        scores: [N, K] logits.
        seen: [N, K] keys in the texts.
        allowed: [N, K] or [K] keys to choose from, at least one for each text.
        draws: [N] random numbers in [0, 1).

        Raises ValueError (F240) for scores that aren't numbers.
        """
        if np.isnan(scores).any():
            raise ValueError(Errors.F240.format(what="scores of the next characters"))
        scores = self._penalised(scores, seen)
        scores = np.where(allowed, scores, -np.inf)
        if self.temperature < _GREEDY:
            best: Ints = scores.argmax(axis=1)
            return best
        scores = scores - scores.max(axis=1, keepdims=True)
        probs = np.exp(self._top_k(scores / self.temperature))
        return _draw(self._top_p(probs), draws)

    def _penalised(self, scores: Floats, seen: Bools) -> Floats:
        if self.repetition_penalty == 1:
            return scores
        penalty = np.where(scores > 0, 1 / self.repetition_penalty, self.repetition_penalty)
        return np.where(seen, scores * penalty, scores)

    def _top_k(self, scores: Floats) -> Floats:
        if not 0 < self.top_k < scores.shape[1]:
            return scores
        least = np.partition(scores, -self.top_k, axis=1)[:, -self.top_k, None]
        return np.where(scores >= least, scores, -np.inf)

    def _top_p(self, probs: Floats) -> Floats:
        """[N, K] → [N, K], 0 outside of the nucleus; not normalised."""
        if self.top_p == 1:
            return probs
        # Sorting the values is many times as fast as argsort.
        ordered = np.sort(probs, axis=1)[:, ::-1]
        reached = ordered.cumsum(axis=1, dtype=np.float64)
        size = 1 + (reached < self.top_p * reached[:, -1:]).sum(axis=1)
        least = np.take_along_axis(ordered, size[:, None] - 1, axis=1)
        return np.where(probs >= least, probs, 0)


def _draw(probs: Floats, draws: Floats) -> Ints:
    """[N] keys by inverse transform sampling. Rounding never leads to a probability of 0."""
    reached = probs.cumsum(axis=1, dtype=np.float64)
    points = np.clip(draws * reached[:, -1], 0, np.nextafter(reached[:, -1], 0))
    found = [
        np.searchsorted(row, point, "right") for row, point in zip(reached, points, strict=True)
    ]
    return np.array(found, dtype=np.int64)


def seeds_of_texts(seed: int | None, n: int) -> list[Seed]:
    """The seeds of n texts. The seed of text i doesn't depend on n.

    seed: None for a different one every time.

    Raises ValueError (F341) for a negative seed or one that isn't an integer.
    """
    if seed is not None:
        require_count("seed", seed, 0)
    return np.random.SeedSequence(seed).spawn(n)


class Draws:
    """Random numbers for texts written side by side, from the seed of each."""

    def __init__(self, seeds: Sequence[Seed]) -> None:
        self.generators = [np.random.default_rng(seed) for seed in seeds]
        self.used = 0

    def __len__(self) -> int:
        return len(self.generators)

    def next(self) -> Floats:
        """[N] numbers in [0, 1)."""
        place = self.used % _DRAWN_AT_ONCE
        if place == 0:
            self.drawn = np.stack([each.random(_DRAWN_AT_ONCE) for each in self.generators])
        self.used += 1
        return self.drawn[:, place]
