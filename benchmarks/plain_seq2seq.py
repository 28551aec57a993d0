"""The baseline of `translation.py`: torch's own Transformer, trained as in tutorials."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from random import Random

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from spacy_flat.translator.batch import PaddedIds, TranslationBatch, similar_lengths
from spacy_flat.translator.featuriser import TranslationFeaturiser
from spacy_flat.translator.ids import END, START
from spacy_flat.translator.model import IdPair
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
        """[B, T, keys] scores of what follows each place of the target."""
        reads = torch.from_numpy(source.keys)
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
) -> tuple[PlainTransformer, int]:
    """Train for so many seconds. Returns the network and the number of steps."""
    torch.manual_seed(1)
    network = PlainTransformer(options, encoder)
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE, betas=(0.9, 0.98), eps=1e-9)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / WARMUP, (WARMUP / (step + 1)) ** 0.5)
    )
    end = time.process_time() + seconds
    steps = 0
    for batch in batches(pairs):
        if time.process_time() > end:
            break
        present = torch.from_numpy(batch.inputs.present)
        scores = network(batch.source, torch.from_numpy(batch.inputs.keys), present)[present]
        gold = torch.from_numpy(batch.targets)
        loss = cross_entropy(scores, gold, label_smoothing=options.label_smoothing)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        steps += 1
    return network.eval(), steps


def batches(pairs: Sequence[IdPair]) -> Iterator[TranslationBatch]:
    """Pairs of like lengths together, in another order each time, without end."""
    chance = Random(1)
    lengths = np.array([[len(pair.source), len(pair.target)] for pair in pairs])
    rows = list(similar_lengths(lengths, BATCH))
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    while True:
        chance.shuffle(rows)
        yield from (TranslationBatch.of(own, sources, targets) for own in rows)


@torch.inference_mode()
def translate(
    network: PlainTransformer, encoder: TranslationFeaturiser, texts: Sequence[str]
) -> list[str]:
    """The most probable piece each time, without a cache."""
    sources = [encoder.source_ids(text) for text in texts]
    lengths = np.array([[len(source)] for source in sources])
    found = [""] * len(texts)
    for rows in similar_lengths(lengths, BATCH):
        source = PaddedIds.of([sources[row] for row in rows])
        keys = torch.full((len(rows), 1), START)
        for _ in range(int(MAX_RATIO * source.keys.shape[1]) + MARGIN):
            scores = network(source, keys, torch.ones_like(keys).bool())[:, -1]
            keys = torch.cat([keys, scores.argmax(1, keepdim=True)], dim=1)
            if (keys == END).any(dim=1).all():
                break
        for row, own in zip(rows, keys[:, 1:].tolist(), strict=True):
            found[row] = encoder.spell(own[: own.index(END)] if END in own else own, ())[0]
    return found
