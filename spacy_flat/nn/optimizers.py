"""Optimizers and learning rate schedules for `[training.optimizer]`.

An optimizer has hyperparameters and state; `steps.py` performs the steps: `update_network` for
torch networks, `update_array` for arrays of thinc layers, such as spaCy's tok2vecs. Importing this
module doesn't import torch, so configs can be validated without it.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Dict, Literal, NamedTuple  # noqa: UP035  (thinc validates by these)

from thinc.config import registry
from thinc.optimizers import FloatOrSeq, KeyT, Optimizer
from thinc.types import FloatsXd

from ..errors import Errors
from ..util.options import check_of

# The decay of thinc's own weight averages.
STOCK_AVERAGE_DECAY = 0.9999

# Parameter groups that every optimizer knows.
EMBEDDINGS = "embeddings"
UPSTREAM = "upstream"


class Rule(NamedTuple):
    """The hyper-parameters of one step, with the schedules' current values.

    Adam if `beta2` is above 0, otherwise SGD. `weight_decay` is added to the gradient (L2), or
    shrinks the weights if `decoupled` (Loshchilov & Hutter 2019). `clip_each` clips each tensor by
    its own norm, as thinc does, instead of all by their common norm. 0 disables clipping.
    """

    learn_rate: float
    weight_decay: float
    decoupled: bool
    beta1: float
    beta2: float
    eps: float
    clip_norm: float
    clip_each: bool
    clip_value: float
    momentum: float
    average_decay: float
    multipliers: Mapping[str, float]


def rule_of(optimizer: Optimizer) -> Rule:
    """The update rule of one of our optimizers, or of thinc's Adam.v1 or SGD.v1.

    The order of three operations differs from thinc: L2 is added after clipping, weight decay comes
    before the step, as in torch, and eps is added to the root of the second moment after its bias
    correction.

    Raises ValueError (F207) for thinc's RAdam.v1.
    """
    if optimizer.use_radam:
        raise ValueError(Errors.F207)
    ours = optimizer if isinstance(optimizer, GroupedOptimizer) else None
    return Rule(
        learn_rate=optimizer.learn_rate,
        weight_decay=optimizer.L2,
        decoupled=optimizer.L2_is_weight_decay,
        beta1=optimizer.b1,
        beta2=optimizer.b2,
        eps=optimizer.eps,
        clip_norm=optimizer.grad_clip,
        clip_each=ours is None,
        clip_value=ours.clip_value if ours else 0.0,
        momentum=ours.momentum if ours else 0.0,
        average_decay=ours.average_decay if ours else STOCK_AVERAGE_DECAY,
        multipliers=ours.multipliers if ours else {},
    )


class GroupedOptimizer(Optimizer):
    """The base of SGD and AdamW: multipliers by parameter group, clipping, averages.

    thinc: further settings of thinc's optimizer.
    """

    def __init__(
        self,
        learn_rate: FloatOrSeq,
        *,
        weight_decay: float,
        clip_norm: float,
        clip_value: float,
        multipliers: dict[str, float] | None,
        average_decay: float,
        momentum: float = 0.0,
        **thinc: Any,
    ):
        super().__init__(learn_rate, L2=weight_decay, grad_clip=clip_norm, **thinc)
        self.momentum = momentum
        self.clip_value = clip_value
        self.average_decay = average_decay
        self.multipliers = dict(multipliers or {})
        self._groups: set[str] = {EMBEDDINGS, UPSTREAM}
        self._updated: set[KeyT] = set()
        self._warmup = learn_rate if isinstance(learn_rate, Warmup) else None
        self._check(0, clip_norm=clip_norm, weight_decay=weight_decay, clip_value=clip_value)
        self._check(0, **{f"multipliers.{group}": x for group, x in self.multipliers.items()})
        self._check(0, below=1, momentum=momentum)
        self._check(1e-6, below=1, average_decay=average_decay)
        if isinstance(learn_rate, (int, float)):
            self._check(0, learn_rate=learn_rate)

    def __call__(
        self, key: KeyT, weights: FloatsXd, gradient: FloatsXd, *, lr_scale: float = 1.0
    ) -> tuple[FloatsXd, FloatsXd]:
        """Update an array of a thinc layer in place, and set its gradient to zero."""
        from . import steps

        self.begin_step(key, set())
        rate = self.learn_rate * lr_scale * self.multipliers.get(UPSTREAM, 1.0)
        steps.update_array(self, key, weights, gradient, rate)
        return weights, gradient

    def step_schedules(self) -> None:
        """Advance the schedules. Call it after every step, or never."""
        self._warmup = None
        super().step_schedules()  # type: ignore[no-untyped-call]

    def begin_step(self, key: KeyT, groups: set[str]) -> None:
        """Register the parameter groups of a network or array. When one is updated a second time,
        all are registered.

        Then, the warm-up ends if the training loop doesn't step the schedules: `spacy train` does
        after each update, but loops that only call `nlp.update`, as in spaCy's docs, don't, so the
        rate would stay at its first value.

        Raises ValueError (F205) for a multiplier of a group that no network has.
        """
        self._groups |= groups
        if key not in self._updated:
            self._updated.add(key)
            return
        if unknown := sorted(self.multipliers.keys() - self._groups):
            raise ValueError(Errors.F205.format(unknown=unknown, known=sorted(self._groups)))
        if self._warmup is not None:
            self.learn_rate = self._warmup.full_rate
            self._warmup = None

    def _check(self, min: float, below: float | None = None, **settings: float) -> None:
        check = check_of(float, min, below=below)
        for name, value in settings.items():
            if not check.accepts(value):
                words = {"name": name, "value": value, "wanted": check.wanted}
                raise ValueError(Errors.F305.format(block=type(self).__name__, **words))


@registry.optimizers("spacy-flat.SGD.v1")
class SGD(GroupedOptimizer):
    """Stochastic gradient descent with momentum: v ← μv + g + λw; w ← w − ηv.

    learn_rate: η, a number or a schedule.
    momentum: μ.
    weight_decay: λ, as L2 on the gradient.
    clip_norm: maximum norm of the gradient over all parameters of a network; 0 turns it off.
    clip_value: maximum absolute value of a gradient's element, before clip_norm; 0 turns it off.
    multipliers: factors of the learning rate, by parameter group: "embeddings" (every
        torch.nn.Embedding of the networks, except those of "upstream"), "upstream" (an encoder,
        such as a BERT, and every thinc layer except our networks, such as
        spaCy's tok2vecs), or the first part of a parameter's dotted name in its network, such as
        "crf". 0 freezes a group.
    use_averages: evaluate and save an exponential moving average of the weights,
        a ← d·a + (1 − d)·w with d = min((1 + t)/(10 + t), average_decay) after step t, a₀ = w₀.
    average_decay: the average's largest d.

    Each row of a sparse embedding table counts as a parameter: steps that do not use it leave its
    weights and momentum as they are. Averages are exact for rows too.

    Raises ValueError for a setting out of range (F305) and, in the second step, a multiplier of a
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
            momentum=momentum,
            weight_decay=weight_decay,
            L2_is_weight_decay=False,
            beta1=0.0,
            beta2=0.0,
            clip_norm=clip_norm,
            clip_value=clip_value,
            multipliers=multipliers,
            use_averages=use_averages,
            average_decay=average_decay,
        )


