"""One optimizer step, in torch: for a network's parameters, and for one array of a thinc layer.

State lives in the thinc optimizer's dictionaries: `mom1` has an `OptimizerState` for each
parameter, `averages` a tensor for `use_params`, `nr_update` the counts of steps.

Sparse gradients (torch.nn.Embedding with sparse=True) update only the rows that they touch. Each
row counts as a parameter: with its own count of steps, and without decay of its moments and weights
in the steps that do not touch it.
"""

import math
import warnings
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from thinc.optimizers import KeyT, Optimizer
from thinc.types import FloatsXd
from torch import Tensor, nn
from torch.utils.dlpack import from_dlpack

from ..errors import Errors, Warnings
from .optimizers import EMBEDDINGS, GroupedOptimizer, Rule, rule_of

# thinc counts shims and models apart: the prefix keeps their keys from meeting.
PREFIX = "torch."
# Key suffix: consecutive skipped steps.
SKIPPED = " (left out)"
MAX_SKIPPED = 5


def key(shim: int, name: str) -> KeyT:
    """The optimizer's key of a network's parameter; of the network itself without a name."""
    return shim, PREFIX + name


@dataclass
class OptimizerState:
    """An optimizer's state of a parameter.

    moments: the velocity (SGD), or the first and second moment (Adam); of the parameter's shape.
    steps: how many were made; [rows, 1], one count a row, for a table with sparse gradients.
    """

    moments: list[Tensor]
    steps: int | Tensor


@dataclass
class ParameterStep:
    """A parameter to change and its gradient: of all of it, or of some `rows` [n, D]."""

    key: KeyT
    weights: Tensor
    gradient: Tensor
    rate: float
    rows: Tensor | None = None


@torch.no_grad()
def update_network(
    network: nn.Module,
    shim: int,
    optimizer: Optimizer,
    *,
    group: str | None = None,
    scale: float = 1.0,
) -> None:
    """Update a network's parameters by their gradients, and remove these.

    group: the group of all parameters, instead of those of `grouped_parameters`.
    scale: factor of the learning rate.

    A step whose gradient is not finite is skipped, with warning W200.

    Raises ValueError for RAdam.v1 (F207), a multiplier of a group that no network has (F205), and
    too many skipped steps in a row (F208).
    """
    parameters, clock = grouped_parameters(network, group), key(shim, "")
    if isinstance(optimizer, GroupedOptimizer):
        optimizer.begin_step(clock, {own for _, own, _ in parameters})
    rule = rule_of(optimizer)
    targets = []
    for name, own, parameter in parameters:
        gradient, parameter.grad = parameter.grad, None
        multiplier = rule.multipliers.get(own, 1.0)
        if gradient is not None and multiplier:
            state: Any = optimizer.mom1.get(key(shim, name))
            rows, values = _split(gradient, state)
            rate = rule.learn_rate * scale * multiplier
            targets.append(ParameterStep(key(shim, name), parameter.detach(), values, rate, rows))
    where = f"{type(network).__name__} ({shim})"
    if not targets or not _clip(targets, rule, optimizer, clock, where):
        return
    averages: dict[KeyT, Any] = {} if optimizer.averages is None else optimizer.averages
    if optimizer.averages is not None:
        for target in targets:
            if target.key not in averages:  # it starts at the weights before their first step
                averages[target.key] = target.weights.clone()
    _change(targets, rule, optimizer)
    optimizer.nr_update[clock] += 1
    pairs = current_averages(network, shim, averages)
    if pairs:  # dense: 300,000 vectors of 50 take 4 ms, 5 % of a step of zh_flat_msra on one core
        weight = 1.0 - _average_decay(optimizer.nr_update[clock], rule)
        torch._foreach_lerp_([average for _, average in pairs], [p for p, _ in pairs], weight)


