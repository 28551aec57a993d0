"""The optimizers' steps, held against torch's and thinc's own, and what configs may say."""

import math
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from thinc.api import SGD as StockSGD  # noqa: N811
from thinc.api import Adam, Linear, Optimizer, registry
from torch import Tensor, nn

from spacy_flat.nn.optimizers import PREFIX, SGD, AdamW, TorchOptimizer, warmup
from spacy_flat.nn.shim import TorchShim

ROWS, WIDTH = 6, 3


class Net(nn.Module):
    """A table and dense tensors; `scores` sets the gradients' size."""

    def __init__(self, sparse: bool = True) -> None:
        super().__init__()
        self.table = nn.Embedding(ROWS, WIDTH, sparse=sparse)
        self.encoder = nn.Linear(WIDTH, WIDTH)
        self.crf = nn.Linear(WIDTH, 2)
        self.double()

    def forward(self, keys: Tensor) -> Tensor:
        return self.crf(torch.tanh(self.encoder(self.table(keys))))


def build(config: dict[str, Any]) -> nn.Module:
    torch.manual_seed(1)
    return Net(**config)


class Grown(nn.Module):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.table = nn.Embedding(config["rows"], WIDTH, sparse=config["sparse"]).double()


def backward(net: nn.Module, step: int, keys: list[int] | None = None, size: float = 1.0) -> None:
    """Gradients that differ from step to step."""
    output = net(torch.tensor(list(range(ROWS)) if keys is None else keys, dtype=torch.long))
    (size * (output - 0.1 * step).pow(2).sum()).backward()


def run(optimizer: Any, steps: int = 8, size: float = 1.0, sparse: bool = True) -> nn.Module:
    shim = TorchShim(build, {"sparse": sparse})
    for step in range(steps):
        backward(shim.module, step, size=size)
        shim.finish_update(optimizer)
        optimizer.step_schedules()
    return shim.module


def run_torch(
    make: Callable[[Any], torch.optim.Optimizer],
    steps: int = 8,
    size: float = 1.0,
    clip: Callable[[Any], Any] = lambda parameters: None,
) -> nn.Module:
    """The same with torch's optimizer, all gradients dense."""
    net = build({"sparse": False})
    optimizer = make(net.parameters())
    for step in range(steps):
        backward(net, step, size=size)
        clip(list(net.parameters()))
        optimizer.step()
        optimizer.zero_grad()
    return net


def run_thinc(optimizer: Optimizer, steps: int = 8, size: float = 1.0) -> nn.Module:
    """The same with thinc's optimizer called on arrays, all gradients dense."""
    net = build({"sparse": False}).float()
    for step in range(steps):
        backward(net, step, size=size)
        for name, parameter in net.named_parameters():
            optimizer((1, name), parameter.detach().numpy(), parameter.grad.numpy())
            parameter.grad = None
        optimizer.step_schedules()
    return net


