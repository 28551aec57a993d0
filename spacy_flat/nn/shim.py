"""A network in thinc: the model around it, and the shim that holds it."""

import contextlib
import os
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar, cast

import torch
from thinc.api import Optimizer, get_torch_default_device
from thinc.model import Model
from thinc.shims import Shim
from torch import nn

from ..errors import Errors
from ..util.files import with_checksum, without_checksum
from . import weights
from .embeddings import Version, version_of
from .optimizers import averages_of, update_network

InT = TypeVar("InT")
OutT = TypeVar("OutT")
Build = Callable[[dict[str, Any]], nn.Module]

MAGIC = b"spacy-flat.model.v1\n"
PACKED = b"spacy-flat.model.v1.zlib\n"

AUTO = "auto"  # the device that thinc uses

_process = os.getpid()


def make_model(
    name: str,
    predict: Callable[..., Any],
    options: object,
    featuriser: object,
    build: Build,
    tok2vec: Model[Any, Any] | None = None,
) -> Model[Any, Any]:
    """Make a model whose network is built later. It only predicts: components train it.

    predict: computes the model's output from the model and its input.
    featuriser: turns the model's input into batches of numbers.
    build: makes the network from the configuration that `initialise_network` makes.
    tok2vec: its vectors of tokens or characters are read beside the embeddings.
    """
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
    return cast("TorchShim", model.shims[0])


def shims_of(model: Model[Any, Any]) -> "list[TorchShim]":
    """The shims of a model and of its layers that hold a network."""
    shims = [shim for node in model.walk() for shim in node.shims]
    return [shim for shim in shims if isinstance(shim, TorchShim)]


def tok2vec_of(model: Model[Any, Any]) -> Model[Any, Any] | None:
    """A model's tok2vec sublayer. `Model.copy` loses the reference to it, so the layers count."""
    return model.layers[0] if model.layers else None


class CheckedModel(Model[InT, OutT]):
    """Saved with a checksum over all of it: weights, vocabularies, lexicon, and the layers below.

    Otherwise, a flipped bit in a weight would go unnoticed, or cause an obscure error elsewhere.

    Packed with zlib if `attrs["packed"]` is set, as in a compact pipeline.
    """

    __slots__ = ()

    def to_bytes(self) -> bytes:
        data = super().to_bytes()
        if self.attrs.get("packed"):
            return with_checksum(PACKED, zlib.compress(data))
        return with_checksum(MAGIC, data)

    def from_bytes(self, bytes_data: bytes) -> "CheckedModel[InT, OutT]":
        """Load what `to_bytes` gave.

        Raises ValueError (F200) for damaged or other data.
        """
        is_packed = bytes_data.startswith(PACKED)
        try:
            data = without_checksum(PACKED if is_packed else MAGIC, bytes_data)
        except ValueError as error:
            raise ValueError(Errors.F200.format(reason=error)) from error
        super().from_bytes(zlib.decompress(data) if is_packed else data)
        return self

    def _copy(self, seen: dict[int, Any] | None = None) -> "CheckedModel[InT, OutT]":
        plain = super()._copy(seen)  # thinc makes a plain `Model` of every copy
        return CheckedModel(
            plain.name,
            plain._func,
            init=plain.init,
            dims=plain._dims,
            attrs=plain.attrs,
            layers=plain.layers,
            shims=plain.shims,
        )


