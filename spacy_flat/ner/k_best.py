"""The most probable annotations of a segment: a best-first search (A*) over its likely entities.

An annotation may have several tag sequences, if labels of the network are one in Docs: all that
agree with the annotation so far are followed together.

Shapes: A arcs: the entities, and the segment's end; S states, see `semi_markov`.
"""

from __future__ import annotations

import heapq
from itertools import count
from typing import NamedTuple

import numpy as np

from ..util.arrays import Float64s, Ints

OUT, BOUNDARY = 0, 1  # states

Labelled = tuple[int, int, int]
"""Units [start, end) of a segment, and the number of a label of Docs."""


class Choices(NamedTuple):
    """What may come next, by entities of Docs.

    joins: [S, S] from the state before a node to the one after it.
    starts, ends, states: [A] of arcs; the last one is the segment's end.
    scores: [A] their log-odds.
    rests: [A] what the log-odds of all that follows an arc can't exceed.
    names: [A] labels of Docs.
    """

    joins: Float64s
    starts: Ints
    ends: Ints
    states: Ints
    scores: Float64s
    rests: Float64s
    names: Ints

    def sorted(self, length: int) -> Choices:
        """In order, with the end of a segment of this length."""
        order = np.append(np.lexsort((self.names, self.ends, self.starts)), len(self.names))
        last = length, length, BOUNDARY, 0.0, 0.0, 0
        columns = zip(self[1:], last, strict=True)
        return Choices(self.joins, *(np.append(each, end)[order] for each, end in columns))

    @property
    def groups(self) -> Ints:
        """Where the arcs of each entity of Docs begin, and the last ones end."""
        changes = [np.diff(each, prepend=-1) != 0 for each in (self.starts, self.ends, self.names)]
        return np.append(np.flatnonzero(np.any(changes, axis=0)), len(self.names))


class _Step(NamedTuple):
    """The entities so far, the log-sums [A] up to each arc after them, and one group of arcs."""

    spans: list[Labelled]
    reached: Float64s
    group: int


def search(choices: Choices, k: int, is_exact: bool) -> list[tuple[float, list[Labelled]]]:
    """The k annotations with the highest log-odds, the best first.

    is_exact: some annotation reaches what `rests` say, so that no more than k ways to go on count.
    """
    groups = choices.groups
    turn: list[tuple[float, int, _Step]] = []
    found: list[tuple[float, list[Labelled]]] = []
    number, n_choices = count(), len(groups) - 1

    def expand(spans: list[Labelled], node: int, ended: Float64s) -> None:
        reached = _reach(choices, node, ended) + choices.scores
        bounds = np.logaddexp.reduceat(reached + choices.rests, groups[:-1])
        likely = np.argsort(-bounds)[: k if is_exact else None]
        for group in likely[bounds[likely] > -np.inf].tolist():
            step = _Step(spans, reached, group)
            heapq.heappush(turn, (-float(bounds[group]), next(number), step))

    start = np.full(len(choices.joins), -np.inf)
    start[BOUNDARY] = 0
    expand([], 0, start)
    while turn and len(found) < k:
        bound, _, (spans, reached, group) = heapq.heappop(turn)
        if group == n_choices - 1:
            found.append((-bound, spans))
            continue
        arcs = slice(*groups[group : group + 2].tolist())
        first, end, name = (
            int(each[arcs.start]) for each in (choices.starts, choices.ends, choices.names)
        )
        ended = np.full(len(choices.joins), -np.inf)
        ended[choices.states[arcs]] = reached[arcs]
        expand([*spans, (first, end, name)], end, ended)
    return found


def _reach(choices: Choices, node: int, ended: Float64s) -> Float64s:
    """[A] the log-sums of the odds up to each arc, from those [S] up to states before a node."""
    some = np.flatnonzero(ended > -np.inf)
    here = np.logaddexp.reduce(ended[some, None] + choices.joins[some], axis=0)
    after = here[OUT] + choices.joins[OUT]
    gaps, states = choices.starts - node, choices.states
    return np.where(gaps > 0, after[states], np.where(gaps == 0, here[states], -np.inf))
