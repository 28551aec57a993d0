"""Decoding: greedy or by beam search, with placeholders for names.

Shapes: B sentences, W hypotheses of each ("beam"), N = B·W rows, V ids, t ids written so far,
P placeholders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ..util.arrays import Bools, Floats, Ints
from .batch import END, NAMES, START, PaddedIds
from .network import Seq2Seq

MARGIN = 10  # pieces that any translation may have beyond `max_ratio`


@dataclass(frozen=True)
class BeamSearch:
    """Settings of the search; see the component."""

    beam: int = 1
    length_penalty: float = 1.0
    max_ratio: float = 2.0
    no_repeat_ngram: int = 5

    def longest(self, source: Source) -> int:
        """Maximum ids of a translation, with its end mark."""
        return int(self.max_ratio * len(source.ids)) + MARGIN + source.n_names

    def score(self, log_prob: float, length: int) -> float:
        return float(log_prob / ((5 + length) / 6) ** self.length_penalty)


class Source(NamedTuple):
    """A sentence to translate.

    ids: with its end mark.
    n_names: its placeholders, numbered from 0.
    """

    ids: Ints
    n_names: int = 0


class Hypothesis(NamedTuple):
    """A translation of a sentence.

    ids: without marks.
    score: the logarithm of its probability, divided by the length penalty.
    """

    ids: list[int]
    score: float


def search(
    network: Seq2Seq, sources: Sequence[Source], how: BeamSearch, n_placeholders: int
) -> list[list[Hypothesis]]:
    """Find 1 to W finished hypotheses of each sentence, best first.

    A sentence is done when W hypotheses have ended, each among the W best at that time.
    """
    W = how.beam
    state = network.encode(PaddedIds.of([source.ids for source in sources]))
    beams = Beams.of(sources, how, n_placeholders)
    ended: list[list[Hypothesis]] = [[] for _ in sources]
    while len(beams.sentences):
        forbidden = beams.forbidden(network.n_ids, how.no_repeat_ngram)
        # Twice as many as W: at most W rows end, so W candidates continue.
        last = beams.ids[:, -1]
        scores, places = network.best(last, state, beams.scores, forbidden, beams.pending, 2 * W)
        rows = places // network.n_ids + W * np.arange(len(places))[:, None]
        ids = places % network.n_ids
        is_end = ids == END
        for place, rank in np.argwhere(is_end[:, :W] & np.isfinite(scores[:, :W])).tolist():
            written = beams.ids[rows[place, rank], 1:].tolist()
            score = how.score(scores[place, rank], len(written) + 1)
            ended[beams.sentences[place]].append(Hypothesis(written, score))
        others = np.argsort(is_end, axis=1, kind="stable")[:, :W]
        each = np.arange(len(others))[:, None]
        scores, rows, ids = scores[each, others], rows[each, others], ids[each, others]
        n_ended = np.array([len(ended[sentence]) for sentence in beams.sentences])
        going = np.flatnonzero((n_ended < W) & np.isfinite(scores).any(axis=1))
        rows = rows[going].ravel()
        if not np.array_equal(rows, np.arange(len(beams.ids))):
            state.keep(network.to_tensor(going), network.to_tensor(rows))
        beams = beams.extend(going, rows, ids[going].ravel(), scores[going])
    return [sorted(own, key=lambda each: -each.score)[:W] for own in ended]


@dataclass
class Beams:
    """Unfinished hypotheses of some sentences, W rows each.

    sentences: [B] their numbers.
    scores: [B, W] log-probabilities; −∞ for unused rows.
    ids: [N, 1 + t] written so far, after the mark of the start.
    pending: [N, P] placeholders still to write.
    limits: [B] ids that each may have.
    """

    sentences: Ints
    scores: Floats
    ids: Ints
    pending: Bools
    limits: Ints

    @classmethod
    def of(cls, sources: Sequence[Source], how: BeamSearch, n_placeholders: int) -> Beams:
        B, W = len(sources), how.beam
        n_names = np.array([source.n_names for source in sources])
        scores = np.full((B, W), -np.inf)
        scores[:, 0] = 0.0  # all rows of a sentence begin alike
        return cls(
            np.arange(B),
            scores,
            np.full((B * W, 1), START),
            (np.arange(n_placeholders) < n_names[:, None]).repeat(W, axis=0),
            np.array([how.longest(source) for source in sources]),
        )

    def forbidden(self, n_ids: int, no_repeat_ngram: int) -> Bools:
        """[N, V] ids that can't come next."""
        found = np.zeros((len(self.ids), n_ids), dtype=np.bool_)
        written = self.ids.shape[1] - 1
        left = self.limits.repeat(self.scores.shape[1]) - written
        forbid_repeats(self.ids[:, 1:], no_repeat_ngram, found)
        # There may be room only for pending placeholders.
        found[left <= self.pending.sum(axis=1) + 1] = True
        found[:, :NAMES] = True
        found[:, NAMES : NAMES + self.pending.shape[1]] = ~self.pending
        found[:, END] = written == 0
        return found

    def extend(self, sentences: Ints, rows: Ints, ids: Ints, scores: Floats) -> Beams:
        """Extend these rows of these sentences by an id each."""
        pending = self.pending[rows]
        named = np.flatnonzero((ids >= NAMES) & (ids < NAMES + pending.shape[1]))
        pending[named, ids[named] - NAMES] = False
        return Beams(
            self.sentences[sentences],
            scores,
            np.concatenate([self.ids[rows], ids[:, None]], axis=1),
            pending,
            self.limits[sentences],
        )


def forbid_repeats(ids: Ints, size: int, forbidden: Bools) -> None:
    """Mark in `forbidden` [N, V] the ids that would repeat a sequence of `size` ids in a row."""
    t = ids.shape[1]
    if not 0 < size <= t:
        return
    windows = sliding_window_view(ids, size, axis=1)  # [N, t − size + 1, size]
    recent = ids[:, t - size + 1 :]
    rows, places = np.nonzero((windows[:, :, :-1] == recent[:, None]).all(axis=2))
    forbidden[rows, windows[rows, places, -1]] = True
