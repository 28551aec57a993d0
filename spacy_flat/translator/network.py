"""An encoder–decoder Transformer (Vaswani et al., 2017) as a plain torch module.

Layers pass on rows [R, D] of all texts, which matrix products compute fastest.

Shapes: B sentences, S positions of the source, T positions of the target, W hypotheses of a
sentence, N = B·W, L attended keys, H heads, d width of a head, D = H·d, V ids of the target, M ids
to predict.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from ..nn.layers import Dropout, Linear, Positions, linear, linears
from ..nn.network import EmbeddingNetwork
from ..util.arrays import Bools, Floats, Ints
from .batch import PaddedIds, TranslationBatch
from .ids import END, NAMES
from .options import Seq2SeqOptions

CACHE_SIZE = 32  # positions in a new cache


@dataclass(frozen=True)
class Seq2SeqSizes:
    """Sizes that the data decides: numbers of ids.

    shared: always False, in files of earlier versions.
    """

    source: int
    target: int
    shared: bool = False


class Seq2Seq(EmbeddingNetwork):
    """An encoder of the source, a decoder of the target, and scores of the next ids."""

    sizes_class = Seq2SeqSizes

    def __init__(self, options: Seq2SeqOptions, sizes: Seq2SeqSizes) -> None:
        super().__init__()
        width = options.width
        self.scale = math.sqrt(width)
        self.label_smoothing = options.label_smoothing
        self.r_drop = options.r_drop
        self.n_heads = options.num_heads
        self.target = nn.Embedding(sizes.target, width)
        self.source = nn.Embedding(sizes.source, width)
        self.positions = Positions(width)
        self.dropout = Dropout(options.dropout)
        self.encoder = nn.ModuleList(Seq2SeqLayer(options) for _ in range(options.encoder_layers))
        self.decoder = nn.ModuleList(
            Seq2SeqLayer(options, reads_source=True) for _ in range(options.decoder_layers)
        )
        is_pre = options.norm == "pre"
        self.encoder_norm = nn.LayerNorm(width) if is_pre else nn.Identity()
        self.decoder_norm = nn.LayerNorm(width) if is_pre else nn.Identity()
        self.bias = nn.Parameter(torch.zeros(sizes.target))
        self.initialise()

    def initialise(self) -> None:
        """Xavier-uniform matrices; embeddings whose rows have a length of about 1."""
        for each in linears(self):
            nn.init.xavier_uniform_(each.weight)
            if each.bias is not None:
                nn.init.zeros_(each.bias)
        for table in (self.target, self.source):
            nn.init.normal_(table.weight, std=1 / self.scale)

    # Training

    def forward(self, batch: TranslationBatch) -> Tensor:
        """Scores [M, V] of each id to come next in the target."""
        state = DecoderState(self.encode(batch.source), cache=None)
        hidden = self.decode(batch.inputs.ids, state)
        return self.scores(hidden[self.to_tensor(batch.inputs.present.ravel())])

    def loss(self, scores: Tensor, targets: Ints) -> Tensor:
        """The summed loss of targets [M] with smoothed labels (Szegedy et al., 2016).

        scores: [M, V], or [2M, V] of the batch twice, with other dropouts. The loss is then half of
            that of R-Drop (Liang et al., 2021, equation 4), whose α is `r_drop`.
        """
        smoothing = self.label_smoothing if self.training else 0.0
        n = len(scores) // len(targets)
        loss = nn.functional.cross_entropy(
            scores,
            self.to_tensor(targets).repeat(n),
            reduction="sum",
            label_smoothing=smoothing,
        )
        if n == 2:
            return loss / 2 + self.r_drop / 2 * divergence(scores)
        return loss

    def log_probs(self, scores: Tensor, targets: Ints) -> Tensor:
        """[M, V] scores and [M] ids → [M] ln P of these ids."""
        return -nn.functional.cross_entropy(scores, self.to_tensor(targets), reduction="none")

    # Encoding and decoding

    def encode(self, source: PaddedIds) -> Memory:
        """The keys and values of the source for each layer of the decoder."""
        B = len(source.ids)
        x = self._embed(self.source, source.ids, 0)
        mask = None if source.present.all() else self.to_tensor(source.present)[:, None, None]
        for layer in self.encoder:
            x = layer(x, B, mask)
        x = self.encoder_norm(x)
        attend = [cast("CachedAttention", layer.source_attention) for layer in self.decoder]
        return Memory([each.keys_values(x, B) for each in attend], mask)

    def begin(self, source: PaddedIds, n_hypotheses: int) -> DecoderState:
        """The initial state of W hypotheses of each sentence."""
        memory = self.encode(source)
        _, B, H, _, d = memory.layers[0].shape
        shape = (len(self.decoder), 2, B * n_hypotheses, H, CACHE_SIZE, d)
        return DecoderState(memory, memory.layers[0].new_empty(shape))

    def decode(self, ids: Ints, state: DecoderState) -> Tensor:
        """[N, T] first ids of the targets, or [N, 1] further ones → [N·T, D], to predict the next.

        state: advances by T positions if it has a cache.
        """
        N, T = ids.shape
        assert T == 1 or not state.length, "the causal mask is that of whole targets"
        x = self._embed(self.target, ids, state.length)
        state.make_room(T)
        for number, layer in enumerate(self.decoder):
            x = layer(x, N, None, state, number)
        state.advance(T)
        return self.decoder_norm(x)  # type: ignore[no-any-return]

    def best(
        self,
        ids: Ints,
        state: DecoderState,
        so_far: Floats,
        forbidden: Bools,
        pending: Bools,
        n: int,
    ) -> tuple[Floats, Ints]:
        """The n best continuations of each sentence: [B, n] log-probabilities, and their indices
        among its W·V.

        ids: [N] last ids of the targets.
        so_far: [B, W] log-probabilities of the targets.
        forbidden: [N, V] ids that can't come next.
        pending: [N, P] placeholders that a target needs before it ends. A target about to end
            continues with one of them.
        """
        scores = self.scores(self.decode(ids[:, None], state)).log_softmax(dim=1)
        scores = scores.masked_fill_(self.to_tensor(forbidden), -torch.inf)
        if pending.any():
            self._keep_from_ending(scores, pending)
        # Single precision: Apple's GPUs lack double.
        scores += self.to_tensor(so_far.astype(np.float32)).view(-1, 1)
        found = scores.view(len(so_far), -1).topk(n, dim=1)
        return found.values.cpu().double().numpy(), found.indices.cpu().numpy()

    def _keep_from_ending(self, scores: Tensor, pending: Bools) -> None:
        """Change scores [N, V] of targets with pending placeholders [N, P]; see `best`."""
        waits = self.to_tensor(pending).any(dim=1)
        would_end = waits & (scores.argmax(dim=1) == END)
        scores[:, END].masked_fill_(waits, -torch.inf)
        is_name = torch.zeros(self.n_ids, dtype=torch.bool, device=scores.device)
        is_name[NAMES : NAMES + pending.shape[1]] = True
        scores.masked_fill_(would_end[:, None] & ~is_name, -torch.inf)

    @property
    def n_ids(self) -> int:
        """V"""
        return len(self.bias)

    def scores(self, hidden: Tensor) -> Tensor:
        """[M, D] → [M, V] logits. The output layer has the weights of the target's embeddings."""
        return linear(hidden, self.target.weight, self.bias)

    def _embed(self, table: nn.Embedding, ids: Ints, start: int) -> Tensor:
        """[B, L] ids from position `start` on → [B·L, D]"""
        reach = start + ids.shape[1] - 1
        x = table(self.to_tensor(ids)) * self.scale + self.positions(reach)[reach + start :]
        return self.dropout(x.flatten(0, 1))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Memory:
    """B encoded sources.

    layers: keys and values [2, B, H, S, d] of each layer of the decoder.
    mask: [B, 1, 1, S] False for padding; None without padding.
    """

    layers: list[Tensor]
    mask: Tensor | None

    def keep(self, rows: Tensor) -> Memory:
        mask = None if self.mask is None else self.mask[rows]
        return Memory([keys_values[:, rows] for keys_values in self.layers], mask)


