"""The objectives of pretraining, as torch modules that return their loss.

Shapes: B blocks, C characters with marks, D width, K keys, M masked characters, S samples.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .network import EPSILON, Bert, EncoderSizes, TwoWayLSTM, embedding_width, make_linear
from .options import PretrainOptions

REPLACED_WEIGHT = 50.0  # of the discriminator's loss (Clark et al., 2020)


@dataclass(frozen=True)
class PretrainBatch:
    """Blocks of raw text.

    keys: [B, C]. places: [M] of masked characters in the flat keys. originals: [M] their keys.
    """

    keys: Tensor
    places: Tensor
    originals: Tensor


class MaskedHead(nn.Module):
    """Scores of all keys; the embeddings are the output layer's weights."""

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
    """Predicts masked characters (Devlin et al., 2019)."""

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
    """Detects characters that a small generator put in place of masked ones (Clark et al., 2020).
    The two share their embeddings."""

    def __init__(self, sizes: EncoderSizes, options: PretrainOptions) -> None:
        super().__init__()
        self.encoder = Bert(sizes, options.dropout)
        dense, prediction = make_linear(sizes.width, sizes.width), make_linear(sizes.width, 1)
        self.head = nn.ModuleDict({"dense": dense, "dense_prediction": prediction})
        smaller = EncoderSizes(**{**sizes.to_json(), "layers": options.generator_layers})
        self.generator = Bert(smaller, options.dropout)
        self.generator.embeddings = self.encoder.embeddings
        self.generator_head = MaskedHead(sizes.width, sizes.keys)

    def forward(self, batch: PretrainBatch) -> Tensor:
        """The generator's loss per masked character, plus the weighted loss of detection."""
        table = self.encoder.embeddings.word_embeddings.weight
        hidden = self.generator(batch.keys)[-1].flatten(0, 1)[batch.places]
        scores = self.generator_head(hidden, table).float()
        reconstruction = nn.functional.cross_entropy(scores, batch.originals)
        written = torch.multinomial(scores.detach().softmax(1), 1)[:, 0]
        keys = batch.keys.flatten().index_copy(0, batch.places, written).view_as(batch.keys)
        is_replaced = torch.zeros(keys.numel(), device=keys.device)
        is_replaced[batch.places] = (written != batch.originals).float()
        x = nn.functional.gelu(self.head["dense"](self.encoder(keys)[-1]))
        found = self.head["dense_prediction"](x).float().flatten()
        replaced = nn.functional.binary_cross_entropy_with_logits(found, is_replaced)
        return reconstruction + REPLACED_WEIGHT * replaced


class TwoWayLM(nn.Module):
    """Predicts the next and the previous character.

    In training the softmax is over S samples, log-uniform in the order of the keys, which is that
    of their counts, with importance weights (Bengio & Senécal, 2008). In evaluation it is over all.
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
        """The mean loss per character, over both directions."""
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
        """Log of the expected counts among the samples."""
        share = torch.log1p(1 / (keys + 1.0)) / math.log(len(self.bias) + 1)
        return (self.samples * share).log()


OBJECTIVES: dict[str, type[MaskedLM] | type[ReplacedTokens] | type[TwoWayLM]] = {
    "mlm": MaskedLM,
    "electra": ReplacedTokens,
    "lm": TwoWayLM,
}
