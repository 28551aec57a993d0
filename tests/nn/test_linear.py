"""The faster product gives what torch's own does."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from spacy_flat.nn import layers as module
from spacy_flat.nn.layers import Linear, linear, packed


@pytest.fixture(autouse=True)
def _small_ones_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST_PRODUCTS", 0)


def parts(has_bias: bool) -> tuple[Tensor, Tensor, Tensor | None]:
    torch.manual_seed(0)
    x, weight, bias = torch.randn(70, 13), torch.randn(9, 13), torch.randn(9)
    for each in (x, weight, bias):
        each.requires_grad_()
    return x, weight, bias if has_bias else None


@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("strided", [True, False])
def test_values_and_gradients(has_bias: bool, strided: bool) -> None:
    x, weight, bias = parts(has_bias)
    inputs = [each for each in (x, weight, bias) if each is not None]
    rows, columns = (x[::2], weight.T.contiguous().T) if strided else (x, weight)
    outward = torch.randn(len(rows), 18)[:, 9:]  # as of a `cat`
    found, wanted = linear(rows, columns, bias), functional.linear(rows, columns, bias)
    torch.testing.assert_close(found, wanted)
    gradients = (torch.autograd.grad(each, inputs, outward) for each in (found, wanted))
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_a_layer_is_a_layer_of_torch() -> None:
    layer = Linear(13, 9)
    x = torch.randn(70, 13)
    torch.testing.assert_close(layer(x), functional.linear(x, layer.weight, layer.bias))


def test_frozen_inputs_get_no_gradient() -> None:
    x, weight, bias = parts(has_bias=True)
    linear(x.detach(), weight, bias).sum().backward()
    assert x.grad is None
    assert weight.grad is not None


@pytest.mark.parametrize("n", [1, 70])
@pytest.mark.parametrize("has_bias", [True, False])
def test_without_gradients(n: int, has_bias: bool) -> None:
    """A single row, and packed weights, have products of their own."""
    x, weight, bias = parts(has_bias)
    with torch.no_grad():
        wanted = functional.linear(x[:n], weight, bias)
        torch.testing.assert_close(linear(x[:n], weight, bias), wanted)
        torch.testing.assert_close(linear(x[:n], packed(weight), bias), wanted)
