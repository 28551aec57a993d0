"""A model of Hugging Face transformers as a torch module that gives one vector per piece.

Shapes: W windows, C pieces of a window, P pieces of all texts, D width.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from .options import CharacterTransformerOptions

if TYPE_CHECKING:  # networks import no spaCy
    from .pieces import WindowBatch


class CharacterTransformer(nn.Module):
    """A BERT or similar, whose last layer is used."""

    def __init__(self, encoder: nn.Module, options: CharacterTransformerOptions) -> None:
        super().__init__()
        self.encoder = encoder
        self.options = options

    @classmethod
    def from_config(
        cls, options: CharacterTransformerOptions, config: dict[str, Any]
    ) -> "CharacterTransformer":
        """Build from the header of a weights file: the encoder's configuration and the options that
        the weights rely on. Raises ValueError (F307) if the options differ."""
        from transformers import AutoConfig, AutoModel

        options.check_fixed(config["options"])
        hf_config = AutoConfig.for_model(**config["encoder"])
        return cls(AutoModel.from_config(hf_config), options)  # type: ignore[no-untyped-call]

    def forward(self, batches: "Iterable[WindowBatch]", n_pieces: int) -> Tensor:
        """[P + 1, D] vectors of the pieces of all texts, and zeros."""
        device = next(self.parameters()).device
        width: int = self.encoder.config.hidden_size  # type: ignore[assignment, union-attr]
        rows, n_read = np.zeros(n_pieces + 1, dtype=np.int64), 1
        vectors = [torch.zeros(1, width, device=device)]
        is_half = self._has_bfloat16(device)
        for *arrays, pieces in batches:
            ids, mask, places = (torch.from_numpy(array).to(device) for array in arrays)
            with torch.autocast("cpu", torch.bfloat16, enabled=is_half):
                hidden = self.encoder(input_ids=ids, attention_mask=mask.long()).last_hidden_state
            vectors.append(hidden.flatten(0, 1)[places].float())
            rows[pieces] = n_read + np.arange(len(pieces))
            n_read += len(pieces)
        return torch.cat(vectors)[torch.from_numpy(rows).to(device)]

    def _has_bfloat16(self, device: torch.device) -> bool:
        """Whether to multiply in bfloat16, which is nearly twice as fast on processors that can."""
        # Earlier versions of PyTorch don't say what a processor can do.
        able: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
        has = able.get("avx512_bf16", False) or able.get("amx_bf16", False)
        return has and device.type == "cpu" and self.options.bfloat16
