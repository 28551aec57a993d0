"""A semi-Markov CRF (Sarawagi and Cohen, 2004) over all entities that segments may have.

An entity's score is the sum of the linear-chain CRF's emissions and transitions within it, and of
log-odds of its own, so that constraints on whole entities are exact. All scores are relative to
those of the tag "O", whose score is therefore 0.

Shapes: B segments, C units, N = C + 1 nodes (the places between units), L labels, A arcs (entities
with scores), S = 2 + 2 L states before and after a node: outside, the segment's end, then entities
of several units by label, then entities of one unit by label.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from torch import Tensor

from ..nn.crf import CRF
from ..util.arrays import Bools, Float32s, Float64s, Ints
from .k_best import BOUNDARY, OUT, Choices, Labelled, search
from .tags import OUTSIDE, TagSet

REQUIRED = 1e7  # log-odds of entities that must be
_HUGE = 1e4  # bound of emissions: sums of them stay below `REQUIRED` and keep enough digits
_MARGINS = 10.0, 40.0, REQUIRED / 2  # how far below the best entities are searched, in turn

Add = Callable[[Float64s], Float64s]  # log-sums or maxima


class Scores(NamedTuple):
    """A CRF's scores. emissions: [B, C, K]. transitions: [K, K]. starts, ends: [K]."""

    emissions: Float64s
    transitions: Float64s
    starts: Float64s
    ends: Float64s

    @classmethod
    def of(cls, emissions: Tensor, crf: CRF) -> Scores:
        parts = emissions, crf.transitions, crf.starts, crf.ends
        return cls(*(each.detach().cpu().double().numpy() for each in parts))


class Arcs(NamedTuple):
    """Entities [starts, ends) of segments, with numbers of labels. All [A]."""

    rows: Ints
    starts: Ints
    ends: Ints
    labels: Ints

    @classmethod
    def of(cls, arcs: Sequence[tuple[int, int, int, int]]) -> Arcs:
        return cls(*np.array(arcs, np.int64).reshape(-1, 4).T)

    def select(self, chosen: Ints | Bools | slice) -> Arcs:
        return Arcs(*(each[chosen] for each in self))


@dataclass(frozen=True)
class _Chain:
    """The scores of entities, for reading segments forwards or backwards.

    joins: [S, S] from the state before a node to the one after it.
    single: [C, L, B] entities of one unit.
    left, right: [C, L, B] what the first and last units add to the score of a longer entity.
    pair: [L, 1] what entities of two units add.
    odds: [N, N, L or 1, B] of entities with this end and start.
    origins: [B] the nodes where reading starts.
    """

    joins: Float64s
    single: Float64s
    left: Float64s
    right: Float64s
    pair: Float64s
    odds: Float32s
    origins: Ints

    def reversed(self, lengths: Ints) -> _Chain:
        single, left, right = (each[::-1] for each in (self.single, self.right, self.left))
        odds = self.odds.swapaxes(0, 1)[::-1, ::-1]
        return _Chain(self.joins.T, single, left, right, self.pair, odds, len(odds) - 1 - lengths)

    @np.errstate(divide="ignore", invalid="ignore")
    def prefixes(self, onto: Add, over: Add) -> tuple[Float64s, Float64s]:
        """[N, S, B] the sums of all that may come before each state before a node, with the state,
        and before each state after a node.

        onto: sums over the states before a node, [S, B] → [S, B].
        over: sums over the starts of entities, [n, L, B] → [L, B].
        """
        C, L, B = self.single.shape
        multi, single = slice(2, 2 + L), slice(2 + L, None)
        found = np.empty((C + 1, len(self.joins), B))
        opened = np.empty((C, L, B))
        all_ended = np.full((C + 1, len(self.joins), B), -np.inf)
        for node, ended in enumerate(all_ended):
            ended[BOUNDARY] = np.where(self.origins == node, 0, -np.inf)
            here = found[node] = onto(ended)
            if node == C:
                break
            odds = self.odds[node + 1]
            opened[node] = here[multi] + self.left[node]
            following = all_ended[node + 1]
            following[OUT] = here[OUT]
            following[single] = here[single] + self.single[node] + odds[node]
            if node:
                longer = opened[:node] + odds[:node]
                longer[-1] += self.pair
                following[multi] = over(longer) + self.right[node]
        return all_ended, found


