"""An encoder–decoder Transformer (Vaswani et al., 2017) as a plain torch module.

Layers pass on rows [R, D] of all texts, which matrix products compute fastest.

Shapes: B sentences, S positions of the source, T positions of the target, W hypotheses of a
sentence, N = B·W, L attended keys, H heads, d width of a head, D = H·d, V ids of the target, M ids
to predict.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from ..nn.embeddings import EmbeddingNetwork
from ..nn.layers import Dropout, Linear, Positions, linear
from ..util.arrays import Bools, Floats, Ints
from .batch import END, NAMES, PaddedIds, TranslationBatch
from .options import Seq2SeqOptions


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
        self.label_smoothing = options.label_smoothing
        self.target = nn.Embedding(sizes.target, width)
        self.source = nn.Embedding(sizes.source, width)
        self.positions = Positions(width)
        self.dropout = Dropout(options.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(options) for _ in range(options.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(options) for _ in range(options.decoder_layers))
        self.encoder_norm = nn.LayerNorm(width)
        self.decoder_norm = nn.LayerNorm(width)
        self.bias = nn.Parameter(torch.zeros(sizes.target))
        self.initialise_linears()
        for table in (self.target, self.source):
            nn.init.normal_(table.weight, std=width**-0.5)  # rows have a length of about 1

    # Training

    def forward(self, batch: TranslationBatch) -> Tensor:
        """Scores [M, V] of each id to come next in the target."""
        hidden = self.decode(batch.inputs.ids, self.encode(batch.source))
        return self.scores(hidden[self.to_tensor(batch.inputs.present.ravel())])

    def loss(self, scores: Tensor, targets: Ints) -> Tensor:
        """The summed loss of targets [M] with smoothed labels (Szegedy et al., 2016).

        scores: [M, V].
        """
        smoothing = self.label_smoothing if self.training else 0.0
        gold = self.to_tensor(targets)
        return nn.functional.cross_entropy(scores, gold, reduction="sum", label_smoothing=smoothing)

    # Encoding and decoding

    def encode(self, source: PaddedIds) -> DecoderState:
        """What the decoder starts from."""
        B = len(source.ids)
        x = self._embed(self.source, source.ids, 0)
        mask = None if source.present.all() else self.to_tensor(source.present)[:, None, None]
        for layer in self.encoder:
            x = layer(x, B, mask)
        x = self.encoder_norm(x)
        attend = [cast("CachedAttention", layer.source_attention) for layer in self.decoder]
        return DecoderState([each.keys_values(x, B) for each in attend], mask)

    def decode(self, ids: Ints, state: DecoderState) -> Tensor:
        """[N, T] first ids of the targets, or [N, 1] further ones → [N·T, D], to predict the next.

        N: B, or B·W, in the order of the sources.
        state: advances by T positions.
        """
        x = self._embed(self.target, ids, state.length)
        for number, layer in enumerate(self.decoder):
            x = layer(x, len(ids), state, number)
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
        """The n best continuations of each sentence: [B, n] log-probabilities, and places in W·V.

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
        would_end = (waits & (scores.argmax(dim=1) == END))[:, None]
        scores[:, END].masked_fill_(waits, -torch.inf)
        scores[:, :NAMES].masked_fill_(would_end, -torch.inf)
        scores[:, NAMES + pending.shape[1] :].masked_fill_(would_end, -torch.inf)

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
        positions = self.positions(reach)[reach + start :]
        x = table(self.to_tensor(ids)) * math.sqrt(table.embedding_dim) + positions
        return self.dropout(x.flatten(0, 1))  # type: ignore[no-any-return]


@dataclass
class DecoderState:
    """What the decoder attends to.

    memory: keys and values [2, B, H, S, d] of the sources, for each layer.
    mask: [B, 1, 1, S] False for padding of the sources; None without padding.
    written: keys and values [2, N, H, t, d] of the targets so far, for each layer.
    """

    memory: list[Tensor]
    mask: Tensor | None
    written: dict[int, Tensor] = field(default_factory=dict)

    @property
    def length(self) -> int:
        """t"""
        return self.written[0].shape[3] if self.written else 0

    def extend(self, layer: int, keys_values: Tensor) -> Tensor:
        """Append keys and values [2, N, H, T, d] of a layer. Returns those of all positions."""
        if layer in self.written:
            keys_values = torch.cat([self.written[layer], keys_values], dim=3)
        self.written[layer] = keys_values
        return keys_values

    def keep(self, sentences: Tensor, hypotheses: Tensor) -> None:
        """Keep some of the sentences, and some of the N hypotheses, in this order."""
        if len(sentences) < self.memory[0].shape[1]:
            self.memory = [each[:, sentences] for each in self.memory]
            self.mask = None if self.mask is None else self.mask[sentences]
        self.written = {layer: each[:, hypotheses] for layer, each in self.written.items()}


