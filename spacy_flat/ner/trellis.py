"""All tag sequences of some segments: the best ones, and the probabilities of entities.

Besides the scores of a CRF, entities can have their own scores, as in a semi-Markov CRF (Sarawagi
and Cohen, 2004). The tags from an entity's start then pass through a state for this start and
label, which links its end to its start, so all results stay exact.

Shapes: B segments, C units, T = C + 1 places of which the last is of the state "stop", K tags, S
states.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property
from itertools import count
from typing import NamedTuple

import numpy as np

from ..text.units import EntitySpan
from ..util.arrays import Bools, Float64s, Ints
from .tags import TagSet

EXPONENT = 700  # of a double that is neither 0 nor infinite
HUGE = 1e100  # bound of emissions: a sum of them is finite


class Scores(NamedTuple):
    """A CRF's scores. emissions: [B, C, K]. transitions: [K, K]. starts, ends: [K]."""

    emissions: Float64s
    transitions: Float64s
    starts: Float64s
    ends: Float64s


class Trellis:
    """The states that the units of B segments may have, and the scores of going through them.

    lengths: [B] units.
    allowed: [B, C, K], tags to choose from.
    barred, letters: [B, C], see `Allowed`.
    spans: scores of entities, for each segment; -inf to exclude one.
    temperature: divides all scores for probabilities.

    Some sequence must be possible for each segment.
    """

    def __init__(
        self,
        tags: TagSet,
        scores: Scores,
        lengths: Ints,
        allowed: Bools,
        barred: Bools,
        letters: Bools,
        spans: Sequence[Mapping[EntitySpan, float]],
        temperature: float = 1.0,
    ) -> None:
        self.tags, self.lengths, self.letters = tags, lengths, letters
        self.temperature = temperature
        states = self.states = tags.letter_states
        B, C, _ = scores.emissions.shape
        S = self.stop = len(states.tags)
        tracked = [self._tracked(row, each) for row, each in enumerate(spans)]
        width = S + 1 + max((each.slot for row in tracked for each in row), default=-1) + 1
        possible = states.possible(barred, letters) & allowed[:, :, states.tags]
        units = np.where(possible, scores.emissions.clip(-HUGE, HUGE)[:, :, states.tags], -np.inf)
        inside = np.arange(C)[:, None] < lengths
        emissions = np.full((C + 1, B, width), -np.inf)
        emissions[:-1, :, :S] = np.where(inside[:, :, None], units.transpose(1, 0, 2), -np.inf)
        emissions[:-1, :, S][~inside] = 0
        emissions[-1, :, S] = 0
        steps = np.full((width, width), -np.inf)
        numbers = states.tags
        between = scores.transitions[numbers][:, numbers]
        steps[:S, :S] = np.where(states.transitions, between, -np.inf)
        steps[:S, S] = np.where(states.ends, scores.ends[numbers], -np.inf)
        steps[S, S] = 0
        starts = np.full((B, width), -np.inf)
        starts[:, :S] = np.where(states.starts, scores.starts[numbers], -np.inf)
        self.emissions, self.steps, self.starts = emissions, steps, starts
        self._slots: dict[tuple[int, int, int], _Tracked] = {}
        if width > S + 1 or any(spans):
            self._add_spans(tracked, spans)

    def _tracked(self, row: int, spans: Mapping[EntitySpan, float]) -> list[_Tracked]:
        """The starts of entities with scores, each with the first free slot."""
        ends: dict[tuple[int, int], dict[int, float]] = {}
        for (start, end, name), score in spans.items():
            if end - start > 1 or self.tags.scheme == "BIO":
                ends.setdefault((start, self.tags.labels.index(name)), {})[end] = score
        found = []
        free: list[int] = []  # the last place at which each slot is used
        for (start, label), scores in sorted(ends.items()):
            until = max(scores) - (self.tags.scheme == "BIOES")
            slot = next((n for n, place in enumerate(free) if place < start), len(free))
            free[slot : slot + 1] = [until]
            found.append(_Tracked(row, start, until, label, slot, scores))
        return found

    def _add_spans(
        self, tracked: Sequence[Sequence[_Tracked]], spans: Sequence[Mapping[EntitySpan, float]]
    ) -> None:
        emissions, steps = self.emissions, self.steps
        plain, self.steps = steps, np.tile(steps, (*emissions.shape[:2], 1, 1))
        single = self.tags.scheme == "BIOES"
        for row, given in enumerate(spans):
            for (start, end, label), score in given.items():
                if single and end - start == 1:
                    states = self._ends(row, start, self.tags.labels.index(label), end)
                    emissions[start, row, states[states >= 0]] += score
        each = [one for row in tracked for one in row]
        paths = [self._inner(one.row, one.start, one.label, one.until + 1) for one in each]
        for one, path in zip(each, paths, strict=True):
            row, start, column = one.row, one.start, self.stop + 1 + one.slot
            self._slots[row, start, one.label] = one
            places = np.arange(start, one.until)
            emissions[places, row, column] = emissions[places, row, path[: len(places)]]
            emissions[start, row, path[0]] = -np.inf
            if start == 0:
                self.starts[row, column] = self.starts[row, path[0]]
            else:
                self.steps[start, row, :, column] = self.steps[start, row, :, path[0]]
        for one, path in zip(each, paths, strict=True):
            row, column = one.row, self.stop + 1 + one.slot
            for place in range(one.start, one.until):
                here, following = path[place - one.start], path[place - one.start + 1]
                leaving = self.steps[place + 1, row, here].copy()
                if place + 1 < one.until:
                    leaving[column] = plain[here, following]
                    leaving[following] = -np.inf
                score = one.scores.get(place + (2 if single else 1), 0.0)
                if single and score:
                    last = self._ends(row, one.start, one.label, place + 2)[-1:]
                    leaving[last[last >= 0]] += score
                elif score:
                    closing = ~self._goes_on
                    closing[column] = False
                    leaving[closing] += score
                self.steps[place + 1, row, column] = leaving

    @cached_property
    def _goes_on(self) -> Bools:
        """[S] whether a state continues an entity."""
        found = np.zeros(self.emissions.shape[2], dtype=np.bool_)
        found[: self.stop] = self.tags.continues[self.states.tags]
        return found

    def _kinds(self, row: int, start: int, end: int) -> Ints:
        letters = self.letters[row, start:end]
        kinds: Ints = np.where(letters, 1, 2 * np.logical_or.accumulate(letters))
        return kinds

    def _inner(self, row: int, start: int, label: int, end: int) -> Ints:
        """[end - start] states of an entity that goes on, beyond the segment's end too."""
        end = min(end, self.letters.shape[1])
        tags = self.tags.open_tags(label, end - start)
        found = self.states.numbers[tags, self._kinds(row, start, end)]
        longer: Ints = np.append(found, found[-1:])
        return longer

    def _ends(self, row: int, start: int, label: int, end: int) -> Ints:
        """[end - start] states of an entity's last unit where it ends at each; -1 for none."""
        tags = self.tags.closing_tags(label, end - start)
        found: Ints = self.states.numbers[tags, self._kinds(row, start, end)]
        return found

    # The best

    @cached_property
    def _best(self) -> Float64s:
        """[T, B, S] scores of the best paths to each state."""
        best: Float64s = self.emissions.copy()
        best[0] += self.starts
        for place in range(1, len(best)):
            steps = self.steps if self.steps.ndim == 2 else self.steps[place]
            best[place] += (best[place - 1][:, :, None] + steps).max(1)
        return best

    def paths(self, row: int, k: int = 1) -> list[tuple[float, Ints]]:
        """The k best tag sequences with their scores, the best first; fewer if there are fewer.

        From each path on that is found, others leave at one place and follow it from there to the
        end: of these, the best are next in turn (Lawler, 1972).
        """
        n = int(self.lengths[row])
        best, emissions = self._best[:, row], self.emissions[:, row]
        steps = np.broadcast_to(self.steps, (*self.emissions.shape, self.steps.shape[-1]))[:, row]
        order = count()
        turn: list[tuple[float, int, int, int, list[int], set[int]]]
        turn = [(-float(best[n, self.stop]), next(order), n, self.stop, [], {self.stop})]
        found: list[tuple[float, Ints]] = []
        while turn and len(found) < k:
            score, _, place, state, tail, excluded = heapq.heappop(turn)
            path = [state, *tail]
            for before in range(place - 1, -1, -1):
                path.insert(0, int((best[before] + steps[before + 1][:, path[0]]).argmax()))
            found.append((-float(score), self._tags_of(row, np.array(path[:-1], dtype=np.int64))))
            rest = 0.0  # the score of the path from the place after
            if k == 1:
                break
            for other in range(n - 1, -1, -1):
                after = path[other + 1]
                rest += emissions[other + 1, after]
                if other <= place:
                    barred = excluded if other == place else {path[other]}
                    scores = best[other] + steps[other + 1][:, after] + rest
                    scores[list(barred)] = -np.inf
                    choice = int(scores.argmax())
                    if scores[choice] > -np.inf:
                        rank = -float(scores[choice]), next(order)
                        item = (*rank, other, choice, path[other + 1 :], barred | {choice})
                        heapq.heappush(turn, item)
                rest += steps[other + 1, path[other], after]
        return found

    def _tags_of(self, row: int, path: Ints) -> Ints:
        """States → tags."""
        tags: Ints = self.states.tags[np.minimum(path, self.stop - 1)]
        for (owner, start, label), one in self._slots.items():
            if owner == row:
                here = path[start : one.until] == self.stop + 1 + one.slot
                n = int(here.argmin()) if not here.all() else len(here)
                tags[start : start + n] = self.tags.open_tags(label, len(here))[:n]
        return tags

    # Probabilities

    @cached_property
    @np.errstate(all="ignore")
    def _sums(self) -> tuple[Float64s, Float64s, Float64s, Float64s, Float64s]:
        """Log-sums, at the temperature: emissions and steps, then of the paths up to each state,
        from it on, and from it on where an entity ends with it. All [T, B, S] but the steps."""
        emissions, steps, starts = (
            each / self.temperature for each in (self.emissions, self.steps, self.starts)
        )
        ending = steps
        if self.tags.scheme == "BIO":
            ending = steps.copy()
            ending[..., self._goes_on] = -np.inf
            slots = np.arange(self.stop + 1, steps.shape[-1])
            ending[..., slots, slots] = -np.inf
        forward = emissions.copy()
        forward[0] += starts
        into = _Product(steps)
        for place in range(1, len(forward)):
            forward[place] += into(forward[place - 1], place)
        out, end = (_Product(each.swapaxes(-1, -2)) for each in (steps, ending))
        backward = np.zeros_like(forward)
        closing = backward if ending is steps else np.zeros_like(forward)
        for place in range(len(forward) - 2, -1, -1):
            following = emissions[place + 1] + backward[place + 1]
            backward[place] = out(following, place + 1)
            if ending is not steps:
                closing[place] = end(following, place + 1)
        return emissions, steps, forward, backward, closing

    def at(self, temperature: float) -> Trellis:
        """The same at another temperature."""
        other = copy(self)
        other.temperature = temperature
        vars(other).pop("_sums", None)
        return other

    def log_partition(self, row: int) -> float:
        """Log-sum of the scores of all sequences, at the temperature."""
        return float(self._sums[2][-1, row, self.stop])

    def log_probabilities(self, row: int, start: int, label: str) -> Float64s:
        """[n] log-probabilities that units [start, start + 1), [start, start + 2) and so on are an
        entity of this label."""
        emissions, steps, forward, _, closing = self._sums
        number, n = self.tags.labels.index(label), int(self.lengths[row])
        states = self._inner(row, start, number, n)[: n - start]
        if one := self._slots.get((row, start, number)):
            states[: one.until - start] = self.stop + 1 + one.slot
        lasts = self._ends(row, start, number, n)
        places = np.arange(start, n)
        if steps.ndim == 2:
            steps = steps[None, None]
        of, at = places[1:] * (len(steps) > 1), row * (len(steps) > 1)
        units = emissions[places, row]
        inner = steps[of, at, states[:-1], states[1:]] + units[np.arange(1, n - start), states[1:]]
        through = forward[start, row, states[0]] + np.append(0, inner.cumsum())
        if self.tags.scheme == "BIO":
            found = through + closing[places, row, states]
        else:
            found = np.append(forward[start, row, lasts[0]], through[:-1])
            found[1:] += steps[of, at, states[:-1], lasts[1:]]
            found[1:] += units[np.arange(1, n - start), lasts[1:]]
            found += closing[places, row, lasts]
        found[lasts < 0] = -np.inf
        shares: Float64s = np.minimum(found - self.log_partition(row), 0)
        return shares

    def starts_above(self, row: int, probability: float) -> list[tuple[int, str]]:
        """Where entities start, and their labels, with at least this probability."""
        _, _, forward, backward, _ = self._sums
        n = int(self.lengths[row])
        shares = np.exp(forward[:n, row] + backward[:n, row] - self.log_partition(row))
        opening = np.zeros((n, len(self.tags.labels)))
        for state, tag in enumerate(self.states.tags):
            if self.tags.opens[tag]:
                opening[:, self.tags.label_of[tag]] += shares[:, state]
        for (owner, start, label), one in self._slots.items():
            if owner == row:
                opening[start, label] += shares[start, self.stop + 1 + one.slot]
        places, labels = np.nonzero(opening >= probability)
        return [(int(p), self.tags.labels[n]) for p, n in zip(places, labels, strict=True)]