def assert_same(one: nn.Module, other: nn.Module, atol: float = 1e-6) -> None:
    for (name, a), b in zip(one.named_parameters(), other.parameters(), strict=True):
        assert torch.allclose(a.double(), b.double(), atol=atol, rtol=0.0), name


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("decay", [0.0, 0.1])
class TestAgainstTorch:
    def test_sgd(self, sparse: bool, decay: float) -> None:
        ours = run(SGD(0.1, momentum=0.9, weight_decay=decay, clip_value=0.0), sparse=sparse)
        assert_same(
            ours, run_torch(lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=decay))
        )

    def test_adamw(self, sparse: bool, decay: float) -> None:
        ours = run(AdamW(0.1, weight_decay=decay, eps=1e-3, clip_norm=0.0), sparse=sparse)
        assert_same(
            ours, run_torch(lambda p: torch.optim.AdamW(p, 0.1, weight_decay=decay, eps=1e-3))
        )

    @pytest.mark.parametrize(("value", "norm"), [(0.2, 0.0), (0.0, 0.7), (0.2, 0.7)])
    def test_clipping(self, sparse: bool, decay: float, value: float, norm: float) -> None:
        """The norm is that of clipped values."""

        def clip(parameters: Any) -> None:
            if value:
                nn.utils.clip_grad_value_(parameters, value)
            if norm:
                nn.utils.clip_grad_norm_(parameters, norm)

        optimizer = SGD(0.1, weight_decay=decay, clip_value=value, clip_norm=norm)
        theirs = run_torch(
            lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=decay), size=9.0, clip=clip
        )
        assert_same(run(optimizer, size=9.0, sparse=sparse), theirs)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Adam(registry.schedules.get("warmup_linear.v1")(0.005, 3, 8), grad_clip=0.0),
        lambda: Adam(0.005, grad_clip=0.0, L2=0.1, L2_is_weight_decay=False),
        lambda: StockSGD(0.001, L2=0.1, grad_clip=0.0),
    ],
    ids=["schedule", "L2", "SGD"],
)
@pytest.mark.parametrize("sparse", [True, False])
def test_stock_optimizers_do_what_thinc_does(make: Callable[[], Optimizer], sparse: bool) -> None:
    """But for clipping: here the norm is that of all parameters."""
    assert_same(run(make(), size=3.0, sparse=sparse), run_thinc(make(), size=3.0), atol=1e-5)


STEPS = st.lists(st.lists(st.integers(0, ROWS - 1), max_size=4), min_size=1, max_size=12)


def torch_twin(name: str, parameters: Any) -> torch.optim.Optimizer:
    if name == "SGD":
        return torch.optim.SGD(parameters, 0.1, momentum=0.9, weight_decay=0.1)
    return torch.optim.AdamW(parameters, 0.1, weight_decay=0.1)


def optimizer_of(name: str, **settings: Any) -> Optimizer:
    if name == "SGD":
        return SGD(0.1, weight_decay=0.1, clip_value=0.0, **settings)
    return AdamW(0.1, weight_decay=0.1, clip_norm=0.0, **settings)


@pytest.mark.parametrize("name", ["SGD", "AdamW"])
@settings(max_examples=12, deadline=None)
@given(batches=STEPS)
def test_a_row_is_a_parameter_of_its_own(name: str, batches: list[list[int]]) -> None:
    """The reference gives every row to torch's optimizer as a tensor of its own. Rows that only
    padding reads, with a gradient of zero, stay; rows of which a part is zero don't."""
    table = nn.Embedding(ROWS, WIDTH, sparse=True).double()
    rows = [row.clone().requires_grad_() for row in table.weight.detach()]
    shim = TorchShim(lambda config: table, {})
    ours, theirs = optimizer_of(name), torch_twin(name, rows)
    padding, mask = torch.arange(ROWS), torch.tensor([1.0, 0.0, 1.0])

    def loss_of(weights: Tensor, step: int) -> Tensor:
        return ((weights - step) * mask).pow(2).sum()

    for step, keys in enumerate(batches):
        read = table(torch.tensor(keys, dtype=torch.long))
        (loss_of(read, step) + 0 * table(padding).sum()).backward()
        shim.finish_update(ours)
        if keys:
            torch.stack([loss_of(rows[key], step) for key in keys]).sum().backward()
        theirs.step()
        theirs.zero_grad()
    assert torch.allclose(table.weight, torch.stack(rows), atol=1e-6)


