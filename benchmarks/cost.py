"""What entities of a million sentences cost: released pipelines, spaCy's `ner`, and a BERT.

    python benchmarks/cost.py [PIPELINE …] [--texts FILE] [--markdown]

Each system reads the same texts in a process with one thread: by default those of `assets/demo` and
`assets/kinds`. spaCy's `ner` has its default settings, on characters, and random weights; the BERT
is bert-base-chinese's size (12 layers of 768), with random weights, in batches of 32 texts of
similar length. The time depends on the weights of neither.

Times are the processor's. `one call` is the fastest of 200 of a text of 41 characters. Memory is
the highest resident set of the process.
"""

import argparse
import json
import resource
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import spacy
import torch
from report import format_table
from spacy.language import Language
from spacy.training import Example

ASSETS = Path(__file__).parents[1] / "assets"
PIPELINES = ("zh_flat_general", "zh_flat_msra", "zh_flat_cluener")
OTHERS = ("spaCy's ner", "BERT, 12 layers")
SENTENCE = "王小明和李华昨天从北京大学出发，乘车前往南京市长江大桥参加中国人民银行组织的活动。"
BATCH = 32


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipelines", nargs="*", default=PIPELINES)
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--markdown", action="store_true")
    arguments = parser.parse_args()
    texts = arguments.texts.read_text("utf-8").splitlines() if arguments.texts else embedded()
    mean = sum(map(len, texts)) / len(texts)
    print(f"{len(texts):,} texts of {mean:.0f} characters\n")
    rows = []
    for system in (*arguments.pipelines, *OTHERS):
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            seconds, call, memory = process.submit(measure, system, texts).result()
        hours = seconds / len(texts) * 1e6 / 3600
        speed = sum(map(len, texts)) / seconds
        rows.append([system, f"{speed:,.0f}", f"{hours:.2f}", f"{1000 * call:.1f}", f"{memory:,}"])
    header = ["", "characters/s", "core hours a million", "one call, ms", "memory, MB"]
    print(format_table(header, rows, arguments.markdown))


def embedded() -> list[str]:
    found = []
    for path in sorted([*ASSETS.glob("demo/*.jsonl"), *ASSETS.glob("kinds/*.jsonl")]):
        lines = path.read_text("utf-8").splitlines()
        found += [json.loads(line)["text"] for line in lines]
    return found


def measure(system: str, texts: Sequence[str]) -> tuple[float, float, int]:
    """Seconds for all texts and for one call, and the memory in MB."""
    torch.set_num_threads(1)
    read = reader(system)
    read(texts[: 2 * BATCH])
    started = time.process_time()
    read(texts)
    seconds = time.process_time() - started
    call = min(timed(lambda: read([SENTENCE])) for _ in range(200))
    return seconds, call, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def timed(function: Callable[[], object]) -> float:
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def reader(system: str) -> Callable[[Sequence[str]], object]:
    if system == OTHERS[1]:
        return bert()
    nlp = spacys_ner() if system == OTHERS[0] else spacy.load(system)
    return lambda texts: [nlp(texts[0])] if len(texts) == 1 else list(nlp.pipe(texts))


def spacys_ner() -> Language:
    nlp = spacy.blank("zh")
    nlp.add_pipe("ner")
    doc = nlp.make_doc("王小明在北京大学工作。")
    labels = {"entities": [(0, 3, "PER"), (4, 8, "ORG")]}
    nlp.initialize(lambda: [Example.from_dict(doc, labels)])
    return nlp


def bert() -> Callable[[Sequence[str]], object]:
    from transformers import BertConfig, BertModel

    model = BertModel(BertConfig(vocab_size=21128)).eval()

    def read(texts: Sequence[str]) -> None:
        ordered = sorted(texts, key=len)
        for first in range(0, len(ordered), BATCH):
            model(**batch_of(ordered[first : first + BATCH]))

    return torch.no_grad()(read)


def batch_of(texts: Iterable[str]) -> dict[str, torch.Tensor]:
    rows = [torch.tensor([ord(each) % 20000 + 100 for each in text[:510]]) for text in texts]
    pieces = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    return {"input_ids": pieces, "attention_mask": (pieces > 0).long()}


if __name__ == "__main__":
    main()
