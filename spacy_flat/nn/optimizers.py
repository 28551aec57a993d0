"""Optimizers and learning rate schedules for `[training.optimizer]`, and their steps in torch.

The state lives in the thinc optimizer's dictionaries: moments in `mom1` and `mom2`, averages in
`averages`, counts of steps in `nr_update`.

Sparse gradients (torch.nn.Embedding with sparse=True) update only the rows that they touch. Each
row counts as a parameter: with its own count of steps, and without decay of its moments and weights
in the steps that do not touch it.
"""

import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Dict, Literal  # noqa: UP035  (thinc validates by these)

import torch
from thinc.optimizers import FloatOrSeq, KeyT, Optimizer
from thinc.types import FloatsXd
from torch import Tensor, nn
from torch.utils.dlpack import from_dlpack

from ..errors import Errors, Warnings

# The decay of thinc's own weight averages.
STOCK_AVERAGE_DECAY = 0.9999

# Parameter groups
EMBEDDINGS = "embeddings"
UPSTREAM = "upstream"

# thinc counts shims and models apart: the prefix keeps their keys from meeting.
PREFIX = "torch."
# Key suffix: the steps of each row of a table.
ROW_STEPS = ".row_steps"


class TorchOptimizer(Optimizer):
    """What SGD and AdamW make: thinc's optimizer with more settings, and steps in torch.

    thinc: the settings of thinc's optimizer.
    """

    def __init__(
        self,
        learn_rate: FloatOrSeq,
        *,
        momentum: float = 0.0,
        clip_value: float,
        multipliers: dict[str, float] | None,
        average_decay: float,
        **thinc: Any,
    ):
        super().__init__(learn_rate, **thinc)
        self.momentum = momentum
        self.clip_value = clip_value
        self.multipliers = dict(multipliers or {})
        self.average_decay = average_decay
        self._steps_schedules = False
        if unknown := sorted(self.multipliers.keys() - {EMBEDDINGS, UPSTREAM}):
            raise ValueError(Errors.F205.format(unknown=unknown, known=[EMBEDDINGS, UPSTREAM]))

    def __call__(
        self, key: KeyT, weights: FloatsXd, gradient: FloatsXd, *, lr_scale: float = 1.0
    ) -> tuple[FloatsXd, FloatsXd]:
        """Update an array of a thinc layer in place, and set its gradient to zero."""
        # The tensors share memory with the arrays.
        tensor, values = from_dlpack(weights), from_dlpack(gradient)
        if self.averages is not None and key not in self.averages:
            self.averages[key] = weights.copy()
        if rate := lr_scale * self.multipliers.get(UPSTREAM, 1.0):
            _step(self, {key: tensor}, [_Update(key, tensor, values, rate)], str(key))
        # thinc ignores what is returned for the gradient: it must be zeroed in place.
        values.zero_()
        return weights, gradient

    def step_schedules(self) -> None:
        """Advance the schedules. Call it after every step, or never."""
        self._steps_schedules = True
        super().step_schedules()  # type: ignore[no-untyped-call]

    def end_unused_warmup(self) -> None:
        """Set the full rate if the training loop doesn't step the schedules: `spacy train` does
        after each update, but loops that only call `nlp.update`, as in spaCy's docs, don't, so the
        rate would stay at its first value."""
        schedule = self.schedules.get("learn_rate")
        if isinstance(schedule, Warmup) and not self._steps_schedules:
            self.learn_rate = schedule.full_rate