@pytest.mark.parametrize("name", ["SGD", "AdamW"])
@settings(max_examples=12, deadline=None)
@given(batches=STEPS, decay=st.sampled_from([0.5, 0.9, 0.9999]))
def test_averages_are_exact(name: str, batches: list[list[int]], decay: float) -> None:
    """Touched rows or not, the average is a plain one over all weights after each step."""
    optimizer = optimizer_of(name, use_averages=True, average_decay=decay)
    shim = TorchShim(build, {})
    expected = [p.detach().clone() for p in shim.module.parameters()]
    for t, keys in enumerate(batches, start=1):
        backward(shim.module, t, keys)
        shim.finish_update(optimizer)
        d = min((1 + t) / (10 + t), decay)
        for average, parameter in zip(expected, shim.module.parameters(), strict=True):
            average.mul_(d).add_(parameter.detach(), alpha=1 - d)
        before = [p.detach().clone() for p in shim.module.parameters()]
        with shim.use_params(optimizer.averages):
            for average, parameter in zip(expected, shim.module.parameters(), strict=True):
                assert torch.allclose(average, parameter, atol=1e-9)
        assert all(map(torch.equal, before, shim.module.parameters()))


@pytest.mark.parametrize("sparse", [True, False])
def test_a_grown_parameter_starts_again(sparse: bool) -> None:
    shim = TorchShim(Grown, {"rows": 4, "sparse": sparse})
    optimizer = optimizer_of("AdamW", use_averages=True)
    for rows in (4, 6):
        if rows == 6:
            shim.grow({"rows": 6, "sparse": sparse})
        before = shim.module.table.weight.detach().clone()
        with shim.use_params(optimizer.averages):
            assert (shim.module.table.weight - before).abs().max() < 1e-9
        shim.module.table(torch.tensor([0, 3])).sum().backward()
        shim.finish_update(optimizer)
        assert shim.module.table.weight[0].tolist() == pytest.approx(
            (0.99 * before[0] - 0.1).tolist()
        )


def changes(multipliers: dict[str, float]) -> dict[str, float]:
    shim = TorchShim(build, {})
    before = {name: p.detach().clone() for name, p in shim.module.named_parameters()}
    backward(shim.module, 1)
    shim.finish_update(SGD(0.01, clip_value=0.0, multipliers=multipliers))
    after = dict(shim.module.named_parameters())
    return {name: (after[name] - before[name]).norm().item() for name in before}


def test_multipliers_scale_the_learning_rate_by_group() -> None:
    plain, scaled, frozen = (changes(m) for m in ({}, {"embeddings": 0.5}, {"embeddings": 0.0}))
    assert scaled["table.weight"] == pytest.approx(0.5 * plain["table.weight"])
    assert frozen["table.weight"] == 0.0
    assert scaled["crf.weight"] == pytest.approx(plain["crf.weight"])
    weight, half = (thinc_weights(SGD(0.01, multipliers=m)) for m in ({}, {"upstream": 0.5}))
    assert half - START == pytest.approx(0.5 * (weight - START))
    assert thinc_weights(AdamW(0.01, multipliers={"upstream": 0.0})) == pytest.approx(START)
    with pytest.raises(ValueError, match=r"F205.*\['crf'\].*'embeddings', 'upstream'"):
        AdamW(multipliers={"crf": 2.0})


@pytest.mark.parametrize("make", [optimizer_of, lambda name, **kw: Adam(0.1, L2=0.1, **kw)])
def test_what_requires_no_gradient_stays(make: Callable[..., Optimizer]) -> None:
    """With its average, whatever gradient it has."""
    shim, optimizer = TorchShim(build, {}), make("AdamW", use_averages=True)
    for step in range(3):
        backward(shim.module, step)
        shim.finish_update(optimizer)
    backward(shim.module, 3)
    frozen = shim.module.encoder.requires_grad_(False).weight
    for _ in range(2):
        before = frozen.clone(), optimizer.averages[shim.id, f"{PREFIX}encoder.weight"].clone()
        shim.finish_update(optimizer)
        assert frozen.equal(before[0])
        assert optimizer.averages[shim.id, f"{PREFIX}encoder.weight"].equal(before[1])
        backward(shim.module, 4)


START = 1.0


