"""The shim of a pretrained transformer that other components fine-tune."""

from collections.abc import Callable
from typing import Any

from thinc.api import Optimizer
from torch import Tensor

from ..nn.optimizers import UPSTREAM, update_network
from ..nn.shim import TorchShim


class EncoderShim(TorchShim):
    """Holds a transformer, such as a BERT, which learns from gradients that components pass back.

    Its parameters are the optimizer's group "upstream". Its network's `options` have `fine_tune`;
    `frozen_steps`, first steps of a training without updates; and `warmup_steps`, steps after these
    over which its learning rate rises linearly.
    """

    _awaits_gradient = False
    _pending_optimizer: Optimizer | None = None

    @property
    def steps(self) -> int:
        """The steps of its training so far, saved with the weights."""
        return int(self.cfg.get("steps", 0))

    def compute(
        self, read: Callable[[Any], Tensor], *, is_train: bool
    ) -> tuple[Tensor, Callable[[Any], None]]:
        """Compute an output from the network; returns it with its backprop callback."""
        options: Any = self.module.options
        learns = is_train and options.fine_tune and self.steps >= options.frozen_steps
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
        options: Any = self.module.options
        warmed_up = (self.steps - options.frozen_steps + 1) / max(1, options.warmup_steps)
        update_network(self.module, self.id, optimizer, group=UPSTREAM, scale=min(1.0, warmed_up))
        self.cfg["steps"] = self.steps + 1
        self._pending_optimizer = None
