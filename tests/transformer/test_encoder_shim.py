"""The shim of an encoder beneath components, without one."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from thinc.api import Adam

from spacy_flat.nn.optimizers import SGD
from spacy_flat.transformer.options import CharacterTransformerOptions
from spacy_flat.transformer.shim import EncoderShim


def build(config: dict[str, Any]) -> torch.nn.Module:
    network = torch.nn.Linear(config["width"], 1, bias=False)
    torch.nn.init.zeros_(network.weight)
    network.options = CharacterTransformerOptions(**config["settings"])  # type: ignore[assignment]
    return network


def make(**settings: Any) -> EncoderShim:
    return EncoderShim(build, {"width": 2, "settings": settings})


def weight(shim: EncoderShim) -> list[float]:
    return shim.module.weight.detach().ravel().tolist()  # type: ignore[union-attr, operator, no-any-return]


def read(shim: EncoderShim, n: int = 1) -> Callable[[], None]:
    """Read n texts in training; what it returns passes a gradient of one back to the weights."""
    # The vectors of no texts depend on no weight.
    output, backprop = shim.compute(
        lambda network: network(torch.ones(n, 2)) if n else torch.zeros(0, 1), is_train=True
    )
    return lambda: backprop(torch.ones_like(output))


def learn(shim: EncoderShim, sgd: Any) -> list[float]:
    """How far one step by a gradient of one moves the weights."""
    before = weight(shim)
    read(shim)()
    shim.finish_update(sgd)
    return [old - new for old, new in zip(before, weight(shim), strict=True)]


def test_group_is_upstream() -> None:
    sgd = SGD(1.0, momentum=0.0, multipliers={"upstream": 0.5, "embeddings": 0.0})
    assert learn(make(), sgd) == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("sgd", [SGD(1.0, momentum=0.0), Adam(1.0, use_averages=False)])
def test_frozen_and_warm_up(sgd: Any) -> None:
    """A new network starts from step 0; a copy continues from its source's step."""
    shim = make(frozen_steps=1, warmup_steps=2)
    for _ in range(2):
        moves = [learn(shim, sgd)[0] for _ in range(2)]
        shim = copy.deepcopy(shim)
        moves += [learn(shim, sgd)[0] for _ in range(2)]
        assert moves == pytest.approx([0, 0.5, 1.0, 1.0], rel=1e-3)
        shim.initialise({name: shim.config[name] for name in ("width", "settings")})


@pytest.mark.parametrize(("n", "fine_tune"), [(0, True), (1, False)])
def test_nothing_is_learnt(n: int, fine_tune: bool) -> None:
    """From texts that are all empty, and without fine-tuning."""
    shim = make(fine_tune=fine_tune)
    read(shim, n)()
    shim.finish_update(SGD(1.0))
    assert (weight(shim), shim.steps) == ([0, 0], 1)


def test_a_step_waits_for_its_gradient() -> None:
    """The weights do not change between what is computed and its gradient."""
    shim, sgd = make(), SGD(1.0, momentum=0.0)
    first, second = read(shim), read(shim)
    shim.finish_update(sgd)
    assert (weight(shim), shim.steps) == ([0, 0], 0)
    first()
    assert (weight(shim), shim.steps) == ([-1, -1], 1)
    second()
    read(shim, 0)()
    assert weight(shim) == [-1, -1]
    shim.finish_update(sgd)
    assert weight(shim) == [-2, -2]
