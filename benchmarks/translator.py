"""How fast the translator writes, in pieces a second: greedily and with a beam of 5, and greedily
by the plain loop that computes all of the network again for each piece:

    python benchmarks/translator.py

The network has the sizes of a config and random weights; it may not end a sentence, so that each
has as many pieces as its source has characters. One thread, processor time, the best of three.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import torch
from spacy.util import load_config, registry

from spacy_flat.translator.batch import END, NAMES, START, PaddedIds
from spacy_flat.translator.decoding import BeamSearch, Source, search
from spacy_flat.translator.network import Seq2Seq, Seq2SeqSizes
from spacy_flat.translator.options import Seq2SeqOptions, TranslationOptions
from spacy_flat.util.arrays import Ints

N_PLACEHOLDERS = TranslationOptions().placeholders
FIRST = NAMES + N_PLACEHOLDERS
N_CHARACTERS, N_PIECES = 3400, 6000


@dataclass(frozen=True)
class Fixed(BeamSearch):
    """Sentences of as many pieces as their sources have characters."""

    def longest(self, source: Source) -> int:
        return len(source.ids)


def make_network(config: Path) -> Seq2Seq:
    block = load_config(config)["components"]["seq2seq_translator"]["model"]["network"]
    options: Seq2SeqOptions = registry.resolve({"network": block})["network"]
    torch.manual_seed(0)
    network = Seq2Seq(options, Seq2SeqSizes(N_CHARACTERS, FIRST + N_PIECES)).eval()
    with torch.no_grad():
        network.bias[END] = -1e9
    return network


def cached(beam: int, network: Seq2Seq, texts: list[Ints]) -> None:
    how = Fixed(beam, no_repeat_ngram=0)
    search(network, [Source(ids) for ids in texts], how, N_PLACEHOLDERS)


def all_again(network: Seq2Seq, texts: list[Ints]) -> None:
    written = np.full((len(texts), 1), START)
    for _ in range(len(texts[0])):
        scores = network.scores(network.decode(written, network.encode(PaddedIds.of(texts))))
        best = scores.view(*written.shape, -1)[:, -1, FIRST:].argmax(1).numpy() + FIRST
        written = np.concatenate([written, best[:, None]], axis=1)


def seconds(run: Callable[..., None], network: Seq2Seq, texts: list[Ints]) -> float:
    start = time.process_time()
    run(network, texts)
    return time.process_time() - start


@torch.no_grad()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", type=Path, default=Path("configs/zh_seq2seq.cfg"))
    parser.add_argument("--lengths", type=int, nargs="+", default=[20, 50, 100])
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 32])
    options = parser.parse_args()
    torch.set_num_threads(1)
    network = make_network(options.config)
    print("| Sentences | Length | Greedy | Beam 5 | All again |\n|---|---|---|---|---|")
    for n, length in product(options.batches, options.lengths):
        ids = np.random.default_rng(0).integers(FIRST, N_CHARACTERS, size=(n, length))
        texts = [np.array([*row[:-1], END]) for row in ids]
        runs = (partial(cached, 1), partial(cached, 5), all_again)
        best = [min(seconds(run, network, texts) for _ in range(3)) for run in runs]
        cells = [f"{n * length / each:,.0f}" for each in best]
        print(f"| {n} | {length} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
