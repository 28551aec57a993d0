"""Speed and memory of RE2 beside its direct form, in pairs of texts a second.

    python benchmarks/pair_speed.py [--threads 2] [--batch 256] [--lengths 5-40 20 50]

Both have the same weights and the paper's sizes: vectors of 300 that are not trained, width 150,
two blocks of two convolutions. The direct form pads all texts of a batch, left and right ones, to
the longest, joins vectors before each layer, and computes what is padded, too.

Lengths are those of both texts: one number, or a range from which they are drawn. Each figure is
the best of --repeats passes over eight batches; ours sorts the pairs by length and cuts them by
cost, as in a pipeline. Training is forward and backward without the optimizer. Memory is what a
pass adds to the peak of a process of its own.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from report import environment, format_table
from torch import Tensor, nn
from torch.nn.functional import gelu

from spacy_flat.nn.network import Table
from spacy_flat.similarity.batch import PairBatch, TextRows, compare, place_texts
from spacy_flat.similarity.network import RE2, Block, FullFusion, RE2Sizes
from spacy_flat.similarity.options import RE2Options
from spacy_flat.text.padding import group_by_cost

N_KEYS = 20_000
WIDTH = 300
BATCHES = 8
OPTIONS = RE2Options(hidden=150, kernel_sizes=(3,), alignment="linear", prediction="full")
BATCH_NODES = 4000
Ints = NDArray[np.int64]
Texts = list[Ints]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--lengths", nargs="+", default=["5-40", "20", "50"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    if arguments.one:
        form, mode, lengths = arguments.one
        print(json.dumps(measure(form, mode, lengths, arguments.batch, arguments.repeats)))
        return
    print(environment())
    check_that_both_are_the_same()
    rows = []
    for lengths in arguments.lengths:
        for mode in ("inference", "training"):
            (own, own_memory), (direct, direct_memory) = (
                alone(arguments, form, mode, lengths) for form in ("ours", "direct")
            )
            figures = (f"{own:,.0f}", f"{direct:,.0f}", f"{own / direct:.1f}")
            rows.append([lengths, mode, *figures, f"{own_memory:,.0f}", f"{direct_memory:,.0f}"])
            print(*rows[-1], flush=True)
    header = ["lengths", "", "ours", "direct", "ratio", "ours, MB", "direct, MB"]
    print(format_table(header, rows, arguments.markdown, text_columns=2))


def alone(arguments: argparse.Namespace, form: str, mode: str, lengths: str) -> tuple[float, float]:
    """Measure in a process of its own."""
    options = ["--threads", "--batch", "--repeats"]
    values = [arguments.threads, arguments.batch, arguments.repeats]
    given = [str(each) for pair in zip(options, values, strict=True) for each in pair]
    command = [sys.executable, __file__, *given, "--one", form, mode, lengths]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    speed, memory = json.loads(done.stdout)
    return speed, memory


def measure(form: str, mode: str, lengths: str, size: int, repeats: int) -> tuple[float, float]:
    """Pairs a second, and megabytes."""
    network = make()
    network.train(mode == "training")
    batches = list(texts_of(lengths, size))
    step = own_step if form == "ours" else direct_step
    best, before = float("inf"), peak()
    with torch.set_grad_enabled(mode == "training"):
        for _ in range(repeats + 1):  # the first pass prepares the libraries
            start = time.perf_counter()
            for texts in batches:
                step(network, texts, mode == "training")
            best = min(best, time.perf_counter() - start)
    return BATCHES * size / best, peak() - before


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def make() -> RE2:
    torch.manual_seed(0)
    network = RE2(OPTIONS, RE2Sizes(["a", "b"], chars=Table(N_KEYS, 0, WIDTH)))
    assert network.chars is not None
    network.chars.pretrained.normal_(std=WIDTH**-0.5)
    return network


def texts_of(lengths: str, size: int) -> Iterator[tuple[Texts, Texts]]:
    """Left and right texts of each batch."""
    low, _, high = lengths.partition("-")
    random = np.random.default_rng(0)
    for _ in range(BATCHES):
        drawn = random.integers(int(low), int(high or low) + 1, (2, size))
        left, right = ([random.integers(1, N_KEYS, n) for n in side] for side in drawn.tolist())
        yield left, right


# Ours


def own_step(network: RE2, texts: tuple[Texts, Texts], is_train: bool) -> None:
    for batch in batches_of(*texts):
        outputs = network(batch)
        if is_train:
            network.loss(outputs, np.zeros(len(outputs), dtype=np.int64)).backward()


def batches_of(left: Texts, right: Texts) -> Iterator[PairBatch]:
    n_left, n_right = (np.array([len(text) for text in side]) for side in (left, right))
    order = np.argsort(n_left + n_right, kind="stable")
    for rows in group_by_cost(order, n_left, n_right, BATCH_NODES):
        yield batch_of([left[row] for row in rows], [right[row] for row in rows], rows)


def batch_of(left: Texts, right: Texts, pairs: Ints) -> PairBatch:
    texts = [*left, *right]
    n_units = np.array([len(text) for text in texts])
    starts, n_rows = place_texts(n_units, 1)
    keys, filled = np.zeros(n_rows, dtype=np.int64), np.zeros(n_rows, dtype=np.bool_)
    for text, start in zip(texts, starts.tolist(), strict=True):
        keys[start : start + len(text)] = text
        filled[start : start + len(text)] = True
    numbers = np.arange(len(texts))
    nothing = np.zeros_like(keys)
    rows = TextRows((), filled, keys, nothing, nothing)
    comparison = compare(starts, n_units, numbers[: len(left)], numbers[len(left) :], 1)
    return PairBatch(pairs, rows, comparison)


# The direct form


def direct_step(network: RE2, texts: tuple[Texts, Texts], is_train: bool) -> None:
    outputs = direct(network, *texts)
    if is_train:
        network.loss(outputs, np.zeros(len(outputs), dtype=np.int64)).backward()


def direct(network: RE2, left: Texts, right: Texts) -> Tensor:
    """[B, K] by the paper's formulas, all texts padded to one length."""
    longest = max(map(len, [*left, *right]))
    keys = [pad(side, longest) for side in (left, right)]
    masks = [(side > 0)[:, :, None] for side in keys]
    assert network.chars is not None
    embedded = [network.embed_dropout(network.chars(side)) * mask
                for side, mask in zip(keys, masks, strict=True)]  # fmt: skip
    entering, outputs = embedded, []
    for number, block in enumerate(network.blocks):
        assert isinstance(block, Block)
        if number:
            sums = outputs[-1] if number == 1 else [
                a + b for a, b in zip(outputs[-1], outputs[-2], strict=True)
            ]  # fmt: skip
            entering = [torch.cat([e, s], dim=2) for e, s in zip(embedded, sums, strict=True)]
        sides = [
            torch.cat([x, encode(block, x, mask)], dim=2)
            for x, mask in zip(entering, masks, strict=True)
        ]
        aligned = align(block, sides, masks)
        outputs.append([fuse(block, x, a) for x, a in zip(sides, aligned, strict=True)])
    a, b = (
        output.masked_fill(~mask, -1e4).amax(dim=1)
        for output, mask in zip(outputs[-1], masks, strict=True)
    )
    predict = network.predict
    features = torch.cat([a, b, a - b, a * b], dim=1)
    hidden = gelu(apply(predict.compare, predict.dropout(features)))
    return apply(predict.classify, predict.dropout(hidden))


