"""The thinc model around a network. Importing this imports no torch."""

import zlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from thinc.model import Model

from ..errors import Errors

if TYPE_CHECKING:
    from torch import nn

    from .shim import TorchShim

InT = TypeVar("InT")
OutT = TypeVar("OutT")

MAGIC = b"spacy-flat.model.v1\n"
PACKED = b"spacy-flat.model.v1.zlib\n"
SIZE = 4  # bytes of a checksum


def make_model(
    name: str,
    predict: Callable[..., Any],
    options: object,
    featuriser: object,
    build: Callable[[dict[str, Any]], "nn.Module"],
    tok2vec: Model[Any, Any] | None = None,
) -> Model[Any, Any]:
    """Make a model whose network is built later. It only predicts: a component's `update` runs the
    network itself.

    predict: computes the model's output from the model and its input.
    featuriser: turns the model's input into batches of numbers.
    build: makes the network from the configuration that `initialise_network` makes.
    tok2vec: its vectors of tokens or characters are read beside the embeddings.
    """
    from .shim import TorchShim

    return CheckedModel(
        name,
        partial(_forward, predict),
        layers=[tok2vec] if tok2vec is not None else [],
        # For spaCy: `spacy pretrain` and `replace_listeners` look for it.
        refs={"tok2vec": tok2vec},
        attrs={"options": options, "featuriser": featuriser},
        shims=[TorchShim(build)],
    )


def _forward(
    predict: Callable[..., Any], model: Model[Any, Any], X: Any, is_train: bool
) -> tuple[Any, None]:
    return predict(model, X), None


def shim_of(model: Model[Any, Any]) -> "TorchShim":
    """The shim that holds a model's network."""
    return cast("TorchShim", model.shims[0])


def shims_of(model: Model[Any, Any]) -> "list[TorchShim]":
    """The shims of a model and of its layers that hold a network."""
    from .shim import TorchShim

    shims = [shim for node in model.walk() for shim in node.shims]
    return [shim for shim in shims if isinstance(shim, TorchShim)]


def tok2vec_of(model: Model[Any, Any]) -> Model[Any, Any] | None:
    """A model's tok2vec sublayer. `Model.copy` loses the reference to it, so the layers count."""
    return model.layers[0] if model.layers else None


class CheckedModel(Model[InT, OutT]):
    """Saved with a checksum over all of it: weights, vocabularies, lexicon, and the layers below.

    Otherwise, a flipped bit in a weight would go unnoticed, and one elsewhere cause an obscure
    error of a library.

    Packed with zlib if `attrs["packed"]` is set, as in a compact pipeline.
    """

    __slots__ = ()

    def to_bytes(self) -> bytes:
        """The bytes of thinc's `to_bytes`, after a checksum."""
        data = super().to_bytes()
        magic = MAGIC
        if self.attrs.get("packed"):
            magic, data = PACKED, zlib.compress(data)
        return magic + zlib.crc32(data).to_bytes(SIZE, "little") + data

    def from_bytes(self, bytes_data: bytes) -> "CheckedModel[InT, OutT]":
        """Load what `to_bytes` gave.

        Raises ValueError (F200) for damaged or other data.
        """
        magic = PACKED if bytes_data.startswith(PACKED) else MAGIC
        start = len(magic)
        if not bytes_data.startswith(magic):
            raise ValueError(Errors.F200.format(reason="it does not begin as one"))
        data = memoryview(bytes_data)[start + SIZE :]
        if zlib.crc32(data) != int.from_bytes(bytes_data[start : start + SIZE], "little"):
            raise ValueError(Errors.F200.format(reason="its checksum differs"))
        super().from_bytes(zlib.decompress(data) if magic == PACKED else bytes(data))
        return self

    def _copy(self, seen: dict[int, Any] | None = None) -> "CheckedModel[InT, OutT]":
        # thinc makes a plain `Model` of every copy.
        copied: Any = super()._copy(seen)
        copied.__class__ = type(self)
        return copied  # type: ignore[no-any-return]
