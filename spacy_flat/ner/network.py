"""The base of the networks of entity recognisers.

Shapes: B segments, C units, D width, K tags.
"""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from ..nn.crf import CRF, TeacherScores
from ..nn.embeddings import EmbeddingNetwork, PretrainedEmbedding, Sizes
from ..nn.layers import Dropout, RelativeAttention, TransformerLayer
from .batch import Batch
from .options import NetworkOptions
from .tags import OUTSIDE, TagSet, TagTarget

RARE = 8.0  # how much lower than that of "O" the scores of new tags start


@dataclass(frozen=True)
class TaggingSizes(Sizes):
    """Sizes that depend on the data.

    branches: how many labels are older than those of each branch.
    """

    branches: Sequence[int] = ()


class TaggingNetwork(EmbeddingNetwork):
    """Embeddings, layers that mix them, and a CRF's emissions.

    Labels that are added to a trained network may have a branch, which scores their tags: a copy of
    all but the tables. Where it alone is trained, the scores of other tags stay.
    """

    encode: Any  # method: a batch and other vectors of its units → what `classify` reads, [B, C, D]

    def __init__(self, options: NetworkOptions, sizes: TaggingSizes) -> None:
        super().__init__(options.key_dropout)
        width = options.num_heads * options.head_dim
        self.embed_dropout = Dropout(options.embed_dropout)
        self.output_dropout = Dropout(options.output_dropout)
        self.tags = tags = TagSet(sizes.labels)
        self.classify = nn.Linear(width, len(tags))
        self.crf = CRF(len(tags), tags.allowed_transitions, tags.allowed_starts, tags.allowed_ends)
        self.learns_transitions = options.transitions  # they start at zero
        self.r_drop = options.r_drop
        self.branches: Iterable[Any] = ()
        self.train_last_branch(False)

    def add_branches(self, starts: Sequence[int]) -> None:
        """starts: the numbers of their first labels."""
        tables = [part for part in self.children() if isinstance(part, PretrainedEmbedding)]
        self.starts = starts
        bounds = [*(int(self.tags.roles[0, start]) for start in starts), len(self.tags)]
        branches = []
        for first, stop in pairwise(bounds):
            branch = deepcopy(self, {id(table): table for table in tables})
            branch.classify = nn.Linear(self.classify.in_features, stop - first)
            del branch.crf
            branches.append(branch)
        self.branches = nn.ModuleList(branches)  # after the tables, whose names stay the first

    def start_branch(self) -> None:
        """Let the last branch begin as a copy of the network, not of earlier branches."""
        *_, branch = self.branches
        state = self.state_dict()
        for name in ("classify.weight", "classify.bias"):
            state[name] = state[name][-len(branch.classify.bias) :]
        branch.load_state_dict(state, strict=False)

    def train_last_branch(self, alone: bool) -> None:
        """Whether nothing else is trained."""
        self.trains_last_branch = alone
        self.requires_grad_(not alone)
        *_, last = self, *self.branches
        for part in last.children():
            part.requires_grad_(not (alone and isinstance(part, PretrainedEmbedding)))
        self.crf.requires_grad_(self.learns_transitions and not alone)

    def forward(self, batch: Batch, upstream: Tensor | None = None) -> Tensor:
        """batch: B segments of C units.
        upstream: [B, C, W] other vectors of the units, such as a tok2vec's.
        Returns [B, C, K] emissions.
        """
        *before, last = (self, *self.branches)
        is_frozen = self.trains_last_branch and self.training
        if is_frozen:  # no dropouts
            self.eval()
        with torch.set_grad_enabled(torch.is_grad_enabled() and not is_frozen):
            scores = [each.own_scores(batch, upstream) for each in before]
        if is_frozen:
            self.train()
        own, *added = *scores, last.own_scores(batch, upstream)
        n_own = own.shape[2] - sum(each.shape[2] for each in added)
        return torch.cat([own[..., :n_own], *added], dim=2)

    def own_scores(self, batch: Batch, upstream: Tensor | None) -> Tensor:
        """The emissions without those of branches."""
        scores: Tensor = self.classify(self.output_dropout(self.encode(batch, upstream)))
        return scores

    def training_scores(self, batch: Batch, upstream: Tensor | None) -> Tensor:
        """Emissions of a batch; with R-Drop [2B, C, K] of the batch twice, with other dropouts."""
        return torch.cat([self(batch, upstream) for _ in range(2 if self.r_drop else 1)])

    @torch.no_grad()
    def make_rare(self, n_before: int) -> None:
        """Let the tags of all labels but the first ones score as "O" does, but lower."""
        crf, first = self.crf, len(TagSet(self.tags.labels[:n_before]))
        for scores in (self.classify.weight, self.classify.bias, crf.starts, crf.ends):
            scores[first:] = scores[OUTSIDE]
        self.classify.bias[first:] -= RARE
        for branch in list(self.branches)[-1:]:
            added = first - len(self.tags)  # that it has as its last ones
            branch.classify.weight[added:] = self.classify.weight[added:]
            branch.classify.bias[added:] = self.classify.bias[added:]
        crf.transitions[first:] = crf.transitions[OUTSIDE]
        crf.transitions[:, first:] = crf.transitions[:, OUTSIDE, None]

    def loss(
        self, scores: Tensor, target: TagTarget, teacher: TeacherScores | None = None
    ) -> Tensor:
        """Negative log-likelihood of the target, summed with its weights.

        scores: [B, C, K], or [2B, C, K] of the batch twice, with other dropouts. The loss is then
            half of that of R-Drop (Liang et al., 2021, equation 4), whose α is `r_drop`.
        teacher: a CRF and emissions [B, C, K] that say how probable is what is left open.
        """
        allowed, lengths, weights = map(self.to_tensor, target)
        n = len(scores) // len(lengths)
        if teacher is not None:
            teacher = teacher._replace(emissions=teacher.emissions.repeat(n, 1, 1))
        likelihoods, marginals = self.crf.likelihood_and_marginals(
            scores, allowed.repeat(n, 1, 1), lengths.repeat(n), teacher
        )
        losses = -likelihoods.view(n, -1).mean(0)
        if n == 2:
            losses += self.r_drop / 2 * self.crf.divergence(scores, marginals)
        return losses @ weights.to(losses.dtype)


def make_layer(options: NetworkOptions, *, residual: bool = True) -> TransformerLayer:
    """Relative attention and feed-forward as the options have them."""
    heads = options.num_heads, options.head_dim
    return TransformerLayer(
        RelativeAttention(*heads, k_proj=options.k_proj, scaled=options.scaled),
        options.num_heads * options.head_dim,
        ff=options.ff,
        dropout=options.ff_dropout,
        residual=residual,
    )
