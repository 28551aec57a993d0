"""The shim of a pretrained transformer that other components fine-tune."""

from collections.abc import Callable
from typing import Any

from thinc.api import Optimizer
from torch import Tensor, nn

from .devices import AUTO
from .optimizers import UPSTREAM
from .shim import Build, TorchShim
from .steps import update_network


class EncoderShim(TorchShim):
    """Holds a transformer, such as a BERT, which learns from gradients that components pass back.

    Its parameters are the optimizer's group "upstream".

    frozen_steps: first steps of a training without updates.
    warmup_steps: steps after these over which its learning rate rises linearly.
    """

    copied = ("frozen_steps", "warmup_steps", "steps")

    def __init__(
        self,
        build: Build,
        config: dict[str, Any] | None = None,
        device_name: str = AUTO,
        *,
        frozen_steps: int = 0,
        warmup_steps: int = 0,
    ):
        self.frozen_steps = frozen_steps
        self.warmup_steps = warmup_steps
        self.steps = 0  # of this training
        self._awaits_gradient = False
        self._pending_optimizer: Optimizer | None = None
        super().__init__(build, config, device_name)

    def adopt(self, network: nn.Module, config: dict[str, Any]) -> nn.Module:
        """As `TorchShim`; a new network starts at step 0."""
        self.steps, self._awaits_gradient, self._pending_optimizer = 0, False, None
        return super().adopt(network, config)

    def compute(
        self, read: Callable[[Any], Tensor], *, is_train: bool, fine_tune: bool
    ) -> tuple[Tensor, Callable[[Any], None]]:
        """Compute an output from the network; returns it with its backprop callback."""
        learns = is_train and fine_tune and self.steps >= self.frozen_steps
        with self.training() if learns else self.predicting() as network:
            output = read(network)
        has_gradient = output.requires_grad  # false if all texts are empty
        if has_gradient:
            self._awaits_gradient, self._pending_optimizer = True, None

        def backprop(gradient: Tensor) -> None:
            if not has_gradient:
                return
            output.backward(gradient.to(output.device))  # type: ignore[no-untyped-call]
            self._awaits_gradient = False
            if self._pending_optimizer is not None:
                self.finish_update(self._pending_optimizer)

        return output.detach(), backprop

    def finish_update(self, optimizer: Optimizer) -> None:
        """Make a step from the accumulated gradients.

        `nlp.update` requests it before later components have passed their gradients back. Until
        then the weights must not change, so the step waits for them.
        """
        if self._awaits_gradient:
            self._pending_optimizer = optimizer
            return
        if self.is_initialised:
            warmed_up = (self.steps - self.frozen_steps + 1) / max(1, self.warmup_steps)
            scale = min(1.0, warmed_up) if self.warmup_steps else 1.0
            update_network(self.module, self.id, optimizer, group=UPSTREAM, scale=scale)
        self.steps += 1
        self._pending_optimizer = None