@dataclass
class DecoderState:
    """The state of the decoder.

    cache: [layers, 2, N, H, room, d] keys and values of the positions so far; None in training,
        which computes whole targets at once.
    length: filled positions of the cache.
    """

    memory: Memory
    cache: Tensor | None
    length: int = 0

    @property
    def n_rows(self) -> int:
        """N"""
        return 0 if self.cache is None else self.cache.shape[2]

    def make_room(self, n: int) -> None:
        if self.cache is not None and self.length + n > (room := self.cache.shape[4]):
            grown = self.cache.new_empty(
                *self.cache.shape[:4], max(2 * room, room + n), self.cache.shape[5]
            )
            grown[..., : self.length, :] = self.cache[..., : self.length, :]
            self.cache = grown

    def extend(self, layer: int, keys_values: Tensor) -> Tensor:
        """Append keys and values [2, N, H, T, d] of a layer. Returns those of all positions."""
        if self.cache is None:
            return keys_values
        end = self.length + keys_values.shape[3]
        own = self.cache[layer]
        own[..., self.length : end, :] = keys_values
        return own[..., :end, :]

    def advance(self, n: int) -> None:
        if self.cache is not None:
            self.length += n

    def keep(self, sentences: Tensor, hypotheses: Tensor) -> None:
        """Keep some of the sentences, and some of the N hypotheses, in this order."""
        assert self.cache is not None
        if len(sentences) < self.memory.layers[0].shape[1]:
            self.memory = self.memory.keep(sentences)
        filled = self.cache[..., : self.length, :].index_select(2, hypotheses)
        # Reuse the memory of the cache.
        self.cache = self.cache[:, :, : len(hypotheses)]
        self.cache[..., : self.length, :] = filled


