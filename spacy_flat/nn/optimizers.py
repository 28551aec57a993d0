"""Optimizers and learning rate schedules for `[training.optimizer]`.

An optimizer here holds hyper-parameters and state. What one step does to a torch network is in
`steps.py`, which the shim calls; the parameters of other components' thinc layers ("upstream":
tok2vec, transformer) arrive through `__call__`, one array at a time, as thinc does it.
This module imports no torch: configs are read and checked without it.
"""

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Dict, Literal  # noqa: UP035  (thinc validates configs by these)

from thinc.backends import Ops, get_array_ops
from thinc.config import registry
from thinc.optimizers import FloatOrSeq, KeyT, Optimizer
from thinc.types import FloatsXd

from ..errors import Errors, Warnings

# The decay of thinc's own weight averages.
STOCK_AVERAGE_DECAY = 0.9999

# Groups that every optimizer knows, whether or not a network has them.
EMBEDDINGS = "embeddings"
UPSTREAM = "upstream"


@dataclass(frozen=True)
class Rule:
    """What one step does, with the schedules' values of this step.

    `weight_decay` is added to the gradient (L2), or shrinks the weights where it is `decoupled`
    (Loshchilov & Hutter 2019). `clip_each` clips every tensor by its own norm, as thinc does,
    instead of all by their common norm. 0 switches a clipping off.
    """

    kind: Literal["sgd", "adam", "radam"]
    learn_rate: float
    clip_norm: float
    weight_decay: float = 0.0
    decoupled: bool = False
    momentum: float = 0.0
    beta1: float = 0.0
    beta2: float = 0.0
    eps: float = 0.0
    clip_value: float = 0.0
    clip_each: bool = False
    average_decay: float = STOCK_AVERAGE_DECAY
    multipliers: Dict[str, float] = field(default_factory=dict)  # noqa: UP006


def rule_of(optimizer: Optimizer) -> Rule:
    """The step that an optimizer asks for, one of ours or thinc's own Adam.v1, RAdam.v1, SGD.v1.

    thinc's rules are followed but for three orders of things: L2 that is not weight decay is added
    after clipping, weight decay comes before the step, as in torch, and eps joins the second
    moment's root after, not before, its bias correction. RAdam is that of the paper (Liu et al.
    2020); thinc's counts its steps from two.
    """
    if isinstance(optimizer, (SGD, AdamW)):
        return optimizer.rule()
    if not isinstance(optimizer, Optimizer):
        raise TypeError(Errors.F204.format(found=type(optimizer).__name__))
    adaptive = optimizer.b1 > 0.0 and optimizer.b2 > 0.0
    return Rule(
        kind="radam" if optimizer.use_radam else "adam" if adaptive else "sgd",
        learn_rate=optimizer.learn_rate,
        beta1=optimizer.b1,
        beta2=optimizer.b2,
        eps=optimizer.eps,
        weight_decay=optimizer.L2,
        decoupled=optimizer.L2_is_weight_decay,
        clip_norm=optimizer.grad_clip,
        clip_each=True,
    )


