"""A semi-Markov CRF (Sarawagi and Cohen, 2004) over the entities that segments may have.

An entity's score is the sum of the linear-chain CRF's emissions and transitions within it, so that
constraints on whole entities, and their own log-odds, are exact. All scores are log-odds to the
sequence without entities: a stretch outside of entities has score 0.

Shapes: B segments, C units, K tags, L labels, S = K + 1 states: the tags, and the start of a
segment before its first unit or the stop behind its last one; N arcs; E nodes of a segment, which
are the places where arcs start or end.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import count
from typing import NamedTuple

import numpy as np

from ..errors import Errors
from ..util.arrays import Bools, Float64s, Ints
from .tags import OUTSIDE, TagSet

HUGE = 1e6  # bound of emissions: their sums keep enough digits
NEGLIGIBLE = -22.0  # ln of the highest probability of entities that are left out
_CHUNK = 1 << 22  # numbers in an array

Labelled = tuple[int, int, int]
"""Units [start, end) of a segment, and the number of a label of Docs."""


class Scores(NamedTuple):
    """A CRF's scores. emissions: [B, C, K]. transitions: [K, K]. starts, ends: [K]."""

    emissions: Float64s
    transitions: Float64s
    starts: Float64s
    ends: Float64s


class Spans(NamedTuple):
    """Entities [starts, ends) of segments, with numbers of labels. All [N]."""

    rows: Ints
    starts: Ints
    ends: Ints
    labels: Ints

    def select(self, chosen: Ints | Bools) -> Spans:
        return Spans(*(each[chosen] for each in self))

    def of_row(self, row: int) -> Spans:
        return self._replace(rows=np.full(len(self.rows), row))

    def keys(self) -> Ints:
        """[N] a different number for each."""
        size = int(max((each.max(initial=0) for each in self), default=0)) + 1
        keys: Ints = np.zeros(len(self.rows), np.int64)
        for each in self:
            keys = keys * size + each
        return keys

    @classmethod
    def of(cls, spans: Sequence[tuple[int, int, int, int]]) -> Spans:
        """From (row, start, end, label)."""
        return cls(*np.array(spans, np.int64).reshape(-1, 4).T)


