"""Measure translators: how good translations are, and whether names survive.

    python benchmarks/translation.py CORPUS --pipelines DIR … [--names FILE] [--minutes N]
        [--parts scores names baseline]

CORPUS is a folder of train.spacy and dev.spacy, as written by `python -m spacy flat convert
--corpus`; the pipelines, each with a `seq2seq_translator`, were trained on its training part. One
of sentences with three names and more, which Tatoeba hardly has, and with dev.spacy alone:

    python -m spacy flat convert benchmarks/many_names.tsv corpus/many_names/dev.spacy

Parts:

    scores    BLEU and chrF of the dev part with sacrebleu's signatures, greedy and with a beam of
              5.
    names     Of the names of --names (without it, those that the translator has of itself) that
              stand in a text of dev, and whose listed translation stands in the gold translation:
              the share whose listed translation stands in the pipeline's, too, with and without
              names carried through, in how many texts one is missing or comes too often, and the
              scores of these texts. The names are given as the Doc's entities, as a perfect
              recogniser would; the list is the pipeline's in both cases.
    baseline  torch's own Transformer of the first pipeline's sizes and vocabularies
              (`plain_seq2seq.py`), trained for --minutes on the same pairs, greedy.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import plain_seq2seq
import spacy
import torch
from report import environment, format_table
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_flat.corpora.docs import read_docs
from spacy_flat.translator.component import Seq2SeqTranslator
from spacy_flat.translator.model import featuriser_of
from spacy_flat.translator.names import NameTable, Protected, common_names, name_list, places
from spacy_flat.translator.scores import score_translations
from spacy_flat.translator.training import all_texts, encode

BEAMS = (1, 5)
TITLES = {1: "greedy", 5: "beam 5"}
Table = str


def main() -> None:
    arguments = parse_arguments()
    torch.set_num_threads(arguments.threads)
    pipelines = {str(path): translator_of(path) for path in arguments.pipelines}
    dev = read_docs(arguments.corpus / "dev.spacy", Vocab())[: arguments.texts]
    print(f"{arguments.corpus}: {len(dev)} texts of dev; {environment()}")
    for part in arguments.parts:
        print(f"\n{PARTS[part](arguments, pipelines, dev)}", flush=True)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--pipelines", nargs="+", type=Path, required=True)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=["scores", "names"])
    parser.add_argument("--names", type=Path, help="list; else the common names")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--texts", type=int, default=None, help="only the first of dev")
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def translator_of(path: Path) -> Seq2SeqTranslator:
    nlp = spacy.load(path)
    return next(pipe for _, pipe in nlp.pipeline if isinstance(pipe, Seq2SeqTranslator))


# Scores


def scores(
    arguments: argparse.Namespace, pipelines: dict[str, Seq2SeqTranslator], dev: Sequence[Doc]
) -> Table:
    """BLEU and chrF, greedy and with a beam."""
    rows = []
    for name, translator in pipelines.items():
        for beam in BEAMS:
            start = time.perf_counter()
            found = translator.translate([doc.text for doc in dev], beam=beam)
            seconds = time.perf_counter() - start
            rows.append(
                row(f"{name}, {TITLES[beam]}", [own[0].text for own in found], dev, seconds)
            )
    return format_scores(rows, dev)


def row(name: str, found: Sequence[str], dev: Sequence[Doc], seconds: float) -> list[str]:
    """A row of the table of scores."""
    measured = measure(found, dev)
    figures = (f"{100 * float(measured[metric]):.2f}" for metric in ("bleu", "chrf"))
    return [name, *figures, f"{len(dev) / seconds:,.1f}"]


def measure(found: Sequence[str], dev: Sequence[Doc]) -> dict[str, str | float]:
    examples = []
    for translation, gold in zip(found, dev, strict=True):
        doc = Doc(gold.vocab)
        doc._.translation = translation
        examples.append(Example(doc, gold))
    return score_translations(examples)


def format_scores(rows: Sequence[Sequence[str]], dev: Sequence[Doc]) -> str:
    table = format_table(["", "BLEU", "chrF", "texts/s"], rows, markdown=True)
    measured = measure([""] * len(dev), dev)
    return f"{table}\n{measured['bleu_signature']}\n{measured['chrf_signature']}"


# Names


def names(
    arguments: argparse.Namespace, pipelines: dict[str, Seq2SeqTranslator], dev: Sequence[Doc]
) -> Table:
    """The share of names whose listed translation stands in the output."""
    known = name_list(arguments.names) if arguments.names else dict(common_names())
    docs = list(with_names(dev, NameTable(known)))
    rows = []
    for name, translator in pipelines.items():
        translator.names = known
        for carried in (False, True):
            translator.carry_names = carried
            found = translator.translate([doc for doc, _ in docs])
            how = "carried through" if carried else "left to the network"
            counts = [
                count(own[0].text, expected) for own, (_, expected) in zip(found, docs, strict=True)
            ]
            n_names = sum(len(expected) for _, expected in docs)
            share = 1 - sum(missing for missing, _ in counts) / max(1, n_names)
            wrong = [sum(map(bool, each)) for each in zip(*counts, strict=True)]
            measured = measure([own[0].text for own in found], [doc for doc, _ in docs])
            bleu, chrf = (f"{100 * float(measured[metric]):.2f}" for metric in ("bleu", "chrf"))
            cells = [n_names, f"{100 * share:.1f}", len(docs), *wrong, bleu, chrf]
            rows.append([f"{name}, {how}", *map(str, cells)])
    header = ["", "names", "in the output, %", "texts", "one is missing", "one comes too often"]
    header += ["BLEU", "chrF"]
    return format_table(header, rows, markdown=True)


def count(translation: str, expected: Sequence[Protected]) -> tuple[int, int]:
    """How many of the names are missing, and how many come once more than they are expected."""
    found = places(translation, [*expected, *expected])
    n = len(expected)
    return found[:n].count(None), n - found[n:].count(None)


def with_names(dev: Sequence[Doc], known: NameTable) -> Iterator[tuple[Doc, list[Protected]]]:
    """The Docs that have names, which are their entities."""
    for doc in dev:
        names = list(known.find(doc.text))
        where = places(doc._.translation, names)
        found = [name for name, place in zip(names, where, strict=True) if place is not None]
        if found:
            spans = [doc.char_span(name.start, name.end, "NAME") for name in found]
            doc.set_ents([span for span in spans if span is not None])
            yield doc, found


# The baseline


def baseline(
    arguments: argparse.Namespace, pipelines: dict[str, Seq2SeqTranslator], dev: Sequence[Doc]
) -> Table:
    """Scores of torch's own Transformer."""
    model = next(iter(pipelines.values())).model
    encoder, options = featuriser_of(model), model.attrs["options"]
    gold = read_docs(arguments.corpus / "train.spacy", Vocab())
    pairs = [encode(texts, encoder) for texts in all_texts(Example(doc, doc) for doc in gold)]
    network, steps = plain_seq2seq.train(options, encoder, pairs, 60 * arguments.minutes)
    start = time.perf_counter()
    found = plain_seq2seq.translate(network, encoder, [doc.text for doc in dev])
    seconds = time.perf_counter() - start
    name = f"nn.Transformer, {steps:,} steps in {arguments.minutes:g} minutes, greedy"
    return format_scores([row(name, found, dev, seconds)], dev)


PARTS = {"scores": scores, "names": names, "baseline": baseline}

if __name__ == "__main__":
    main()