class _Tracked(NamedTuple):
    """The start of entities with scores, by their ends. Its slot is used up to place `until`."""

    row: int
    start: int
    until: int
    label: int
    slot: int
    scores: dict[int, float]


class _Product:
    """Log-sums over the states before a step; slower where scores are hundreds apart."""

    def __init__(self, steps: Float64s) -> None:
        self.steps = steps
        self.exponentials = np.exp(steps)
        self.least = float(steps.min(where=np.isfinite(steps), initial=0))
        self.most = float(steps.max(initial=0))

    def __call__(self, scores: Float64s, place: int) -> Float64s:
        """[B, S] → [B, S]."""
        most = scores.max(1, keepdims=True)
        shares = scores - most
        lowest = shares.min(where=np.isfinite(shares), initial=0) + self.least
        if max(-lowest, self.most) > EXPONENT:
            steps = self.steps if self.steps.ndim == 2 else self.steps[place]
            both = scores[:, :, None] + steps
            high = np.maximum(both.max(1), -HUGE)
            found: Float64s = np.log(np.exp(both - high[:, None]).sum(1)) + high
            return found
        shares = np.exp(shares)
        if self.exponentials.ndim == 2:
            sums = shares @ self.exponentials
        else:
            sums = np.matmul(shares[:, None], self.exponentials[place])[:, 0]
        found = np.log(sums) + most
        return found