@registry.optimizers("spacy-flat.AdamW.v1")
class AdamW(GroupedOptimizer):
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
            L2_is_weight_decay=True,
            clip_norm=clip_norm,
            clip_value=clip_value,
            multipliers=multipliers,
            use_averages=use_averages,
            average_decay=average_decay,
        )
        self._check(0, below=1, beta1=beta1)
        self._check(1e-6, below=1, beta2=beta2)
        self._check(1e-12, eps=eps)


@registry.schedules("spacy-flat.warmup.v1")
def warmup(
    initial_rate: float,
    warmup_steps: int,
    total_steps: int | str = 0,
    shape: Literal["constant", "linear", "inverse_sqrt"] = "constant",
) -> "Warmup":
    """Rates that rise linearly to `initial_rate` over `warmup_steps`, then stay or fall.

    The first step already has 1/warmup_steps of the rate. "linear" reaches 0 at `total_steps` and
    stays there; the others have no use for it. "inverse_sqrt" falls with the
    root of the number of steps (Vaswani et al., 2017, equation 3). In a loop that never calls
    `optimizer.step_schedules()`, SGD and AdamW keep `initial_rate` from the second update on.

    `nlp.resume_training` and `nlp.create_optimizer` don't interpolate the optimizer's config:
    with `total_steps` still a variable such as "${training.max_steps}", the rate never falls.

    Raises ValueError (F206) for "linear" with total_steps not above warmup_steps, and for other
    strings.
    """
    if isinstance(total_steps, str) and total_steps.startswith("$"):
        total_steps, shape = 0, "inverse_sqrt" if shape == "inverse_sqrt" else "constant"
    if (
        isinstance(total_steps, str)
        or warmup_steps < 0
        or (shape == "linear" and total_steps <= warmup_steps)
    ):
        raise ValueError(Errors.F206.format(shape=shape, warmup=warmup_steps, total=total_steps))
    return Warmup(initial_rate, warmup_steps, total_steps, shape)


@dataclass
class Warmup(Iterator[float]):
    """The rates of `warmup`."""

    full_rate: float
    warmup_steps: int
    total_steps: int
    shape: str
    step: int = 0

    def __next__(self) -> float:
        rate = self.full_rate * self._share()
        self.step += 1
        return rate

    def _share(self) -> float:
        if self.step < self.warmup_steps:
            return (self.step + 1) / self.warmup_steps
        if self.shape == "constant":
            return 1.0
        if self.shape == "inverse_sqrt":
            return math.sqrt(max(1, self.warmup_steps) / (self.step + 1))
        falling = self.total_steps - self.warmup_steps
        return 1.0 - min(1.0, (self.step - self.warmup_steps) / falling)
