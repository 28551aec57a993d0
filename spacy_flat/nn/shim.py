"""The bridge between a torch network and thinc's `Model`."""

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import torch
from thinc.api import Optimizer
from thinc.shims import Shim
from torch import nn

from ..errors import Errors
from . import steps, weights
from .devices import AUTO, find_device

Build = Callable[[dict[str, Any]], nn.Module]

_process = os.getpid()


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
    copied: further attributes that copies have.
    """

    copied: ClassVar[tuple[str, ...]] = ()

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
        """Whether there is a network."""
        return self._model is not None

    @property
    def version(self) -> tuple[int, weights.Version]:
        """Identifies the weights: any change of them gives another version."""
        parameters = self._model.parameters() if self.is_initialised else ()
        return self.id, weights.version_of(parameters)

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
        """Take a network, such as one that was loaded, which `build(config)` would make but for its
        weights."""
        with Shim.global_id_lock:
            Shim.global_id += 1
            self.id = Shim.global_id
        return self._replace(network, config)

    def grow(self, config: dict[str, Any]) -> nn.Module:
        """Build a larger network, for example for new labels, and continue training with it.

        The old values fill the first rows, columns and so on of the new tensors; the rest is as
        `build` made it. No dimension may shrink. Optimizers start again with these tensors alone.
        """
        old = self.module.state_dict()
        network = self._built(config)
        new = network.state_dict()
        for name, value in old.items():
            new[name][tuple(slice(size) for size in value.shape)] = value
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
            if not _is_finite(self.module):
                raise ValueError(Errors.F240)
            self._checked = version
        with torch.no_grad():
            yield self.module

    def finish_update(self, optimizer: Optimizer) -> None:
        """Update the weights with the accumulated gradients; see `update_network`."""
        if self.is_initialised:
            steps.update_network(self.module, self.id, optimizer)

    @contextlib.contextmanager
    def use_params(self, params: dict[Any, Any]) -> Iterator[None]:
        """Temporarily replace the weights with the averages of `optimizer.averages`."""
        averages = []
        if self.is_initialised:
            averages = steps.current_averages(self.module, self.id, params)
        backup = [(parameter, parameter.detach().clone()) for parameter, _ in averages]
        self._assign(averages)
        try:
            yield
        finally:
            self._assign(backup)

    def to_device(self, device_type: str, device_id: int) -> None:
        """Move the network with thinc's layers, to "cpu", "gpu" with its number, or "mps", unless a
        device was chosen for it."""
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
        state = {name: getattr(self, name) for name in self.copied}
        return _restore, (type(self), self.build, self.device_name, self.to_bytes()), state

    def _built(self, config: dict[str, Any]) -> nn.Module:
        find_device(self.device_name)  # before the work, if there is none
        _compute_alone_if_forked()
        return self.build(config)

    def _assign(self, pairs: list[tuple[nn.Parameter, torch.Tensor]]) -> None:
        with torch.no_grad():
            for parameter, value in pairs:
                parameter.copy_(value)

    def _replace(self, network: nn.Module, config: dict[str, Any]) -> nn.Module:
        self._model = network.to(find_device(self.device_name))
        self.cfg = dict(config)
        return network


def _is_finite(network: nn.Module) -> bool:
    parameters = [each for each in network.parameters() if not each.is_meta]
    finite = [each.isfinite().all() for each in parameters]
    return not finite or bool(torch.stack(finite).all())


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
