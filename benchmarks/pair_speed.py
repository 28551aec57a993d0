"""Speed and memory of RE2 beside its direct form, in pairs of texts a second.

    python benchmarks/pair_speed.py [--threads 2] [--batch 256] [--lengths 5-40 20 50]
    python benchmarks/pair_speed.py --threads 1 --batch 128 --corpus PAIRS.spacy

Both have the same weights and the paper's sizes: vectors of 300 that are not trained, width 150,
two blocks of two convolutions. The direct form pads all texts of a batch, left and right ones, to
the longest, joins vectors before each layer, and computes what is padded, too.

Lengths are those of both texts: one number, or a range from which they are drawn. Each figure is
the best of --repeats passes over eight batches; ours sorts the pairs by length and cuts them by
cost, as in a pipeline. Training is forward and backward without the optimizer. Memory is what a
pass adds to the peak of a process of its own.

With --corpus the pairs are those of a file that `convert` wrote, as words of jieba with vectors of
50, and ours is the component: `pipe` from Docs to `cats`
and `update` with the step of its optimizer. The direct form gets numbers of words, which costs it
nothing, and torch's Adam. Both take turns; figures are medians of CPU time.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import spacy
import torch
from numpy.typing import NDArray
from report import environment, format_table
from spacy.training import Example
from torch import Tensor, nn
from torch.nn.functional import gelu

from spacy_flat.corpora.docs import read_examples
from spacy_flat.nn.network import Sizes, Table
from spacy_flat.nn.optimizers import AdamW
from spacy_flat.similarity.batch import PairBatch, TextBatch
from spacy_flat.similarity.component import PairClassifier
from spacy_flat.similarity.network import RE2, Block, FullFusion
from spacy_flat.similarity.options import RE2Options
from spacy_flat.similarity.pairs import pair_of
from spacy_flat.text.hashing import hash_words
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
    parser.add_argument("--corpus", type=Path, help="a .spacy file of pairs: measure the component")
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
    if arguments.corpus:
        rows = of_corpus(arguments.corpus, arguments.batch, arguments.repeats)
        print(format_table(["", "ours", "direct", "ratio"], rows, arguments.markdown))
        return
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
    network = RE2(OPTIONS, Sizes(["a", "b"], chars=Table(N_KEYS, 0, WIDTH)))
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
    keys = np.zeros((3, len(texts), n_units.max()), dtype=np.int64)
    for row, text in enumerate(texts):
        keys[:, row, : len(text)] = text
    left_rows, right_rows = np.split(np.arange(len(texts)), 2)
    return PairBatch(pairs, TextBatch((), n_units, keys), left_rows, right_rows)


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
    table = network.chars or network.words
    assert table is not None
    embedded = [network.embed_dropout(table(side)) * mask
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
        x = gelu(torch.cat([convolve(each, columns) for each in layer], dim=1)).transpose(1, 2)
    return block.encoder.dropout(x)


def convolve(layer: nn.Module, columns: Tensor) -> Tensor:
    """As torch's own convolution."""
    assert isinstance(layer, nn.Conv1d)
    padding = layer.kernel_size[0] // 2
    return nn.functional.conv1d(columns, layer.weight, layer.bias, padding=padding)


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


# A corpus, through the component


def of_corpus(path: Path, size: int, repeats: int) -> list[list[str]]:
    """The rows of the table: prediction, and training with the optimizer's step."""
    nlp = spacy.blank("zh", config={"nlp": {"tokenizer": {"segmenter": "jieba"}}})
    settings = {"network": {"variant": {"prediction": "full"}}, "text": {"inputs": "tokens"}}
    pipe = nlp.add_pipe("re2_similarity", config={"model": settings})
    examples = read_examples(path, nlp)
    nlp.initialize(lambda: examples)
    batches = [examples[start : start + size] for start in range(0, BATCHES * size, size)]
    network: RE2 = pipe.shim.module
    texts = [words_of(pipe, batch) for batch in batches]
    own_optimizer = AdamW(weight_decay=0.0)
    # Adam knows no sparse gradients: the direct form doesn't train the vectors of words.
    trained = [each for name, each in network.named_parameters() if "offsets" not in name]
    direct_optimizer = torch.optim.Adam(trained, lr=0.0)

    def own_prediction() -> None:
        docs = [example.predicted.copy() for batch in batches for example in batch]
        list(pipe.pipe(docs, batch_size=1000))

    def own_training() -> None:
        for batch in batches:
            pipe.update(batch, sgd=own_optimizer)

    def direct_pass(is_train: bool) -> None:
        network.train(is_train)
        for both in texts:
            with torch.set_grad_enabled(is_train):
                direct_step(network, both, is_train)
            if is_train:
                direct_optimizer.step()
                network.zero_grad()

    forms = [("prediction", own_prediction), ("training", own_training)]
    rows = []
    for mode, own in forms:
        pair = own, partial(direct_pass, mode == "training")
        times = [[cpu_time(form) for form in pair] for _ in range(repeats + 1)][1:]
        ours, other = BATCHES * size / np.median(times, axis=0)
        rows.append([mode, f"{ours:,.0f}", f"{other:,.0f}", f"{ours / other:.1f}"])
    return rows


def cpu_time(form: Callable[[], None]) -> float:
    start = time.process_time()
    form()
    return time.process_time() - start


def words_of(pipe: PairClassifier, examples: list[Example]) -> tuple[Texts, Texts]:
    """The numbers of the words of left and right texts."""
    featuriser = pipe.model.attrs["featuriser"]
    spans = [pair_of(example.predicted) or () for example in examples]
    left, right = (
        [
            featuriser.words.look_up(hash_words((word.text for word in text), featuriser.options))
            for text in side
        ]
        for side in zip(*spans, strict=True)
    )
    return left, right


def check_that_both_are_the_same() -> None:
    network = make().eval()
    left, right = next(texts_of("5-40", 8))
    with torch.no_grad():
        own = network(batch_of(left, right, np.arange(8)))
        torch.testing.assert_close(own, direct(network, left, right), rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    main()
