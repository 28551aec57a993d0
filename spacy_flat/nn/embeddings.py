"""Embedding tables with a pretrained part and a trained part, and the networks that use them."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..util.arrays import OOV_BITS, Float32s, Ints
from ..util.options import Options
from .weights import quantise

Self = TypeVar("Self", bound="EmbeddingNetwork")
Version = list[tuple[int, int]]


def version_of(weights: Iterable[Tensor]) -> Version:
    """What changes as soon as one of the weights is replaced or changed in place."""
    return [(weight.data_ptr(), weight._version) for weight in weights]


@dataclass(frozen=True)
class Table:
    """Size of an embedding table; a width of 0 means that there is none.

    trained: the first so many of the keys occurred in training.
    float16: keep the pretrained vectors in half precision.
    int8: keep them as whole numbers from -127 to 127, with a scale for each vector.
    unknown: std of the fixed OOV vectors; 0 if unknown entries share a trained one.
    """

    keys: int = 0
    trained: int = 0
    width: int = 0
    float16: bool = False
    int8: bool = False
    unknown: float = 0.0


@dataclass(frozen=True)
class Sizes:
    """Sizes that depend on the data: labels or classes (none for a score), and tables.

    upstream_width: of the vectors that come from a tok2vec; 0 without one.
    """

    labels: Sequence[str]
    chars: Table = Table()
    bigrams: Table = Table()
    words: Table = Table()
    upstream_width: int = 0


class PretrainedEmbedding(nn.Module):
    """The vector of a key is its pretrained vector, where it has one, plus a trained offset.

    Keys are numbered from 1. The first `n_trained` of them occurred in training and have an
    offset; the others have only their pretrained vectors, so that these stay usable at prediction.
    Key 0 is every unknown key: it has only an offset. Keys from -1 down are unknown ones that each
    have a fixed random vector, the same in every network.

    An offset of a key with a pretrained vector starts at zero: training it is fine-tuning. Other
    offsets start uniform in ±√(3 / d), d the width of a vector.
    """

    pretrained: Tensor  # [1 + keys, width]
    scales: Tensor | None  # [1 + keys, 1] with int8
    unknown: Tensor | None  # [1 + 2¹⁴, width]; the first is 0

    def __init__(self, table: Table) -> None:
        super().__init__()
        rows, width = table.keys + 1, table.width
        self.n_trained = table.trained
        self.width = width
        dtype = torch.int8 if table.int8 else torch.float16 if table.float16 else torch.float32
        self.register_buffer("pretrained", torch.zeros(rows, width, dtype=dtype))
        self.register_buffer("scales", torch.zeros(rows, 1) if table.int8 else None)
        is_drawn = table.unknown and not self.pretrained.is_meta  # which NumPy would fill
        fixed = oov_vectors(width) * table.unknown if is_drawn else None
        self.register_buffer("unknown", fixed, persistent=False)
        # The last row stays zero: keys that are not trained add nothing to their vectors.
        zero = table.trained + 1
        self.offsets = nn.Embedding(zero + 1, width, padding_idx=zero, sparse=True)
        bound = math.sqrt(3 / width)
        nn.init.uniform_(self.offsets.weight, -bound, bound)
        with torch.no_grad():
            self.offsets.weight[-1] = 0.0

    @torch.no_grad()
    def set_pretrained(self, keys: Tensor, vectors: Tensor, bits: int = 8) -> None:
        """keys: [N] numbers of keys; vectors: [N, width]; bits: of a number, with int8."""
        keys = keys.to(self.pretrained.device)
        if self.scales is not None:
            vectors, scales = quantise(vectors, bits)
            self.scales[keys] = scales.to(self.scales)
        self.pretrained[keys] = vectors.to(self.pretrained)
        self.offsets.weight[keys[keys <= self.n_trained]] = 0.0

    @torch.no_grad()
    def merge(self, other: "PretrainedEmbedding", keys: Tensor, bits: int = 8) -> None:
        """Take the whole vectors, pretrained part and offset, of some keys [N] of another table as
        the pretrained vectors of the keys 1 to N here, and its vector of unknown keys.

        bits: of a number, with int8.
        """
        self.offsets.weight[0] = other(keys.new_zeros(1))[0]
        self.set_pretrained(torch.arange(1, len(keys) + 1), other(keys), bits)

    def forward(self, keys: Tensor) -> Tensor:
        """[...] → [..., width]. In training, no gradient flows into the pretrained vectors."""
        untrained = self.n_trained + 1
        if self.unknown is None:
            offsets: Tensor = self.offsets(keys.clamp(max=untrained))
        else:
            unknown, keys = (-keys).clamp(min=0), keys.clamp(min=0)
            own = keys.masked_fill(unknown > 0, untrained)
            offsets = self.offsets(own.clamp(max=untrained))
            offsets = offsets + nn.functional.embedding(unknown, self.unknown)
        vectors = nn.functional.embedding(keys, self.pretrained).to(offsets.dtype)
        if self.scales is not None:
            vectors = vectors * nn.functional.embedding(keys, self.scales).to(offsets.dtype)
        return offsets + vectors


@lru_cache(maxsize=4)
def oov_vectors(width: int) -> Tensor:
    """[1 + 2¹⁴, width] normal numbers, the same on every machine; the first vector is 0."""
    vectors = np.random.RandomState(0).standard_normal((1 + (1 << OOV_BITS), width))
    vectors[0] = 0.0
    return torch.from_numpy(vectors).float()


class EmbeddingNetwork(nn.Module):
    """A network with tables of embeddings, under the names that a vocabulary's columns have.

    sizes_class: a dataclass of the sizes that the data decides.
    key_dropout: the share of keys that are made unknown in training.
    """

    sizes_class: ClassVar[type]
    loss: Any  # method: scores and gold → the summed loss
    anchor: Tensor  # on the network's device: finding its first parameter would take longer

    def __init__(self, key_dropout: float = 0.0) -> None:
        super().__init__()
        self.key_dropout = key_dropout
        self.register_buffer("anchor", torch.zeros(0), persistent=False)

    @classmethod
    def from_config(cls: type[Self], options: Options, config: dict[str, Any]) -> Self:
        """Build from the plain data of a weights file: its sizes, and the options they rely on.

        Raises ValueError (F307) if `options` differ from these.
        """
        options.check_fixed(config["options"])
        sizes = {
            name: Table(**size) if isinstance(size, dict) else size
            for name, size in config["sizes"].items()
        }
        return cls(options, cls.sizes_class(**sizes))  # type: ignore[call-arg, arg-type]

    def loss_gradient(self, scores: Tensor, gold: Any) -> tuple[float, Tensor]:
        """The summed loss and its gradient for the scores; those of the network stay."""
        with torch.enable_grad():
            scores = scores.detach().requires_grad_()
            loss = self.loss(scores, gold)
            (gradient,) = torch.autograd.grad(loss, scores)
        return loss.item(), gradient

    def set_pretrained(self, table: str, keys: Ints, vectors: Float32s) -> None:
        """Set vectors [N, d] of keys [N] in one of the tables."""
        embedding: PretrainedEmbedding = getattr(self, table)
        embedding.set_pretrained(torch.from_numpy(keys), torch.from_numpy(vectors))

    def keys(self, array: Ints, dropout: float | None = None) -> Tensor:
        """The keys to embed; in training, some are replaced by the unknown key."""
        tensor = self.to_tensor(array)
        rate = self.key_dropout if dropout is None else dropout
        if not (self.training and rate):
            return tensor
        return tensor.masked_fill(torch.rand(tensor.shape, device=tensor.device) < rate, 0)

    def to_tensor(self, array: NDArray[Any]) -> Tensor:
        """An array on the device of the network."""
        device, tensor = self.anchor.device, torch.from_numpy(np.ascontiguousarray(array))
        if device.type == "cpu":
            return tensor
        # Of a GPU of Apple's, which would read the array's own memory, it must be waited for.
        return tensor.to(device, non_blocking=device.type == "cuda")

    def initialise_linears(self) -> None:
        """Xavier-uniform matrices, as the code released with FLAT."""
        for part in self.modules():
            if isinstance(part, nn.Linear):
                nn.init.xavier_uniform_(part.weight)
                nn.init.zeros_(part.bias)
