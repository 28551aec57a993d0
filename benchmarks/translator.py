"""How fast the translator writes, in pieces a second: with the keys and values of what is written
kept; with the target computed again for each piece; with all of the network computed again, source
and scores too, as the plain loop of the usual exercise does: python benchmarks/translator.py

The network has the sizes of a config and random weights; it may not end a sentence, so that each
has as many pieces as its source has characters. One thread, processor time; the ways take turns,
so that other work on the machine slows down all of them, and the fastest run of each counts.
"""

import argparse
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import torch
from spacy.util import load_config, registry

from spacy_flat.translator.batch import PaddedIds
from spacy_flat.translator.decoding import BeamSearch, Source, search
from spacy_flat.translator.ids import END, NAMES, START
from spacy_flat.translator.network import DecoderState, Seq2Seq, Seq2SeqSizes
from spacy_flat.translator.options import Seq2SeqOptions, TranslationOptions
from spacy_flat.util.arrays import Ints

N_PLACEHOLDERS = TranslationOptions().placeholders
FIRST = NAMES + N_PLACEHOLDERS
N_CHARACTERS, N_PIECES = 3400, 6000


@dataclass(frozen=True)
class Fixed(BeamSearch):
    """Sentences of as many pieces as their sources have characters."""

    def longest(self, source: Source) -> int:
        return len(source.keys)


def make_network(config: Path) -> Seq2Seq:
    block = load_config(config)["components"]["seq2seq_translator"]["model"]["network"]
    options: Seq2SeqOptions = registry.resolve({"network": block})["network"]
    torch.manual_seed(0)
    network = Seq2Seq(options, Seq2SeqSizes(N_CHARACTERS, FIRST + N_PIECES, False)).eval()
    with torch.no_grad():
        network.bias[END] = -1e9
    return network


def sources(n: int, length: int) -> list[Ints]:
    keys = np.random.default_rng(0).integers(FIRST, N_CHARACTERS, size=(n, length))
    return [np.array([*row[:-1], END]) for row in keys]


def cached(network: Seq2Seq, texts: list[Ints], beam: int) -> None:
    how = Fixed(beam, no_repeat_ngram=0)
    search(network, [Source(keys) for keys in texts], how, N_PLACEHOLDERS)


def uncached(network: Seq2Seq, texts: list[Ints]) -> None:
    """Greedily; the source is read once."""
    state = DecoderState(network.encode(PaddedIds.of(texts)), cache=None)
    written = np.full((len(texts), 1), START)
    for _ in range(len(texts[0])):
        hidden = network.decode(written, state).view(*written.shape, -1)[:, -1]
        best = network.scores(hidden)[:, FIRST:].argmax(1).numpy() + FIRST
        written = np.concatenate([written, best[:, None]], axis=1)


def all_again(network: Seq2Seq, texts: list[Ints]) -> None:
    """As the plain loop of the usual exercise: the whole network and all its scores, each time."""
    written = np.full((len(texts), 1), START)
    for _ in range(len(texts[0])):
        state = DecoderState(network.encode(PaddedIds.of(texts)), cache=None)
        scores = network.scores(network.decode(written, state)).view(*written.shape, -1)
        best = scores[:, -1, FIRST:].argmax(1).numpy() + FIRST
        written = np.concatenate([written, best[:, None]], axis=1)


def tokens_per_second(
    runs: Sequence[Callable[[], None]], n_tokens: int, seconds: float
) -> list[float]:
    """Of the best of each one's runs. They take turns until they have lasted so long, each on the
    average, after one to warm up."""
    for run in runs:
        run()
    best = [math.inf] * len(runs)
    spent = 0.0
    while spent < seconds * len(runs):
        for number, run in enumerate(runs):
            start = time.process_time()
            run()
            took = time.process_time() - start
            best[number] = min(best[number], took)
            spent += took
    return [n_tokens / took for took in best]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", type=Path, default=Path("configs/zh_seq2seq.cfg"))
    parser.add_argument("--lengths", type=int, nargs="+", default=[20, 50, 100])
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 32])
    parser.add_argument("--seconds", type=float, default=2.0, help="for each number")
    options = parser.parse_args()
    torch.set_num_threads(1)
    network = make_network(options.config)
    print("| Sentences | Length | Cached | Target again | Times | All again | Times | Beam 5 |")
    print("|---|---|---|---|---|---|---|---|")
    for n, length in product(options.batches, options.lengths):
        texts = sources(n, length)
        runs = [
            partial(cached, network, texts, 1),
            partial(uncached, network, texts),
            partial(all_again, network, texts),
            partial(cached, network, texts, 5),
        ]
        with torch.no_grad():
            found = tokens_per_second(runs, n * length, options.seconds)
        fast, slow, slowest, beam = found
        cells = [n, length, f"{fast:,.0f}"]
        for other in (slow, slowest):
            cells += [f"{other:,.0f}", f"{fast / other:.1f}"]
        print(f"| {' | '.join(map(str, cells))} | {beam:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
