"""What a million texts cost, by pipeline; with `--compare`, also spaCy's `ner` and a BERT.

    python benchmarks/cost.py [PIPELINE …] [--texts FILE] [--compare]

The systems take turns with the same texts, on one thread: by default those of `assets/demo` and
`assets/kinds`, otherwise the lines of a file that aren't blank. Times are the processor's, medians
of three turns (the BERT, which takes a minute a turn: one) and of 60 calls with a text of 41
characters. Memory is the resident set of a process of its own, after loading and at its highest
while reading (on Linux).

spaCy's `ner` has its default settings, on characters, and random weights; the BERT is
bert-base-chinese's size (12 layers of 768), with random weights, in batches of 32 texts of similar
length. The time depends on the weights of neither.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median

import spacy
import torch
from report import environment, format_table
from spacy.language import Language
from spacy.training import Example
from speed import peak_mb, reset_peak, trim

ASSETS = Path(__file__).parents[1] / "assets"
PIPELINES = ("zh_flat_general", "zh_flat_msra")
NER, BERT = OTHERS = ("spaCy's ner", "BERT, 12 layers")
SENTENCE = "王小明和李华昨天从北京大学出发，乘车前往南京市长江大桥参加中国人民银行组织的活动。"
BATCH = 32
TURNS, CALLS = 3, 60

Reader = Callable[[Sequence[str]], object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipelines", nargs="*", default=PIPELINES)
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--compare", action="store_true")
    arguments = parser.parse_args()
    systems = [*arguments.pipelines, *(OTHERS if arguments.compare else ())]
    try:
        texts = lines_of(arguments.texts) if arguments.texts else embedded()
        readers = {system: reader(system) for system in systems}
    except (OSError, ValueError, ImportError) as error:
        parser.error(str(error))
    characters = sum(map(len, texts))
    print(f"{len(texts):,} texts of {characters / len(texts):.0f} characters\n{environment()}\n")
    times = measure(readers, texts)
    rows = []
    for system, (seconds, call) in times.items():
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            loaded, highest = process.submit(footprint, system, texts).result()
        hours = seconds / len(texts) * 1e6 / 3600
        speed = [f"{characters / seconds:,.0f}", f"{hours:.2f}", f"{1000 * call:.1f}"]
        rows.append([system, *speed, f"{loaded:,.0f}", f"{highest:,.0f}"])
    header = ["", "characters/s", "core hours per million", "one call, ms", "MB", "MB at most"]
    print(format_table(header, rows))


def lines_of(path: Path) -> list[str]:
    """Raises ValueError for a file with another encoding than UTF-8, or without text."""
    texts = [line for line in path.read_text("utf-8").splitlines() if line.strip()]
    if not texts:
        raise ValueError(f"{path} has no text")
    return texts


def embedded() -> list[str]:
    found = []
    for path in sorted([*ASSETS.glob("demo/*.jsonl"), *ASSETS.glob("kinds/*.jsonl")]):
        lines = path.read_text("utf-8").splitlines()
        found += [json.loads(line)["text"] for line in lines]
    return found


def measure(readers: dict[str, Reader], texts: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Seconds for all texts, and for one call."""
    torch.set_num_threads(1)
    turns: dict[str, list[float]] = {system: [] for system in readers}
    calls: dict[str, list[float]] = {system: [] for system in readers}
    for read in readers.values():
        read(texts[: 2 * BATCH])
    for turn in range(TURNS):
        for system, read in readers.items():
            if turn == 0 or system != BERT:
                turns[system].append(timed(lambda: read(texts)))  # noqa: B023
                calls[system] += [timed(lambda: read([SENTENCE])) for _ in range(CALLS // TURNS)]  # noqa: B023
    return {system: (median(turns[system]), median(calls[system])) for system in readers}


def footprint(system: str, texts: Sequence[str]) -> tuple[float, float]:
    """MB after loading, and at most while reading."""
    torch.set_num_threads(1)
    read = reader(system)
    read(texts[:1])
    trim()
    reset_peak()
    loaded = peak_mb()
    read(texts)
    return loaded, peak_mb()


def timed(function: Callable[[], object]) -> float:
    started = time.process_time()
    function()
    return time.process_time() - started


def reader(system: str) -> Reader:
    if system == BERT:
        return bert()
    nlp = spacys_ner() if system == NER else spacy.load(system)
    return lambda texts: [nlp(texts[0])] if len(texts) == 1 else list(nlp.pipe(texts))


def spacys_ner() -> Language:
    nlp = spacy.blank("zh")
    nlp.add_pipe("ner")
    doc = nlp.make_doc("王小明在北京大学工作。")
    labels = {"entities": [(0, 3, "PER"), (4, 8, "ORG")]}
    nlp.initialize(lambda: [Example.from_dict(doc, labels)])
    return nlp


def bert() -> Reader:
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