class SpanScores:
    """Scores of all entities of some segments, at a temperature that divides the CRF's.

    joins: [S, S] the scores from the last state of an entity, or from outside, to the next one's.
    log_partition: [B] log-sum of the odds of all sequences.

    Raises ValueError (F240) for NaN.
    """

    def __init__(self, tags: TagSet, scores: Scores, lengths: Ints, temperature: float) -> None:
        if any(np.isnan(each).any() for each in scores):
            raise ValueError(Errors.F240.format(what="scores of entities"))
        self.lengths, self.tags = lengths, tags
        emissions, transitions, starts, ends = (
            each.clip(-HUGE, HUGE) / temperature for each in scores
        )
        emissions = emissions - emissions[:, :, [OUTSIDE]]
        transitions = transitions - transitions[OUTSIDE, OUTSIDE]
        K = len(tags)
        steps = np.full((K + 1, K + 1), -np.inf)
        steps[:K, :K] = np.where(tags.allowed_transitions, transitions, -np.inf)
        steps[K, :K] = np.where(tags.allowed_starts, starts - starts[OUTSIDE], -np.inf)
        steps[:K, K] = np.where(tags.allowed_ends, ends - ends[OUTSIDE], -np.inf)
        self.joins: Float64s = steps.copy()
        self.joins[:, np.flatnonzero(tags.continues)] = -np.inf

        begin, inner, end, single = tags.roles
        self._units = emissions[:, :, single]  # [B, C, L], as all of these
        self._begin = emissions[:, :, begin]
        self._end = emissions[:, :, end]
        self._of_two = transitions[begin, end]
        within = transitions[inner, inner]
        # [B, C + 1, L] of inner units before a place
        sums = np.pad((emissions[:, :, inner] + within).cumsum(1), ((0, 0), (1, 0), (0, 0)))
        self._left = self._begin + transitions[begin, inner] - sums[:, 1:] - within
        self._right = self._end + transitions[inner, end] + sums[:, :-1]
        self._before, self._after, self.log_partition = self._sums(emissions, steps)

    def _sums(self, emissions: Float64s, steps: Float64s) -> tuple[Float64s, Float64s, Float64s]:
        """Log-sums [B, C, S] of what may come before a tag at a unit, and after an entity that ends
        with it; and [B] of everything (forward-backward on the linear chain)."""
        B, C, K = emissions.shape
        units = np.full((B, C + 1, K + 1), -np.inf)
        inside = np.arange(C) < self.lengths[:, None]
        units[:, :-1, :K] = np.where(inside[:, :, None], emissions, -np.inf)
        units[np.arange(B), self.lengths, K] = 0
        before, after = np.full_like(units, -np.inf), np.full_like(units, -np.inf)
        before[:, 0] = steps[K]
        onto, back, back_from_ends = _Product(steps), _Product(steps.T), _Product(self.joins.T)
        for place in range(1, C + 1):
            before[:, place] = onto(before[:, place - 1] + units[:, place - 1])
        rest = units[:, -1]
        for place in range(C - 1, -1, -1):
            after[:, place] = back_from_ends(rest)
            following = back(rest)
            following[:, K] = 0
            rest = units[:, place] + following
        return before, after, before[np.arange(B), self.lengths, K]

    def of(self, spans: Spans) -> Float64s:
        """[N] the scores of entities."""
        rows, starts, ends, labels = spans
        first, last = (rows, starts, labels), (rows, ends - 1, labels)
        two = self._begin[first] + self._end[last] + self._of_two[labels]
        more = self._left[first] + self._right[last]
        widths = ends - starts
        found: Float64s = np.where(widths > 2, more, np.where(widths > 1, two, self._units[first]))
        return found

    def candidates(self, less: Float64s) -> Spans:
        """The entities whose probability is not negligible.

        less: [B] ln of how much less probable they may be.
        """
        begin, _, end, single = self.tags.roles
        before, after = self._before[:, :-1], self._after[:, :-1]
        limits = (self.log_partition + NEGLIGIBLE - less)[:, None, None]
        inside = (np.arange(before.shape[1]) < self.lengths[:, None])[:, :, None]
        found = []
        units = before[:, :, single] + self._units + after[:, :, single]
        two = before[:, :-1, begin] + self._begin[:, :-1] + self._of_two
        two = two + self._end[:, 1:] + after[:, 1:, end]
        for width, scores in ((1, units), (2, two)):
            rows, starts, labels = np.nonzero((scores > limits) & inside[:, width - 1 :])
            found.append(Spans(rows, starts, starts + width, labels))
        left = before[:, :, begin] + self._left - limits
        right = np.where(inside, self._right + after[:, :, end], -np.inf)
        best = np.maximum.accumulate(right[:, ::-1], axis=1)[:, ::-1]
        rows, starts, labels = np.nonzero(left[:, :-2] + best[:, 2:] > 0)
        places = np.arange(right.shape[1])
        size = max(1, _CHUNK // len(places))
        for chunk in (slice(at, at + size) for at in range(0, len(rows), size)):
            row, start, label = rows[chunk], starts[chunk], labels[chunk]
            scores = left[row, start, label][:, None] + right[row, :, label]
            which, last = np.nonzero((scores > 0) & (places > start[:, None] + 1))
            found.append(Spans(row[which], start[which], last + 1, label[which]))
        return Spans(*(np.concatenate(each) for each in zip(*found, strict=True)))


class Lattice:
    """The entities that some segments may have, and the stretches outside, as arcs between nodes.

    joins: see `SpanScores`. lengths: [B].
    spans, odds: the entities, sorted by rows, and their log-odds.
    fixed: those of `spans` that must be; others may not cross them.
    names: for each label of the network the number of that of Docs, or -1 for none. Entities with
        the same label of Docs are one.
    """

    def __init__(
        self,
        tags: TagSet,
        joins: Float64s,
        lengths: Ints,
        spans: Spans,
        odds: Float64s,
        fixed: Spans,
        names: Ints,
    ) -> None:
        self.tags, self.joins, self.lengths, self.names = tags, joins, lengths, names
        self.spans, self.odds, self.fixed = spans, odds, fixed
        self.span_names = names[spans.labels]
        self.stop = len(joins) - 1
        self._onto = _Product(joins)
        B, C = len(lengths), int(lengths.max())
        is_node = np.zeros((B, C + 1), np.bool_)
        is_node[:, 0] = is_node[np.arange(B), lengths] = True
        is_node[spans.rows, spans.starts] = is_node[spans.rows, spans.ends] = True
        numbers = is_node.cumsum(1) - 1
        self.last = numbers[np.arange(B), lengths]  # [B] last nodes
        self.n_nodes = int(self.last.max()) + 1
        self.places = np.flatnonzero(is_node[0])  # of the first segment's nodes

        is_node[np.arange(B), lengths] = False
        for row, start, end, _ in zip(*fixed, strict=True):
            is_node[row, start:end] = False
        rows, places = np.nonzero(is_node)  # from here it may go on outside
        n = len(rows)
        outside = np.full(n, OUTSIDE)
        first, final = tags.first_and_last(spans.ends - spans.starts, spans.labels)
        columns = (
            (rows, spans.rows),
            (numbers[rows, places], numbers[spans.rows, spans.starts]),
            (numbers[rows, places] + 1, numbers[spans.rows, spans.ends]),
            (np.full(n, -1), self.span_names),
            (outside, first),
            (outside, final),
            (np.zeros(n), odds),
            (np.full(n, -1), np.arange(len(odds))),
        )
        row, start, end, name, *_ = arrays = [np.concatenate(each) for each in columns]
        # Arcs of a node follow each other, and of these the ones that are one in Docs.
        order = np.lexsort((end * (name >= 0), name, row, start))
        self.rows, self.starts, self.ends, self.arc_names, *rest = (each[order] for each in arrays)
        self.first, self.final, self.scores, self._spans = rest
        self._bounds = np.searchsorted(self.starts * B + self.rows, np.arange(self.n_nodes * B + 1))

    def _steps(self) -> Iterator[tuple[int, slice]]:
        """Nodes but the last one, and their arcs."""
        B = len(self.last)
        for node in range(self.n_nodes - 1):
            yield node, slice(self._bounds[node * B], self._bounds[(node + 1) * B])

    # Probabilities

    @cached_property
    def _sums(self) -> tuple[Float64s, Float64s]:
        """The log-odds [N] of all sequences with an arc, and [B] of all sequences."""
        every = np.arange(len(self.last))
        shape = len(every), self.n_nodes, len(self.joins)
        ended, before = np.full(shape, -np.inf), np.full(shape, -np.inf)
        ended[:, 0, self.stop] = 0
        for node, arcs in self._steps():
            before[:, node] = self._onto(ended[:, node])
            rows = self.rows[arcs]
            reached = before[rows, node, self.first[arcs]] + self.scores[arcs]
            np.logaddexp.at(ended, (rows, self.ends[arcs], self.final[arcs]), reached)
        total = self._onto(ended[every, self.last])[:, self.stop]

        back = _Product(self.joins.T)
        following, after = np.full(shape, -np.inf), np.full(shape, -np.inf)
        following[every, self.last, self.stop] = 0
        after[:, -1] = back(following[:, -1])
        for node, arcs in reversed(list(self._steps())):
            rows = self.rows[arcs]
            left = self.scores[arcs] + after[rows, self.ends[arcs], self.final[arcs]]
            np.logaddexp.at(following, (rows, node, self.first[arcs]), left)
            after[:, node] = back(following[:, node])
        sums = before[self.rows, self.starts, self.first] + self.scores
        return sums + after[self.rows, self.ends, self.final], total

    @property
    def log_partition(self) -> Float64s:
        """[B] log-sum of the odds of all sequences."""
        return self._sums[1]

    @cached_property
    def probabilities(self) -> Float64s:
        """[spans] of each entity, under its label of Docs."""
        sums, total = self._sums
        own = np.flatnonzero(self._spans >= 0)
        shares = np.zeros(len(self.spans.rows))
        shares[self._spans[own]] = np.exp(sums[own] - total[self.rows[own]])
        keys = self.spans._replace(labels=self.span_names + 1).keys()
        same = np.unique(keys, return_inverse=True)[1].ravel()
        merged: Float64s = np.minimum(np.bincount(same, shares)[same], 1.0)
        return merged

    def above(self, row: int, least: float = 0.0) -> dict[Labelled, float]:
        """The entities of a segment with at least this probability."""
        here = self._of_row(row)
        chosen = (self.probabilities[here] >= least) & (self.span_names[here] >= 0)
        chosen = here.start + np.flatnonzero(chosen)
        columns = self.spans.starts, self.spans.ends, self.span_names
        keys = zip(*(each[chosen].tolist() for each in columns), strict=True)
        return dict(zip(keys, self.probabilities[chosen].tolist(), strict=True))

    def _of_row(self, row: int) -> slice:
        return slice(*np.searchsorted(self.spans.rows, [row, row + 1]))

    # The best

    def best(self, row: int, k: int = 1) -> list[tuple[float, list[Labelled]]]:
        """The k most probable annotations of a segment, the best first, with ln of their
        probabilities; fewer if there are fewer.

        No annotation is more probable than any of its entities, so at first the search is among the
        most probable entities.
        """
        found: list[tuple[float, list[Labelled]]] = []
        if not k:
            return found
        here = self._of_row(row)
        for least in (1e-2, 1e-5, 0.0):
            own = (self.probabilities[here] >= least) | (self.span_names[here] < 0)
            own = here.start + np.flatnonzero(own)
            among = Lattice(
                *(self.tags, self.joins, self.lengths[[row]]),
                *(self.spans.select(own).of_row(0), self.odds[own]),
                *(self.fixed.select(self.fixed.rows == row).of_row(0), self.names),
            )
            total = float(self.log_partition[row])
            found = [(odds - total, spans) for odds, spans in among._search(k)]
            if len(found) == k and found[-1][0] >= math.log(least or 1e-300):
                break
        return found

    def _search(self, k: int) -> list[tuple[float, list[Labelled]]]:
        """The k annotations with the highest log-odds, of a single segment.

        A best-first search (A*) for annotations, each of which may have several tag sequences: all
        that agree with the annotation so far are followed together.
        """
        turn: list[tuple[float, int, _Choices, int]] = []
        found: list[tuple[float, list[Labelled]]] = []
        number, last = count(), self.n_nodes - 1

        def expand(ended: dict[int, Float64s], spans: list[Labelled]) -> None:
            choices = self._choices(ended, spans)
            heapq.heappush(turn, (-choices.bounds[0], next(number), choices, 0))

        ended = np.full(len(self.joins), -np.inf)
        ended[self.stop] = 0
        expand({0: ended}, [])
        while turn and len(found) < k:
            bound, _, choices, rank = heapq.heappop(turn)
            if rank + 1 < len(choices.bounds):
                following = -choices.bounds[rank + 1], next(number), choices, rank + 1
                heapq.heappush(turn, following)
            spans, reached = self._follow(choices, rank)
            if min(reached) == last:
                found.append((-bound, spans))
            else:
                expand(reached, spans)
        return found

    @cached_property
    def _groups(self) -> Ints:
        """[N] the number of an arc's group: arcs from a node that are the same entity of Docs, or
        no entity."""
        kind = self.starts[1:], self.arc_names[1:], self.ends[1:] * (self.arc_names[1:] >= 0)
        before = self.starts[:-1], self.arc_names[:-1], self.ends[:-1] * (self.arc_names[:-1] >= 0)
        changes = np.any([a != b for a, b in zip(kind, before, strict=True)], axis=0)
        return np.append(0, changes.cumsum())

    @cached_property
    def _limits(self) -> Float64s:
        """[E, S] the log-odds that no annotation of what follows an arc exceeds. Those of a group
        are at most its best arc's times its size."""
        sizes = np.log(np.bincount(self._groups))[self._groups]
        limits = np.full((self.n_nodes, len(self.joins)), -np.inf)
        limits[-1] = self.joins[:, self.stop]
        for node, arcs in reversed(list(self._steps())):
            rest = self.scores[arcs] + sizes[arcs] + limits[self.ends[arcs], self.final[arcs]]
            best = np.full(len(self.joins), -np.inf)
            np.maximum.at(best, self.first[arcs], rest)
            limits[node] = (self.joins + best).max(1)
        return limits

    def _choices(self, ended: dict[int, Float64s], spans: list[Labelled]) -> _Choices:
        node = min(ended)
        waiting = {place: each for place, each in ended.items() if place > node}
        arcs = slice(int(self._bounds[node]), int(self._bounds[node + 1]))
        reached = self._onto(ended[node][None])[0, self.first[arcs]] + self.scores[arcs]
        each = reached + self._limits[self.ends[arcs], self.final[arcs]]
        groups = np.flatnonzero(np.diff(self._groups[arcs], prepend=-1))
        bounds = np.logaddexp.reduceat(each, groups)
        for place, other in waiting.items():  # what goes on without an entity comes first
            bounds[0] = np.logaddexp(bounds[0], np.logaddexp.reduce(other + self._limits[place]))
        order = np.argsort(-bounds, kind="stable")
        order = order[bounds[order] > -np.inf]
        groups = np.append(groups, arcs.stop - arcs.start)
        return _Choices(node, waiting, spans, arcs.start, reached, groups, order, bounds[order])

    def _follow(self, choices: _Choices, rank: int) -> tuple[list[Labelled], dict[int, Float64s]]:
        """The entities with one of the choices, and the log-sums at the nodes that it reaches."""
        group = int(choices.order[rank])
        start, end = choices.groups[group : group + 2].tolist()
        arcs = slice(choices.first + start, choices.first + end)
        name, spans = int(self.arc_names[arcs.start]), choices.spans
        ended: dict[int, Float64s] = {}
        if name < 0:
            ended = {place: each.copy() for place, each in choices.waiting.items()}
        else:
            places = self.places[[choices.node, self.ends[arcs.start]]].tolist()
            spans = [*spans, (places[0], places[1], name)]
        columns = self.ends[arcs].tolist(), self.final[arcs].tolist(), choices.reached[start:end]
        for place, state, score in zip(*columns, strict=True):
            if place not in ended:
                ended[place] = np.full(len(self.joins), -np.inf)
            ended[place][state] = np.logaddexp(ended[place][state], score)
        return spans, ended


class _Choices(NamedTuple):
    """The ways to go on from a node.

    waiting: log-sums at later nodes, of arcs without an entity of Docs.
    spans: the entities before. first: number of the first arc.
    reached: log-sums at the end of each arc. groups: where groups of arcs start, and the last ends.
    order: the groups, the best first. bounds: what no annotation with each can exceed.
    """

    node: int
    waiting: dict[int, Float64s]
    spans: list[Labelled]
    first: int
    reached: Float64s
    groups: Ints
    order: Ints
    bounds: Float64s


class _Product:
    """Log-sums over the states before a join."""

    def __init__(self, joins: Float64s) -> None:
        most = joins.max(0, keepdims=True)
        self._most = np.where(np.isfinite(most), most, 0)
        self._shares = np.exp(joins - self._most)

    def __call__(self, scores: Float64s) -> Float64s:
        """[B, S] → [B, S]."""
        most = scores.max(1, keepdims=True)
        most = np.where(np.isfinite(most), most, 0)
        with np.errstate(divide="ignore"):
            found: Float64s = np.log(np.exp(scores - most) @ self._shares) + most + self._most
        return found
