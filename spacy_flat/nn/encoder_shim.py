"""The shim of a pretrained encoder that other components fine-tune."""

from collections.abc import Callable
from typing import Any

from thinc.api import Optimizer
from torch import Tensor, nn

from .devices import AUTO
from .optimizers import UPSTREAM
from .shim import Build, TorchShim
from .steps import update_network


class Memory:
    """Vectors of texts by key, and their size in bytes."""

    def __init__(self) -> None:
        self.vectors: dict[Any, Any] = {}
        self.n_bytes = 0

    def clear(self) -> None:
        self.vectors.clear()
        self.n_bytes = 0

    def keep(self, key: object, vectors: Any, most: int) -> None:
        """Keep a copy if there is room for it in `most` bytes."""
        if self.n_bytes + vectors.nbytes <= most:
            self.vectors[key] = vectors.copy()
            self.n_bytes += vectors.nbytes


class EncoderShim(TorchShim):
    """Holds an encoder, such as a BERT, which learns from gradients that components pass back.

    Its parameters are the optimizer's group "upstream".

    frozen_steps: first steps of a training without updates.
    warmup_steps: steps after these over which its learning rate rises linearly.
    memory: vectors that the frozen encoder gave.
    """

    copied = ("frozen_steps", "warmup_steps", "steps")

    def __init__(
        self,
        build: Build,
        config: dict[str, Any] | None = None,
        placement: str = AUTO,
        *,
        frozen_steps: int = 0,
        warmup_steps: int = 0,
    ):
        self.frozen_steps = frozen_steps
        self.warmup_steps = warmup_steps
        self.steps = 0  # of this training
        self.memory = Memory()
        self._waits = False  # for a gradient
        self._asked: Optimizer | None = None  # for the current step
        super().__init__(build, config, placement)

    def adopt(self, network: nn.Module, config: dict[str, Any]) -> nn.Module:
        """As `TorchShim`; a new network starts at step 0."""
        self.steps, self._waits, self._asked = 0, False, None
        self.memory = Memory()
        return super().adopt(network, config)

    @property
    def learns(self) -> bool:
        """Whether the next step changes the encoder."""
        return self.steps >= self.frozen_steps

    def compute(
        self, read: Callable[[Any], Tensor], *, trains: bool, fine_tune: bool
    ) -> tuple[Tensor, Callable[[Any], None]]:
        """Compute an output from the network; returns it with its backprop callback.

        trains: whether this is a training step. fine_tune: whether the encoder is trained in it.
        """
        if trains:
            self.settle()
        learns = trains and fine_tune and self.learns
        with self.training() if learns else self.predicting() as network:
            output = read(network)
        awaits = output.requires_grad  # false if all texts are empty
        if awaits:
            self._waits, self._asked = True, None

        def backprop(gradient: Tensor) -> None:
            if not awaits:
                return
            output.backward(gradient.to(output.device))  # type: ignore[no-untyped-call]
            self._waits = False
            if self._asked is not None:
                self.finish_update(self._asked)

        return output.detach(), backprop

    def settle(self) -> None:
        """Make the pending step if the last listener passed no gradient back, but earlier ones did.
        Call it before the next output."""
        if self._asked is None:
            return
        if any(parameter.grad is not None for parameter in self.module.parameters()):
            self._waits = False
            self.finish_update(self._asked)

    def await_nothing(self) -> None:
        """No gradient will come back."""
        self._waits = False

    def finish_update(self, optimizer: Optimizer) -> None:
        """Make a step from the accumulated gradients.

        `nlp.update` requests it before later components have passed their gradients back. Until
        then the weights must not change, so the step waits for them.
        """
        if self._waits:
            self._asked = optimizer
            return
        if self.is_initialised:
            self._n_changes += 1
            update_network(self.module, self.id, optimizer, group=UPSTREAM, scale=self._share())
        self.steps += 1
        self._asked = None

    def _share(self) -> float:
        """The factor of the learning rate in this step."""
        done = self.steps - self.frozen_steps
        return min(1.0, (done + 1) / self.warmup_steps) if self.warmup_steps else 1.0
