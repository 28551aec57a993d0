"""Suspicious characters: with another one, the text is much more probable."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..nn.model import shim_of
from .featuriser import UNKNOWN, CharFeaturiser
from .homophones import Confusion
from .model import CharLMModel, network_of
from .ngrams import MAX_ORDER

if TYPE_CHECKING:
    from .network import State

REACH = 8  # characters after it that judge a replacement
APART = 3  # characters: of suspicious ones less than this apart, the most suspicious counts


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

    Each is compared with the most probable characters after the text before it, by the probability
    of the character and of the `REACH` next ones: a noisy channel in which all errors of the kind
    `confusion` are equally probable (Kernighan et al., 1990).

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
    from .network import ReadPiece

    featuriser: CharFeaturiser = model.attrs["featuriser"]
    network, (first, end) = network_of(model), featuriser.marks
    keys = np.concatenate([[first], featuriser.keys(text), [end]])
    state: State | None = None
    for start in range(0, len(text), featuriser.options.piece_length):
        n_chars = min(featuriser.options.piece_length, len(text) - start)
        with shim_of(model).predicting():
            past, read = keys[1:start][-MAX_ORDER:], keys[start : start + n_chars + REACH + 1]
            piece = ReadPiece(network, past, read, state, REACH)
            allowed = None
            if confusion == "homophones":
                own = featuriser.simplifier(text[start : start + n_chars])
                allowed = [featuriser.homophones.of(character) for character in own]
            expected, gains = piece.replacements(n_chars, [UNKNOWN, first, end], allowed)
        state = piece.states[n_chars]
        for place in np.flatnonzero(gains > 0).tolist():
            string = str(featuriser.strings[expected[place]])
            yield Suspicious(start + place, text[start + place], string, float(gains[place]))