class _Grouped(Optimizer):
    """What SGD and AdamW share: multipliers by parameter group, clipping, averages."""

    def __init__(
        self,
        learn_rate: FloatOrSeq,
        *,
        weight_decay: float,
        clip_norm: float,
        clip_value: float,
        multipliers: dict[str, float] | None,
        use_averages: bool,
        average_decay: float,
        beta1: float = 0.0,
        beta2: float = 0.0,
        eps: float = 1e-8,
    ):
        super().__init__(
            learn_rate,
            beta1=beta1,
            beta2=beta2,
            eps=eps,
            L2=weight_decay,
            grad_clip=clip_norm,
            use_averages=use_averages,
        )
        self.clip_value = clip_value
        self.average_decay = average_decay
        self.multipliers = dict(multipliers or {})
        self.groups: dict[int, set[str]] = {}
        if isinstance(learn_rate, (int, float)):
            self._check("learn_rate", learn_rate)
        self._check("weight_decay", weight_decay)
        self._check("clip_norm", clip_norm)
        self._check("clip_value", clip_value)
        for group, multiplier in self.multipliers.items():
            self._check(f"multipliers.{group}", multiplier)
        if not 0.0 < average_decay < 1.0:
            self._reject("average_decay", average_decay, "above 0 and below 1")

    def rule(self) -> Rule:
        """The step to take now."""
        raise NotImplementedError

    def meet(self, shim: int, groups: set[str]) -> None:
        """Take note of a network's parameter groups.

        When a network comes a second time all have come once, so every group is known.

        Raises:
            ValueError: a multiplier is named after a group that no network has (F205).
        """
        if shim not in self.groups:
            self.groups[shim] = groups
            return
        known = {EMBEDDINGS, UPSTREAM}.union(*self.groups.values())
        unknown = sorted(self.multipliers.keys() - known)
        if unknown:
            raise ValueError(Errors.F205.format(unknown=unknown, known=sorted(known)))

    def __call__(
        self,
        key: KeyT,
        weights: FloatsXd,
        gradient: FloatsXd,
        *,
        lr_scale: float = 1.0,
    ) -> tuple[FloatsXd, FloatsXd]:
        """Update an upstream array in place, its gradient to zero.

        Upstream arrays come one by one: each is clipped by its own norm.
        """
        scale = lr_scale * self.multipliers.get(UPSTREAM, 1.0)
        ops: Ops = get_array_ops(weights)  # type: ignore[no-untyped-call]
        if len(gradient) == 0:
            return weights, gradient
        if not math.isfinite(float(ops.xp.linalg.norm(gradient))):
            warnings.warn(Warnings.W200.format(key=key), stacklevel=2)
        elif scale > 0.0:
            weights = self._update(ops, key, weights, gradient, scale)
        # thinc ignores what is returned for the gradient: it must be zeroed in place.
        ops.xp.copyto(gradient, 0.0)
        return weights, gradient

    def _update(
        self, ops: Ops, key: KeyT, weights: FloatsXd, gradient: FloatsXd, scale: float
    ) -> FloatsXd:
        self.nr_update[key] += 1
        if self.averages is not None and key not in self.averages:
            self.averages[key] = weights.copy()
        if self.clip_value:
            ops.xp.clip(gradient, -self.clip_value, self.clip_value, out=gradient)
        if self.grad_clip:
            ops.clip_gradient(gradient, self.grad_clip)
        weights = self._step(ops, key, weights, gradient, scale)
        if self.averages is not None:
            steps = self.nr_update[key]
            ops.update_averages(self.averages[key], weights, steps, self.average_decay)
        return weights

    def _step(
        self, ops: Ops, key: KeyT, weights: FloatsXd, gradient: FloatsXd, scale: float
    ) -> FloatsXd:
        """The optimizer's own rule, on a clipped gradient."""
        raise NotImplementedError

    def _check(self, name: str, value: float) -> None:
        if not (math.isfinite(value) and value >= 0.0):
            self._reject(name, value, "0 or more")

    def _reject(self, name: str, value: float, wanted: str) -> None:
        raise ValueError(
            Errors.F203.format(optimizer=type(self).__name__, name=name, value=value, wanted=wanted)
        )


@registry.optimizers("spacy-flat.SGD.v1")
class SGD(_Grouped):
    """Stochastic gradient descent with momentum: v ← μv + g + λw; w ← w − ηv.

    learn_rate: η, a number or a schedule.
    momentum: μ.
    weight_decay: λ, as L2 on the gradient.
    clip_norm: the gradient's largest norm over all parameters of a network; 0 switches it off.
    clip_value: the largest absolute value of a gradient's element, before clip_norm; 0: off.
    multipliers: of the learning rate, by parameter group: "embeddings" (every torch.nn.Embedding
        of the networks), "upstream" (every thinc layer that is not one of our networks, such as a
        tok2vec), or the first part of a parameter's dotted name in its network, such as "crf".
        0 freezes a group.
    use_averages: evaluate and save an exponential moving average of the weights,
        a ← d·a + (1 − d)·w with d = min((1 + t)/(10 + t), average_decay) after step t, a₀ = w₀.
    average_decay: the average's largest d.

    Each row of a sparse embedding table counts as a parameter of its own, untouched by steps that
    do not use it: its momentum and weight decay rest meanwhile. Averages are exact for them too.

    Raises:
        ValueError: a setting out of range (F203); later, in the second step, a multiplier of a
            group that no network has (F205).
    """

    def __init__(
        self,
        learn_rate: FloatOrSeq = 0.001,
        *,
        momentum: float = 0.9,
        weight_decay: float = 0.0,
        clip_norm: float = 0.0,
        clip_value: float = 5.0,
        multipliers: Dict[str, float] | None = None,  # noqa: UP006
        use_averages: bool = False,
        average_decay: float = STOCK_AVERAGE_DECAY,
    ):
        super().__init__(
            learn_rate,
            weight_decay=weight_decay,
            clip_norm=clip_norm,
            clip_value=clip_value,
            multipliers=multipliers,
            use_averages=use_averages,
            average_decay=average_decay,
        )
        if not 0.0 <= momentum < 1.0:
            self._reject("momentum", momentum, "at least 0 and below 1")
        self.momentum = momentum

    def rule(self) -> Rule:
        """The step to take now."""
        return Rule(
            kind="sgd",
            learn_rate=self.learn_rate,
            momentum=self.momentum,
            weight_decay=self.L2,
            clip_norm=self.grad_clip,
            clip_value=self.clip_value,
            average_decay=self.average_decay,
            multipliers=self.multipliers,
        )

    def _step(
        self, ops: Ops, key: KeyT, weights: FloatsXd, gradient: FloatsXd, scale: float
    ) -> FloatsXd:
        if self.L2:
            gradient += self.L2 * weights
        velocity = self.mom1.get(key)
        if velocity is None:
            velocity = self.mom1[key] = ops.xp.zeros_like(weights)
        velocity *= self.momentum
        velocity += gradient
        weights -= self.learn_rate * scale * velocity
        return weights


