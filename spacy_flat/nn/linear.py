"""Linear maps of many rows, by the faster of the CPU's two libraries.

torch computes products of float32 matrices by MKL, which on AMD's processors leaves half of their
speed unused; oneDNN, which torch has for convolutions, does not.
"""

from typing import Any

import torch
from torch import Tensor, nn

# Below, finding oneDNN's code for a shape costs more than it saves.
LEAST_PRODUCTS = 1 << 25

_ONEDNN: bool = torch.backends.mkldnn.is_available() and hasattr(  # type: ignore[no-untyped-call]
    torch.ops.mkldnn, "_linear_pointwise"
)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """[R, D] rows times [K, D] → [R, K], as `torch.nn.functional.linear`."""
    products = x.shape[0] * weight.numel()
    is_plain = x.device.type == "cpu" and x.dtype == weight.dtype == torch.float32
    if _ONEDNN and is_plain and products >= LEAST_PRODUCTS:
        found: Tensor = _Linear.apply(x.contiguous(), weight.contiguous(), bias)  # type: ignore[no-untyped-call]
        return found
    return nn.functional.linear(x, weight, bias)


class Linear(nn.Linear):
    """`torch.nn.Linear` for rows [R, D]."""

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight, self.bias)


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _product(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        gradient = gradient.contiguous()  # oneDNN is slow with parts of wider rows
        of_x, of_weight, of_bias = ctx.needs_input_grad
        return (
            _product(gradient, weight.T) if of_x else None,
            _product(gradient.T, x.T) if of_weight else None,
            gradient.sum(0) if of_bias else None,
        )


def _product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return product
