"""One optimizer step, in torch: for a network's parameters, and for one array of a thinc layer.

OptimizerState lives in the thinc optimizer's dictionaries: `mom1` has an `OptimizerState` for each
parameter, `averages` the averages for `use_params`, `nr_update` the counts of steps.

Sparse gradients (torch.nn.Embedding with sparse=True) update only the rows that they touch. Each
row counts as a parameter: with its own count of steps, and without decay of its moments and weights
in the steps that do not touch it.
"""

import math
import warnings
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass, replace
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
# Of the logarithms of decays: single precision keeps their sum to 2e-6.
MAX_LOG_DECAY = 32.0


def key(shim: int, name: str) -> KeyT:
    """The optimizer's key of a network's parameter."""
    return shim, PREFIX + name


@dataclass
class OptimizerState:
    """An optimizer's state of a parameter.

    moments: the velocity (SGD), or the first and second moment (Adam); of the parameter's shape.
    steps: how many were made; [rows, 1], one count a row, for a table with sparse gradients.
    """

    moments: list[Tensor]
    steps: int | Tensor

    def fit(self, weights: Tensor) -> None:
        """Follow a parameter that has grown."""
        if self.moments[0].shape == weights.shape:
            return
        self.moments = [copy_block(m, torch.zeros_like(weights)) for m in self.moments]
        if isinstance(self.steps, Tensor):
            self.steps = copy_block(self.steps, self.steps.new_zeros(len(weights), 1))


class RowAverage:
    """A moving average of a table's rows, brought up to date only where a row is touched or read.

    An untouched row w does not move, so after steps with decays d₁…dₙ its average is
    w + (a − w)·d₁·…·dₙ. It is enough to keep a − w as it was in the row's last step, and the sum
    of the decays' logarithms, up to that step and up to now. These sums are reset before they get
    too large for single precision: there is no double on Apple's GPUs.
    """

    def __init__(self, table: Tensor):
        self.clock = 0.0
        self.lag = torch.zeros_like(table)  # [rows, D]
        self.seen = table.new_zeros(len(table), 1)

    @classmethod
    def of(cls, lag: Tensor, seen: Tensor, clock: float) -> "RowAverage":
        """One as it was."""
        average = cls(lag)
        average.lag, average.seen, average.clock = lag, seen, clock
        return average

    def touch(self, rows: Tensor, change: Tensor) -> None:
        """`rows` changed by `change` [n, D] in the step that the next `advance` ends."""
        lag = self._decayed(self.lag.index_select(0, rows), self.seen.index_select(0, rows))
        self.lag.index_copy_(0, rows, lag - change)
        self.seen.index_fill_(0, rows, self.clock)

    def advance(self, decay: float) -> None:
        """A step was made."""
        self.clock += math.log(decay)
        if self.clock < -MAX_LOG_DECAY:
            self.lag = self._decayed(self.lag, self.seen)
            self.seen.zero_()
            self.clock = 0.0

    def current(self, table: Tensor) -> Tensor:
        """The average of all rows, now."""
        self.fit(table)
        return table + self._decayed(self.lag, self.seen)

    def fit(self, table: Tensor) -> None:
        """Follow a table that has grown; the averages of new rows start at their weights."""
        if self.lag.shape != table.shape:
            self.lag = copy_block(self.lag, torch.zeros_like(table))
            self.seen = copy_block(self.seen, self.seen.new_zeros(len(table), 1))

    def _decayed(self, lag: Tensor, seen: Tensor) -> Tensor:
        return lag * (self.clock - seen).exp()


@dataclass
class ParameterStep:
    """A parameter to change and its gradient: of all of it, or of some `rows` [n, D]."""

    key: KeyT
    weights: Tensor
    gradient: Tensor
    rate: float
    rows: Tensor | None = None


@dataclass
class StepTensors:
    """The tensors that a step changes, all of one shape. `steps` counts from 1."""

    weights: Tensor
    gradient: Tensor
    moments: list[Tensor]
    steps: int | Tensor
    rate: float


