"""The shim of an encoder beneath components, without one."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from thinc.api import Adam

from spacy_flat.nn.encoder_shim import EncoderShim
from spacy_flat.nn.optimizers import SGD


def build(config: dict[str, Any]) -> torch.nn.Module:
    return torch.nn.Linear(config["width"], 1, bias=False)


def make(**settings: int) -> EncoderShim:
    return EncoderShim(build, {"width": 2}, **settings)


def weight(shim: EncoderShim) -> list[float]:
    return shim.module.weight.detach().ravel().tolist()  # type: ignore[union-attr, operator, no-any-return]


def learn(shim: EncoderShim, sgd: Any) -> list[float]:
    """How far one step by a gradient of one moves the weights."""
    before = weight(shim)
    output = shim.module(torch.ones(1, 2))
    shim.await_gradient()
    shim.backward(output, torch.ones(1, 1))
    shim.finish_update(sgd)
    return [old - new for old, new in zip(before, weight(shim), strict=True)]


def test_group_is_upstream() -> None:
    sgd = SGD(1.0, momentum=0.0, multipliers={"upstream": 0.5, "embeddings": 0.0})
    assert learn(make(), sgd) == pytest.approx([0.5, 0.5])


def test_norm_is_of_all_parameters() -> None:
    """A gradient of (1, 1) clipped to the norm 1 is (√½, √½)."""
    sgd = SGD(1.0, momentum=0.0, clip_norm=1.0)
    assert learn(make(), sgd) == pytest.approx([0.5**0.5] * 2, rel=1e-4)


def test_version() -> None:
    """Another one after each step of a network."""
    shim, empty = make(), EncoderShim(build)
    before, empty_before = shim.version, empty.version
    learn(shim, SGD(1.0))
    empty.finish_update(SGD(1.0))
    assert shim.version != before
    assert empty.version == empty_before


def test_warm_up() -> None:
    sgd = SGD(1.0, momentum=0.0)
    shim = make(frozen_steps=1, warmup_steps=2)
    assert not shim.learns
    shim.finish_update(sgd)
    assert shim.learns
    moves = [learn(shim, sgd)[0] for _ in range(3)]
    assert moves == pytest.approx([0.5, 1.0, 1.0])


def test_warm_up_with_the_optimizer_of_thinc() -> None:
    adam = Adam(1.0, use_averages=False)
    assert learn(make(warmup_steps=4), adam) == pytest.approx([0.25, 0.25], rel=1e-4)


def test_a_step_waits_for_its_gradient() -> None:
    """The weights do not change between what is computed and its gradient."""
    sgd = SGD(1.0, momentum=0.0)
    shim = make()
    before = weight(shim)
    output = shim.module(torch.ones(1, 2))
    shim.await_gradient()
    shim.finish_update(sgd)
    assert weight(shim) == before
    assert shim.steps == 0
    shim.backward(output, torch.ones(1, 1))
    assert weight(shim) == pytest.approx([value - 1.0 for value in before])
    assert shim.steps == 1
    shim.finish_update(sgd)  # without a gradient
    assert weight(shim) == pytest.approx([value - 1.0 for value in before])


def test_a_step_that_never_came_is_not_made_later() -> None:
    sgd = SGD(1.0, momentum=0.0)
    shim = make()
    shim.await_gradient()
    shim.finish_update(sgd)
    shim.await_gradient()
    before = weight(shim)
    shim.backward(shim.module(torch.ones(1, 2)), torch.ones(1, 1))
    assert weight(shim) == before


def test_a_step_is_made_though_the_last_gradient_never_came() -> None:
    """Of two batches whose gradients add up, a component above has learnt from the first alone."""
    sgd = SGD(1.0, momentum=0.0)
    shim = make()
    before = weight(shim)
    shim.await_gradient()
    shim.backward(shim.module(torch.ones(1, 2)), torch.ones(1, 1))
    shim.await_gradient()
    shim.finish_update(sgd)
    assert weight(shim) == before
    shim.settle()
    assert weight(shim) == pytest.approx([value - 1.0 for value in before])
    assert shim.steps == 1
    shim.settle()
    assert shim.steps == 1


def test_a_step_does_not_wait_for_what_will_not_come() -> None:
    """As where another worker has had the examples that teach."""
    shim = make()
    shim.await_gradient()
    shim.await_nothing()
    shim.finish_update(SGD(1.0))
    assert shim.steps == 1


def test_a_step_is_made_once() -> None:
    """A gradient that comes after it waits for the next time that a step is asked for."""
    sgd = SGD(1.0, momentum=0.0)
    shim = make()
    shim.await_gradient()
    shim.finish_update(sgd)
    shim.backward(shim.module(torch.ones(1, 2)), torch.ones(1, 1))
    before = weight(shim)
    shim.backward(shim.module(torch.ones(1, 2)), torch.ones(1, 1))
    assert weight(shim) == before
    shim.finish_update(sgd)
    assert weight(shim) == pytest.approx([value - 1.0 for value in before])


def test_a_new_network_waits_for_nothing() -> None:
    """A training may have ended while a gradient was awaited."""
    shim = make(frozen_steps=1)
    learn(shim, SGD(1.0))
    shim.await_gradient()
    shim.finish_update(SGD(1.0))
    shim.initialise({"width": 2})
    assert not shim.learns
    shim.finish_update(SGD(1.0))
    assert shim.learns


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda shim: pickle.loads(pickle.dumps(shim))])
def test_copies_are_as_the_original(copied: Callable[[EncoderShim], EncoderShim]) -> None:
    """Also as to where it computes, and how far its training has come."""
    shim = make(frozen_steps=1, warmup_steps=5)
    shim.place("cpu")
    for _ in range(3):
        shim.finish_update(SGD(1.0))
    again = copied(shim)
    assert (again.frozen_steps, again.warmup_steps, again.steps) == (1, 5, 3)
    assert again.learns
    assert again.placement == "cpu"
    assert weight(again) == weight(shim)


def test_copies_wait_for_nothing() -> None:
    """What was computed comes back to the original alone."""
    shim = make()
    output = shim.module(torch.ones(1, 2))
    shim.await_gradient()
    shim.finish_update(SGD(1.0))
    again = copy.deepcopy(shim)
    before = weight(again)
    shim.backward(output, torch.ones(1, 1))
    assert weight(again) == before
    assert learn(again, SGD(1.0, momentum=0.0)) == pytest.approx([1.0, 1.0])
