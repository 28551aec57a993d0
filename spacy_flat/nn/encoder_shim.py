"""The shim of an encoder that learns beneath other components."""

from typing import Any

from thinc.api import Optimizer
from torch import Tensor, nn

from . import steps
from .devices import AUTO
from .optimizers import UPSTREAM
from .shim import Build, TorchShim


class EncoderShim(TorchShim):
    """Holds an encoder, such as a BERT, that learns by what components above pass back.

    Its parameters are the optimizer's group "upstream".

    frozen_steps: in the first steps of a training it does not learn.
    warmup_steps: over these its learning rate then rises linearly to its full.
    """

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
        self._waits = False  # for a gradient
        self._asked: Optimizer | None = None  # for a step meanwhile
        super().__init__(build, config, placement)

    def adopt(self, network: nn.Module, config: dict[str, Any]) -> nn.Module:
        """As `TorchShim`; a new network has made no step, and waits for nothing."""
        self.steps, self._waits, self._asked = 0, False, None
        return super().adopt(network, config)

    @property
    def learns(self) -> bool:
        """Whether the next step is to change the encoder."""
        return self.steps >= self.frozen_steps

    def settle(self) -> None:
        """Make the step that was asked for while a gradient was awaited that has not come, as the
        component above learnt nothing, but earlier ones have. To be called before the next output
        is computed."""
        if self._asked is None:
            return
        if any(parameter.grad is not None for parameter in self.module.parameters()):
            self._waits = False
            self.finish_update(self._asked)

    def await_gradient(self) -> None:
        """What was just computed will come back with a gradient."""
        self._waits, self._asked = True, None

    def await_nothing(self) -> None:
        """What was computed will not come back any more."""
        self._waits = False

    def backward(self, output: Tensor, gradient: Tensor) -> None:
        """Add up the parameters' gradients, given that of what was computed."""
        output.backward(gradient)  # type: ignore[no-untyped-call]
        self._waits = False
        if self._asked is not None:
            self.finish_update(self._asked)

    def finish_update(self, optimizer: Optimizer) -> None:
        """One step by the gradients gathered since the last.

        `nlp.update` asks a component for it before the ones behind have passed their gradients
        back. The weights must not change until then: the step is made as soon as they have.
        """
        if self._waits:
            self._asked = optimizer
            return
        if self.is_initialised:
            steps.update(self.module, self.id, optimizer, group=UPSTREAM, scale=self._share())
        self.steps += 1
        self._asked = None

    def _share(self) -> float:
        """Of the learning rate, in this step."""
        done = self.steps - self.frozen_steps
        return min(1.0, (done + 1) / self.warmup_steps) if self.warmup_steps else 1.0

    def __reduce__(self) -> tuple[Any, ...]:
        rest = (self.frozen_steps, self.warmup_steps, self.steps)
        return _restore, (self.build, self.placement, self.to_bytes(), *rest)


def _restore(
    build: Build, placement: str, data: bytes, frozen_steps: int, warmup_steps: int, steps: int
) -> EncoderShim:
    shim = EncoderShim(
        build, placement=placement, frozen_steps=frozen_steps, warmup_steps=warmup_steps
    )
    shim.from_bytes(data)
    shim.steps = steps
    return shim
