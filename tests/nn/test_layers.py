"""Dropout, the faster linear maps, and encodings of distances."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from spacy_flat.nn import layers as module
from spacy_flat.nn.layers import Dropout, Positions, linear, packed, sinusoids

N = 40_000
WIDTH = 6


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_dropout_keeps_the_expectation(rate: float) -> None:
    torch.manual_seed(0)
    x = torch.full((4, N // 4), 3.0, requires_grad=True)
    dropped = Dropout(rate)(x)
    assert (dropped == 0.0).float().mean().item() == pytest.approx(rate, abs=0.02)
    kept = dropped[dropped != 0.0]
    assert kept.unique().tolist() == pytest.approx([3.0 / (1.0 - rate)] if rate < 1 else [], 1e-3)
    (gradient,) = torch.autograd.grad(dropped.sum(), x)
    torch.testing.assert_close(3 * gradient, dropped.detach())
    assert torch.equal(Dropout(rate).eval()(x), x)


def parts(has_bias: bool) -> tuple[Tensor, Tensor, Tensor | None]:
    torch.manual_seed(0)
    x, weight, bias = (each.requires_grad_() for each in map(torch.randn, SHAPES))
    return x, weight, bias if has_bias else None


SHAPES = [(70, 13), (9, 13), (9,)]


@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("strided", [True, False])
def test_linear_is_that_of_torch(
    has_bias: bool, strided: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MIN_PRODUCTS", 0)
    x, weight, bias = parts(has_bias)
    inputs = [each for each in (x, weight, bias) if each is not None]
    rows, columns = (x[::2], weight.T.contiguous().T) if strided else (x, weight)
    outward = torch.randn(len(rows), 18)[:, 9:]  # as of a `cat`
    found, wanted = linear(rows, columns, bias), functional.linear(rows, columns, bias)
    torch.testing.assert_close(found, wanted)
    ours, theirs = (torch.autograd.grad(each, inputs, outward) for each in (found, wanted))
    torch.testing.assert_close(ours, theirs)
    for n in (1, 70):  # packed weights have products of their own
        with torch.no_grad():
            wanted = functional.linear(x[:n], weight, bias)
            torch.testing.assert_close(linear(x[:n], weight, bias), wanted)
            torch.testing.assert_close(linear(x[:n], packed(weight), bias), wanted)


def test_sinusoids_are_those_of_the_paper() -> None:
    rows = sinusoids(torch.tensor([-3, 0, 5]), WIDTH)
    for row, distance in zip(rows.tolist(), (-3, 0, 5), strict=True):
        angles = [distance / 10000 ** (i / 2) for i in range(3)]
        assert row == pytest.approx([*map(math.sin, angles), *map(math.cos, angles)], abs=1e-6)
    assert sinusoids(torch.tensor([4]), 5)[0, 4] == 0.0


def test_encodings_while_other_threads_need_longer_ones() -> None:
    class Busy(Positions):
        def __getattr__(self, name: str) -> Any:
            found = super().__getattr__(name)
            if name == "cache":
                self._buffers[name] = sinusoids(torch.arange(-len(found), len(found) + 1), WIDTH)
            return found

    positions = Busy(WIDTH)
    for reach in (3, 300, 2):
        assert positions(reach).allclose(Positions(WIDTH)(reach))


def test_row_reach_plus_distance_encodes_distance() -> None:
    positions = Positions(WIDTH)
    for reach in (0, 3, 300, 2, 1, 70):
        expected = sinusoids(torch.arange(-reach, reach + 1), WIDTH)
        assert torch.allclose(positions(reach), expected, atol=1e-4)
