"""The baseline of `translation.py`: torch's own Transformer, trained as in tutorials."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from itertools import count
from random import Random

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from spacy_flat.translator.batch import (
    END,
    START,
    PaddedIds,
    similar_lengths,
)
from spacy_flat.translator.featuriser import TranslationFeaturiser
from spacy_flat.translator.model import IdPair, batches
from spacy_flat.translator.options import Seq2SeqOptions

WARMUP = 400  # steps
RATE = 1e-3  # after them
BATCH = 3000  # characters and pieces, with padding
MAX_RATIO, MARGIN = 2.0, 10  # of the longest translation, as the component's defaults


class PlainTransformer(nn.Module):
    """`nn.Transformer` between two tables of embeddings, with sinusoids and tied output weights."""

    def __init__(self, options: Seq2SeqOptions, encoder: TranslationFeaturiser) -> None:
        super().__init__()
        D = options.width
        self.source = nn.Embedding(encoder.sizes["source"], D)
        self.target = nn.Embedding(encoder.sizes["target"], D)
        for table in (self.source, self.target):
            nn.init.normal_(table.weight, std=D**-0.5)
        self.transformer = nn.Transformer(
            D,
            options.num_heads,
            options.encoder_layers,
            options.decoder_layers,
            options.ff_width,
            options.dropout,
            batch_first=True,
            norm_first=options.norm == "pre",
        )
        self.dropout = nn.Dropout(options.dropout)

    def forward(self, source: PaddedIds, target: Tensor, present: Tensor) -> Tensor:
        """[B, T, ids] scores of what follows each place of the target."""
        reads = torch.from_numpy(source.ids)
        absent = torch.from_numpy(~source.present)
        T = target.shape[1]
        hidden = self.transformer(
            self.embed(self.source, reads),
            self.embed(self.target, target),
            tgt_mask=torch.ones(T, T).triu(1).bool(),
            src_key_padding_mask=absent,
            tgt_key_padding_mask=~present,
            memory_key_padding_mask=absent,
        )
        return hidden @ self.target.weight.T

    def embed(self, table: nn.Embedding, keys: Tensor) -> Tensor:
        D = table.embedding_dim
        rates = torch.exp(torch.arange(0, D, 2) * (-math.log(10000.0) / D))
        angles = torch.arange(keys.shape[1])[:, None] * rates
        return self.dropout(table(keys) * D**0.5 + torch.cat([angles.sin(), angles.cos()], dim=1))


def train(
    options: Seq2SeqOptions,
    encoder: TranslationFeaturiser,
    pairs: Sequence[IdPair],
    seconds: float,
) -> PlainTransformer:
    """Train for so many seconds."""
    torch.manual_seed(1)
    network = PlainTransformer(options, encoder)
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE, betas=(0.9, 0.98), eps=1e-9)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / WARMUP, (WARMUP / (step + 1)) ** 0.5)
    )
    all_batches = list(batches(pairs, BATCH))
    end = time.process_time() + seconds
    for step in count():
        if time.process_time() > end:
            return network.eval()
        if step % len(all_batches) == 0:
            Random(step).shuffle(all_batches)
        batch = all_batches[step % len(all_batches)]
        present = torch.from_numpy(batch.inputs.present)
        scores = network(batch.source, torch.from_numpy(batch.inputs.ids), present)[present]
        gold = torch.from_numpy(batch.targets)
        loss = cross_entropy(scores, gold, label_smoothing=options.label_smoothing)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    raise AssertionError


@torch.inference_mode()
def translate(
    network: PlainTransformer, encoder: TranslationFeaturiser, texts: Sequence[str]
) -> list[str]:
    """The most probable piece each time, without a cache."""
    sources = [encoder.source_ids(text) for text in texts]
    found = [""] * len(texts)
    for rows in similar_lengths([sources], BATCH):
        source = PaddedIds.of([sources[row] for row in rows])
        ids = torch.full((len(rows), 1), START)
        for _ in range(int(MAX_RATIO * source.ids.shape[1]) + MARGIN):
            scores = network(source, ids, torch.ones_like(ids).bool())[:, -1]
            ids = torch.cat([ids, scores.argmax(1, keepdim=True)], dim=1)
            if (ids == END).any(dim=1).all():
                break
        for row, own in zip(rows, ids[:, 1:].tolist(), strict=True):
            written = own[: own.index(END)] if END in own else own
            stretches = encoder.stretches(written)
            found[row] = "".join(each for each in stretches if isinstance(each, str))
    return found
