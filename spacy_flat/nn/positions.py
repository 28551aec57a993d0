"""Encodings of signed distances, without a maximum length."""

import math

import torch
from torch import Tensor, nn


def sinusoids(distances: Tensor, width: int) -> Tensor:
    """Encode signed distances as sines and cosines (Vaswani et al., 2017, section 3.5).

    The first half of the encoding holds the sines, the second half the cosines, as in the
    released code of TENER and FLAT. An odd width ends with a zero.

    distances: [N] whole numbers of any size and sign.
    Returns [N, width], float32.
    """
    half = width // 2
    rates = torch.exp(
        torch.arange(half, device=distances.device) * (-math.log(10000.0) / max(half - 1, 1))
    )
    angles = distances.to(torch.float32)[:, None] * rates
    return nn.functional.pad(torch.cat([angles.sin(), angles.cos()], dim=1), (0, width % 2))


class Positions(nn.Module):
    """The encoding of every distance from -reach to reach, for any reach.

    learnable: distances up to `trained_reach` are trained, starting from the sinusoids; farther
    ones stay sinusoids.
    normalise: scale every encoding to unit length.
    """

    cache: Tensor  # [2 * reach + 1, D], the sinusoids made so far

    def __init__(
        self,
        width: int,
        *,
        learnable: bool = False,
        normalise: bool = False,
        trained_reach: int = 128,
    ) -> None:
        super().__init__()
        self.width = width
        self.normalise = normalise
        self.trained_reach = trained_reach
        self.trained: nn.Parameter | None = None
        if learnable:
            near = torch.arange(-trained_reach, trained_reach + 1)
            self.trained = nn.Parameter(sinusoids(near, width))
        self.register_buffer("cache", torch.zeros(0, width), persistent=False)

    def forward(self, reach: int) -> Tensor:
        """Returns [2 * reach + 1, D]: row `reach + distance` encodes `distance`."""
        table = self._fixed(reach)
        if self.trained is not None:
            table = self._with_trained(table, reach)
        if self.normalise:
            table = nn.functional.normalize(table, dim=1)
        return table

    def _fixed(self, reach: int) -> Tensor:
        cache = self.cache
        cached_reach = (len(cache) - 1) // 2
        if cached_reach < reach:
            # Doubling keeps the number of recomputations small over a stream of texts.
            cached_reach = max(64, 2 * reach)
            distances = torch.arange(-cached_reach, cached_reach + 1, device=cache.device)
            with torch.no_grad():
                cache = self.cache = sinusoids(distances, self.width).to(cache.dtype)
        return cache[cached_reach - reach : cached_reach + reach + 1]

    def _with_trained(self, table: Tensor, reach: int) -> Tensor:
        assert self.trained is not None
        near = self.trained_reach
        if reach <= near:
            return self.trained[near - reach : near + reach + 1]
        return torch.cat([table[: reach - near], self.trained, table[reach + near + 1 :]])
