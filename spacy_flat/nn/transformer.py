"""Layers of a Transformer, and the encodings that its attention may go by."""

from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from .dropout import Dropout

ACTIVATIONS = {"relu": nn.ReLU, "leaky_relu": nn.LeakyReLU, "gelu": nn.GELU}


class TransformerLayer(nn.Module):
    """Attention and feed-forward, each with a normalisation (Vaswani et al., 2017).

    attention: called as attention(nodes [B, L, D], n_queries, …) → [B, Q, D], where the first Q
        nodes are the queries.
    ff: the feed-forward layer is this many times as wide.
    norm: "post", behind the sum of a sublayer's input and output, or "pre", before the sublayer.
    residual: False leaves out that sum, and LayerNorm(sublayer(x)) is left ("post" only).
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