class SemiMarkovCRF:
    """All entities of some segments with their log-odds, under the labels that Docs get.

    lengths: [B].
    names: for each label of the network the number of that of Docs; several may have the same.
    odds: [N, N, L, B], or 1 in place of L, log-odds to add to those of an entity with this end and
        start; -inf excludes it, and `REQUIRED` requires it.
    temperature: divides the CRF's scores.
    """

    def __init__(
        self,
        tags: TagSet,
        scores: Scores,
        lengths: Ints,
        names: Ints,
        odds: Float32s,
        temperature: float = 1.0,
    ) -> None:
        self.lengths, self.names, self._L = lengths, names, len(names)
        inside = np.arange(scores.emissions.shape[1]) < lengths[:, None]
        scores = scores._replace(emissions=np.where(inside[:, :, None], scores.emissions, 0))
        emissions, transitions, starts, ends = (
            (each / temperature).clip(-_HUGE, _HUGE) for each in scores
        )
        emissions = (emissions - emissions[:, :, [OUTSIDE]]).transpose(1, 2, 0)
        transitions = transitions - transitions[OUTSIDE, OUTSIDE]
        begin, inner, end, single = tags.roles
        K = len(tags.names)
        joins = np.full((K + 1, K + 1), -np.inf)
        joins[:K, :K] = transitions
        joins[K, :K], joins[:K, K] = starts - starts[OUTSIDE], ends - ends[OUTSIDE]
        closing, opening = (np.array([OUTSIDE, K, *each, *single]) for each in (end, begin))
        within, first, last = (
            transitions[each][:, None] for each in ((inner, inner), (begin, inner), (inner, end))
        )
        sums = np.pad((emissions[:, inner] + within).cumsum(0), ((1, 0), (0, 0), (0, 0)))
        self._chain = _Chain(
            joins=joins[closing[:, None], opening],
            single=emissions[:, single],
            left=emissions[:, begin] + first - sums[1:],
            right=emissions[:, end] + last - within + sums[:-1],
            pair=transitions[begin, end][:, None] - first - last + within,
            odds=odds,
            origins=np.zeros_like(lengths),
        )

    def move(self, arcs: Arcs, starts: Ints, ends: Ints) -> None:
        """Exclude entities, adding their odds to those of [starts, ends) with the same labels."""
        odds, (rows, _, _, labels) = self._chain.odds, arcs
        added = self._of(arcs) - self._of(Arcs(rows, starts, ends, labels))
        np.logaddexp.at(odds, (ends, starts, labels, rows), added)
        odds[arcs.ends, arcs.starts, labels, rows] = -np.inf

    def _of(self, arcs: Arcs) -> Float64s:
        """[A] the scores of entities, without their odds."""
        rows, starts, ends, labels = arcs
        chain, widths = self._chain, ends - starts
        longer = chain.left[starts, labels, rows] + chain.right[ends - 1, labels, rows]
        longer += chain.pair[labels, 0] * (widths == 2)
        found: Float64s = np.where(widths > 1, longer, chain.single[starts, labels, rows])
        return found

    def _with_odds(self, arcs: Arcs) -> Float64s:
        rows, starts, ends, labels = arcs
        odds = self._chain.odds
        with_odds: Float64s = self._of(arcs) + odds[ends, starts, labels % odds.shape[2], rows]
        return with_odds

    # Probabilities

    @cached_property
    def _sums(self) -> tuple[Float64s, Float64s]:
        """[N, S, B] log-sums of what may come before each state after a node, and of what may come
        after each state before it."""
        chain = self._chain
        before, after = (
            each.prefixes(_product(each.joins), log_sum)[1]
            for each in (chain, chain.reversed(self.lengths))
        )
        return before, after[::-1]

    @property
    def log_partition(self) -> Float64s:
        """[B] log-sum of the odds of all sequences."""
        return self._total(self._sums)

    def _total(self, sums: tuple[Float64s, Float64s]) -> Float64s:
        found: Float64s = sums[0][self.lengths, BOUNDARY, np.arange(len(self.lengths))]
        return found

    def probabilities(self, arcs: Arcs) -> Float64s:
        """[A] of entities with labels of Docs."""
        found = np.zeros(len(arcs.rows))
        for label, name in enumerate(self.names.tolist()):
            chosen = np.flatnonzero(arcs.labels == name)
            own = arcs.select(chosen)._replace(labels=np.full(len(chosen), label))
            found[chosen] += self._shares(own)
        return found.clip(0, 1)

    def _shares(self, arcs: Arcs) -> Float64s:
        """[A] the probabilities of entities with labels of the network."""
        before, after = self._sums
        rows, starts, ends, _ = arcs
        states = self._states(arcs)
        through = before[starts, states, rows] + self._with_odds(arcs) + after[ends, states, rows]
        shares: Float64s = np.exp(through - self.log_partition[rows])
        return shares

    def _states(self, arcs: Arcs) -> Ints:
        is_single = arcs.ends - arcs.starts == 1
        states: Ints = 2 + arcs.labels + self._L * is_single
        return states

    def above(self, least: float) -> list[dict[Labelled, float]]:
        """For each segment the entities with at least this probability."""
        found: list[dict[Labelled, float]] = [{} for _ in self.lengths]
        arcs = self._above(self._sums, self.log_partition + np.log(least / max(1, self._L)))
        arcs = arcs._replace(labels=self.names[arcs.labels])
        columns = (each.tolist() for each in (*arcs, self.probabilities(arcs)))
        for row, start, end, name, share in zip(*columns, strict=True):
            if share >= least:
                found[row][start, end, name] = share
        return found

    def _above(self, sums: tuple[Float64s, Float64s], limits: Float64s) -> Arcs:
        """The entities through which sums reach the limits [B], sorted by rows and starts."""
        chain, (before, after) = self._chain, sums
        multi, single = slice(2, 2 + self._L), slice(2 + self._L, None)
        opened = before[:-1, multi] + chain.left - limits
        closed = after[1:, multi] + chain.right
        units = before[:-1, single] + chain.single + after[1:, single] - limits
        found = []
        for last in range(len(units)):
            through = np.concatenate((opened[:last] + closed[last], units[last : last + 1]))
            through[-2:-1] += chain.pair
            odds = chain.odds[last + 1, : last + 1]
            starts, labels, rows = np.nonzero(through + odds >= 0)
            found.append(Arcs(rows, starts, np.full(len(rows), last + 1), labels))
        arcs = Arcs(*(np.concatenate(each) for each in zip(*found, strict=True)))
        return arcs.select(np.lexsort((arcs.ends, arcs.starts, arcs.rows)))

    # The best

    @cached_property
    def _bounds(self) -> tuple[Float64s, Float64s]:
        """Like `_sums`, what the odds of a single annotation can't exceed.

        Several tag sequences have the same annotation where labels are one in Docs: they count as
        if all were as good as the best.
        """
        chain = self._chain
        more = np.log((self.names[:, None] == self.names).sum(1))[:, None]
        chain = replace(chain, single=chain.single + more, left=chain.left + more)
        before, after = (
            each.prefixes(partial(_best_join, each.joins), np.maximum.reduce)[1]
            for each in (chain, chain.reversed(self.lengths))
        )
        return before, after[::-1]

    def best(self, k: int = 1) -> list[list[tuple[float, list[Labelled]]]]:
        """The k most probable annotations of each segment, or all, best first, with log-odds."""
        found: list[list[tuple[float, list[Labelled]]]] = [[] for _ in self.lengths]
        if not k:
            return found
        is_merging = len(set(self.names.tolist())) < self._L
        if k == 1 and not is_merging:
            return [[each] for each in self._viterbi()]
        limits, rest = self._total(self._bounds), set(range(len(found)))
        for margin in _MARGINS[is_merging:]:  # all of what becomes one counts
            if not rest:
                break
            for row, own in self._by_row(self._above(self._bounds, limits - margin)):
                if row in rest:
                    least = limits[row] - REQUIRED / 2  # without what is required
                    likely = search(self._choices(row, own), k, not is_merging)
                    found[row] = [each for each in likely if each[0] > least]
                    if len(found[row]) == k and found[row][-1][0] >= limits[row] - margin:
                        rest.remove(row)
        return found

    def _viterbi(self) -> list[tuple[float, list[Labelled]]]:
        """The most probable tag sequence of each segment, as an annotation with its log-odds."""
        chain, odds = self._chain, self._chain.odds
        ended, opened = chain.prefixes(partial(_best_join, chain.joins), np.maximum.reduce)
        nodes, rows = self.lengths.copy(), np.arange(len(self.lengths))
        found: list[list[Labelled]] = [[] for _ in rows]
        total = opened[nodes, BOUNDARY, rows].tolist()
        states = np.full_like(rows, BOUNDARY)
        while len(rows):
            here = nodes[rows]
            states[rows] = (ended[here, :, rows] + chain.joins[:, states[rows]].T).argmax(1)
            rows = rows[states[rows] != BOUNDARY]
            for row in rows[states[rows] > OUT].tolist():
                end, state = int(nodes[row]), int(states[row])
                label = (state - 2) % self._L
                start = end - 1
                if state == 2 + label:
                    through = opened[:start, state, row] + chain.left[:start, label, row]
                    through += odds[end, :start, label % odds.shape[2], row]
                    through[-1] += chain.pair[label, 0]
                    start = int(through.argmax())
                found[row].append((start, end, int(self.names[label])))
                nodes[row] = start + 1
            nodes[rows] -= 1
        return [(odds, spans[::-1]) for odds, spans in zip(total, found, strict=True)]

    def _by_row(self, arcs: Arcs) -> Iterator[tuple[int, Arcs]]:
        edges = np.searchsorted(arcs.rows, np.arange(len(self.lengths) + 1)).tolist()
        for row, (start, end) in enumerate(pairwise(edges)):
            yield row, arcs.select(slice(start, end))

    def _choices(self, row: int, arcs: Arcs) -> Choices:
        ends, states, names = arcs.ends, self._states(arcs), self.names[arcs.labels]
        scores, rests = self._with_odds(arcs), self._bounds[1][ends, states, row]
        found = Choices(self._chain.joins, arcs.starts, ends, states, scores, rests, names)
        return found.sorted(int(self.lengths[row]))


def log_sum(scores: Float64s) -> Float64s:
    """Over the first axis."""
    most = scores.max(0)
    most[np.isneginf(most)] = 0
    shares = scores - most
    np.exp(shares, out=shares)
    found: Float64s = np.log(shares.sum(0)) + most
    return found


def _product(joins: Float64s) -> Add:
    """Log-sums over the states before a node. Exact, as any may be followed by any other."""
    most = joins.max(0)
    shares = np.exp(joins - most).T

    def onto(ended: Float64s) -> Float64s:
        high: Float64s = ended.max(0)
        high[np.isneginf(high)] = 0
        found: Float64s = np.log(shares @ np.exp(ended - high)) + high + most[:, None]
        return found

    return onto


def _best_join(joins: Float64s, ended: Float64s) -> Float64s:
    found: Float64s = (ended[:, None] + joins[:, :, None]).max(0)
    return found
