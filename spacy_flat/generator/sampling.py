"""Sampling the next characters from their scores.

Shapes: N texts written side by side, K keys.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..util.arrays import Bools, Floats, Ints
from ..util.options import require_count, require_number

Seeds = Sequence[np.random.SeedSequence]

TEXTS_AT_ONCE = 256  # that are written side by side
_GREEDY = 1e-6  # below it, only the best has a probability, and float32 underflows


@dataclass(frozen=True)
class Sampling:
    """How the next character is chosen.

    temperature: divides the scores, up to 1000; 0 takes the most probable character ("greedy").
    top_k: keep the k most probable characters; 0 for all.
    top_p: keep the most probable characters that together have this probability (nucleus sampling,
        Holtzman et al., 2020); 1 for all.

    Raises ValueError (F341) for a value out of range.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        require_number("temperature", self.temperature, 0, 1000)
        require_count("top_k", self.top_k, 0)
        require_number("top_p", self.top_p, 1e-6, 1)

    def choose(self, scores: Floats, allowed: Bools, draws: Floats) -> Ints:
        """[N] keys.

        scores: [N, K] logits.
        allowed: [N, K] or [K] keys to choose from, at least one for each text.
        draws: [N] random numbers in [0, 1).
        """
        scores = np.where(allowed, scores, -np.inf)
        best = scores.max(axis=1, keepdims=True)
        if self.temperature < _GREEDY:
            return scores.argmax(axis=1)  # type: ignore[no-any-return]
        probs = np.exp(self._top_k((scores - best) / self.temperature))
        return _draw(self._top_p(probs), draws)

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
    reached = probs.astype(np.float64).cumsum(axis=1)
    points = np.minimum(draws * reached[:, -1], np.nextafter(reached[:, -1], 0))
    return (reached > points[:, None]).argmax(axis=1)  # type: ignore[no-any-return]


def seeds_of_texts(seed: int | None, n: int) -> list[Seeds]:
    """The seeds of n texts, some at a time. The seed of text i doesn't depend on n.

    seed: None for a different one every time.

    Raises ValueError (F341) for a negative seed or one that isn't an integer.
    """
    if seed is not None:
        require_count("seed", seed, 0)
    seeds = np.random.SeedSequence(seed).spawn(n)
    return [seeds[start : start + TEXTS_AT_ONCE] for start in range(0, n, TEXTS_AT_ONCE)]


def draws_of(seeds: Seeds) -> Iterator[Floats]:
    """Yield random numbers [N] in [0, 1) without end, those of each text from its own seed."""
    generators = [np.random.default_rng(seed) for seed in seeds]
    while True:
        yield np.array([each.random() for each in generators])
