"""FLAT, the flat-lattice Transformer (Li et al., ACL 2020), as a plain torch module.

Shapes: B segments, C characters, M lexicon words, L = C + M lattice nodes (characters first),
H heads, D = H·d width, K tags, E distinct encodings.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from ...nn.embeddings import PretrainedEmbedding, Version, version_of
from ...nn.layers import Dropout, Positions, Relation
from ...util.arrays import Ints
from ..batch import LatticeBatch
from ..network import TaggingNetwork, TaggingSizes, make_layer
from .options import FLATOptions, Fusion


class FourDistances(nn.Module):
    """One encoding from the four distances of two spans: heads and tails, query minus key (FLAT
    equations 4 to 8)::

        hh = head_i - head_j    ht = head_i - tail_j    th = tail_i - head_j    tt = tail_i - tail_j

    fusion:
      "ff" (the paper): ReLU(W [p_hh; p_ht; p_th; p_tt])
      "ff_two" (the released default): ReLU(W [p_hh; p_tt])
    """

    def __init__(self, width: int, fusion: Fusion) -> None:
        super().__init__()
        self.fusion = fusion
        self.kinds = 2 if fusion == "ff_two" else 4
        self.project = nn.Linear(self.kinds * width, width)

    def forward(self, table: Tensor, distances: Tensor) -> Tensor:
        """table: [N, D] encodings of single distances; distances: [4, E] rows of it, in the order
        hh, ht, th, tt. Returns [E, D].
        """
        if self.fusion == "ff_two":
            distances = distances[[0, 3]]
        # A linear map of a concatenation is a sum of maps: map each distance once, then add rows.
        maps = self.project.weight.view(-1, self.kinds, table.shape[1])
        fused: Tensor = self.project.bias + sum(
            nn.functional.embedding(distances[kind], table @ maps[:, kind].T)
            for kind in range(self.kinds)
        )
        return fused.relu()


def four_distances(query_length: int, key_lengths: Ints, reach: int) -> Ints:
    """[4, S·N] distances hh, ht, th, tt of a query to keys of S lengths, their heads at the N
    distances from -reach to reach."""
    hh = np.tile(np.arange(-reach, reach + 1), len(key_lengths))
    key = np.repeat(key_lengths - 1, 2 * reach + 1)
    query = query_length - 1
    return np.stack([hh, hh - key, hh + query, hh + query - key])


@dataclass(frozen=True)
class FLATSizes(TaggingSizes):
    n_types: int = 1
    n_lengths: int = 1
    n_bands: int = 1


class FLAT(TaggingNetwork):
    """Characters and the lexicon's words in one attention; a CRF's emissions for the characters."""

    sizes_class = FLATSizes

    def __init__(self, options: FLATOptions, sizes: FLATSizes) -> None:
        super().__init__(options, sizes)
        self.options = options
        width = options.num_heads * options.head_dim
        self.chars = PretrainedEmbedding(sizes.chars)
        self.bigrams = PretrainedEmbedding(sizes.bigrams) if sizes.bigrams.width else None
        self.words = PretrainedEmbedding(sizes.words)
        char_width = sizes.chars.width + sizes.bigrams.width + sizes.upstream_width
        self.char_proj = nn.Linear(char_width, width)
        self.word_proj = nn.Linear(sizes.words.width, width)
        features = {"type": sizes.n_types, "length": sizes.n_lengths, "frequency": sizes.n_bands}
        self.word_features = nn.ModuleList(
            nn.Embedding(features[name], width) for name in options.word_features
        )
        self.positions = Positions(width)
        self.fusions = nn.ModuleList([FourDistances(width, options.fusion)])  # as in saved weights
        self.r_projs = nn.ModuleList(nn.Linear(width, width) for _ in range(options.layers))
        self.layers = nn.ModuleList(
            make_layer(options, residual=options.residual) for _ in range(options.layers)
        )
        self.lattice_dropout = Dropout(options.lattice_dropout)
        self._kept: tuple[Version, Tensor] | None = None  # by `_encode_characters`
        parts = (self.fusions[0], self.r_projs[-1])
        self._encoding_weights = [weight for part in parts for weight in part.parameters()]
        self.initialise_linears()
        # The features of type, length and frequency start small compared with the vector.
        for weight in self.word_features.parameters():
            nn.init.normal_(weight, std=0.02)
        self.add_branches(sizes.branches)

    def encode(self, batch: LatticeBatch, upstream: Tensor | None = None) -> Tensor:
        """batch: B segments with C characters and M words.
        upstream: [B, C, W] other vectors of the characters, such as a tok2vec's.
        Returns [B, C, D] of the characters.
        """
        C = batch.chars.shape[1]
        nodes = torch.cat([self._characters(batch, upstream), self._words(batch)], dim=1)
        present = self.to_tensor(batch.present)
        for number, layer in enumerate(self.layers):
            # The last layer only needs outputs for characters.
            n_queries = C if number == len(self.layers) - 1 else nodes.shape[1]
            nodes = layer(nodes, n_queries, self._relations(number, batch), present[:, None])
        return nodes

    def _characters(self, batch: LatticeBatch, upstream: Tensor | None) -> Tensor:
        """[B, C, D]."""
        parts = [self.chars(self.keys(batch.chars))]
        if self.bigrams is not None:
            parts.append(self.bigrams(self.keys(batch.bigrams)))
        if upstream is not None:
            parts.append(upstream)
        nodes: Tensor = self.char_proj(self.embed_dropout(torch.cat(parts, dim=2)))
        return nodes

    def _words(self, batch: LatticeBatch) -> Tensor:
        """[B, M, D]. An unknown word still has its type, length and frequency."""
        keys = self.keys(batch.words, self.options.word_dropout)
        nodes: Tensor = self.word_proj(self.lattice_dropout(self.words(keys)))
        columns = {"type": batch.types, "length": batch.lengths, "frequency": batch.bands}
        numbers = [self.to_tensor(columns[name]) for name in self.options.word_features]
        for embedding, each in zip(self.word_features, numbers, strict=True):
            assert isinstance(embedding, nn.Embedding)
            nodes = nodes + embedding(each.clamp(max=embedding.num_embeddings - 1))
        return nodes

    def _relations(self, number: int, batch: LatticeBatch) -> list[Relation]:
        """The relations of the queries of a layer to all nodes.

        The lengths of query and key and the distance of their heads fix all four distances. In the
        last layer queries are characters, so there are (2C - 1) × (number of key lengths) distinct
        encodings; in others as many for each length of a query.
        """
        C = batch.chars.shape[1]
        lengths = batch.tails - batch.heads + 1
        distinct, kinds = np.unique(lengths, return_inverse=True)
        keys = self.to_tensor(batch.heads), self.to_tensor(kinds.reshape(lengths.shape))
        if number == len(self.layers) - 1:
            encodings = self._encode_characters(distinct, C - 1)
            return [Relation(encodings, np.arange(C), None, *keys)]
        relations = []
        for length in distinct.tolist():
            rows = np.flatnonzero(lengths == length)
            rows = rows[np.argsort(batch.heads.ravel()[rows], kind="stable")]
            encodings, heads = self._encode(number, length, distinct, C - 1), batch.heads.ravel()
            relations.append(Relation(encodings, heads[rows], self.to_tensor(rows), *keys))
        return relations

    def _encode(self, layer: int, query_length: int, key_lengths: Ints, reach: int) -> Tensor:
        """Encodings [H, d, S, N] of a query to keys of S lengths, from -reach to reach."""
        options, S = self.options, len(key_lengths)
        farthest = reach + max(query_length, int(key_lengths[-1])) - 1
        rows = four_distances(query_length, key_lengths, reach) + farthest
        fused = self.fusions[0](self.positions(farthest), self.to_tensor(rows))
        projected: Tensor = self.r_projs[layer](fused)
        return projected.view(S, -1, options.num_heads, options.head_dim).permute(2, 3, 0, 1)

    def _encode_characters(self, lengths: Ints, reach: int) -> Tensor:
        """As `_encode`, for characters in the last layer. Prediction keeps the encodings for all
        lengths and distances so far: without, a call with one text takes a quarter longer."""
        last = len(self.layers) - 1
        if torch.is_grad_enabled():
            return self._encode(last, 1, lengths, reach)
        version = version_of(self._encoding_weights)
        before, values = self._kept or (version, self.anchor.view(1, 1, 0, 1))
        longest, farthest = values.shape[2], values.shape[3] // 2
        if before != version or reach > farthest or lengths[-1] > longest:
            # Doubling keeps this rare over a stream of texts.
            farthest = max(64, farthest, 2 * reach if reach > farthest else 0)
            all_lengths = np.arange(1, max(longest, int(lengths[-1])) + 1)
            values = self._encode(last, 1, all_lengths, farthest).contiguous()
            self._kept = version, values
        near = values[..., farthest - reach : farthest + reach + 1]
        return near.index_select(2, self.to_tensor(lengths - 1))
