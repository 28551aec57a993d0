"""What networks share that embed the keys of a vocabulary."""

from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..util.options import Options
from .embedding import PretrainedEmbedding, Table, drop_keys
from .layers import linears

Self = TypeVar("Self", bound="EmbeddingNetwork")


class EmbeddingNetwork(nn.Module):
    """A network with tables of embeddings, under the names that a vocabulary's columns have.

    sizes_class: a dataclass of the sizes that the data decides.
    key_dropout: the share of keys that are made unknown in training.
    """

    sizes_class: ClassVar[type]
    loss: Any  # method: scores and gold → the summed loss

    def __init__(self, key_dropout: float = 0.0) -> None:
        super().__init__()
        self.key_dropout = key_dropout

    @classmethod
    def from_config(cls: type[Self], options: Options, config: dict[str, Any]) -> Self:
        """Build from the plain data of a weights file: the sizes, and the options that the weights
        rely on.

        Raises ValueError (F307) if `options` differ from these.
        """
        options.check_fixed(config["options"])
        sizes = cls.sizes_class(**plain_sizes(config["sizes"]))
        return cls(options, sizes)  # type: ignore[call-arg, arg-type]

    def loss_gradient(self, scores: Tensor, gold: Any) -> tuple[float, Tensor]:
        """The summed loss and its gradient for the scores, without touching the network's
        gradients."""
        with torch.enable_grad():
            scores = scores.detach().requires_grad_()
            loss = self.loss(scores, gold)
            (gradient,) = torch.autograd.grad(loss, scores)
        return loss.item(), gradient

    def set_pretrained(
        self, table: str, keys: NDArray[np.int64], vectors: NDArray[np.float32]
    ) -> None:
        """Set vectors [N, d] of keys [N] in one of the tables."""
        embedding: PretrainedEmbedding = getattr(self, table)
        embedding.set_pretrained(torch.from_numpy(keys), torch.from_numpy(vectors))

    def keys(self, array: NDArray[np.int64], dropout: float | None = None) -> Tensor:
        """Keys of what is embedded; in training some are made unknown."""
        tensor = self.to_tensor(array)
        rate = self.key_dropout if dropout is None else dropout
        return drop_keys(tensor, rate) if self.training and rate else tensor

    def to_tensor(self, array: NDArray[Any]) -> Tensor:
        """An array on the device of the network."""
        device = next(self.parameters()).device
        # Of a GPU of Apple's, which would read the array's own memory, it must be waited for.
        return torch.from_numpy(np.ascontiguousarray(array)).to(
            device, non_blocking=device.type == "cuda"
        )

    def initialise_linears(self) -> None:
        """Xavier-uniform matrices, as the code released with FLAT."""
        for linear in linears(self):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)


def plain_sizes(data: dict[str, Any]) -> dict[str, Any]:
    """Sizes as read from a weights file, those of tables as `Table`."""
    return {
        name: Table(**value) if isinstance(value, dict) else value for name, value in data.items()
    }