def SGD(  # noqa: N802
    learn_rate: FloatOrSeq = 0.001,
    *,
    momentum: float = 0.9,
    weight_decay: float = 0.0,
    clip_norm: float = 0.0,
    clip_value: float = 5.0,
    multipliers: Dict[str, float] | None = None,  # noqa: UP006
    use_averages: bool = False,
    average_decay: float = STOCK_AVERAGE_DECAY,
) -> TorchOptimizer:
    """Stochastic gradient descent with momentum: v ← μv + g + λw; w ← w − ηv.

    learn_rate: η, a number or a schedule.
    momentum: μ.
    weight_decay: λ, as L2 on the gradient.
    clip_norm: maximum norm of the gradient of a network; 0 for none.
    clip_value: maximum absolute value in a gradient, before clip_norm; 0 for none.
    multipliers: factors of the learning rate by parameter group: "embeddings" (those of our
        networks) or "upstream" (an encoder and all other layers, such as spaCy's tok2vecs). 0
        freezes a group.
    use_averages: evaluate and save a moving average of the weights, a ← d·a + (1 − d)·w with d =
        min((1 + t)/(10 + t), average_decay) after step t, a₀ = w₀.
    average_decay: maximum d.

    Each row of a sparse embedding table counts as a parameter: steps that do not use it leave its
    weights and momentum as they are. Averages are exact for rows too.

    Raises ValueError (F205) for a multiplier of another group.
    """
    return TorchOptimizer(
        learn_rate,
        momentum=momentum,
        L2=weight_decay,
        L2_is_weight_decay=False,
        beta1=0.0,
        beta2=0.0,
        grad_clip=clip_norm,
        clip_value=clip_value,
        multipliers=multipliers,
        use_averages=use_averages,
        average_decay=average_decay,
    )


def AdamW(  # noqa: N802
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
) -> TorchOptimizer:
    """Adam with decoupled weight decay (Loshchilov & Hutter 2019, algorithm 2).

    beta1, beta2: decays of the first and second moment.
    eps: added to the second moment's root.
    weight_decay: the weights shrink by learn_rate × weight_decay a step.
    The other arguments, sparse rows and errors: as in SGD. Bias correction counts a row's own
    steps.
    """
    return TorchOptimizer(
        learn_rate,
        beta1=beta1,
        beta2=beta2,
        eps=eps,
        L2=weight_decay,
        grad_clip=clip_norm,
        clip_value=clip_value,
        multipliers=multipliers,
        use_averages=use_averages,
        average_decay=average_decay,
    )


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

    Raises ValueError (F206) for "linear" with total_steps not above warmup_steps.
    """
    if isinstance(total_steps, str):
        total_steps, shape = 0, "constant" if shape == "linear" else shape
    if warmup_steps < 0 or (shape == "linear" and total_steps <= warmup_steps):
        raise ValueError(Errors.F206.format(shape=shape, warmup=warmup_steps, total=total_steps))
    return Warmup(initial_rate, warmup_steps, total_steps, shape)


@dataclass
class Warmup(Iterator[float]):
    full_rate: float
    warmup_steps: int
    total_steps: int
    shape: str
    step: int = 0

    def __next__(self) -> float:
        self.step += 1
        if self.step <= self.warmup_steps:
            return self.full_rate * self.step / self.warmup_steps
        if self.shape == "inverse_sqrt":
            return self.full_rate * math.sqrt(max(1, self.warmup_steps) / self.step)
        if self.shape == "linear":
            falling = self.total_steps - self.warmup_steps
            return self.full_rate * max(0.0, (self.total_steps + 1 - self.step) / falling)
        return self.full_rate


def as_tensor(value: Any) -> Tensor:
    """A tensor, or one in the memory of a layer's array. Not every torch has DLPack on "mps"."""
    return value if isinstance(value, Tensor) else from_dlpack(value)


def key_of(shim: int, name: str) -> KeyT:
    """The optimizer's key of a network's parameter."""
    return shim, PREFIX + name


@torch.no_grad()
def update_network(
    network: nn.Module, shim: int, optimizer: Optimizer, *, group: str = "", scale: float = 1.0
) -> None:
    """Update a network's parameters by their gradients, and remove these.

    optimizer: one of ours, or thinc's Adam.v1 or SGD.v1.
    group: the group of all parameters, also of embeddings.
    scale: factor of the learning rate.

    Frozen parameters and their averages stay, even if an earlier update left gradients. A step
    whose gradient is not finite is skipped, with warning W200. Raises ValueError (F207) for thinc's
    RAdam.v1.
    """
    if optimizer.use_radam:
        raise ValueError(Errors.F207)
    multipliers = getattr(optimizer, "multipliers", {})
    tables = {id(part.weight) for part in network.modules() if isinstance(part, nn.Embedding)}
    weights, updates = {}, []
    for name, parameter in network.named_parameters():
        key, gradient, parameter.grad = key_of(shim, name), parameter.grad, None
        if not parameter.requires_grad:
            continue
        weights[key] = parameter.detach()
        own_group = group or (EMBEDDINGS if id(parameter) in tables else "")
        rate = scale * multipliers.get(own_group, 1.0)
        if gradient is not None and rate:
            updates.append(_Update.of(key, weights[key], gradient, rate))
    if updates:
        _step(optimizer, weights, updates, f"{type(network).__name__} ({shim})")


