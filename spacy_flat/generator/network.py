"""A character language model with recurrent layers, as a plain torch module.

Shapes: B texts, C characters, D width, E width of embeddings, K keys, M characters to predict.
Of other characters in a text: P places, N replacements, R characters read again after one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Any, cast

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from torch import Tensor, nn

from ..nn.layers import Dropout, linear, packed
from ..nn.network import EmbeddingNetwork, PretrainedEmbedding, Table
from ..util.arrays import Bools, Float32s, Float64s, Ints
from .batch import Piece
from .ngrams import NGrams
from .options import CharLMOptions

CANDIDATES = 10  # most probable characters that are tried in a place
MARGIN = 1.0  # nats by which homophones may be less probable there; right ones rarely are
AT_ONCE = 128  # replacements

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

    def __init__(self, sizes: Sequence[int], n_keys: int, start: int) -> None:
        super().__init__()
        self.sizes, self.n_keys, self.start = sizes, n_keys, start
        n, n_contexts = sum(sizes), 1 + sum(sizes[:-1])
        self.register_buffer("last_keys", torch.zeros(n, dtype=torch.int32))
        self.register_buffer("n_longer", torch.zeros(n_contexts, dtype=torch.int32))
        self.register_buffer("log_levels", torch.zeros(n, dtype=torch.uint8))

    def fill(self, ngrams: NGrams) -> None:
        """Take over n-grams of these sizes."""
        for name, values in ngrams.packed().items():
            getattr(self, name).copy_(torch.from_numpy(values))

    @cached_property
    def unpacked(self) -> NGrams:
        packed = {name: values.cpu().numpy() for name, values in self.state_dict().items()}
        return NGrams.unpacked(self.sizes, self.n_keys, self.start, packed)


class CharLM(EmbeddingNetwork):
    """Embeddings, LSTM or GRU layers, and scores of each key to be the next.

    ngrams: averaged with the network's probabilities where texts are scored (Mikolov et al., 2011).
        Training and writing use the network alone: n-grams would copy training texts.
    """

    sizes_class = CharLMSizes
    never: Tensor  # [K] −∞ for the start mark, else 0

    def __init__(self, options: CharLMOptions, sizes: CharLMSizes) -> None:
        super().__init__(options.key_dropout)
        self.variational = options.variational
        self.tied = options.tied
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
        is_mapped = options.tied and width != embed_width
        self.project = nn.Linear(width, embed_width) if is_mapped else nn.Identity()
        if not options.tied:
            self.classify = nn.Linear(width, n_keys, bias=False)
        self.bias = nn.Parameter(torch.zeros(n_keys))
        never = torch.zeros(n_keys)
        never[sizes.start] = -torch.inf
        self.register_buffer("never", never, persistent=False)
        self.ngrams = NGramTable(sizes.ngrams, n_keys, sizes.start) if sizes.ngrams else None

    def forward(self, piece: Piece, state: State | None = None) -> tuple[Tensor, State]:
        """Scores [M, K] of each key to come next, and the state after the piece.

        state: after the previous piece, which may have had more texts.
        """
        hidden, state = self.read(piece.inputs, state)
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

    def scores(self, hidden: Tensor, weights: Tensor | None = None) -> Tensor:
        """[..., D] → [..., K] logits. weights: `packed_weights`, if at hand."""
        weights = self.output_weights() if weights is None else weights
        return linear(self.project(hidden), weights, self.bias + self.never)

    def packed_weights(self) -> Tensor:
        """[K, E or D] of the output layer, for predictions step by step."""
        return packed(self.output_weights())

    def output_weights(self) -> Tensor:
        """[K, E or D] of the output layer."""
        if not self.tied:
            return self.classify.weight
        weights: Tensor = self.chars(torch.arange(len(self.bias), device=self.bias.device))
        return weights

    def surprisals(self, scores: Tensor, targets: Ints) -> Tensor:
        """[M, K] scores and [M] keys → [M] −ln P of these keys."""
        return nn.functional.cross_entropy(scores, self.to_tensor(targets), reduction="none")

    def loss(self, scores: Tensor, targets: Ints) -> Tensor:
        """The summed surprisals."""
        return self.surprisals(scores, targets).sum()

    def _dropped(self, x: Tensor, dropout: Dropout) -> Tensor:
        """[B, C, ·] after dropout; if variational, with one mask [B, 1, ·] for a text."""
        if not self.variational:
            return dropout(x)  # type: ignore[no-any-return]
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

    On a CPU, each call of torch's LSTM rearranges its weights, which takes many times as long as
    the step itself.
    """
    (weights,), states = layer.all_weights, [part[0] for part in before]
    after: LayerState
    if isinstance(layer, nn.LSTM):
        after = torch.lstm_cell(x, states, *weights)
    else:
        after = (torch.gru_cell(x, *states, *weights),)
    return after[0][:, None], tuple(part[None] for part in after)


class ReadPiece:
    """A piece of a text, read to try other characters in it.

    past: the keys of the text before these.
    keys: [C + 1] of the character before it, its own, and up to `reach` further ones.
    reach: R, the characters after another one that judge it.
    states: [C + 1] of the network before each of these keys.
    log_probs: [C, K] of each key to follow the one before it.
    """

    def __init__(
        self, network: CharLM, past: Ints, keys: Ints, state: State | None, reach: int
    ) -> None:
        self.network, self.keys, self.reach = network, keys, reach
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
            absent = _absent(allowed, others.shape[1])
            others.masked_fill_(self.network.to_tensor(absent), -torch.inf)
        others[:, list(excluded)] = -torch.inf
        others.scatter_(1, gold[:n_chars, None], -torch.inf)
        before, keys = others.topk(min(CANDIDATES, others.shape[1]), dim=1)
        if allowed is not None:
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
        ends = np.arange(1, self.reach + 1) + places[:, None]  # [N, R] the characters that follow
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

    def _log_probs(self, hidden: Tensor) -> Tensor:
        """[..., D] → [..., K]."""
        return self.network.scores(hidden, self.weights).log_softmax(-1)


def mixed(log_probs: Tensor, others: Float64s) -> Tensor:
    """Log-probabilities of the mean of two probabilities."""
    return torch.logaddexp(log_probs, torch.from_numpy(others).to(log_probs)) - log(2)


def _absent(present: Sequence[Ints], n: int) -> Bools:
    """[P, n] False for the numbers of each row."""
    absent = np.ones((len(present), n), dtype=bool)
    rows = np.repeat(np.arange(len(present)), [len(each) for each in present])
    absent[rows, np.concatenate(present)] = False
    return absent
