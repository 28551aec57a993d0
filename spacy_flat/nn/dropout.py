"""Dropout with fewer random draws."""

import torch
from torch import Tensor, nn

_LEVELS = 1 << 16


class Dropout(nn.Module):
    """Zero elements with probability `rate`, scale the others so that the expectation stays.

    On a CPU the random numbers are most of what dropout costs. 16 bits an element are
    enough: the rate is kept to within 1 / 65536, and a draw of 64 bits serves four elements.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.threshold = round(rate * _LEVELS)

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.threshold == 0:
            return x
        if x.device.type != "cpu" or self.threshold == _LEVELS:
            return nn.functional.dropout(x, self.rate)
        draws = torch.empty(x.numel() // 4 + 1, dtype=torch.int64)
        bits = draws.random_(-(2**63), None).view(torch.int16)[: x.numel()].view(x.shape)
        kept = bits >= self.threshold - _LEVELS // 2
        return x * (kept.to(x.dtype) * (_LEVELS / (_LEVELS - self.threshold)))
