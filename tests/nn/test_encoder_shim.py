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
    network = torch.nn.Linear(config["width"], 1, bias=False)
    torch.nn.init.zeros_(network.weight)
    return network


def make(**settings: int) -> EncoderShim:
    return EncoderShim(build, {"width": 2}, **settings)


@pytest.fixture
def shim() -> EncoderShim:
    return make()


def weight(shim: EncoderShim) -> list[float]:
    return shim.module.weight.detach().ravel().tolist()  # type: ignore[union-attr, operator, no-any-return]


def finish(shim: EncoderShim) -> None:
    """A step moves the weights by the gradient."""
    shim.finish_update(SGD(1.0, momentum=0.0))


def read(shim: EncoderShim, n: int = 1, fine_tune: bool = True) -> Callable[[], None]:
    """Read n texts in training; what it returns passes a gradient of one back to the weights."""
    # The vectors of no texts depend on no weight.
    output, backprop = shim.compute(
        lambda network: network(torch.ones(n, 2)) if n else torch.zeros(0, 1),
        is_train=True,
        fine_tune=fine_tune,
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


def test_norm_is_of_all_parameters() -> None:
    """A gradient of (1, 1) clipped to the norm 1 is (√½, √½)."""
    sgd = SGD(1.0, momentum=0.0, clip_norm=1.0)
    assert learn(make(), sgd) == pytest.approx([0.5**0.5] * 2, rel=1e-4)


def test_version(shim: EncoderShim) -> None:
    """Another one after each step of a network."""
    empty = EncoderShim(build)
    before, empty_before = shim.version, empty.version
    learn(shim, SGD(1.0))
    finish(empty)
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


def test_a_step_waits_for_its_gradient(shim: EncoderShim) -> None:
    """The weights do not change between what is computed and its gradient."""
    backprop = read(shim)
    finish(shim)
    assert (weight(shim), shim.steps) == ([0, 0], 0)
    backprop()
    assert (weight(shim), shim.steps) == ([-1, -1], 1)
    finish(shim)  # without a gradient
    assert weight(shim) == [-1, -1]


@pytest.mark.parametrize(("frozen", "n", "fine_tune"), [(1, 1, True), (0, 0, True), (0, 1, False)])
def test_nothing_is_awaited_where_nothing_is_learnt(frozen: int, n: int, fine_tune: bool) -> None:
    """In a first step, of texts that are all empty, and without fine-tuning."""
    shim = make(frozen_steps=frozen)
    backprop = read(shim, n, fine_tune)
    finish(shim)
    assert shim.steps == 1
    backprop()
    assert weight(shim) == [0, 0]


def test_a_step_that_never_came_is_not_made_later(shim: EncoderShim) -> None:
    read(shim)
    finish(shim)
    read(shim)()
    assert (weight(shim), shim.steps) == ([0, 0], 0)


def test_gradients_of_two_batches_add_up(shim: EncoderShim) -> None:
    for n in (1, 1, 0):
        read(shim, n)()
    finish(shim)
    assert weight(shim) == [-2, -2]


def test_a_step_is_made_though_the_last_gradient_never_came(shim: EncoderShim) -> None:
    """Of two batches whose gradients add up, a component above has learnt from the first alone."""
    read(shim)()
    read(shim)
    finish(shim)
    assert weight(shim) == [0, 0]
    for _ in range(2):
        read(shim)
        assert (weight(shim), shim.steps) == ([-1, -1], 1)


def test_a_step_does_not_wait_for_what_will_not_come(shim: EncoderShim) -> None:
    """As where another worker has had the examples that teach."""
    read(shim)
    shim.await_nothing()
    finish(shim)
    assert shim.steps == 1


def test_a_step_is_made_once(shim: EncoderShim) -> None:
    """A gradient that comes after it waits for the next time that a step is asked for."""
    first, second = read(shim), read(shim)
    finish(shim)
    first()
    assert weight(shim) == [-1, -1]
    second()
    assert weight(shim) == [-1, -1]
    finish(shim)
    assert weight(shim) == [-2, -2]


def test_a_new_network_waits_for_nothing() -> None:
    """A training may have ended while a gradient was awaited."""
    shim = make(frozen_steps=1)
    learn(shim, SGD(1.0))
    read(shim)
    finish(shim)
    shim.initialise({"width": 2})
    assert not shim.learns
    finish(shim)
    assert shim.learns


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda shim: pickle.loads(pickle.dumps(shim))])
def test_copies_are_as_the_original(copied: Callable[[EncoderShim], EncoderShim]) -> None:
    """Also as to where it computes, and how far its training has come."""
    shim = make(frozen_steps=1, warmup_steps=5)
    shim.to("cpu")
    for _ in range(3):
        learn(shim, SGD(1.0))
    again = copied(shim)
    assert (again.frozen_steps, again.warmup_steps, again.steps) == (1, 5, 3)
    assert again.learns
    assert again.device_name == "cpu"
    assert weight(again) == weight(shim) != [0, 0]


def test_copies_wait_for_nothing(shim: EncoderShim) -> None:
    """What was computed comes back to the original alone."""
    backprop = read(shim)
    finish(shim)
    again = copy.deepcopy(shim)
    backprop()
    assert weight(again) == [0, 0]
    assert learn(again, SGD(1.0, momentum=0.0)) == [1, 1]