def pad(texts: Texts, longest: int) -> Tensor:
    padded = np.zeros((len(texts), longest), dtype=np.int64)
    for row, text in enumerate(texts):
        padded[row, : len(text)] = text
    return torch.from_numpy(padded)


def apply(layer: nn.Module, x: Tensor) -> Tensor:
    """As torch's own linear layer."""
    assert isinstance(layer, nn.Linear)
    return nn.functional.linear(x, layer.weight, layer.bias)


def encode(block: Block, x: Tensor, mask: Tensor) -> Tensor:
    for number, layer in enumerate(block.encoder.layers):
        assert isinstance(layer, nn.ModuleList)
        x = x.masked_fill(~mask, 0.0)
        x = block.encoder.dropout(x) if number else x
        columns = x.transpose(1, 2)
        x = gelu(torch.cat([each(columns) for each in layer], dim=1)).transpose(1, 2)
    return block.encoder.dropout(x)


def align(block: Block, sides: list[Tensor], masks: list[Tensor]) -> list[Tensor]:
    alignment = block.alignment
    assert alignment.project is not None
    dropout, linear, _ = alignment.project
    a, b = (gelu(apply(linear, dropout(x))) for x in sides)
    scores = a @ b.transpose(1, 2) * alignment.temperature
    scores = scores.masked_fill(~(masks[0] & masks[1].transpose(1, 2)), -1e7)
    return [scores.softmax(2) @ sides[1], scores.softmax(1).transpose(1, 2) @ sides[0]]


def fuse(block: Block, x: Tensor, a: Tensor) -> Tensor:
    fusion = block.fusion
    assert isinstance(fusion, FullFusion)
    parts = [
        gelu(apply(fusion.beside, torch.cat([x, a], dim=2))),
        gelu(apply(fusion.difference, torch.cat([x, x - a], dim=2))),
        gelu(apply(fusion.product, torch.cat([x, x * a], dim=2))),
    ]
    return gelu(apply(fusion.join, fusion.dropout(torch.cat(parts, dim=2))))


def check_that_both_are_the_same() -> None:
    network = make().eval()
    left, right = next(texts_of("5-40", 8))
    with torch.no_grad():
        own = network(batch_of(left, right, np.arange(8)))
        torch.testing.assert_close(own, direct(network, left, right), rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    main()