@registry.optimizers("spacy-flat.AdamW.v1")
class AdamW(_Grouped):
    """Adam with decoupled weight decay (Loshchilov & Hutter 2019, algorithm 2).

    beta1, beta2: decay of the first and second moment.
    eps: added to the root of the second moment.
    weight_decay: the weights shrink by learn_rate × weight_decay a step.
    The other arguments, sparse rows and errors: as in SGD. Bias correction counts a row's own
    steps.
    """

    def __init__(
        self,
        learn_rate: FloatOrSeq = 0.001,
        *,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        clip_norm: float = 1.0,
        clip_value: float = 0.0,
        multipliers: Dict[str, float] | None = None,  # noqa: UP006
        use_averages: bool = False,
        average_decay: float = STOCK_AVERAGE_DECAY,
    ):
        super().__init__(
            learn_rate,
            beta1=beta1,
            beta2=beta2,
            eps=eps,
            weight_decay=weight_decay,
            clip_norm=clip_norm,
            clip_value=clip_value,
            multipliers=multipliers,
            use_averages=use_averages,
            average_decay=average_decay,
        )
        for name, value in (("beta1", beta1), ("beta2", beta2)):
            if not 0.0 < value < 1.0:
                self._reject(name, value, "above 0 and below 1")
        if not eps > 0.0:
            self._reject("eps", eps, "above 0")

    def rule(self) -> Rule:
        """The step to take now."""
        return Rule(
            kind="adam",
            learn_rate=self.learn_rate,
            beta1=self.b1,
            beta2=self.b2,
            eps=self.eps,
            weight_decay=self.L2,
            decoupled=True,
            clip_norm=self.grad_clip,
            clip_value=self.clip_value,
            average_decay=self.average_decay,
            multipliers=self.multipliers,
        )

    def _step(
        self, ops: Ops, key: KeyT, weights: FloatsXd, gradient: FloatsXd, scale: float
    ) -> FloatsXd:
        weights *= 1.0 - self.learn_rate * scale * self.L2
        updated: FloatsXd = self._adam(  # type: ignore[no-untyped-call]
            ops, weights, gradient, scale, key, self.nr_update[key]
        )[0]
        return updated


@registry.schedules("spacy-flat.warmup.v1")
def warmup(
    initial_rate: float,
    warmup_steps: int,
    total_steps: int = 0,
    shape: Literal["constant", "linear", "cosine"] = "constant",
) -> Iterator[float]:
    """Rates that rise linearly to `initial_rate` over `warmup_steps`, then stay or fall to 0.

    The first step already has 1/warmup_steps of the rate. "linear" and "cosine" reach 0 at
    `total_steps` and stay there; "constant" has no use for it.

    Raises:
        ValueError: "linear" or "cosine" with total_steps not above warmup_steps (F206).
    """
    if warmup_steps < 0 or (shape != "constant" and total_steps <= warmup_steps):
        raise ValueError(Errors.F206.format(shape=shape, warmup=warmup_steps, total=total_steps))
    return _warmup(initial_rate, warmup_steps, total_steps, shape)


def _warmup(peak: float, warmup_steps: int, total_steps: int, shape: str) -> Iterator[float]:
    for step in range(warmup_steps):
        yield peak * (step + 1) / warmup_steps
    step = warmup_steps
    while True:
        if shape == "constant":
            yield peak
            continue
        done = min(1.0, (step - warmup_steps) / (total_steps - warmup_steps))
        yield peak * (1.0 - done if shape == "linear" else 0.5 + 0.5 * math.cos(math.pi * done))
        step += 1
