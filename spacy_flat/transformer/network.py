"""An encoder of Hugging Face transformers as a torch module that gives one vector per character.

Shapes: W windows, C pieces, D width, N characters of all texts.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ..nn.windows import read_windows
from .options import CharacterTransformerOptions, Layers

if TYPE_CHECKING:  # networks import no thinc
    from ..text.windows import WindowBatch

LAST_LAYERS = 4


class CharacterTransformer(nn.Module):
    """A BERT or similar. layers: whose vectors are used."""

    def __init__(self, encoder: nn.Module, layers: Layers) -> None:
        super().__init__()
        self.encoder = encoder
        self.layers = layers

    @classmethod
    def from_config(
        cls, options: CharacterTransformerOptions, config: dict[str, Any]
    ) -> "CharacterTransformer":
        """Build from the header of a weights file: the encoder's configuration and the options that
        the weights rely on. Raises ValueError (F307) if the options differ."""
        from transformers import AutoConfig, AutoModel

        options.check_fixed(config["options"])
        own = AutoConfig.for_model(**config["encoder"])
        encoder = AutoModel.from_config(own)  # type: ignore[no-untyped-call]
        return cls(encoder, options.layers)

    def forward(self, batches: "Iterable[WindowBatch]", n: int) -> Tensor:
        """[N, D] vectors of the n characters of all texts."""
        width: int = self.encoder.config.hidden_size  # type: ignore[assignment, union-attr]
        return read_windows(self._vectors, batches, n, width, next(self.parameters()).device)

    def _vectors(self, keys: Tensor, present: Tensor) -> Tensor:
        """[W, C] → [W, C, D]."""
        found = self.encoder(
            input_ids=keys,
            attention_mask=present.long(),
            output_hidden_states=self.layers != "last",
        )
        if self.layers == "last":
            last: Tensor = found.last_hidden_state
            return last
        layers = found.hidden_states[1:][-LAST_LAYERS:]  # the first are the embeddings
        return torch.stack(layers).mean(0)