@torch.no_grad()
def update_array(
    optimizer: Optimizer, key: KeyT, weights: FloatsXd, gradient: FloatsXd, rate: float
) -> None:
    """Update an array in place, and set its gradient to zero. It is clipped by its own norm.

    Raises ValueError if too many steps in a row were skipped (F208).
    """
    # These share memory with the arrays.
    tensor, values, rule = from_dlpack(weights), from_dlpack(gradient), rule_of(optimizer)
    targets = [ParameterStep(key, tensor, values, rate)]
    averages = optimizer.averages
    if averages is not None and key not in averages:
        averages[key] = weights.copy()
    if rate > 0.0 and _clip(targets, rule, optimizer, key, str(key)):
        _change(targets, rule, optimizer)
        optimizer.nr_update[key] += 1
        if averages is not None:
            decay = _average_decay(optimizer.nr_update[key], rule)
            from_dlpack(averages[key]).lerp_(tensor, 1.0 - decay)
    # thinc ignores what is returned for the gradient: it must be zeroed in place.
    values.zero_()


def grouped_parameters(
    network: nn.Module, group: str | None = None
) -> list[tuple[str, str, nn.Parameter]]:
    """Name, group and parameter, each parameter once.

    group: of all of them. By default it is "embeddings" in a torch.nn.Embedding, otherwise the
        first part of the dotted name.
    """
    found = []
    for name, parameter in network.named_parameters():
        module = network.get_submodule(name.rpartition(".")[0])
        own = EMBEDDINGS if isinstance(module, nn.Embedding) else name.partition(".")[0]
        found.append((name, group or own, parameter))
    return found


def current_averages(
    network: nn.Module, shim: int, averages: MutableMapping[KeyT, Any]
) -> list[tuple[nn.Parameter, Tensor]]:
    """The parameters that have an average in `optimizer.averages`, with it. That of a parameter
    that has grown starts again."""
    found = []
    for name, parameter in network.named_parameters():
        average: Tensor | None = averages.get(key(shim, name))
        if average is not None:
            if average.shape != parameter.shape:
                average = averages[key(shim, name)] = parameter.detach().clone()
            found.append((parameter, average))
    return found


def _split(gradient: Tensor, state: OptimizerState | None) -> tuple[Tensor | None, Tensor]:
    """The rows [n] of a table that a sparse gradient touches, and their gradients [n, D]; None and
    all of it for other parameters. Rows that only padding reads have a gradient of zero."""
    is_dense = state is not None and isinstance(state.steps, int)
    if is_dense or not gradient.is_sparse or gradient.sparse_dim() > 1:
        return None, gradient.to_dense()
    gradient = gradient.coalesce()
    touched = gradient.values().any(dim=1)
    return gradient.indices()[0][touched], gradient.values()[touched]


def _clip(
    targets: Sequence[ParameterStep], rule: Rule, optimizer: Optimizer, counted: KeyT, where: str
) -> bool:
    """Clip gradients in place; False, with a warning, where one is not finite."""
    skipped = (counted[0], counted[1] + SKIPPED)
    gradients = [target.gradient for target in targets]
    norms = _norms(gradients)
    if not all(map(math.isfinite, norms)):
        optimizer.nr_update[skipped] += 1
        if optimizer.nr_update[skipped] >= MAX_SKIPPED:
            raise ValueError(Errors.F208.format(key=where, steps=MAX_SKIPPED))
        warnings.warn(Warnings.W200.format(key=where), stacklevel=4)
        return False
    optimizer.nr_update.pop(skipped, None)
    if rule.clip_value and max(norms) > rule.clip_value:  # which no element exceeds
        torch._foreach_clamp_min_(gradients, -rule.clip_value)
        torch._foreach_clamp_max_(gradients, rule.clip_value)
        norms = _norms(gradients)
    if rule.clip_norm:
        if not rule.clip_each:
            norms = [math.hypot(*norms)] * len(norms)
        scales = [min(1.0, rule.clip_norm / (norm + 1e-6)) for norm in norms]
        if min(scales) < 1.0:
            torch._foreach_mul_(gradients, scales)
    return True


