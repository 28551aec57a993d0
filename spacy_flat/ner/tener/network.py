"""TENER (Yan et al., 2019), as a plain torch module.

Shapes: B segments, C units, H heads, D = H·d width, K tags; W distinct words, S characters.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from ...nn.embeddings import PretrainedEmbedding
from ...nn.layers import Dropout, Positions, Relation
from ..batch import CharBatch, WordBatch
from ..network import TaggingNetwork, TaggingSizes, make_layer
from .options import CHAR_HEADS, TENEROptions

N_CASES = 7  # ways to write a word, with 0 for padding
SPELLED_TOGETHER = (8, 16)  # maximum characters of a word


@dataclass(frozen=True)
class TENERSizes(TaggingSizes):
    """Sizes that depend on the data: tables of characters and bigrams, or of words, and the number
    of characters in spellings."""

    n_spelling: int = 0


class TENER(TaggingNetwork):
    """Characters or words, a Transformer with relative attention, and a CRF's emissions."""

    sizes_class = TENERSizes

    def __init__(self, options: TENEROptions, sizes: TENERSizes) -> None:
        super().__init__(options, sizes)
        width = options.num_heads * options.head_dim
        tables = (sizes.chars, sizes.bigrams, sizes.words)
        self.chars, self.bigrams, self.words = (
            PretrainedEmbedding(table) if table.width else None for table in tables
        )
        self.speller = self.cases = None
        if self.words is not None and options.char_encoder != "none":
            self.speller = Speller(options, sizes.n_spelling)
        if self.words is not None:
            self.cases = nn.Embedding(N_CASES, width)
        in_width = sum(table.width for table in tables) + sizes.upstream_width
        self.project = nn.Linear(in_width + (options.char_width if self.speller else 0), width)
        self.encoder = Transformer(options) if options.encoder == "transformer" else None
        self.initialise_linears()
        if self.cases is not None:
            # The features of the case start small compared with the vector.
            nn.init.normal_(self.cases.weight, std=0.02)
        self.add_branches(sizes.branches)

    def encode(self, batch: CharBatch | WordBatch, upstream: Tensor | None = None) -> Tensor:
        """Arguments as for `forward`. Returns [B, C, D]."""
        tables = {"chars": self.chars, "bigrams": self.bigrams, "words": self.words}
        parts = [
            table(self.keys(getattr(batch, name)))
            for name, table in tables.items()
            if table is not None
        ]
        if self.speller is not None and isinstance(batch, WordBatch):
            spellings = self.speller(self.keys(batch.spellings), batch.n_spelled)
            parts.append(nn.functional.embedding(self.to_tensor(batch.numbers), spellings))
        if upstream is not None:
            parts.append(upstream)
        units: Tensor = self.project(self.embed_dropout(torch.cat(parts, dim=2)))
        if self.cases is not None and isinstance(batch, WordBatch):
            units = units + self.cases(self.to_tensor(batch.cases))
        if self.encoder is not None:
            units = self.encoder(units, self.to_tensor(batch.present))
        return units


class Transformer(nn.Module):
    """Layers that mix the units of a sequence with relative attention (section 3.2)."""

    def __init__(self, options: TENEROptions) -> None:
        super().__init__()
        self.positions = Positions(options.head_dim)  # the same for all heads
        self.layers = nn.ModuleList(make_layer(options) for _ in range(options.layers))

    def forward(self, units: Tensor, present: Tensor) -> Tensor:
        """units: [B, C, D]; present: [B, C] False for padding. Returns [B, C, D]."""
        C = units.shape[1]
        relations = [Relation.of_positions(self.positions(C - 1))]
        for layer in self.layers:
            units = layer(units, C, relations, present[:, None])
        return units


class BiLSTM(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(width, width // 2, batch_first=True, bidirectional=True)

    def forward(self, units: Tensor, present: Tensor) -> Tensor:
        """units: [B, C, D]; present: [B, C] False for padding. Returns [B, C, D]."""
        lengths = present.sum(1).clamp(min=1).cpu()
        packed = pack_padded_sequence(units, lengths, batch_first=True, enforce_sorted=False)
        out: Tensor
        out, _ = pad_packed_sequence(
            self.lstm(packed)[0], batch_first=True, total_length=units.shape[1]
        )
        return out


class Speller(nn.Module):
    """A vector of each word: the largest numbers of its encoded characters (section 3.1)."""

    def __init__(self, options: TENEROptions, n_chars: int) -> None:
        super().__init__()
        width = options.char_width
        self.chars = nn.Embedding(n_chars + 1, width)
        self.dropout = Dropout(options.embed_dropout)
        self.encoder: nn.Module
        if options.char_encoder == "lstm":
            self.encoder = BiLSTM(width)
        else:
            heads = {"num_heads": CHAR_HEADS, "head_dim": width // CHAR_HEADS}
            self.encoder = Transformer(replace(options, **heads, layers=1))  # type: ignore[arg-type]

    def forward(self, keys: Tensor, lengths: np.ndarray) -> Tensor:
        """keys: [W, S] of characters, 0 unknown or padding; lengths: [W], ascending.
        Returns [W, width].
        """
        # A long word, such as a URL, shouldn't make the others longer.
        bounds = [0, *np.searchsorted(lengths, SPELLED_TOGETHER, "right").tolist(), len(lengths)]
        parts = [
            self._read(keys[start:stop, : int(lengths[stop - 1])], lengths[start:stop])
            for start, stop in pairwise(bounds)
            if start < stop
        ]
        return torch.cat(parts)

    def _read(self, keys: Tensor, lengths: np.ndarray) -> Tensor:
        n_spelled = torch.from_numpy(lengths).to(keys.device)
        present = torch.arange(keys.shape[1], device=keys.device) < n_spelled[:, None]
        encoded = self.encoder(self.dropout(self.chars(keys)), present)
        largest: Tensor = encoded.masked_fill(~present[:, :, None], -1e4).amax(dim=1)
        return largest