Parameters = Sequence[tuple[str, str, nn.Parameter]]  # name, group, parameter


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

    Raises TypeError (F204) for an optimizer that isn't thinc's or ours, ValueError for RAdam.v1
    (F207), a multiplier of a group that no network has (F205), and too many skipped steps in a row
    (F208).
    """
    parameters, clock = grouped_parameters(network, group), key(shim, "")
    if isinstance(optimizer, GroupedOptimizer):
        optimizer.check_groups(shim, {own for _, own, _ in parameters})
        optimizer.begin_step(clock)
    rule = rule_of(optimizer)
    rule = replace(rule, learn_rate=rule.learn_rate * scale)
    targets = _take_gradients(parameters, shim, rule, optimizer)
    averages: dict[KeyT, Any] | None = optimizer.averages
    if averages is not None:
        _start_averages(averages, targets)
    where = f"{type(network).__name__} ({shim})"
    if not targets or not _step(targets, rule, optimizer, clock, where):
        return
    optimizer.nr_update[clock] += 1
    if averages is not None:
        decay = _average_decay(optimizer.nr_update[clock], rule)
        _move_averages(averages, {key(shim, name): p for name, _, p in parameters}, decay)


@torch.no_grad()
def update_array(
    optimizer: Optimizer, key: KeyT, weights: FloatsXd, gradient: FloatsXd, rule: Rule
) -> None:
    """Update an array in place, and set its gradient to zero. It is clipped by its own norm.

    Raises ValueError if too many steps in a row were skipped (F208).
    """
    # These share memory with the arrays.
    tensor, values = from_dlpack(weights), from_dlpack(gradient)
    target = ParameterStep(key, tensor, values, rule.learn_rate)
    averages = optimizer.averages
    if averages is not None and key not in averages:
        averages[key] = weights.copy()
    if rule.learn_rate > 0.0 and _step([target], rule, optimizer, key, str(key)):
        optimizer.nr_update[key] += 1
        if averages is not None:
            decay = _average_decay(optimizer.nr_update[key], rule)
            from_dlpack(averages[key]).lerp_(tensor, 1.0 - decay)
    # thinc ignores what is returned for the gradient: it must be zeroed in place.
    values.zero_()


def grouped_parameters(network: nn.Module, group: str | None = None) -> Parameters:
    """Name, group and parameter, each parameter once.

    group: of all of them. By default it is "embeddings" in a torch.nn.Embedding, otherwise the
        first part of the dotted name.
    """
    found: dict[int, tuple[str, str, nn.Parameter]] = {}
    for path, module in network.named_modules():
        for leaf, parameter in module.named_parameters(recurse=False):
            name = f"{path}.{leaf}" if path else leaf
            own = EMBEDDINGS if isinstance(module, nn.Embedding) else name.partition(".")[0]
            found.setdefault(id(parameter), (name, group or own, parameter))
    return list(found.values())


@torch.no_grad()
def current_averages(
    network: nn.Module, shim: int, averages: MutableMapping[KeyT, Any]
) -> list[tuple[nn.Parameter, Tensor]]:
    """The parameters that have an average in `optimizer.averages`, with the average now."""
    found = []
    for name, _, parameter in grouped_parameters(network):
        average = averages.get(key(shim, name))
        if isinstance(average, RowAverage):
            found.append((parameter, average.current(parameter.detach())))
        elif average is not None:
            found.append((parameter, _fitted(average, parameter)))
    return found


def copy_block(old: Tensor, new: Tensor) -> Tensor:
    """`new` with the values of `old` in its first rows, columns and so on."""
    new[tuple(slice(size) for size in old.shape)] = old
    return new


def _take_gradients(
    parameters: Parameters, shim: int, rule: Rule, optimizer: Optimizer
) -> list[ParameterStep]:
    targets = []
    for name, group, parameter in parameters:
        gradient, parameter.grad = parameter.grad, None
        multiplier = rule.multipliers.get(group, 1.0)
        if gradient is None or multiplier == 0.0:
            continue
        state: OptimizerState | None = optimizer.mom1.get(key(shim, name))  # type: ignore[assignment]
        # A table keeps to the form of its first gradient, which its state has.
        by_rows = _is_table(gradient) if state is None else isinstance(state.steps, Tensor)
        rows, values = _rows(gradient) if by_rows else (None, gradient.to_dense())
        rate = rule.learn_rate * multiplier
        targets.append(ParameterStep(key(shim, name), parameter.detach(), values, rate, rows))
    return targets


def _is_table(gradient: Tensor) -> bool:
    return gradient.is_sparse and gradient.sparse_dim() == 1


def _rows(gradient: Tensor) -> tuple[Tensor, Tensor]:
    """The rows that a gradient touches, each once [n], and their gradients [n, D]."""
    if not gradient.is_sparse:
        return torch.arange(len(gradient), device=gradient.device), gradient
    gradient = gradient.coalesce()
    return gradient.indices()[0], gradient.values()


def _step(
    targets: Sequence[ParameterStep], rule: Rule, optimizer: Optimizer, counted: KeyT, where: str
) -> bool:
    """Change targets by their gradients; False, and nothing changes, if one is not finite."""
    skipped = (counted[0], counted[1] + SKIPPED)
    if not _clip([target.gradient for target in targets], rule):
        optimizer.nr_update[skipped] += 1
        if optimizer.nr_update[skipped] >= MAX_SKIPPED:
            raise ValueError(Errors.F208.format(key=where, steps=MAX_SKIPPED))
        warnings.warn(Warnings.W200.format(key=where), stacklevel=4)
        return False
    optimizer.nr_update.pop(skipped, None)
    parts = [_part(target, _state(target, rule, optimizer)) for target in targets]
    _change(parts, rule)
    for target, part in zip(targets, parts, strict=True):
        _write_rows(target, part, optimizer)
    return True


def _clip(gradients: list[Tensor], rule: Rule) -> bool:
    """Clip in place; False where a gradient is not finite."""
    norms = _norms(gradients)
    if not all(map(math.isfinite, norms)):
        return False
    if rule.clip_value:
        # No element of a tensor exceeds its norm, so that few tensors need clamping.
        sized = zip(gradients, norms, strict=True)
        large = [gradient for gradient, norm in sized if norm > rule.clip_value]
        if large:
            torch._foreach_clamp_min_(large, -rule.clip_value)
            torch._foreach_clamp_max_(large, rule.clip_value)
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


def _state(target: ParameterStep, rule: Rule, optimizer: Optimizer) -> OptimizerState:
    states: dict[KeyT, Any] = optimizer.mom1
    state: OptimizerState | None = states.get(target.key)
    if state is None:
        weights = target.weights
        moments = [torch.zeros_like(weights) for _ in range(2 if rule.beta2 else 1)]
        steps = 0 if target.rows is None else weights.new_zeros(len(weights), 1)
        state = states[target.key] = OptimizerState(moments, steps)
    state.fit(target.weights)
    return state


def _part(target: ParameterStep, state: OptimizerState) -> StepTensors:
    """The whole of a target, or copies of its rows."""
    if target.rows is None:
        state.steps += 1
        return StepTensors(target.weights, target.gradient, state.moments, state.steps, target.rate)
    assert isinstance(state.steps, Tensor)
    rows = target.rows
    steps = state.steps.index_select(0, rows) + 1.0
    state.steps.index_copy_(0, rows, steps)
    weights, *moments = (t.index_select(0, rows) for t in (target.weights, *state.moments))
    return StepTensors(weights, target.gradient, moments, steps, target.rate)


def _write_rows(target: ParameterStep, part: StepTensors, optimizer: Optimizer) -> None:
    """Write the rows of a table back that were copied for the step."""
    if target.rows is None:
        return
    averages: dict[KeyT, Any] = optimizer.averages or {}
    if target.key in averages:
        before = target.weights.index_select(0, target.rows)
        averages[target.key].touch(target.rows, part.weights - before)
    states: dict[KeyT, Any] = optimizer.mom1
    tables = [target.weights, *states[target.key].moments]
    for table, rows in zip(tables, [part.weights, *part.moments], strict=True):
        table.index_copy_(0, target.rows, rows)


def _change(parts: Sequence[StepTensors], rule: Rule) -> None:
    """SGD or Adam (Kingma & Ba 2015), in place; of all parts at once, few calls for a GPU."""
    weights = [part.weights for part in parts]
    gradients = [part.gradient for part in parts]
    first = [part.moments[0] for part in parts]
    if rule.weight_decay and rule.decoupled:
        torch._foreach_mul_(weights, [1.0 - part.rate * rule.weight_decay for part in parts])
    elif rule.weight_decay:
        torch._foreach_add_(gradients, weights, alpha=rule.weight_decay)
    if not rule.beta2:
        torch._foreach_mul_(first, rule.momentum)
        torch._foreach_add_(first, gradients)
        torch._foreach_sub_(weights, torch._foreach_mul(first, [part.rate for part in parts]))
        return
    second = [part.moments[1] for part in parts]
    torch._foreach_lerp_(first, gradients, 1.0 - rule.beta1)
    torch._foreach_mul_(second, rule.beta2)
    torch._foreach_addcmul_(second, gradients, gradients, 1.0 - rule.beta2)
    divisors = torch._foreach_sqrt(second)
    for part, divisor in zip(parts, divisors, strict=True):
        bias, root = _unbias(rule.beta1, part), _unbias(rule.beta2, part) ** 0.5
        divisor.add_(rule.eps * root).mul_(bias / root)
    torch._foreach_addcdiv_(weights, first, divisors, [-part.rate for part in parts])


def _unbias(beta: float, part: StepTensors) -> Any:
    """1 − βᵗ: a number, or one a row."""
    if isinstance(part.steps, Tensor):
        # In single precision 1 - 0.999 would lose three digits.
        return -torch.expm1(part.steps * (math.log(beta) if beta else -math.inf))
    return 1.0 - beta**part.steps


def _average_decay(steps: int, rule: Rule) -> float:
    return min((1.0 + steps) / (10.0 + steps), rule.average_decay)


def _start_averages(averages: dict[KeyT, Any], targets: Sequence[ParameterStep]) -> None:
    """An average starts at the weights before their first step."""
    for target in targets:
        average = averages.get(target.key)
        if average is None:
            by_rows = target.rows is not None
            average = RowAverage(target.weights) if by_rows else target.weights.clone()
        averages[target.key] = _fitted(average, target.weights)


def _fitted(average: Any, weights: Tensor) -> Any:
    """The average of a parameter that has grown; new rows start at the current weights."""
    if isinstance(average, RowAverage):
        average.fit(weights)
    elif average.shape != weights.shape:
        return copy_block(average, weights.clone())
    return average


def _move_averages(
    averages: dict[KeyT, Any], parameters: dict[KeyT, nn.Parameter], decay: float
) -> None:
    dense: list[Tensor] = []
    weights: list[Tensor] = []
    for parameter_key in parameters.keys() & averages.keys():
        average = averages[parameter_key]
        if isinstance(average, RowAverage):
            average.advance(decay)
        else:
            dense.append(average)
            weights.append(parameters[parameter_key])
    if dense:
        torch._foreach_lerp_(dense, weights, 1.0 - decay)
