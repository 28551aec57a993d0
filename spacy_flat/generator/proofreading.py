"""Suspicious characters: with another one, the text is much more probable.

Shapes: C characters, P of them at once, N replacements, R characters read again, K keys.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..nn.model import shim_of
from ..util.arrays import Bools, Float32s, Ints
from .featuriser import UNKNOWN, CharFeaturiser
from .homophones import Confusion
from .model import CharLMModel, network_of

if TYPE_CHECKING:
    from .network import CharLM, State

CANDIDATES = 10  # most probable characters that are tried in a place
MARGIN = 1.0  # nats by which they may be less probable than the one found; right ones rarely are
REACH = 8  # characters after it that judge them
APART = 3  # characters: of suspicious ones less than this apart, the most suspicious counts
AT_ONCE = 128  # replacements


class Suspicious(NamedTuple):
    """A character that may be wrong.

    start: its offset in the text.
    gain: how many nats more probable the text is with the expected character instead of it.
    """

    start: int
    found: str
    expected: str
    gain: float


def suspicious_characters(
    model: CharLMModel, text: str, least: float, confusion: Confusion = "any"
) -> list[Suspicious]:
    """Find the characters for which another one has a gain of `least` or more, in their order.

    Each is compared with the most probable characters after the text before it, unless it is more
    probable itself, by the probability of the character and of the `REACH` next ones: a noisy
    channel in which all errors of the kind `confusion` are equally probable (Kernighan et al.,
    1990).

    Raises ImportError (F030) for "homophones" without pypinyin.
    """
    return most_suspicious(_gains(model, text, confusion), least)


def most_suspicious(gains: Iterable[Suspicious], least: float) -> list[Suspicious]:
    """Those with a gain of `least` or more, without less suspicious neighbours, in their order."""
    found: dict[int, Suspicious] = {}
    for each in sorted(gains, key=lambda each: -each.gain):
        if each.gain < least:
            break
        if not any(each.start + way in found for way in range(1 - APART, APART)):
            found[each.start] = each
    return sorted(found.values())


def _gains(model: CharLMModel, text: str, confusion: Confusion) -> Iterator[Suspicious]:
    """The best replacement of each character, if it gains anything."""
    featuriser: CharFeaturiser = model.attrs["featuriser"]
    network, (first, end) = network_of(model), featuriser.marks
    keys = np.concatenate([[first], featuriser.keys(text), [end]])
    state: State | None = None
    for start in range(0, len(text), featuriser.options.piece_length):
        n_chars = min(featuriser.options.piece_length, len(text) - start)
        with shim_of(model).predicting():
            piece = _Piece(network, keys[start : start + n_chars + REACH + 1], state)
            allowed = None
            if confusion == "homophones":
                own = featuriser.simplifier(text[start : start + n_chars])
                allowed = [featuriser.homophones.of(character) for character in own]
            expected, gains = piece.replacements(n_chars, [UNKNOWN, first, end], allowed)
        state = piece.states[n_chars]
        for place in np.flatnonzero(gains > 0).tolist():
            string = str(featuriser.strings[expected[place]])
            yield Suspicious(start + place, text[start + place], string, float(gains[place]))


def _absent(present: Sequence[Ints], n: int) -> Bools:
    """[P, n] False for the numbers of each row."""
    absent = np.ones((len(present), n), dtype=bool)
    rows = np.repeat(np.arange(len(present)), [len(each) for each in present])
    absent[rows, np.concatenate(present)] = False
    return absent


class _Piece:
    """A piece of a text, and `REACH` further characters if there are as many.

    keys: [C + 1] of the character before it, and of its own.
    states: [C + 1] of the network before each of these keys.
    log_probs: [C, K] of each key to follow the one before it.
    """

    def __init__(self, network: "CharLM", keys: Ints, state: "State | None") -> None:
        self.network, self.keys = network, keys
        self.weights = network.packed_weights()
        self.states: list[Any] = [state]
        hidden = []
        for key in keys[:-1]:
            after, state = network.read(np.array([[key]]), state)
            hidden.append(after[0])
            self.states.append(state)
        self.log_probs = self._log_probs(torch.cat(hidden))

    def replacements(
        self, n_chars: int, excluded: Sequence[int], allowed: Sequence[Ints] | None
    ) -> tuple[Ints, Float32s]:
        """[P] keys in place of the first P characters, and what they gain in nats; −∞ for none.

        allowed: the keys to try for each of them, or None for all.
        """
        gold = self.network.to_tensor(self.keys[1:])
        known = self.log_probs.gather(1, gold[:, None])[:, 0]
        others = self.log_probs[:n_chars].clone()
        if allowed is not None:
            others.masked_fill_(
                self.network.to_tensor(_absent(allowed, others.shape[1])), -torch.inf
            )
        others[:, list(excluded)] = -torch.inf
        others.scatter_(1, gold[:n_chars, None], -torch.inf)
        before, keys = others.topk(min(CANDIDATES, others.shape[1]), dim=1)
        before.masked_fill_(before < known[:n_chars, None] - MARGIN, -torch.inf)
        is_tried = before > -torch.inf
        places = is_tried.nonzero()[:, 0].cpu().numpy()
        tried = keys[is_tried]
        gains = before - known[:n_chars, None]
        after = [
            self._after(places[at : at + AT_ONCE], tried[at : at + AT_ONCE], known)
            for at in range(0, len(places), AT_ONCE)
        ]
        gains[is_tried] += torch.cat([*after, known.new_zeros(0)])
        best, which = gains.max(1)
        return keys.gather(1, which[:, None])[:, 0].cpu().numpy(), best.cpu().numpy()

    def _after(self, places: Ints, keys: Tensor, known: Tensor) -> Tensor:
        """[N] how much more probable the next characters are after keys [N] at these places."""
        ends = np.arange(1, REACH + 1) + places[:, None]  # [N, R] the characters that follow
        present = ends < len(self.keys) - 1
        following = self.keys[np.minimum(ends, len(self.keys) - 2) + 1]
        inputs = np.concatenate([keys.cpu().numpy()[:, None], following[:, :-1]], axis=1)
        states = [self.states[place + 1] for place in places.tolist()]
        state = [
            tuple(torch.cat(parts, dim=1) for parts in zip(*layer, strict=True))
            for layer in zip(*states, strict=True)
        ]
        hidden, _ = self.network.read(inputs, state)
        counted = self.network.to_tensor(present)
        targets = self.network.to_tensor(following[present])
        found = self._log_probs(hidden[counted]).gather(1, targets[:, None])[:, 0]
        gains = hidden.new_zeros(present.shape)
        gains[counted] = found - known[self.network.to_tensor(ends[present])]
        return gains.sum(dim=1)

    def _log_probs(self, hidden: Tensor) -> Tensor:
        """[..., D] → [..., K]."""
        return self.network.scores(hidden, self.weights).log_softmax(-1)