def thinc_weights(optimizer: Optimizer, gradients: tuple[float, ...] = (0.3,)) -> float:
    """A thinc weight after the gradients."""
    model = Linear(1, 1).initialize()
    model.set_param("W", numpy.full((1, 1), START, dtype="float32"))
    for gradient in gradients:
        model.set_grad("W", numpy.full((1, 1), gradient, dtype="float32"))
        model.finish_update(optimizer)
        assert model.get_grad("W") == 0.0
    return float(model.get_param("W")[0, 0])


@pytest.mark.parametrize("name", ["SGD", "AdamW"])
def test_upstream_is_updated_as_torch_would(name: str) -> None:
    gradients = (0.3, -0.5, 9.0, 0.1)
    weight = torch.full((1,), START, requires_grad=True)
    theirs = torch_twin(name, [weight])
    for gradient in gradients:
        weight.grad = torch.full((1,), gradient)
        theirs.step()
    assert thinc_weights(optimizer_of(name), gradients) == pytest.approx(weight.item(), abs=1e-5)


@pytest.mark.parametrize("make", [AdamW, lambda: Adam(0.1)], ids=["AdamW", "Adam.v1"])
def test_steps_that_are_not_finite_are_skipped(make: Callable[[], Optimizer]) -> None:
    shim, optimizer = TorchShim(build, {}), make()
    before = [p.detach().clone() for p in shim.module.parameters()]
    backward(shim.module, 1, [2])
    shim.module.crf.bias.grad[0] = float("nan")
    with pytest.warns(UserWarning, match=r"W200.*Net"):
        shim.finish_update(optimizer)
    assert all(map(torch.equal, before, shim.module.parameters()))
    assert all(parameter.grad is None for parameter in shim.module.parameters())
    if isinstance(optimizer, TorchOptimizer):
        with pytest.warns(UserWarning, match="W200"):
            assert thinc_weights(optimizer, (math.inf,)) == START


class TestWarmup:
    def test_values(self) -> None:
        assert list(islice(warmup(1.0, 4), 6)) == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]
        assert list(islice(warmup(1.0, 1, 5, "linear"), 7)) == [1, 1, 0.75, 0.5, 0.25, 0, 0]
        rates = list(islice(warmup(1.0, 4, shape="inverse_sqrt"), 16))
        assert rates[:4] == [0.25, 0.5, 0.75, 1.0]
        assert rates[15] == math.sqrt(4 / 16)

    def test_a_number_of_steps_that_is_not_known(self) -> None:
        """As in the optimizer of `nlp.resume_training`, whose config isn't interpolated."""
        rates = warmup(1.0, 2, "${training.max_steps}", "linear")
        assert list(islice(rates, 5)) == [0.5, 1.0, 1.0, 1.0, 1.0]

    @pytest.mark.parametrize("arguments", [(-1,), (5, 5, "linear"), (5, 0, "linear")])
    def test_refuses_what_cannot_be(self, arguments: Any) -> None:
        with pytest.raises(ValueError, match="F206"):
            warmup(1.0, *arguments)


@pytest.mark.parametrize("stepped", [True, False])
def test_warm_up_in_a_loop_that_only_updates(stepped: bool) -> None:
    """`spacy train` steps the schedules; loops that only call nlp.update do not."""
    shims = [TorchShim(build, {}), TorchShim(build, {})]
    optimizer = SGD(warmup(1.0, 10))
    rates = []
    for _ in range(2):
        for shim in shims:
            backward(shim.module, 1)
            shim.finish_update(optimizer)
            rates.append(optimizer.learn_rate)
        if stepped:
            optimizer.step_schedules()
    assert rates == pytest.approx([0.1, 0.1, 0.2, 0.2] if stepped else [0.1, 0.1, 1.0, 1.0])
    upstream = AdamW(warmup(0.1, 10))
    thinc_weights(upstream, (1.0, 1.0))
    assert upstream.learn_rate == 0.1