class TorchShim(Shim):
    """Holds a network for a thinc `Model` whose forward function calls it by itself.

        def forward(model, docs, is_train):
            shim = model.shims[0]
            with shim.predicting() as network:
                output = network(batch_of(docs, shim.device))

    The network is `build(config)`: `build` is a module-level function (or class), `config` a JSON
    dictionary. With no `config` yet the shim is empty until `initialise` or `from_bytes`.
    Saved weights carry their configuration, so that loading needs no `initialise`.

    Each new network gives the shim a new `id`, under which optimizers keep state: moments and
    averages of an earlier network are never applied to a later one. A network that `grow` makes
    larger keeps them, and the id.

    device_name: the device that was chosen for the network; see `find_device`.
    """

    def __init__(self, build: Build, config: dict[str, Any] | None = None, device_name: str = AUTO):
        super().__init__(None)
        self.build = build
        self.device_name = device_name
        self._checked: object = None  # the version that has no NaN
        if config is not None:
            self.initialise(config)

    @property
    def module(self) -> nn.Module:
        """The network. Raises ValueError (F202) while there is none."""
        if self._model is None:
            raise ValueError(Errors.F202)
        _compute_alone_if_forked()
        module: nn.Module = self._model
        return module

    @property
    def is_initialised(self) -> bool:
        return self._model is not None

    @property
    def version(self) -> tuple[int, Version]:
        """Identifies the weights: any change of them gives another version."""
        parameters = self._model.parameters() if self.is_initialised else ()
        return self.id, version_of(parameters)

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that the network was built with; empty while there is none."""
        return self.cfg

    @property
    def device(self) -> torch.device:
        """Where the network is, or would be built."""
        first = next(self.module.parameters(), None) if self.is_initialised else None
        return find_device(self.device_name) if first is None else first.device

    def to(self, device_name: str) -> None:
        """Choose the device of the network, and of those that are built later.

        Raises ValueError (F350) if there is a network but no such device.
        """
        if self.is_initialised:
            self.module.to(find_device(device_name))
        self.device_name = device_name

    def initialise(self, config: dict[str, Any]) -> nn.Module:
        """Build a new network. Raises ValueError (F350) if its device is missing."""
        return self.adopt(self._built(config), config)

    def adopt(self, network: nn.Module, config: dict[str, Any]) -> nn.Module:
        """Take a network, such as a loaded one, that differs from `build(config)` in weights."""
        with Shim.global_id_lock:
            Shim.global_id += 1
            self.id = Shim.global_id
        return self._replace(network, config)

    def grow(self, config: dict[str, Any]) -> nn.Module:
        """Build a larger network, for example for new labels, and continue training with it.

        Tensors of the same size, such as tables, are taken over. Of larger ones, the old values
        fill the first rows, columns and so on; the rest is as `build` made it. No dimension may
        shrink. Optimizers start again with larger tensors alone.
        """
        old = self.module.state_dict()
        network = self._built(config)
        new = network.state_dict(keep_vars=True)
        for name, value in old.items():
            if new[name].shape == value.shape:
                new[name].data = value
            else:
                new[name].data[tuple(slice(size) for size in value.shape)] = value
        return self._replace(network, config)

    @contextlib.contextmanager
    def training(self) -> Iterator[nn.Module]:
        """Enable dropout and gradients. An exception discards the gradients."""
        if not self.module.training:
            self.module.train()
        try:
            with torch.enable_grad():
                yield self.module
        except BaseException:
            self.module.zero_grad()
            raise

    @contextlib.contextmanager
    def predicting(self) -> Iterator[nn.Module]:
        """Disable dropout and gradients.

        Not torch.inference_mode: what a network caches in it could not be used in training.

        Raises ValueError (F240) for weights that are not finite numbers.
        """
        if self.module.training:
            self.module.eval()
        if self._checked != (version := self.version):
            weights = [each for each in self.module.parameters() if not each.is_meta]
            if weights and not torch.stack([each.isfinite().all() for each in weights]).all():
                raise ValueError(Errors.F240)
            self._checked = version
        with torch.no_grad():
            yield self.module

    def finish_update(self, optimizer: Optimizer) -> None:
        """Update the weights with the accumulated gradients; see `update_network`."""
        if self.is_initialised:
            update_network(self.module, self.id, optimizer)

    @contextlib.contextmanager
    def use_params(self, params: dict[Any, Any]) -> Iterator[None]:
        """Temporarily replace the weights with the averages of `optimizer.averages`."""
        averages = averages_of(self.module, self.id, params) if self.is_initialised else []
        backup = [(parameter, parameter.detach().clone()) for parameter, _ in averages]
        _assign(averages)
        try:
            yield
        finally:
            _assign(backup)

    def to_device(self, device_type: str, device_id: int) -> None:
        """Move the network with thinc's layers, unless a device was chosen for it."""
        if self.is_initialised and self.device_name == AUTO:
            self.module.to(f"cuda:{device_id}" if device_type == "gpu" else device_type)

    def to_bytes(self) -> bytes:
        """Weights and configuration; empty without a network."""
        return weights.to_bytes(self.module, self.cfg) if self.is_initialised else b""

    def from_bytes(self, data: bytes) -> "TorchShim":
        """Build the network that was saved.

        Raises ValueError for damaged data (F200), the weights of another network than `build` makes
        (F201), and a missing device (F350).
        """
        if not data:
            self._model, self.cfg = None, {}
            return self
        self.adopt(*weights.load_network(self._built, data))
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # copy, deepcopy and pickle all come here.
        return _restore, (type(self), self.build, self.device_name, self.to_bytes())

    def _built(self, config: dict[str, Any]) -> nn.Module:
        find_device(self.device_name)  # before the work, if there is none
        _compute_alone_if_forked()
        return self.build(config)

    def _replace(self, network: nn.Module, config: dict[str, Any]) -> nn.Module:
        self._model = network.to(find_device(self.device_name))
        self.cfg = dict(config)
        return network


def find_device(name: str) -> torch.device:
    """The device of a network.

    name: "auto" for thinc's device, the CPU unless `spacy.prefer_gpu`, `spacy.require_gpu` or
        `--gpu-id` asked for a GPU; or a name of torch's, such as "cpu", "cuda", "cuda:1" or "mps".

    Raises ValueError (F350) if the device does not exist.
    """
    if name == AUTO:
        return get_torch_default_device()
    found = ["cpu", *(f"cuda:{n}" for n in range(torch.cuda.device_count()))]
    if torch.backends.mps.is_available():
        found.append("mps")
    if name != "meta" and not any(name in (each, each.partition(":")[0]) for each in found):
        raise ValueError(Errors.F350.format(device=name, found=", ".join(found)))
    return torch.device(name)


@torch.no_grad()
def _assign(pairs: list[tuple[nn.Parameter, torch.Tensor]]) -> None:
    for parameter, value in pairs:
        parameter.copy_(value)


def _compute_alone_if_forked() -> None:
    """A forked process, as of `nlp.pipe(n_process=2)`, has no copies of torch's threads and would
    wait for them forever: let it compute on one thread.
    """
    global _process
    if _process != os.getpid():
        _process = os.getpid()
        torch.set_num_threads(1)


def _restore(shim: type[TorchShim], build: Build, device_name: str, data: bytes) -> TorchShim:
    return shim(build, device_name=device_name).from_bytes(data)