def averages_of(
    network: nn.Module, shim: int, averages: Mapping[Any, Any]
) -> list[tuple[nn.Parameter, Tensor]]:
    """The parameters with their averages in `optimizer.averages`, unless they have grown."""
    pairs = [(p, averages.get(key_of(shim, name))) for name, p in network.named_parameters()]
    return [(p, each) for p, each in pairs if each is not None and each.shape == p.shape]


@dataclass
class _Update:
    """A parameter to change by its gradient, or some `rows` [n] of a table by theirs [n, D].

    rate: factor of the learning rate.
    """

    key: KeyT
    weights: Tensor
    gradient: Tensor
    rate: float
    rows: Tensor | None = None

    @classmethod
    def of(cls, key: KeyT, weights: Tensor, gradient: Tensor, rate: float) -> "_Update":
        """Rows that only padding reads have a gradient of zero, and are left out."""
        if not gradient.is_sparse:
            return cls(key, weights, gradient, rate)
        gradient = gradient.coalesce()
        touched = gradient.values().any(dim=1)
        rows = gradient.indices()[0][touched]
        return cls(key, weights, gradient.values()[touched], rate, rows)


def _step(
    optimizer: Optimizer, weights: dict[KeyT, Tensor], updates: list[_Update], name: str
) -> None:
    """Make one step. The order of three operations differs from thinc: L2 is added after clipping,
    weight decay comes before the step, as in torch, and eps is added to the root of the second
    moment after its bias correction.

    weights: all that may have averages.
    name: for warnings.
    """
    if not _clip(optimizer, [update.gradient for update in updates]):
        warnings.warn(Warnings.W200.format(key=name), stacklevel=4)
        return
    steps = max(optimizer.nr_update.get(key, 0) for key in weights)
    if steps and isinstance(optimizer, TorchOptimizer):
        optimizer.end_unused_warmup()
    for update in updates:
        _prepare(optimizer, update)
    _change(optimizer, updates)
    _update_averages(optimizer, weights, steps + 1)


def _clip(optimizer: Optimizer, gradients: list[Tensor]) -> bool:
    """Clip gradients in place, also by their common norm; False where one is not finite."""
    norm, clip_value = _norm(gradients), getattr(optimizer, "clip_value", 0.0)
    if not math.isfinite(norm):
        return False
    if clip_value and norm > clip_value:  # which no element exceeds
        torch._foreach_clamp_min_(gradients, -clip_value)
        torch._foreach_clamp_max_(gradients, clip_value)
        norm = _norm(gradients)
    if optimizer.grad_clip and norm > optimizer.grad_clip:
        torch._foreach_mul_(gradients, optimizer.grad_clip / (norm + 1e-6))
    return True


def _norm(tensors: list[Tensor]) -> float:
    return float(torch.stack(torch._foreach_norm(tensors)).norm())


def _prepare(optimizer: Optimizer, update: _Update) -> None:
    """Begin the state of a new parameter, or again that of one that has grown. The average starts
    at the weights before their first step."""
    key, weights, moments = update.key, update.weights, _moments(optimizer)
    if _is_new(key, weights, moments[0]):
        optimizer.nr_update[key] = 0
        for state in moments:
            state[key] = torch.zeros_like(weights)
        if update.rows is not None:
            moments[-1][_of_rows(key)] = weights.new_zeros(len(weights), 1)
    averages: dict[KeyT, Any] | None = optimizer.averages
    if averages is not None and _is_new(key, weights, averages):
        averages[key] = weights.clone()


def _is_new(key: KeyT, weights: Tensor, states: dict[KeyT, Any]) -> bool:
    return key not in states or states[key].shape != weights.shape


