"""The baseline of `translation.py`: torch's own Transformer, trained as in tutorials."""

import time
from collections.abc import Sequence
from random import Random

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from spacy_flat.nn.layers import sinusoids
from spacy_flat.translator.batch import END, START, PaddedIds, similar_lengths
from spacy_flat.translator.featuriser import TranslationFeaturiser
from spacy_flat.translator.model import IdPair, batches
from spacy_flat.translator.options import Seq2SeqOptions

WARMUP = 400  # steps
RATE = 1e-3  # after them
BATCH = 3000  # characters and pieces, with padding


class PlainTransformer(nn.Module):
    """`nn.Transformer` between two tables of embeddings, with sinusoids and tied output weights."""

    def __init__(self, options: Seq2SeqOptions, encoder: TranslationFeaturiser) -> None:
        super().__init__()
        D = options.width
        self.source = nn.Embedding(encoder.sizes["source"], D)
        self.target = nn.Embedding(encoder.sizes["target"], D)
        for table in (self.source, self.target):
            nn.init.normal_(table.weight, std=D**-0.5)
        sizes = (D, options.num_heads, options.encoder_layers, options.decoder_layers)
        self.transformer = nn.Transformer(
            *(*sizes, options.ff_width, options.dropout),
            batch_first=True,
            norm_first=options.norm == "pre",
        )
        self.dropout = nn.Dropout(options.dropout)

    def forward(self, source: PaddedIds, target: Tensor) -> Tensor:
        """[B, T, ids] scores of what follows each place of the target."""
        absent = torch.from_numpy(~source.present)
        T = target.shape[1]
        hidden = self.transformer(
            self.embed(self.source, torch.from_numpy(source.ids)),
            self.embed(self.target, target),
            tgt_mask=torch.ones(T, T).triu(1).bool(),
            src_key_padding_mask=absent,
            memory_key_padding_mask=absent,
        )
        return hidden @ self.target.weight.T

    def embed(self, table: nn.Embedding, ids: Tensor) -> Tensor:
        D = table.embedding_dim
        positions = sinusoids(torch.arange(ids.shape[1]), D)
        return self.dropout(table(ids) * D**0.5 + positions)


def train(
    options: Seq2SeqOptions, encoder: TranslationFeaturiser, pairs: Sequence[IdPair], seconds: float
) -> PlainTransformer:
    """Train for so many seconds."""
    torch.manual_seed(1)
    network = PlainTransformer(options, encoder)
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE, betas=(0.9, 0.98), eps=1e-9)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / WARMUP, (WARMUP / (step + 1)) ** 0.5)
    )
    chance = Random(1)
    every_batch = list(batches(pairs, BATCH))
    end = time.process_time() + seconds
    while time.process_time() < end:
        batch = chance.choice(every_batch)
        scores = network(batch.source, torch.from_numpy(batch.inputs.ids))
        found = scores[torch.from_numpy(batch.inputs.present)]
        gold = torch.from_numpy(batch.targets)
        optimizer.zero_grad()
        cross_entropy(found, gold, label_smoothing=options.label_smoothing).backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return network.eval()


@torch.inference_mode()
def translate(
    network: PlainTransformer, encoder: TranslationFeaturiser, texts: Sequence[str]
) -> list[str]:
    """The most probable piece each time, without a cache; lengths as the component's defaults."""
    sources = [encoder.source_ids([text]) for text in texts]
    found = [""] * len(texts)
    for rows in similar_lengths([sources], BATCH):
        source = PaddedIds.of([sources[row] for row in rows])
        ids = torch.full((len(rows), 1), START)
        for _ in range(2 * source.ids.shape[1] + 10):
            best = network(source, ids)[:, -1].argmax(1, keepdim=True)
            ids = torch.cat([ids, best], dim=1)
            if (ids == END).any(dim=1).all():
                break
        for row, own in zip(rows, ids[:, 1:].tolist(), strict=True):
            stretches = encoder.stretches(own[: own.index(END)] if END in own else own)
            found[row] = "".join(each for each in stretches if isinstance(each, str))
    return found
