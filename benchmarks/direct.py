"""FLAT as published: the relative encoding of every pair of nodes, an array B×L×L×D.

This is what the code released with Li et al. (ACL 2020) computes, vectorised in plain torch, and
what `spacy_flat` is measured against. The network and its weights are ours; between the embeddings
and the classifier everything is done the published way: all nodes are queries in every layer, and
characters are picked out at the end.
"""

from typing import Any

import torch
from torch import Tensor, nn

from spacy_flat.ner.batch import LatticeBatch
from spacy_flat.ner.flat.network import FLAT

FOUR = [(0, 0), (0, 1), (1, 0), (1, 1)]  # hh, ht, th, tt: 0 is the head, 1 the tail
TWO = [(0, 0), (1, 1)]


class DirectFLAT(nn.Module):
    """A FLAT network computed directly, with the same parameters.

    Shapes: B segments, C characters, L nodes, H heads of width d, D = H·d, K tags.
    """

    def __init__(self, network: FLAT) -> None:
        super().__init__()
        self.network = network

    def forward(self, batch: LatticeBatch) -> Tensor:
        """Returns [B, C, K] emissions."""
        network = self.network
        nodes = torch.cat([network._characters(batch, None), network._words(batch)], dim=1)
        pairs = self._pairs(torch.from_numpy(batch.heads), torch.from_numpy(batch.tails))
        hidden = ~torch.from_numpy(batch.present)[:, None, None]  # [B, 1, 1, L]
        for number in range(len(network.layers)):
            nodes = self._layer(number, nodes, pairs, hidden)
        chars = nodes[:, : batch.chars.shape[1]]
        emissions: Tensor = network.classify(network.output_dropout(chars))
        return emissions

    def _pairs(self, heads: Tensor, tails: Tensor) -> Tensor:
        """The concatenated encodings of the distances of all pairs: [B, L, L, 2D or 4D]."""
        ends = (heads, tails)
        kinds = TWO if self.network.options.fusion == "ff_two" else FOUR
        reach = int(tails.max())
        table = self.network.positions(reach)
        distances = (ends[i][:, :, None] - ends[j][:, None] + reach for i, j in kinds)
        return torch.cat([table[distance] for distance in distances], dim=3)

    def _layer(self, number: int, nodes: Tensor, pairs: Tensor, hidden: Tensor) -> Tensor:
        layer: Any = self.network.layers[number]
        attended = self._attend(number, nodes, pairs, hidden)
        residual = self.network.options.residual
        x = layer.attention_norm(nodes + attended if residual else attended)
        fed = layer.ff(x)
        out: Tensor = layer.ff_norm(x + fed if residual else fed)
        return out

    def _attend(self, number: int, nodes: Tensor, pairs: Tensor, hidden: Tensor) -> Tensor:
        """FLAT equations 8 and 11: [B, L, D] → [B, L, D]."""
        B, L, D = nodes.shape
        options = self.network.options
        layer: Any = self.network.layers[number]
        attention = layer.attention
        fusion: Any = self.network.fusions[0]
        fused = fusion.project(pairs).relu()
        r = self.network.r_projs[number](fused).view(B, L, L, options.num_heads, -1)
        q, k, v = (
            project(nodes).view(B, L, options.num_heads, -1).transpose(1, 2)  # [B, H, L, d]
            for project in (attention.q_proj, attention.k_proj, attention.v_proj)
        )
        content = (q + attention.u[:, None]) @ k.transpose(2, 3)  # [B, H, L, L]
        position = (q + attention.v[:, None])[:, :, :, None] @ r.permute(0, 3, 1, 4, 2)
        scores = (content + position[:, :, :, 0]) * attention.scale
        weights = scores.masked_fill(hidden, -1e4).softmax(dim=3)
        return (weights @ v).transpose(1, 2).reshape(B, L, D)


def bytes_needed(network: FLAT, batch: LatticeBatch, *, training: bool) -> int:
    """About the memory that the direct form takes for a batch."""
    B, L = batch.heads.shape
    D = network.options.num_heads * network.options.head_dim
    kinds = 2 if network.options.fusion == "ff_two" else 4
    # Of B×L×L×D numbers, so many are alive at the peak.
    arrays = kinds + 4 if training else max(2 * kinds, kinds + 3)
    needed: int = 4 * arrays * B * L**2 * D
    return needed


def check_equal(network: FLAT, direct: DirectFLAT, batch: LatticeBatch) -> None:
    """Raises AssertionError where the two forms' emissions of characters differ."""
    network.eval()
    direct.eval()
    chars = torch.from_numpy(batch.present[:, : batch.chars.shape[1]])
    with torch.no_grad():
        torch.testing.assert_close(
            network(batch)[chars], direct(batch)[chars], atol=1e-4, rtol=1e-4
        )