def divergence(both: Tensor) -> Tensor:
    """The mean of the Kullback-Leibler divergences in both directions, summed over M distributions.

    both: [2M, V] logits, first those of one pass, then those of the other.
    """
    first, second = both.log_softmax(dim=1).chunk(2)
    return ((first.exp() - second.exp()) * (first - second)).sum() / 2


class Seq2SeqLayer(nn.Module):
    """Self-attention, attention to the source in the decoder, and a feed-forward layer."""

    def __init__(self, options: Seq2SeqOptions, reads_source: bool = False) -> None:
        super().__init__()
        self.attention = CachedAttention(options)
        self.around_attention = Sublayer(options)
        self.source_attention = CachedAttention(options) if reads_source else None
        self.around_source = Sublayer(options) if reads_source else None
        self.ff = nn.Sequential(
            Linear(options.width, options.ff_width),
            nn.ReLU(),
            Dropout(options.ff_dropout),
            Linear(options.ff_width, options.width),
        )
        self.around_ff = Sublayer(options)

    def forward(
        self,
        x: Tensor,
        n: int,
        mask: Tensor | None,
        state: DecoderState | None = None,
        number: int = 0,
    ) -> Tensor:
        """[R, D] → [R, D]

        n: number of texts.
        mask: of the encoder's self-attention.
        state: of the decoder, whose layer `number` this is.
        """

        def attend_self(rows: Tensor) -> Tensor:
            keys_values = self.attention.keys_values(rows, n)
            if state is not None:
                keys_values = state.extend(number, keys_values)
            is_causal = state is not None and len(rows) > n
            return self.attention(rows, keys_values, mask, is_causal)  # type: ignore[no-any-return]

        def attend_source(rows: Tensor) -> Tensor:
            assert state is not None
            assert self.source_attention is not None
            memory = state.memory
            return self.source_attention(rows, memory.layers[number], memory.mask)  # type: ignore[no-any-return]

        x = self.around_attention(x, attend_self)
        if self.around_source is not None:
            x = self.around_source(x, attend_source)
        return self.around_ff(x, self.ff)  # type: ignore[no-any-return]


class Sublayer(nn.Module):
    """The normalisation before or after a sublayer, its dropout and residual connection."""

    def __init__(self, options: Seq2SeqOptions) -> None:
        super().__init__()
        self.is_pre = options.norm == "pre"
        self.norm = nn.LayerNorm(options.width)
        self.dropout = Dropout(options.dropout)

    def forward(self, x: Tensor, inner: Callable[[Tensor], Tensor]) -> Tensor:
        """[R, D] → [R, D]"""
        if self.is_pre:
            return x + self.dropout(inner(self.norm(x)))  # type: ignore[no-any-return]
        return self.norm(x + self.dropout(inner(x)))  # type: ignore[no-any-return]


class CachedAttention(nn.Module):
    """Multi-head attention whose keys and values can be computed beforehand."""

    def __init__(self, options: Seq2SeqOptions) -> None:
        super().__init__()
        self.heads = options.num_heads
        self.dropout = options.attention_dropout
        self.to_queries = Linear(options.width, options.width)
        self.to_keys_values = Linear(options.width, 2 * options.width)
        self.output = Linear(options.width, options.width)

    def keys_values(self, x: Tensor, n: int) -> Tensor:
        """[n·L, D] → keys and values [2, n, H, L, d]."""
        rows: Tensor = self.to_keys_values(x)
        return rows.view(n, -1, 2, self.heads, self._depth(x)).permute(2, 0, 3, 1, 4)

    def forward(
        self, x: Tensor, keys_values: Tensor, mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        """[n·Q, D] → [n·Q, D]

        keys_values: [2, n, H, L, d].
        mask: [n, 1, 1, L] False for hidden keys.
        is_causal: each query attends to keys up to its own position.
        """
        keys, values = keys_values.unbind()
        queries = self.to_queries(x).view(len(keys), -1, self.heads, self._depth(x))
        attended = nn.functional.scaled_dot_product_attention(
            queries.transpose(1, 2),
            keys,
            values,
            attn_mask=mask,
            dropout_p=self.dropout if self.training else 0.0,
            is_causal=is_causal,
        )
        return self.output(attended.transpose(1, 2).reshape(len(x), -1))  # type: ignore[no-any-return]

    def _depth(self, x: Tensor) -> int:
        return x.shape[1] // self.heads
