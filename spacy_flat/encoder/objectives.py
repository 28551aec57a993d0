"""What an encoder is pretrained to do, as plain torch modules with a loss.

Shapes: B blocks, C characters with marks, D width, K keys, M masked characters, S samples.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .network import (
    EPSILON,
    Bert,
    EncoderSizes,
    TwoWayLSTM,
    embedding_width,
    make_linear,
)
from .options import PretrainOptions

REPLACED_WEIGHT = 50.0  # of the discriminator's loss (Clark et al., 2020)


@dataclass(frozen=True)
class PretrainBatch:
    """Blocks of raw text; without masks M is 0.

    keys: [B, C] as an encoder reads them.
    places: [M] of the masked ones in the flat keys; originals: [M] what stood there.
    """

    keys: Tensor
    places: Tensor
    originals: Tensor


class MaskedHead(nn.Module):
    """Scores of all keys for some characters; the embeddings are the output layer's weights."""

    def __init__(self, width: int, keys: int) -> None:
        super().__init__()
        self.transform = nn.ModuleDict(
            {"dense": make_linear(width, width), "LayerNorm": nn.LayerNorm(width, eps=EPSILON)}
        )
        self.bias = nn.Parameter(torch.zeros(keys))

    def forward(self, hidden: Tensor, table: Tensor) -> Tensor:
        """[M, D], [K, D] → [M, K]."""
        x = nn.functional.gelu(self.transform["dense"](hidden))
        return nn.functional.linear(self.transform["LayerNorm"](x), table, self.bias)


class MaskedLM(nn.Module):
    """Masked characters are told from those around them (Devlin et al., 2019). Only what is masked
    goes through the output layer."""

    def __init__(self, sizes: EncoderSizes, options: PretrainOptions) -> None:
        super().__init__()
        self.encoder = Bert(sizes, options.dropout)
        self.head = MaskedHead(sizes.width, sizes.keys)

    def forward(self, batch: PretrainBatch) -> Tensor:
        """The mean loss of a masked character."""
        hidden = self.encoder(batch.keys)[-1].flatten(0, 1)[batch.places]
        scores = self.head(hidden, self.encoder.embeddings.word_embeddings.weight)
        return nn.functional.cross_entropy(scores.float(), batch.originals)


class ReplacedTokens(nn.Module):
    """Characters that a small generator wrote over the masked ones are found (Clark et al., 2020).
    The two share their embeddings."""

    def __init__(self, sizes: EncoderSizes, options: PretrainOptions) -> None:
        super().__init__()
        self.encoder = Bert(sizes, options.dropout)
        self.head = nn.ModuleDict(
            {
                "dense": make_linear(sizes.width, sizes.width),
                "dense_prediction": make_linear(sizes.width, 1),
            }
        )
        smaller = EncoderSizes(**{**sizes.to_json(), "layers": options.generator_layers})
        self.generator = Bert(smaller, options.dropout)
        self.generator.embeddings = self.encoder.embeddings
        self.generator_head = MaskedHead(sizes.width, sizes.keys)

    def forward(self, batch: PretrainBatch) -> Tensor:
        """The generator's loss of a masked character, and the weighted one of a character's being
        its own or not."""
        table = self.encoder.embeddings.word_embeddings.weight
        hidden = self.generator(batch.keys)[-1].flatten(0, 1)[batch.places]
        scores = self.generator_head(hidden, table).float()
        told = nn.functional.cross_entropy(scores, batch.originals)
        written = torch.multinomial(scores.detach().softmax(1), 1)[:, 0]
        keys = batch.keys.flatten().index_copy(0, batch.places, written).view_as(batch.keys)
        is_replaced = torch.zeros(keys.numel(), device=keys.device)
        is_replaced[batch.places] = (written != batch.originals).float()
        x = nn.functional.gelu(self.head["dense"](self.encoder(keys)[-1]))
        found = self.head["dense_prediction"](x).float().flatten()
        replaced = nn.functional.binary_cross_entropy_with_logits(found, is_replaced)
        return told + REPLACED_WEIGHT * replaced


class TwoWayLM(nn.Module):
    """The next character is told from those before, and the one before from those that follow.

    In training it is told apart from S characters drawn as if frequencies were log-uniform in the
    order of the keys, which is that of their counts but for the marks. Each is weighed by how
    rarely it is drawn, so that their sum estimates that of all others (importance sampling: Bengio
    & Senécal, 2008). Evaluated, it is told from all.
    """

    def __init__(self, sizes: EncoderSizes, options: PretrainOptions) -> None:
        super().__init__()
        self.samples = options.samples
        self.width = sizes.width
        self.encoder = TwoWayLSTM(sizes, options.dropout)
        self.forward_head = make_linear(sizes.width, embedding_width(sizes))
        self.backward_head = make_linear(sizes.width, embedding_width(sizes))
        self.bias = nn.Parameter(torch.zeros(sizes.keys))

    def forward(self, batch: PretrainBatch) -> Tensor:
        """The mean loss of a character, and of both directions."""
        left, right = self.encoder(batch.keys)[-1].split(self.width, dim=2)
        following = self.forward_head(left[:, :-1]).flatten(0, 1)
        previous = self.backward_head(right[:, 1:]).flatten(0, 1)
        hidden = torch.cat([following, previous])
        targets = torch.cat([batch.keys[:, 1:].flatten(), batch.keys[:, :-1].flatten()])
        return self._loss(hidden, targets)

    def _loss(self, hidden: Tensor, targets: Tensor) -> Tensor:
        table, keys = self.encoder.embeddings.weight, len(self.bias)
        if not self.training or not 0 < self.samples < keys:
            scores = nn.functional.linear(hidden, table, self.bias)
            return nn.functional.cross_entropy(scores.float(), targets)
        draws = torch.rand(self.samples, device=hidden.device)
        sampled = ((draws * math.log(keys + 1)).exp() - 1).long().clamp(0, keys - 1)
        own = (hidden * table[targets]).sum(1) + self.bias[targets]
        offset = self.bias[sampled] - self._log_expected(sampled)
        others = nn.functional.linear(hidden, table[sampled], offset).float()
        others = others.masked_fill(sampled == targets[:, None], -math.inf)
        scores = torch.cat([own.float()[:, None], others], dim=1)
        return (scores.logsumexp(1) - own.float()).mean()

    def _log_expected(self, keys: Tensor) -> Tensor:
        """How often keys are expected among the samples, as logarithms."""
        share = torch.log1p(1 / (keys + 1.0)) / math.log(len(self.bias) + 1)
        return (self.samples * share).log()


OBJECTIVES: dict[str, type[MaskedLM] | type[ReplacedTokens] | type[TwoWayLM]] = {
    "mlm": MaskedLM,
    "electra": ReplacedTokens,
    "lm": TwoWayLM,
}
