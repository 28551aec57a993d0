"""An encoder of transformers' as a torch module that gives one vector a character.

Shapes: B windows, S pieces, D width, N characters of all texts.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .batch import PieceBatch
from .options import CharacterTransformerOptions, Layers

LAST_LAYERS = 4  # whose mean may be taken


class CharacterTransformer(nn.Module):
    """A BERT or its like, and which of its layers are taken."""

    def __init__(self, encoder: nn.Module, layers: Layers) -> None:
        super().__init__()
        self.encoder = encoder
        self.layers = layers

    @classmethod
    def from_config(
        cls, options: CharacterTransformerOptions, config: dict[str, Any]
    ) -> "CharacterTransformer":
        """Build from plain data, as read from a weights file: the encoder's own configuration, and
        those of the options that the weights rely on.

        Raises ValueError (F307) where the options differ from these.
        """
        from transformers import AutoConfig, AutoModel

        options.check_fixed(config["options"])
        own = AutoConfig.for_model(**config["encoder"])
        encoder = AutoModel.from_config(own)  # type: ignore[no-untyped-call]
        return cls(encoder, options.layers)

    def forward(self, batches: Iterable[PieceBatch]) -> Tensor:
        """Returns [N, D], the vectors of all characters in their order."""
        batches = list(batches)
        taken = [self._vectors(batch).flatten(0, 1)[batch.places] for batch in batches]
        order = np.argsort(np.concatenate([batch.characters for batch in batches]))
        return torch.cat(taken)[order]

    def _vectors(self, batch: PieceBatch) -> Tensor:
        """[B, S, D]."""
        device = next(self.parameters()).device
        found = self.encoder(
            input_ids=torch.from_numpy(batch.pieces).to(device),
            attention_mask=torch.from_numpy(batch.present).long().to(device),
            output_hidden_states=self.layers != "last",
        )
        if self.layers == "last":
            last: Tensor = found.last_hidden_state
            return last
        layers = found.hidden_states[1:][-LAST_LAYERS:]  # the first are the embeddings
        return torch.stack(layers).mean(0)