class EncoderLayer(nn.Module):
    """Self-attention and a feed-forward layer."""

    def __init__(self, options: Seq2SeqOptions) -> None:
        super().__init__()
        self.attention = CachedAttention(options)
        self.around_attention = Sublayer(options)
        self.ff = nn.Sequential(
            Linear(options.width, options.ff_width),
            nn.ReLU(),
            Dropout(options.ff_dropout),
            Linear(options.ff_width, options.width),
        )
        self.around_ff = Sublayer(options)

    def forward(self, x: Tensor, n: int, mask: Tensor | None) -> Tensor:
        """[R, D] of n texts → [R, D]"""

        def attend(rows: Tensor) -> Tensor:
            return self.attention(rows, self.attention.keys_values(rows, n), mask)  # type: ignore[no-any-return]

        return self.around_ff(self.around_attention(x, attend), self.ff)  # type: ignore[no-any-return]


class DecoderLayer(EncoderLayer):
    """The same, with attention to the source in between."""

    def __init__(self, options: Seq2SeqOptions) -> None:
        super().__init__(options)
        self.source_attention = CachedAttention(options)
        self.around_source = Sublayer(options)

    def forward(self, x: Tensor, n: int, state: DecoderState, number: int) -> Tensor:  # type: ignore[override]
        """[R, D] of n texts → [R, D]

        number: of the layer in the state.
        """

        def attend(rows: Tensor) -> Tensor:
            keys_values = state.extend(number, self.attention.keys_values(rows, n))
            return self.attention(rows, keys_values, None, is_causal=len(rows) > n)  # type: ignore[no-any-return]

        def attend_to_source(rows: Tensor) -> Tensor:
            return self.source_attention(rows, state.memory[number], state.mask)  # type: ignore[no-any-return]

        x = self.around_source(self.around_attention(x, attend), attend_to_source)
        return self.around_ff(x, self.ff)  # type: ignore[no-any-return]


class Sublayer(nn.Module):
    """The normalisation before a sublayer, its dropout and residual connection."""

    def __init__(self, options: Seq2SeqOptions) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(options.width)
        self.dropout = Dropout(options.dropout)

    def forward(self, x: Tensor, inner: Callable[[Tensor], Tensor]) -> Tensor:
        """[R, D] → [R, D]"""
        return x + self.dropout(inner(self.norm(x)))  # type: ignore[no-any-return]


class CachedAttention(nn.Module):
    """Multi-head attention whose keys and values can be computed beforehand."""

    def __init__(self, options: Seq2SeqOptions) -> None:
        super().__init__()
        self.heads = options.num_heads
        self.depth = options.width // options.num_heads
        self.to_queries = Linear(options.width, options.width)
        self.to_keys_values = Linear(options.width, 2 * options.width)
        self.output = Linear(options.width, options.width)

    def keys_values(self, x: Tensor, n: int) -> Tensor:
        """[n·L, D] → keys and values [2, n, H, L, d]."""
        rows: Tensor = self.to_keys_values(x)
        return rows.view(n, -1, 2, self.heads, self.depth).permute(2, 0, 3, 1, 4)

    def forward(
        self, x: Tensor, keys_values: Tensor, mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        """[n·Q, D] → [n·Q, D]

        keys_values: [2, n, H, L, d].
        mask: [n, 1, 1, L] False for hidden keys.
        is_causal: each query attends to keys up to its own position.
        """
        keys, values = keys_values.unbind()
        attended = nn.functional.scaled_dot_product_attention(
            self.to_queries(x).view(len(keys), -1, self.heads, self.depth).transpose(1, 2),
            keys,
            values,
            attn_mask=mask,
            is_causal=is_causal,
        )
        return self.output(attended.transpose(1, 2).reshape(len(x), -1))  # type: ignore[no-any-return]
