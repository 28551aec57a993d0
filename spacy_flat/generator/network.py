"""A character language model with recurrent layers, as a plain torch module.

Shapes: B texts, C characters, D width, E width of embeddings, K keys, M characters to predict.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import Tensor, nn

from ..nn.embeddings import EmbeddingNetwork, PretrainedEmbedding, Table
from ..nn.layers import Dropout, linear, packed
from ..util.arrays import Bools, Floats, Ints
from .ngrams import NGrams
from .options import CharLMOptions

if TYPE_CHECKING:  # it reads Docs
    from .featuriser import Piece

CELLS = {"lstm": nn.LSTM, "gru": nn.GRU}

# Of a layer: hidden [1, B, D], and an LSTM's cells [1, B, D].
LayerState = tuple[Tensor, ...]
State = list[LayerState]


@dataclass(frozen=True)
class CharLMSizes:
    """Sizes that the data decides.

    start: the key of the start mark, which is never predicted.
    ngrams: how many there are of one key, of two, and so on; empty for none.
    upstream_width: 0, since the network takes no tok2vec.
    """

    chars: Table
    start: int
    ngrams: Sequence[int] = ()
    upstream_width: int = 0


class NGramTable(nn.Module):
    """N-grams as they are saved; see `NGrams.packed`."""

    last_keys: Tensor
    n_longer: Tensor
    log_levels: Tensor

    def __init__(self, sizes: Sequence[int], n_keys: int) -> None:
        super().__init__()
        self.sizes, self.n_keys = sizes, n_keys
        n, n_contexts = sum(sizes), 1 + sum(sizes[:-1])
        self.register_buffer("last_keys", torch.zeros(n, dtype=torch.int32))
        self.register_buffer("n_longer", torch.zeros(n_contexts, dtype=torch.int32))
        self.register_buffer("log_levels", torch.zeros(n, dtype=torch.uint8))

    def fill(self, ngrams: NGrams) -> None:
        for name, values in ngrams.packed().items():
            getattr(self, name).copy_(torch.from_numpy(values))

    @cached_property
    def unpacked(self) -> NGrams:
        packed = {name: values.cpu().numpy() for name, values in self.state_dict().items()}
        return NGrams.unpacked(self.sizes, self.n_keys, packed)


class CharLM(EmbeddingNetwork):
    """Embeddings, LSTM or GRU layers, and scores of each key to be the next.

    ngrams: averaged with the network's probabilities where texts are scored (Mikolov et al., 2011).
        Training and writing use the network alone: n-grams would copy training texts.
    """

    sizes_class = CharLMSizes
    never: Tensor  # [K] −∞ for the start mark, else 0

    def __init__(self, options: CharLMOptions, sizes: CharLMSizes) -> None:
        super().__init__(options.key_dropout)
        n_keys, embed_width, width = sizes.chars.keys + 1, sizes.chars.width, options.width
        self.chars = PretrainedEmbedding(sizes.chars)
        self.embed_dropout = Dropout(options.embed_dropout)
        cell = CELLS[options.cell]
        self.layers = nn.ModuleList(
            cell(width if number else embed_width, width, batch_first=True)
            for number in range(options.layers)
        )
        self.hidden_dropout = Dropout(options.hidden_dropout)
        self.output_dropout = Dropout(options.output_dropout)
        is_mapped = width != embed_width
        self.project = nn.Linear(width, embed_width) if is_mapped else nn.Identity()
        self.bias = nn.Parameter(torch.zeros(n_keys))
        never = torch.zeros(n_keys)
        never[sizes.start] = -torch.inf
        self.register_buffer("never", never, persistent=False)
        self.ngrams = NGramTable(sizes.ngrams, n_keys) if sizes.ngrams else None

    def forward(self, piece: "Piece", state: State | None = None) -> tuple[Tensor, State]:
        """Scores [M, K] of each key to come next, and the state after the piece.

        state: after the previous piece.
        """
        hidden, state = self.read(piece.inputs, None if piece.is_first else state)
        return self.scores(hidden[self.to_tensor(piece.present)]), state

    def read(self, keys: Ints, state: State | None = None) -> tuple[Tensor, State]:
        """[B, C] keys → [B, C, D], and the state after them.

        state: its first B rows count; backpropagation through time is truncated there.
        """
        x = self._dropped(self.chars(self.keys(keys)), self.embed_dropout)
        after: State = []
        for number, layer in enumerate(self.layers):
            if number:
                x = self._dropped(x, self.hidden_dropout)
            before = None
            if state is not None:
                before = tuple(part[:, : len(keys)].detach() for part in state[number])
            x, left = run_layer(cast("nn.RNNBase", layer), x, before)
            after.append(left)
        return self._dropped(x, self.output_dropout), after

    def read_each(self, keys: Ints, state: State | None) -> tuple[Tensor, State]:
        """[C] keys of one text → [C, D], and the states after each, as those of C texts."""
        hidden: list[Tensor] = []
        states: list[State] = []
        for key in keys:
            after, state = self.read(np.array([[key]]), state)
            hidden.append(after[0])
            states.append(state)
        layers = zip(*states, strict=True)
        joined = [tuple(torch.cat(p, dim=1) for p in zip(*layer, strict=True)) for layer in layers]
        return torch.cat(hidden), joined

    def scores(self, hidden: Tensor, weights: Tensor | None = None) -> Tensor:
        """[..., D] → [..., K] logits. weights: `packed_weights`, if at hand."""
        weights = self.output_weights() if weights is None else weights
        return linear(self.project(hidden), weights, self.bias + self.never)

    def packed_weights(self) -> Tensor:
        """[K, E] of the output layer, for predictions step by step."""
        return packed(self.output_weights())

    def output_weights(self) -> Tensor:
        """[K, E] of the output layer: the embeddings (Press & Wolf, 2017)."""
        weights: Tensor = self.chars(torch.arange(len(self.bias), device=self.bias.device))
        return weights

    def surprisals(self, scores: Tensor, targets: Ints) -> Tensor:
        """[M, K] scores and [M] keys → [M] −ln P of these keys."""
        return nn.functional.cross_entropy(scores, self.to_tensor(targets), reduction="none")

    def loss(self, scores: Tensor, targets: Ints) -> Tensor:
        return self.surprisals(scores, targets).sum()

    def averaged(self, log_probs: Floats, keys: Ints) -> Floats:
        """ln P [..., C] by the network, or by the mean of its and the n-grams' probabilities.

        keys: as in `NGrams.log_probs`.
        """
        if self.ngrams is None:
            return log_probs
        found: Floats = np.logaddexp(log_probs, self.ngrams.unpacked.log_probs(keys)) - math.log(2)
        return found

    @staticmethod
    def select(state: State, rows: Ints | Bools) -> State:
        """The state of some of the texts, which may repeat."""
        return [tuple(part[:, rows] for part in layer) for layer in state]

    def _dropped(self, x: Tensor, dropout: Dropout) -> Tensor:
        """[B, C, ·] after dropout with one mask [B, 1, ·] for a text (Gal & Ghahramani, 2016)."""
        return x * dropout(x.new_ones(len(x), 1, x.shape[2]))  # type: ignore[no-any-return]


def run_layer(layer: nn.RNNBase, x: Tensor, before: LayerState | None) -> tuple[Tensor, LayerState]:
    """[B, C, ·] → [B, C, D] and the state after it."""
    if before is not None and x.shape[1] == 1:
        return run_cell(layer, x[:, 0], before)
    if isinstance(layer, nn.LSTM):
        hidden, state = layer(x, before)
        return hidden, state
    hidden, last = layer(x, before and before[0])
    return hidden, (last,)


def run_cell(layer: nn.RNNBase, x: Tensor, before: LayerState) -> tuple[Tensor, LayerState]:
    """A single character: [B, ·] → [B, 1, D] and the state after it.

    On a CPU, torch's LSTM rearranges its weights at each call, which takes longer than the step.
    """
    (weights,), states = layer.all_weights, [part[0] for part in before]
    after: LayerState
    if isinstance(layer, nn.LSTM):
        after = torch.lstm_cell(x, states, *weights)
    else:
        after = (torch.gru_cell(x, *states, *weights),)
    return after[0][:, None], tuple(part[None] for part in after)
