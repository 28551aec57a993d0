"""Writing texts side by side, a character of each at a time.

Shapes: N texts, K keys.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..nn.model import shim_of
from ..util.arrays import Bools, Floats, Ints, Strings
from .featuriser import UNKNOWN, CharFeaturiser
from .model import CharLMModel, network_of
from .sampling import Draws, Sampling, Seed

if TYPE_CHECKING:
    from .network import State

TEXTS_AT_ONCE = 256


class Continuation:
    """N texts with the same beginning.

    scores: [N, K] logits of each key to come next.
    state: of the network.
    seen: [N, K] the keys in the texts so far.
    """

    scores: Floats
    state: "State"

    def __init__(self, model: CharLMModel, prompt: str, n: int) -> None:
        self.shim = shim_of(model)
        self.network = network_of(model)
        featuriser: CharFeaturiser = model.attrs["featuriser"]
        keys = np.concatenate([[featuriser.marks[0]], featuriser.keys(prompt)])
        length = featuriser.options.bptt_length
        with self.shim.predicting():
            self.weights = self.network.packed_weights()
        self.state = []
        for start in range(0, len(keys), length):
            self._read(keys[None, start : start + length])
        self.scores = np.repeat(self.scores, n, axis=0)
        self.state = [tuple(part.repeat(1, n, 1) for part in layer) for layer in self.state]
        self.seen: Bools = np.zeros(self.scores.shape, dtype=np.bool_)
        self.seen[:, keys[1:]] = True

    def read(self, keys: Ints) -> None:
        """Append keys [N]."""
        self.seen[np.arange(len(keys)), keys] = True
        self._read(keys[:, None])

    def keep(self, rows: Bools) -> None:
        """Drop the other texts."""
        if rows.all():
            return
        self.scores, self.seen = self.scores[rows], self.seen[rows]
        kept = self.network.to_tensor(rows)
        self.state = [tuple(part[:, kept] for part in layer) for layer in self.state]

    def _read(self, keys: Ints) -> None:
        with self.shim.predicting():
            hidden, self.state = self.network.read(keys, self.state or None)
            scores = self.network.scores(hidden[:, -1], self.weights)
        self.scores = scores.cpu().numpy()


def draws_at_once(seeds: Sequence[Seed]) -> Iterator[Draws]:
    """The random numbers of at most `TEXTS_AT_ONCE` texts at a time."""
    for start in range(0, len(seeds), TEXTS_AT_ONCE):
        yield Draws(seeds[start : start + TEXTS_AT_ONCE])


def write(
    model: CharLMModel, prompt: str, max_length: int, sampling: Sampling, draws: Draws
) -> Iterator[Strings]:
    """[N] the next character of each text after the prompt, "" if it has ended, until all have
    ended or have `max_length` characters."""
    featuriser: CharFeaturiser = model.attrs["featuriser"]
    start, end = featuriser.marks
    allowed = np.ones(len(featuriser.strings), dtype=np.bool_)
    allowed[[UNKNOWN, start]] = False
    n = len(draws)
    texts = Continuation(model, prompt, n)
    rows = np.arange(n)  # of the texts that have not ended
    for _ in range(max_length):
        keys = sampling.choose(texts.scores, texts.seen, allowed, draws.next()[rows])
        going = keys != end
        rows, keys = rows[going], keys[going]
        if not len(rows):
            return
        written = np.full(n, "", dtype=object)
        written[rows] = featuriser.strings[keys]
        yield written
        texts.keep(going)
        texts.read(keys)
