"""Vectors of words whose sums are near the vectors that zh_re2_questions_trf has for whole texts.

    python assets/release/e5/vectors.py PIPELINE OUT --words VECTORS --texts PAIRS.spacy --raw TEXT

A word's vector starts as the pipeline's vector of the word alone. Training on some 280,000
questions and sentences makes sums of words as near to one another as the pipeline's vectors of the
texts are. A vector's length is the word's weight in a sum. With a GPU it takes a minute, without
one hours.

Shapes: N texts, V words, D width.
"""

import argparse
import gzip
import random
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import jieba
import numpy as np
import spacy
import torch
from numpy.typing import NDArray
from spacy.tokens import DocBin
from torch import Tensor, nn
from torch.nn.functional import kl_div, log_softmax, normalize, softmax

from spacy_flat.similarity.index import encode_texts
from spacy_flat.similarity.pairs import SEPARATOR
from spacy_flat.util.files import read_text_lines
from spacy_flat.vectors import read_vectors

Floats = NDArray[np.float32]

WIDTH = 128
RARE = 1e-3  # the probability of a word at which its weight is a half (Arora et al., 2017)
EPOCHS, BATCH, RATE = 15, 1024, 1e-3
TEMPERATURE = 0.05  # of similarities within a batch
SPREAD = 0.4  # standard deviation of the numbers, as of word2vec's


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipeline", help="with a re2_similarity on a transformer")
    parser.add_argument("out", type=Path, help="the file of vectors to write, .gz")
    parser.add_argument("--words", type=Path, required=True, help="vectors with the words to learn")
    parser.add_argument("--texts", type=Path, nargs="*", default=[], help=".spacy files of pairs")
    parser.add_argument("--raw", type=Path, nargs="*", default=[], help="raw text to draw from")
    arguments = parser.parse_args()
    spacy.prefer_gpu()
    torch.manual_seed(1)
    rng = random.Random(1)
    texts = [
        *(text for path in arguments.texts for text in questions(path)),
        *(text for path in arguments.raw for text in sentences(path, 50_000, rng)),
    ]
    texts = [*dict.fromkeys(filter(None, texts))]
    rng.shuffle(texts)
    pipe: Any = spacy.load(arguments.pipeline).get_pipe("re2_similarity")
    words = list(read_vectors(arguments.words).keys)
    alone, whole = (encode_texts(pipe, own).vectors.astype(np.float32) for own in (words, texts))
    learnt = learn(words, alone, texts, whole)
    with gzip.open(arguments.out, "wt", encoding="utf-8") as file:
        file.write(f"{len(words)} {WIDTH}\n")
        for word, row in zip(words, learnt, strict=True):
            file.write(f"{word} {' '.join(f'{number:.3f}' for number in row)}\n")


def questions(path: Path) -> list[str]:
    """Distinct texts of pairs."""
    docs = DocBin().from_disk(path).get_docs(spacy.blank("zh").vocab)
    return sorted({text.strip() for doc in docs for text in doc.text.split(SEPARATOR)})


def sentences(path: Path, most: int, rng: random.Random) -> list[str]:
    """Distinct clauses of 5 to 26 characters, at most two from a line."""
    found = set()
    for _, line in read_text_lines(path):
        clauses = [each.strip() for each in re.split("[。！？；，]", line)]
        own = [each for each in clauses if 5 <= len(each) <= 26]
        found.update(rng.sample(own, min(2, len(own))))
    return rng.sample(sorted(found), min(most, len(found)))


def learn(words: Sequence[str], alone: Floats, texts: Sequence[str], whole: Floats) -> Floats:
    """[V, D] and [N, D] vectors of the model → [V, WIDTH]."""
    whole = whole - whole.mean(0)
    axes = np.linalg.eigh(whole.T @ whole)[1][:, ::-1][:, :WIDTH].copy()
    targets = normalize(torch.from_numpy(whole @ axes), dim=1)
    weights = RARE / (RARE + frequencies(words))
    sums = nn.EmbeddingBag(len(words), WIDTH, mode="sum")
    sums.weight.data = torch.from_numpy((alone - alone.mean(0)) @ axes * weights[:, None]).float()
    numbers = {word: number for number, word in enumerate(words)}
    keys = [keys_of(text, numbers) for text in texts]
    rows = np.array([number for number, own in enumerate(keys) if own])
    steps = EPOCHS * (len(rows) // BATCH)
    optimizer = torch.optim.Adam(sums.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, steps)
    for epoch in range(EPOCHS):
        np.random.default_rng(epoch).shuffle(rows)
        for start in range(0, len(rows) - BATCH + 1, BATCH):
            batch = rows[start : start + BATCH].tolist()
            loss = distance(bags(sums, [keys[number] for number in batch]), targets[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        print(f"epoch {epoch + 1}: {loss.item():.3f}", flush=True)
    learnt: Floats = sums.weight.detach().numpy()
    return learnt * (SPREAD / learnt.std())


def frequencies(words: Iterable[str]) -> Floats:
    """[V] probabilities in jieba's dictionary."""
    jieba.initialize()
    counts = [max(1, jieba.dt.FREQ.get(word, 0)) for word in words]
    return np.array(counts, dtype=np.float32) / jieba.dt.total


def keys_of(text: str, numbers: dict[str, int]) -> list[int]:
    """The numbers of a text's words, or of the characters of unknown ones, without punctuation."""
    parts = (
        part
        for word in jieba.cut(text.lower())
        for part in ([word] if word in numbers else list(word))
    )
    return [numbers[part] for part in parts if part in numbers and part.isalnum()]


def bags(sums: nn.EmbeddingBag, keys: Sequence[Sequence[int]]) -> Tensor:
    """[N, D] sums of unit length."""
    flat = torch.tensor([key for own in keys for key in own])
    starts = torch.tensor([0, *(len(own) for own in keys[:-1])]).cumsum(0)
    return normalize(sums(flat, starts), dim=1)


def distance(found: Tensor, targets: Tensor) -> Tensor:
    """How far the sums are from their targets, and their similarities within the batch from the
    targets'."""
    itself = torch.eye(len(found)) * -1e4
    near = log_softmax(found @ found.T / TEMPERATURE + itself, dim=1)
    wanted = softmax(targets @ targets.T / TEMPERATURE + itself, dim=1)
    return (1 - (found * targets).sum(1)).mean() + kl_div(near, wanted, reduction="batchmean")


if __name__ == "__main__":
    main()
