"""What the networks of all components start as."""

import math

import torch
from torch import nn


def check_initial_maps(network: nn.Module) -> None:
    """Every matrix is uniform in ±√(6 / (inputs + outputs)) (Glorot & Bengio 2010, equation 16),
    and every bias is zero."""
    linears = [module for module in network.modules() if isinstance(module, nn.Linear)]
    assert linears
    for linear in linears:
        bound = math.sqrt(6 / (linear.in_features + linear.out_features))
        shares = linear.weight.detach().flatten() / bound
        assert shares.abs().max() <= 1.0
        # Evenly over the whole range: a quarter of the numbers in each quarter of it.
        for low in (-1.0, -0.5, 0.0, 0.5):
            share = ((low <= shares) & (shares < low + 0.5)).float().mean()
            assert abs(share - 0.25) < 3 * math.sqrt(0.25 * 0.75 / len(shares))
        assert torch.equal(linear.bias, torch.zeros_like(linear.bias))
