"""The base of the networks of entity recognisers.

Shapes: B segments, C units, D width, K tags.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..nn.crf import CRF, Tutor
from ..nn.layers import Dropout, RelativeAttention, TransformerLayer
from ..nn.network import EmbeddingNetwork
from .batch import Batch
from .options import NetworkOptions
from .tags import OUTSIDE, TagSet, TagTarget

RARE = 8.0  # how much lower than that of "O" the scores of new tags start


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

    @torch.no_grad()
    def make_rare(self, n_before: int) -> None:
        """Let the tags of all labels but the first ones score as "O" does, but lower."""
        crf, first = self.crf, len(TagSet(self.tags.labels[:n_before], self.tags.scheme))
        for scores in (self.classify.weight, self.classify.bias, crf.starts, crf.ends):
            scores[first:] = scores[OUTSIDE]
        self.classify.bias[first:] -= RARE
        crf.transitions[first:] = crf.transitions[OUTSIDE]
        crf.transitions[:, first:] = crf.transitions[:, OUTSIDE, None]

    def loss(self, scores: Tensor, target: TagTarget, tutor: Tutor | None = None) -> Tensor:
        """Negative log-likelihood of the target, summed with its weights.

        scores: [B, C, K], or [2B, C, K] of the batch twice, with other dropouts. The loss is then
            half of that of R-Drop (Liang et al., 2021, equation 4), whose α is `r_drop`.
        tutor: knows, with emissions [B, C, K], how probable is what the target leaves open.
        """
        allowed, lengths, weights = map(self.to_tensor, target)
        n = len(scores) // len(lengths)
        if tutor is not None:
            tutor = tutor._replace(emissions=tutor.emissions.repeat(n, 1, 1))
        likelihoods, marginals = self.crf.likelihood_and_marginals(
            scores, allowed.repeat(n, 1, 1), lengths.repeat(n), tutor
        )
        losses = -likelihoods.view(n, -1).mean(0)
        if n == 2:
            losses += self.r_drop / 2 * self.crf.divergence(scores, marginals)
        return losses @ weights.to(losses.dtype)


def make_layer(
    options: NetworkOptions, *, residual: bool = True, **attention: bool
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
        residual=residual,
    )
