"""Dropout: when it acts, on how many elements, and what the others become."""

import pytest
import torch

from spacy_flat.nn.layers import Dropout

N = 40_000


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_the_expectation_stays(rate: float) -> None:
    torch.manual_seed(0)
    x = torch.full((4, N // 4), 3.0)
    dropped = Dropout(rate)(x)
    assert (dropped == 0.0).float().mean().item() == pytest.approx(rate, abs=0.02)
    assert dropped[dropped != 0.0].unique().tolist() == pytest.approx([3.0 / (1.0 - rate)], 1e-3)


def test_nothing_is_dropped_at_prediction() -> None:
    x = torch.rand(N)
    assert torch.equal(Dropout(0.5).eval()(x), x)


def test_all_and_nothing() -> None:
    x = torch.rand(7, 3) + 1.0
    assert torch.equal(Dropout(0.0)(x), x)
    assert torch.equal(Dropout(1.0)(x), torch.zeros(7, 3))


def test_gradients_go_where_values_went() -> None:
    x = torch.ones(N, requires_grad=True)
    dropped = Dropout(0.3)(x)
    dropped.sum().backward()
    assert torch.equal(x.grad, dropped.detach())


def test_other_devices_than_the_cpu_draw_by_themselves() -> None:
    """Drawn on the CPU, the elements that stay would be on another device than `x`."""
    dropped = Dropout(0.5)(torch.ones(4, 3, device="meta"))
    assert dropped.device.type == "meta"
