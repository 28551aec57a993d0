"""One optimizer step over the parameters of a torch network, natively in torch.

State (moments, counts, averages) lives in the thinc optimizer's own dictionaries, under
`key(shim, name)`, as torch tensors on the parameter's device, and ends with the optimizer.

Sparse gradients (torch.nn.Embedding with sparse=True) update only the rows that they touch. Each
row is then a parameter of its own: it has its own count of steps, and its moments and weight decay
rest in the steps that do not touch it.
"""

import math
import warnings
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import torch
from thinc.optimizers import KeyT, Optimizer
from torch import Tensor, nn
from torch.optim.adam import adam
from torch.optim.adamw import adamw
from torch.optim.sgd import sgd

from ..errors import Warnings
from .optimizers import EMBEDDINGS, SGD, AdamW, Rule, rule_of

# thinc counts shims and models apart: the prefix keeps their keys from meeting.
PREFIX = "torch."


def key(shim: int, name: str) -> KeyT:
    """The optimizer's key of a network's parameter."""
    return shim, PREFIX + name


class RowAverage:
    """A moving average of a table's rows, brought up to date only where a row is touched or read.

    An untouched row w does not move, so after steps with decays d₁…dₙ its average is
    w + (a − w)·d₁·…·dₙ: the sum of the decays' logarithms up to now and at the row's last step
    is all that it takes.
    """

    def __init__(self, table: Tensor):
        self.values = table.clone()  # rows × D
        self.clock = 0.0
        self.seen = torch.zeros(len(table), 1, dtype=torch.float64, device=table.device)

    def advance(self, decay: float) -> None:
        """A step was made."""
        self.clock += math.log(decay)

    def touch(self, rows: Tensor, before: Tensor, after: Tensor, decay: float) -> None:
        """`rows` went from `before` to `after` in the step of the last `advance`."""
        average, seen = self.values.index_select(0, rows), self.seen.index_select(0, rows)
        value = _approach(before, average, self.clock - seen)
        self.values.index_copy_(0, rows, value.add_(after - before, alpha=1.0 - decay))
        self.seen.index_fill_(0, rows, self.clock)

    def current(self, table: Tensor) -> Tensor:
        """The average of all rows, now."""
        return _approach(table, self.values, self.clock - self.seen)


def _approach(weights: Tensor, average: Tensor, log_decay: Tensor) -> Tensor:
    return torch.lerp(weights, average, log_decay.exp().to(weights.dtype))


@dataclass
class _Gradient:
    """A parameter with its gradient; `rows` names the rows that `values` holds, None: all."""

    key: KeyT
    rate: float
    parameter: Tensor
    values: Tensor
    rows: Tensor | None


@torch.no_grad()
def update(network: nn.Module, shim: int, optimizer: Optimizer) -> None:
    """Update a network's parameters by their gradients, which it removes.

    A step with a gradient that is not finite is left out, with warning W200.

    Raises:
        TypeError: the optimizer is not one of thinc's or ours (F204).
        ValueError: a multiplier's group is in no network (F205).
    """
    rule = rule_of(optimizer)
    parameters = list(grouped_parameters(network))
    if isinstance(optimizer, (SGD, AdamW)):
        optimizer.meet(shim, {group for _, group, _ in parameters})
    gradients = _take_gradients(parameters, shim, rule, optimizer)
    if not gradients:
        return
    if not _clip([gradient.values for gradient in gradients], rule):
        warnings.warn(Warnings.W200.format(key=(shim, type(network).__name__)), stacklevel=3)
        return
    clock = key(shim, "")
    optimizer.nr_update[clock] += 1
    averages: dict[KeyT, Any] | None = optimizer.averages
    if averages is not None:
        _start_averages(averages, gradients)
    _step_dense([g for g in gradients if g.rows is None], rule, optimizer)
    touched = [
        (g, *_step_rows(g, g.rows, rule, optimizer)) for g in gradients if g.rows is not None
    ]
    if averages is not None:
        t = optimizer.nr_update[clock]
        decay = min((1.0 + t) / (10.0 + t), rule.average_decay)
        _move_averages(averages, {key(shim, name): p for name, _, p in parameters}, decay)
        for g, before, after in touched:
            averages[g.key].touch(g.rows, before, after, decay)


def grouped_parameters(network: nn.Module) -> Iterator[tuple[str, str, nn.Parameter]]:
    """Name, group and parameter, each parameter once.

    The group is "embeddings" in a torch.nn.Embedding, else the first part of the dotted name.
    """
    met: set[int] = set()
    for path, module in network.named_modules():
        for leaf, parameter in module.named_parameters(recurse=False):
            if id(parameter) not in met:
                met.add(id(parameter))
                name = f"{path}.{leaf}" if path else leaf
                embedded = isinstance(module, nn.Embedding)
                yield name, EMBEDDINGS if embedded else name.partition(".")[0], parameter


