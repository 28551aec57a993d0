"""The base of the networks of entity recognisers.

Shapes: B segments, C units, D width, K tags.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..nn.crf import CRF
from ..nn.layers import Dropout, RelativeAttention, TransformerLayer
from ..nn.network import EmbeddingNetwork
from .batch import Batch
from .options import NetworkOptions
from .tags import TagSet, TagTarget


class TaggingNetwork(EmbeddingNetwork):
    """Embeddings, layers that mix them, and a CRF's emissions."""

    def __init__(self, options: NetworkOptions, labels: Sequence[str]) -> None:
        super().__init__(options.key_dropout)
        width = options.num_heads * options.head_dim
        self.embed_dropout = Dropout(options.embed_dropout)
        self.output_dropout = Dropout(options.output_dropout)
        self.tags = tags = TagSet(labels, options.scheme)
        self.classify = nn.Linear(width, len(tags))
        self.crf = CRF(len(tags), tags.allowed_transitions, tags.allowed_starts, tags.allowed_ends)
        self.crf.requires_grad_(options.transitions)  # they start at zero
        self.r_drop = options.r_drop

    def training_scores(self, batch: Batch, upstream: Tensor | None) -> Tensor:
        """Emissions of a batch; with R-Drop [2B, C, K] of the batch twice, with other dropouts."""
        return torch.cat([self(batch, upstream) for _ in range(2 if self.r_drop else 1)])

    def loss(self, scores: Tensor, target: TagTarget) -> Tensor:
        """Negative log-likelihood of the target, summed with its weights.

        scores: [B, C, K], or [2B, C, K] of the batch twice, with other dropouts. The loss is then
            half of that of R-Drop (Liang et al., 2021, equation 4), whose α is `r_drop`.
        """
        allowed, lengths, weights = map(self.to_tensor, target)
        n = len(scores) // len(lengths)
        likelihoods, marginals = self.crf.likelihood_and_marginals(
            scores, allowed.repeat(n, 1, 1), lengths.repeat(n)
        )
        losses = -likelihoods.view(n, -1).mean(0)
        if n == 2:
            losses += self.r_drop / 2 * self.crf.divergence(scores, marginals)
        return losses @ weights.to(losses.dtype)


def make_layer(
    options: NetworkOptions, *, norm: str = "post", residual: bool = True, **attention: bool
) -> TransformerLayer:
    """Relative attention and feed-forward as the options have them.

    attention: further arguments of `RelativeAttention`; the others as for `TransformerLayer`.
    """
    return TransformerLayer(
        RelativeAttention(
            options.num_heads,
            options.head_dim,
            k_proj=options.k_proj,
            scaled=options.scaled,
            dropout=options.attention_dropout,
            **attention,
        ),
        options.num_heads * options.head_dim,
        ff=options.ff,
        activation=options.ff_activate,
        dropout=options.ff_dropout,
        norm=norm,
        residual=residual,
    )
