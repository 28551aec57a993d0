"""Layers that several networks share: dropout, linear maps, position encodings, Transformers."""

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

_LEVELS = 1 << 16

# Below, finding oneDNN's code for a shape costs more than it saves.
MIN_PRODUCTS = 1 << 25

_ONEDNN: bool = torch.backends.mkldnn.is_available() and all(  # type: ignore[no-untyped-call]
    hasattr(torch.ops.mkldnn, name) for name in ("_linear_pointwise", "_reorder_linear_weight")
)

ACTIVATIONS = {"relu": nn.ReLU, "leaky_relu": nn.LeakyReLU, "gelu": nn.GELU}


class Dropout(nn.Module):
    """Zero elements with probability `rate`, scale the others so that the expectation stays.

    On a CPU most of dropout's cost is random numbers. 16 bits an element keep the rate to within
    1 / 65536, so a draw of 64 bits serves four elements. torch's own dropout makes a training step
    of FLAT with ten sentences of 40 characters an eighth slower.
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
        # Numbers at once, scaled in place: half the time of truth values.
        kept = torch.ge(bits, self.threshold - _LEVELS // 2, out=x.new_empty(x.shape))
        return x * kept.mul_(_LEVELS / (_LEVELS - self.threshold))


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """[R, D] rows times [K, D] → [R, K], as `torch.nn.functional.linear`. On a CPU, large products
    use oneDNN, which is twice as fast as torch's MKL on AMD's processors, and a single row uses
    numpy, which is up to four times as fast.

    weight: [K, D], or what `packed` returned.
    """
    if weight.is_mkldnn:
        return _product(x.contiguous(), weight, bias)
    is_plain = x.device.type == "cpu" and x.dtype == weight.dtype == torch.float32
    if is_plain and len(x) == 1 and not torch.is_grad_enabled():
        row = torch.from_numpy(x.detach().numpy() @ weight.detach().numpy().T)
        return row if bias is None else row.add_(bias)
    products = x.shape[0] * weight.numel()
    if _ONEDNN and is_plain and products >= MIN_PRODUCTS:
        found: Tensor = _Linear.apply(x.contiguous(), weight.contiguous(), bias)  # type: ignore[no-untyped-call]
        return found
    return nn.functional.linear(x, weight, bias)


@torch.no_grad()
def packed(weight: Tensor) -> Tensor:
    """A weight [K, D] for repeated calls of `linear` without gradients: in oneDNN's own layout, so
    that it isn't copied at each call; unchanged where oneDNN is missing."""
    if not _ONEDNN or weight.device.type != "cpu" or weight.dtype != torch.float32:
        return weight
    found: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight)
    return found


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
    """Encodings of the distances from -reach to reach, for any reach.

    learnable: train distances up to `trained_reach`, starting from the sinusoids.
    normalise: scale encodings to unit length.
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
            # Doubling keeps recomputations rare over a stream of texts.
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


class TransformerLayer(nn.Module):
    """Attention and feed-forward, each with a normalisation (Vaswani et al., 2017).

    attention: called as attention(nodes [B, L, D], n_queries, …) → [B, Q, D], where the first Q
        nodes are the queries.
    ff: the feed-forward layer is this many times as wide.
    norm: "post", after the sum of a sublayer's input and output, or "pre", before the sublayer.
    residual: False omits that sum: LayerNorm(sublayer(x)) ("post" only).
    """

    def __init__(
        self,
        attention: nn.Module,
        width: int,
        *,
        ff: int,
        activation: str,
        dropout: float,
        norm: str = "post",
        residual: bool = True,
    ) -> None:
        super().__init__()
        self.attention = attention
        self.norm = norm
        self.residual = residual
        self.attention_norm = nn.LayerNorm(width)
        self.ff = nn.Sequential(
            nn.Linear(width, ff * width),
            ACTIVATIONS[activation](),
            Dropout(dropout),
            nn.Linear(ff * width, width),
            Dropout(dropout),
        )
        self.ff_norm = nn.LayerNorm(width)

    def forward(self, nodes: Tensor, n_queries: int, *context: Any) -> Tensor:
        """[B, L, D] → [B, Q, D]. context: what else the attention takes."""
        queries = nodes[:, :n_queries]
        if self.norm == "pre":
            x = queries + self.attention(self.attention_norm(nodes), n_queries, *context)
            return x + self.ff(self.ff_norm(x))  # type: ignore[no-any-return]
        attended = self.attention(nodes, n_queries, *context)
        x = self.attention_norm(queries + attended if self.residual else attended)
        fed = self.ff(x)
        return self.ff_norm(x + fed if self.residual else fed)  # type: ignore[no-any-return]


def linears(module: nn.Module) -> Iterator[nn.Linear]:
    """All linear maps of a network."""
    return (part for part in module.modules() if isinstance(part, nn.Linear))
