"""Writing texts side by side, a character of each at a time.

Shapes: N texts, K keys.
"""

import numpy as np

from ..nn.shim import shim_of
from ..util.arrays import Floats, Ints
from .featuriser import UNKNOWN, CharFeaturiser
from .model import CharLMModel, network_of
from .network import State
from .sampling import Sampling, Seeds, draws_of


class Continuation:
    """N texts with the same beginning.

    scores: [N, K] logits of each key to come next.
    """

    scores: Floats

    def __init__(self, model: CharLMModel, prompt: str, n: int) -> None:
        self.shim, self.network = shim_of(model), network_of(model)
        self.state: State | None = None
        featuriser: CharFeaturiser = model.attrs["featuriser"]
        with self.shim.predicting():
            self.weights = self.network.packed_weights()
        keys, length = featuriser.marked(prompt)[:-1], featuriser.options.piece_length
        for start in range(0, len(keys), length):
            self.read(keys[None, start : start + length])
        self.keep(np.zeros(n, dtype=np.int64))

    def keep(self, rows: Ints) -> None:
        """Drop the other texts. The same text may be kept several times."""
        assert self.state is not None
        self.scores, self.state = self.scores[rows], self.network.select(self.state, rows)

    def read(self, keys: Ints) -> None:
        """Append keys [N, C]."""
        with self.shim.predicting():
            hidden, self.state = self.network.read(keys, self.state)
            scores = self.network.scores(hidden[:, -1], self.weights)
        self.scores = scores.cpu().numpy()


def write(
    model: CharLMModel, prompt: str, max_length: int, sampling: Sampling, seeds: Seeds
) -> list[str]:
    """Write a text from each seed, side by side, that starts with the prompt and has at most
    `max_length` further characters."""
    featuriser: CharFeaturiser = model.attrs["featuriser"]
    start, end = featuriser.marks
    allowed = np.full(len(featuriser.strings), True)
    allowed[[UNKNOWN, start]] = False
    texts = Continuation(model, prompt, len(seeds))
    written = np.full(len(seeds), prompt, dtype=object)
    rows = np.arange(len(seeds))  # of the texts that have not ended
    for _, draws in zip(range(max_length), draws_of(seeds), strict=False):
        keys = sampling.choose(texts.scores, allowed, draws[rows])
        going = np.flatnonzero(keys != end)
        if not len(going):
            break
        if len(going) < len(rows):
            rows, keys = rows[going], keys[going]
            texts.keep(going)
        written[rows] += featuriser.strings[keys]
        texts.read(keys[:, None])
    return list(written)
