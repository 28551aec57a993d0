"""Suspicious characters: with a homophone, the text is much more probable.

Shapes: P characters of a piece of text, N replacements, R characters after one, W a window: the
keys before a character, its own, and R after it. K keys.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from torch import Tensor

from ..nn.shim import shim_of
from ..util.arrays import Bools, Float32s, Floats, Ints
from ..util.options import require_installed
from ..util.probabilities import log_softmax
from .featuriser import UNKNOWN, CharFeaturiser
from .model import CharLMModel, network_of
from .network import CharLM, State
from .ngrams import N_BEFORE

REACH = 8  # R: characters after it that judge a replacement
APART = 3  # characters: of suspicious ones less than this apart, the most suspicious counts
CANDIDATES = 10  # most probable characters that are tried in a place
MARGIN = 1.0  # nats by which a replacement may be less probable there. Right ones rarely are.
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
    model: CharLMModel, text: str, surprisals: Float32s, least: float
) -> list[Suspicious]:
    """Find the characters for which a homophone has a gain of `least` or more, in their order.

    Each is compared with the most probable homophones after the text before it, by the probability
    of the character and of the `REACH` next ones: a noisy channel in which all errors are equally
    probable (Kernighan et al., 1990).

    surprisals: of the text's characters and its end.

    Raises ImportError (F030) without pypinyin.
    """
    found: dict[int, Suspicious] = {}
    for each in sorted(_replacements(model, text, surprisals), key=lambda each: -each.gain):
        if each.gain < least:
            break
        if not any(each.start + way in found for way in range(1 - APART, APART)):
            found[each.start] = each
    return sorted(found.values())


def _replacements(model: CharLMModel, text: str, surprisals: Float32s) -> Iterator[Suspicious]:
    """Yield the replacements that gain anything."""
    featuriser: CharFeaturiser = model.attrs["featuriser"]
    network, length = network_of(model), featuriser.options.piece_length
    strings, simplified = featuriser.strings.tolist(), featuriser.simplifier(text)
    keys = np.append(featuriser.marked(text, N_BEFORE), [UNKNOWN] * REACH)
    all_windows = sliding_window_view(keys, N_BEFORE + 1 + REACH)[: len(text)]
    # ln P of a character and of the R after it; NaN past the end of the text
    all_known = sliding_window_view(np.append(-surprisals, [np.nan] * REACH), 1 + REACH)
    state: State | None = None
    for start in range(0, len(text), length):
        piece = slice(start, start + length)
        windows, known = all_windows[piece], all_known[piece]
        is_tried = homophones(simplified[piece], strings)
        is_tried[np.arange(len(windows)), windows[:, N_BEFORE]] = False
        with shim_of(model).predicting():
            weights = network.packed_weights()
            hidden, states = network.read_each(windows[:, N_BEFORE - 1], state)
            state = network.select(states, np.array([-1]))
            scores = log_softmax(network.scores(hidden, weights).cpu().numpy())
            places, tried = _most_probable(np.where(is_tried, scores, -np.inf))
            log_probs, changed = scores[places, tried, None], windows[places]
            changed[:, N_BEFORE] = tried
            before = network.averaged(log_probs, changed[:, :-REACH])
            close = np.flatnonzero(before[:, 0] >= known[places, 0] - MARGIN)
            for some in np.split(close, range(AT_ONCE, len(close), AT_ONCE)):
                read = network.select(states, places[some])
                after = _log_probs_after(network, weights, read, changed[some])
                found = network.averaged(np.hstack([log_probs[some], after]), changed[some])
                gains = np.nansum(found - known[places[some]], axis=1)
                for place, key, gain in zip(places[some], tried[some], gains, strict=True):
                    if gain > 0:
                        at = start + int(place)
                        yield Suspicious(at, text[at], strings[key], float(gain))


def _most_probable(scores: Floats) -> tuple[Ints, Ints]:
    """The places [N] and keys [N] of the best scores in each row [K], where above −∞."""
    n = min(CANDIDATES, scores.shape[1])
    best = np.argpartition(-scores, n - 1, axis=1)[:, :n]
    places, columns = np.nonzero(np.take_along_axis(scores, best, axis=1) > -np.inf)
    return places, best[places, columns]


def _log_probs_after(network: CharLM, weights: Tensor, state: State, windows: Ints) -> Floats:
    """[N, W] → [N, R] ln P of the keys after each character, by the network."""
    hidden, _ = network.read(windows[:, N_BEFORE:-1], state)
    targets = windows[:, N_BEFORE + 1 :]
    scores = network.scores(hidden.flatten(0, 1), weights)
    found: Floats = -network.surprisals(scores, targets.ravel()).cpu().numpy()
    return found.reshape(targets.shape)


def homophones(text: str, strings: Sequence[str]) -> Bools:
    """[C, K] which characters of the vocabulary sound like each character of a text, in one of its
    readings. strings: the character of each key; "" for none."""
    keys: dict[str, list[int]] = {}
    for key, string in enumerate(strings):
        for syllable in syllables_of(string):
            keys.setdefault(syllable, []).append(key)
    found = np.zeros((len(text), len(strings)), dtype=np.bool_)
    for row, character in enumerate(text):
        for syllable in syllables_of(character):
            found[row, keys.get(syllable, [])] = True
    return found


@cache
def syllables_of(character: str) -> frozenset[str]:
    """The readings of a Chinese character in words, or else its most frequent one, with zh = z,
    ch = c, sh = s, ang = an, eng = en and ing = in; none of any other character.

    Raises ImportError (F030) without pypinyin.
    """
    require_installed("suspicion", "pypinyin", "spacy-flat[poems]")
    from pypinyin import Style, pinyin

    found = pinyin(character, style=Style.NORMAL, errors="ignore")
    usual = {each for readings in found for each in readings}
    return frozenset(map(_merged, usual | _readings_in_words().get(character, set())))


@cache
def _readings_in_words() -> dict[str, set[str]]:
    """Of each character, without tones, from pypinyin's words. Others are rare, as wang of 方."""
    from pypinyin.contrib.tone_convert import to_normal
    from pypinyin.phrases_dict import phrases_dict

    syllable = cache(to_normal)
    found: dict[str, set[str]] = {}
    for word, readings in phrases_dict.items():
        for character, (reading, *_) in zip(word, readings, strict=False):
            found.setdefault(character, set()).add(syllable(reading))
    return found


def _merged(syllable: str) -> str:
    """Without the differences that input methods ignore for speakers who don't make them."""
    return re.sub("^([zcs])h|([aei]n)g$", r"\1\2", syllable)