def current_averages(
    network: nn.Module, shim: int, averages: MutableMapping[KeyT, Any]
) -> list[tuple[nn.Parameter, Tensor]]:
    """The parameters that have an average in `optimizer.averages`, with the average now."""
    found = []
    for name, _, parameter in grouped_parameters(network):
        average = averages.get(key(shim, name))
        if isinstance(average, RowAverage):
            average = average.current(parameter.detach())
        if average is not None:
            found.append((parameter, average))
    return found


def _take_gradients(
    parameters: list[tuple[str, str, nn.Parameter]], shim: int, rule: Rule, optimizer: Optimizer
) -> list[_Gradient]:
    gradients = []
    for name, group, parameter in parameters:
        gradient, parameter.grad = parameter.grad, None
        rate = rule.learn_rate * rule.multipliers.get(group, 1.0)
        if gradient is None or rule.multipliers.get(group) == 0.0:
            continue
        steps: Any = optimizer.nr_update.get(key(shim, name))
        # A table keeps to the form of its first gradient, which its state has.
        by_rows = _is_table(gradient) if steps is None else steps.dim() > 0
        rows, values = _rows(gradient) if by_rows else (None, _dense(gradient))
        gradients.append(_Gradient(key(shim, name), rate, parameter, values, rows))
    return gradients


def _is_table(gradient: Tensor) -> bool:
    return gradient.is_sparse and gradient.sparse_dim() == 1


def _dense(gradient: Tensor) -> Tensor:
    return gradient.to_dense() if gradient.is_sparse else gradient


def _rows(gradient: Tensor) -> tuple[Tensor, Tensor]:
    """The rows that a gradient touches, each once (n,), and their gradients (n × D)."""
    if not gradient.is_sparse:
        return torch.arange(len(gradient), device=gradient.device), gradient
    gradient = gradient.coalesce()
    return gradient.indices()[0], gradient.values()


def _clip(gradients: list[Tensor], rule: Rule) -> bool:
    """Clip in place; False where a gradient is not finite."""
    norms = torch.stack(torch._foreach_norm(gradients))
    if not torch.isfinite(norms).all():
        return False
    if rule.clip_value:
        # No element of a tensor exceeds its norm, so that few tensors need clamping.
        sized = zip(gradients, norms.tolist(), strict=True)
        large = [gradient for gradient, norm in sized if norm > rule.clip_value]
        if large:
            torch._foreach_clamp_min_(large, -rule.clip_value)
            torch._foreach_clamp_max_(large, rule.clip_value)
            norms = torch.stack(torch._foreach_norm(gradients))
    if rule.clip_norm and rule.clip_each:
        torch._foreach_mul_(gradients, (rule.clip_norm / norms).clamp(max=1.0).tolist())
    elif rule.clip_norm:
        scale = rule.clip_norm / (norms.norm().item() + 1e-6)
        if scale < 1.0:
            torch._foreach_mul_(gradients, scale)
    return True


def _step_dense(gradients: list[_Gradient], rule: Rule, optimizer: Optimizer) -> None:
    for rate, members in groupby(sorted(gradients, key=_rate), key=_rate):
        group = list(members)
        weights, values = [g.parameter for g in group], [g.values for g in group]
        steps = [_counts(optimizer.nr_update, g.key, g.parameter, ()) for g in group]
        first = [_moments(optimizer.mom1, g.key, g.parameter) for g in group]
        if rule.kind == "sgd":
            _sgd(weights, values, [*first], rule, rate)
            continue
        second = [_moments(optimizer.mom2, g.key, g.parameter) for g in group]
        if rule.kind == "adam":
            _fused_adam(weights, values, first, second, steps, rule, rate)
        else:
            torch._foreach_add_(steps, 1.0)
            for arrays in zip(weights, values, first, second, steps, strict=True):
                _adaptive(*arrays, rule, rate)


def _step_rows(
    gradient: _Gradient, rows: Tensor, rule: Rule, optimizer: Optimizer
) -> tuple[Tensor, Tensor]:
    """Update rows of a table; return them before and after the step (n × D each)."""
    table = gradient.parameter
    steps = _counts(optimizer.nr_update, gradient.key, table, (len(table), 1))
    first = _moments(optimizer.mom1, gradient.key, table)
    before = table.index_select(0, rows)
    after = before.clone()
    if rule.kind == "sgd":
        with _rows_of(first, rows) as first_rows:
            _sgd([after], [gradient.values], [first_rows], rule, gradient.rate)
    else:
        second = _moments(optimizer.mom2, gradient.key, table)
        with (
            _rows_of(first, rows) as first_rows,
            _rows_of(second, rows) as second_rows,
            _rows_of(steps, rows) as row_steps,
        ):
            row_steps.add_(1.0)
            _adaptive(
                after, gradient.values, first_rows, second_rows, row_steps, rule, gradient.rate
            )
    table.index_copy_(0, rows, after)
    return before, after