def _norms(tensors: list[Tensor]) -> list[float]:
    norms: list[float] = torch.stack(torch._foreach_norm(tensors)).tolist()
    return norms


def _average_decay(steps: int, rule: Rule) -> float:
    return min((1.0 + steps) / (10.0 + steps), rule.average_decay)


def _change(targets: Sequence[ParameterStep], rule: Rule, optimizer: Optimizer) -> None:
    """Change the parameters and their states, of tables only rows."""
    states = [_state(target, rule, optimizer) for target in targets]
    steps = [_count(state, target.rows) for state, target in zip(states, targets, strict=True)]
    whole = [
        [target.weights, *state.moments] for state, target in zip(states, targets, strict=True)
    ]
    parts = [
        tensors if target.rows is None else [t.index_select(0, target.rows) for t in tensors]
        for tensors, target in zip(whole, targets, strict=True)
    ]
    _apply(parts, targets, steps, rule)
    for target, tensors, part in zip(targets, whole, parts, strict=True):
        if target.rows is not None:
            for table, rows in zip(tensors, part, strict=True):
                table.index_copy_(0, target.rows, rows)


def _state(target: ParameterStep, rule: Rule, optimizer: Optimizer) -> OptimizerState:
    """That of the steps before; a parameter that has grown starts again."""
    states: dict[KeyT, Any] = optimizer.mom1
    state: OptimizerState | None = states.get(target.key)
    weights = target.weights
    if state is None or state.moments[0].shape != weights.shape:
        moments = [torch.zeros_like(weights) for _ in range(2 if rule.beta2 else 1)]
        steps = 0 if target.rows is None else weights.new_zeros(len(weights), 1)
        state = states[target.key] = OptimizerState(moments, steps)
    return state


def _count(state: OptimizerState, rows: Tensor | None) -> int | Tensor:
    """The number of this step, from 1: of the parameter, or of each of its rows."""
    if rows is None or isinstance(state.steps, int):
        state.steps += 1
        return state.steps
    state.steps.index_add_(0, rows, state.steps.new_ones(len(rows), 1))
    return state.steps.index_select(0, rows)


def _apply(
    parts: Sequence[Sequence[Tensor]],
    targets: Sequence[ParameterStep],
    steps: Sequence[int | Tensor],
    rule: Rule,
) -> None:
    """SGD or Adam (Kingma & Ba 2015), in place; of all parts at once, few calls for a GPU.

    parts: weights and moments of each target.
    """
    weights, first, *others = map(list, zip(*parts, strict=True))
    gradients = [target.gradient for target in targets]
    rates = [target.rate for target in targets]
    if rule.weight_decay and rule.decoupled:
        torch._foreach_mul_(weights, [1.0 - rate * rule.weight_decay for rate in rates])
    elif rule.weight_decay:
        torch._foreach_add_(gradients, weights, alpha=rule.weight_decay)
    if not others:
        torch._foreach_mul_(first, rule.momentum)
        torch._foreach_add_(first, gradients)
        torch._foreach_sub_(weights, torch._foreach_mul(first, rates))
        return
    (second,) = others
    torch._foreach_lerp_(first, gradients, 1.0 - rule.beta1)
    torch._foreach_mul_(second, rule.beta2)
    torch._foreach_addcmul_(second, gradients, gradients, 1.0 - rule.beta2)
    divisors = torch._foreach_sqrt(second)
    for n, divisor in zip(steps, divisors, strict=True):
        bias, root = _unbias(rule.beta1, n), _unbias(rule.beta2, n) ** 0.5
        divisor.add_(rule.eps * root).mul_(bias / root)
    torch._foreach_addcdiv_(weights, first, divisors, [-rate for rate in rates])


def _unbias(beta: float, steps: int | Tensor) -> Any:
    """1 - βⁿ: a number, or one a row."""
    if isinstance(steps, Tensor):
        # In single precision 1 - 0.999 would lose three digits.
        return -torch.expm1(steps * (math.log(beta) if beta else -math.inf))
    return 1.0 - beta**steps