def _moments(optimizer: Optimizer) -> list[dict[KeyT, Any]]:
    return [optimizer.mom1, optimizer.mom2] if optimizer.b2 else [optimizer.mom1]


def _of_rows(key: KeyT) -> KeyT:
    return key[0], key[1] + ROW_STEPS


def _change(optimizer: Optimizer, updates: list[_Update]) -> None:
    """Change the parameters and their moments, of tables only rows."""
    moments = _moments(optimizer)
    whole = [[each.weights, *(state[each.key] for state in moments)] for each in updates]
    parts = [
        tensors if update.rows is None else [t.index_select(0, update.rows) for t in tensors]
        for tensors, update in zip(whole, updates, strict=True)
    ]
    steps = [_count(optimizer, update) for update in updates]
    _apply(optimizer, updates, steps, *map(list, zip(*parts, strict=True)))
    for update, tensors, part in zip(updates, whole, parts, strict=True):
        if update.rows is not None:
            for table, rows in zip(tensors, part, strict=True):
                table.index_copy_(0, update.rows, rows)


def _count(optimizer: Optimizer, update: _Update) -> int | Tensor:
    """The number of this step, from 1: of the parameter, or [n, 1] of its rows."""
    optimizer.nr_update[update.key] += 1
    if update.rows is None:
        return optimizer.nr_update[update.key]
    counts = _moments(optimizer)[-1][_of_rows(update.key)]
    counts.index_add_(0, update.rows, counts.new_ones(len(update.rows), 1))
    steps: Tensor = counts.index_select(0, update.rows)
    return steps


def _apply(
    optimizer: Optimizer,
    updates: list[_Update],
    steps: list[int | Tensor],
    weights: list[Tensor],
    first: list[Tensor],
    second: list[Tensor] | None = None,
) -> None:
    """SGD or Adam (Kingma & Ba 2015), in place; of all parameters at once, few calls for a GPU.

    first, second: moments.
    """
    gradients = [update.gradient for update in updates]
    rates = [optimizer.learn_rate * update.rate for update in updates]
    decay, beta1, beta2 = optimizer.L2, optimizer.b1, optimizer.b2
    if decay and optimizer.L2_is_weight_decay:
        torch._foreach_mul_(weights, [1.0 - rate * decay for rate in rates])
    elif decay:
        torch._foreach_add_(gradients, weights, alpha=decay)
    if second is None:
        torch._foreach_mul_(first, getattr(optimizer, "momentum", 0.0))
        torch._foreach_add_(first, gradients)
        torch._foreach_sub_(weights, torch._foreach_mul(first, rates))
        return
    torch._foreach_lerp_(first, gradients, 1.0 - beta1)
    torch._foreach_mul_(second, beta2)
    torch._foreach_addcmul_(second, gradients, gradients, 1.0 - beta2)
    divisors = torch._foreach_sqrt(second)
    for n, divisor in zip(steps, divisors, strict=True):
        bias, root = _unbias(beta1, n), _unbias(beta2, n) ** 0.5
        divisor.add_(optimizer.eps * root).mul_(bias / root)
    torch._foreach_addcdiv_(weights, first, divisors, [-rate for rate in rates])


def _unbias(beta: float, steps: int | Tensor) -> Any:
    """1 - βⁿ: a number, or one a row."""
    if isinstance(steps, Tensor):
        # In single precision 1 - 0.999 would lose three digits.
        return -torch.expm1(steps * (math.log(beta) if beta else -math.inf))
    return 1.0 - beta**steps


def _update_averages(optimizer: Optimizer, weights: dict[KeyT, Tensor], steps: int) -> None:
    """Dense: 300,000 vectors of 50 take 4 ms, 5 % of a step of zh_flat_msra on one core."""
    averages: dict[KeyT, Any] = optimizer.averages or {}
    keys = [key for key in weights if key in averages]
    if keys:
        largest = getattr(optimizer, "average_decay", STOCK_AVERAGE_DECAY)
        decay = min((1.0 + steps) / (10.0 + steps), largest)
        tensors = [as_tensor(averages[key]) for key in keys]
        torch._foreach_lerp_(tensors, [weights[key] for key in keys], 1.0 - decay)