@contextmanager
def _rows_of(table: Tensor, rows: Tensor) -> Iterator[Tensor]:
    """Rows (n × D) to change in place; they are written back at the end."""
    values = table.index_select(0, rows)
    yield values
    table.index_copy_(0, rows, values)


def _sgd(
    weights: list[Tensor],
    gradients: list[Tensor],
    velocities: list[Tensor | None],
    rule: Rule,
    rate: float,
) -> None:
    if rule.decoupled and rule.weight_decay:
        torch._foreach_mul_(weights, 1.0 - rate * rule.weight_decay)
    sgd(
        weights,
        gradients,
        velocities,
        weight_decay=0.0 if rule.decoupled else rule.weight_decay,
        momentum=rule.momentum,
        lr=rate,
        dampening=0.0,
        nesterov=False,
        maximize=False,
        fused=_can_fuse(weights),
        foreach=not _can_fuse(weights),
    )


def _fused_adam(
    weights: list[Tensor],
    gradients: list[Tensor],
    first: list[Tensor],
    second: list[Tensor],
    steps: list[Tensor],
    rule: Rule,
    rate: float,
) -> None:
    step = adamw if rule.decoupled else adam
    step(
        weights,
        gradients,
        first,
        second,
        [],
        steps,
        amsgrad=False,
        beta1=rule.beta1,
        beta2=rule.beta2,
        lr=rate,
        weight_decay=rule.weight_decay,
        eps=rule.eps,
        maximize=False,
        fused=_can_fuse(weights),
        foreach=not _can_fuse(weights),
    )


def _adaptive(
    weights: Tensor,
    gradient: Tensor,
    first: Tensor,
    second: Tensor,
    steps: Tensor,
    rule: Rule,
    rate: float,
) -> None:
    """Adam (Kingma & Ba 2015) or RAdam (Liu et al. 2020, algorithm 2), in place.

    `steps` counts from 1 and broadcasts: one number, or one a row.
    """
    if rule.weight_decay and rule.decoupled:
        weights.mul_(1.0 - rate * rule.weight_decay)
    elif rule.weight_decay:
        gradient = gradient.add(weights, alpha=rule.weight_decay)
    first.lerp_(gradient, 1.0 - rule.beta1)
    second.mul_(rule.beta2).addcmul_(gradient, gradient, value=1.0 - rule.beta2)
    # In double precision: 1 - 0.999 has three digits less in single.
    count = steps.double()
    bias = (1.0 - rule.beta1**count).to(weights.dtype)
    root = (1.0 - rule.beta2**count).sqrt().to(weights.dtype)
    scale = root / second.sqrt().add_(rule.eps * root)
    if rule.kind == "radam":
        scale = _rectify(scale, count, rule.beta2)
    weights.sub_(first * scale / bias * rate)


def _rectify(scale: Tensor, count: Tensor, beta2: float) -> Tensor:
    """RAdam's variance rectification; plain momentum where the variance is not tractable yet."""
    longest = 2.0 / (1.0 - beta2) - 1.0
    length = longest - 2.0 * count * beta2**count / (1.0 - beta2**count)
    ratio = (length - 4.0) * (length - 2.0) * longest
    ratio = ratio / ((longest - 4.0) * (longest - 2.0) * length)
    rectified = scale * ratio.clamp(min=0.0).sqrt().to(scale.dtype)
    return torch.where(length > 5.0, rectified, torch.ones_like(scale))


def _can_fuse(weights: list[Tensor]) -> bool:
    return weights[0].device.type in ("cpu", "cuda")


def _rate(gradient: _Gradient) -> float:
    return gradient.rate


def _moments(store: MutableMapping[KeyT, Any], key: KeyT, parameter: Tensor) -> Tensor:
    """One number for each of a parameter's, zero at first and where its shape has changed."""
    state: Tensor | None = store.get(key)
    if state is None or state.shape != parameter.shape:
        state = store[key] = torch.zeros_like(parameter, requires_grad=False)
    return state


def _counts(
    store: MutableMapping[KeyT, Any], key: KeyT, parameter: Tensor, shape: tuple[int, ...]
) -> Tensor:
    """Steps made: () for a parameter, (rows, 1) for a table's rows."""
    state: Tensor | None = store.get(key)
    if state is None or state.shape != shape:
        state = store[key] = torch.zeros(shape, device=parameter.device)
    return state


def _start_averages(averages: dict[KeyT, Any], gradients: list[_Gradient]) -> None:
    """An average starts at the weights before their first step, again where the shape changed."""
    for gradient in gradients:
        average = averages.get(gradient.key)
        values = average.values if isinstance(average, RowAverage) else average
        if values is None or values.shape != gradient.parameter.shape:
            weights = gradient.parameter.detach()
            by_rows = gradient.rows is not None
            averages[gradient.key] = RowAverage(weights) if by_rows else weights.clone()


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
