"""Suspicious characters: with another one, the text is much more probable.

Shapes: C characters of a piece, P places, N replacements, R characters after one, K keys.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from math import log
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ..nn.model import shim_of
from ..util.arguments import needed
from ..util.arrays import Bools, Float32s, Float64s, Ints
from .featuriser import UNKNOWN, CharFeaturiser
from .model import CharLMModel, network_of
from .ngrams import MAX_ORDER

if TYPE_CHECKING:
    from torch import Tensor

    from .network import CharLM, State

# torch is imported where it is used: components import this.

Confusion = Literal["any", "homophones"]  # which characters stand for which others by mistake

REACH = 8  # characters after it that judge a replacement
APART = 3  # characters: of suspicious ones less than this apart, the most suspicious counts
CANDIDATES = 10  # most probable characters that are tried in a place
MARGIN = 1.0  # nats by which homophones may be less probable there; right ones rarely are
AT_ONCE = 128  # replacements
MERGED = {"zh": "z", "ch": "c", "sh": "s"}  # as input methods do for speakers who merge them
FINAL_G = ("ang", "eng", "ing")


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
    featuriser: CharFeaturiser = model.attrs["featuriser"]
    network, (first, end) = network_of(model), featuriser.marks
    keys = np.concatenate([[first], featuriser.keys(text), [end]])
    state: State | None = None
    for start in range(0, len(text), featuriser.options.bptt_length):
        n_chars = min(featuriser.options.bptt_length, len(text) - start)
        with shim_of(model).predicting():
            past, read = keys[1:start][-MAX_ORDER:], keys[start : start + n_chars + REACH + 1]
            scorer = ReplacementScorer(network, past, read, state)
            absent = None
            if confusion == "homophones":
                own = featuriser.simplifier(text[start : start + n_chars])
                absent = ~homophones(own, featuriser.strings.tolist())
            expected, gains = scorer.best(n_chars, [UNKNOWN, first, end], absent)
        state = scorer.states[n_chars]
        for place in np.flatnonzero(gains > 0).tolist():
            string = str(featuriser.strings[expected[place]])
            yield Suspicious(start + place, text[start + place], string, float(gains[place]))


class ReplacementScorer:
    """Reads a piece of a text, and scores other characters in it.

    past: the keys of the text before these.
    keys: [C + 1] of the character before it, its own, and up to `REACH` further ones.
    states: [C + 1] of the network before each of these keys.
    log_probs: [C, K] of each key to follow the one before it.
    """

    def __init__(self, network: "CharLM", past: Ints, keys: Ints, state: "State | None") -> None:
        import torch

        self.network, self.keys = network, keys
        self.ngrams = None if network.ngrams is None else network.ngrams.unpacked
        self.weights = network.packed_weights()
        self.states: list[Any] = [state]
        hidden = []
        for key in keys[:-1]:
            after, state = network.read(np.array([[key]]), state)
            hidden.append(after[0])
            self.states.append(state)
        self.log_probs = self._log_probs(torch.cat(hidden))
        if self.ngrams is not None:
            # [C, O − 1] the keys before each of `keys[1:]`.
            self.contexts = self.ngrams.contexts(np.concatenate([past, keys[:-1]]))[len(past) + 1 :]
            self.log_probs = mixed(self.log_probs, self.ngrams.all_log_probs(self.contexts))

    def best(
        self, n_chars: int, excluded: Sequence[int], absent: Bools | None
    ) -> tuple[Ints, Float32s]:
        """[P] keys in place of the first P characters, and what they gain in nats; −∞ for none.

        absent: [P, K] keys not to try for each of them; None to try all.
        """
        import torch

        gold = self.network.to_tensor(self.keys[1:])
        known = self.log_probs.gather(1, gold[:, None])[:, 0]
        others = self.log_probs[:n_chars].clone()
        if absent is not None:
            others.masked_fill_(self.network.to_tensor(absent), -torch.inf)
        others[:, list(excluded)] = -torch.inf
        others.scatter_(1, gold[:n_chars, None], -torch.inf)
        before, keys = others.topk(min(CANDIDATES, others.shape[1]), dim=1)
        if absent is not None:
            before.masked_fill_(before < known[:n_chars, None] - MARGIN, -torch.inf)
        is_tried = before > -torch.inf
        places = is_tried.nonzero()[:, 0].cpu().numpy()
        gains = before - known[:n_chars, None]
        after = [
            self._after(places[at : at + AT_ONCE], keys[is_tried][at : at + AT_ONCE], known)
            for at in range(0, len(places), AT_ONCE)
        ]
        gains[is_tried] += torch.cat([*after, known.new_zeros(0)])
        best, which = gains.max(1)
        return keys.gather(1, which[:, None])[:, 0].cpu().numpy(), best.cpu().numpy()

    def _after(self, places: Ints, keys: "Tensor", known: "Tensor") -> "Tensor":
        """[N] how much more probable the next characters are after keys [N] at these places."""
        import torch

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
        if self.ngrams is not None:
            read = np.concatenate([self.contexts[places], inputs], axis=1)  # [N, O − 1 + R]
            windows = sliding_window_view(read[:, 1:], self.ngrams.context_length, axis=1)
            own = self.ngrams.log_probs(windows[present], following[present])
            found = mixed(found, own)
        gains = hidden.new_zeros(present.shape)
        gains[counted] = found - known[self.network.to_tensor(ends[present])]
        return gains.sum(dim=1)

    def _log_probs(self, hidden: "Tensor") -> "Tensor":
        """[..., D] → [..., K]."""
        return self.network.scores(hidden, self.weights).log_softmax(-1)


def mixed(log_probs: "Tensor", others: Float64s) -> "Tensor":
    """Log-probabilities of the mean of two probabilities."""
    import torch

    return torch.logaddexp(log_probs, torch.from_numpy(others).to(log_probs)) - log(2)


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
    with needed('confusion = "homophones"', "pypinyin", "poems"):
        from pypinyin import Style, pinyin
    found = pinyin(character, style=Style.NORMAL, errors="ignore")
    usual = {each for readings in found for each in readings}
    return frozenset(map(merged, usual | _readings_in_words().get(character, set())))


@cache
def _readings_in_words() -> dict[str, set[str]]:
    """Of each character, without tones, from pypinyin's words. Its other readings are rare: 方 can
    be read as wang."""
    from pypinyin.contrib.tone_convert import to_normal
    from pypinyin.phrases_dict import phrases_dict

    syllable = cache(to_normal)
    found: dict[str, set[str]] = {}
    for word, readings in phrases_dict.items():
        for character, (reading, *_) in zip(word, readings, strict=False):
            found.setdefault(character, set()).add(syllable(reading))
    return found


def merged(syllable: str) -> str:
    start = MERGED.get(syllable[:2])
    syllable = syllable if start is None else start + syllable[2:]
    return syllable[:-1] if syllable.endswith(FINAL_G) else syllable
