"""Measure translators: how good translations are, and whether names survive.

    python benchmarks/translation.py CORPUS --pipelines DIR … [--names FILE] [--minutes N]

CORPUS is a folder with dev.spacy, for the baseline also train.spacy, as written by `flat convert`;
the pipelines, each with a `seq2seq_translator`, were trained on its training part. One of sentences
with three names and more, which Tatoeba hardly has:

    python -m spacy flat convert benchmarks/many_names.tsv corpus/many_names/dev.spacy

It prints BLEU and chrF of dev, greedy and with a beam of 5; with --minutes also those of torch's
own Transformer of the first pipeline's sizes and vocabularies (`plain_seq2seq.py`), trained so long
on the same pairs.

Then, of the texts of dev with names of --names (else the built-in ones) whose listed translation
stands in the gold translation: the share of these that stand in the pipeline's, too, with and
without names carried through, in how many texts one is missing or comes too often, and the scores.
The names are given as the Doc's entities, as a perfect recogniser would.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
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
from spacy_flat.translator.names import NameTable, Placeholder, common_names, name_list
from spacy_flat.translator.scores import score_translations
from spacy_flat.translator.training import all_texts, encode, places

Pipelines = dict[str, Seq2SeqTranslator]
WithNames = list[tuple[Doc, list[Placeholder]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--pipelines", nargs="+", type=Path, required=True)
    parser.add_argument("--names", type=Path, help="list; else the common names")
    parser.add_argument("--minutes", type=float, default=0.0, help="of the baseline's training")
    parser.add_argument("--texts", type=int, default=None, help="only the first of dev")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    pipelines = {str(path): translator_of(path) for path in arguments.pipelines}
    dev = read_docs(arguments.corpus / "dev.spacy", Vocab())[: arguments.texts]
    print(f"{arguments.corpus}: {len(dev)} texts of dev; {environment()}\n")
    rows = list(score_rows(pipelines, dev))
    if arguments.minutes:
        translate = baseline(next(iter(pipelines.values())), arguments.corpus, arguments.minutes)
        rows.append(row("nn.Transformer, greedy", translate, dev))
    print(format_table(["", "BLEU", "chrF", "texts/s"], rows), flush=True)
    known = name_list(arguments.names) if arguments.names else dict(common_names())
    docs = list(with_names(dev, NameTable(known)))
    header = ["", "names", "in the output, %", "texts", "one is missing", "one comes too often"]
    rows = list(name_rows(pipelines, docs, known)) if docs else []
    print(f"\n{format_table([*header, 'BLEU', 'chrF'], rows)}")


def translator_of(path: Path) -> Seq2SeqTranslator:
    nlp = spacy.load(path)
    return next(pipe for _, pipe in nlp.pipeline if isinstance(pipe, Seq2SeqTranslator))


def score_rows(pipelines: Pipelines, dev: Sequence[Doc]) -> Iterator[list[str]]:
    for name, translator in pipelines.items():
        for beam in (1, 5):
            translator.beam = beam
            yield row(f"{name}, beam {beam}", partial(translations, translator), dev)


def translations(translator: Seq2SeqTranslator, texts: list[str]) -> list[str]:
    return [each.text for each in translator.translate(texts)]


def row(name: str, translate: Callable[[list[str]], list[str]], dev: Sequence[Doc]) -> list[str]:
    start = time.perf_counter()
    found = translate([doc.text for doc in dev])
    seconds = time.perf_counter() - start
    return [name, *measure(found, dev), f"{len(dev) / seconds:,.1f}"]


def measure(found: Sequence[str], dev: Sequence[Doc]) -> list[str]:
    """BLEU and chrF."""
    examples = []
    for translation, gold in zip(found, dev, strict=True):
        doc = Doc(gold.vocab)
        doc._.translation = translation
        examples.append(Example(doc, gold))
    scores = score_translations(examples)
    return [f"{100 * scores[metric]:.2f}" for metric in ("bleu", "chrf")]


def name_rows(pipelines: Pipelines, docs: WithNames, known: dict[str, str]) -> Iterator[list[str]]:
    for name, translator in pipelines.items():
        translator.names = known
        for carried in (False, True):
            translator.carry_names = carried
            found = [each.text for each in translator.translate([doc for doc, _ in docs])]
            counts = [count(text, own) for text, (_, own) in zip(found, docs, strict=True)]
            n_names = sum(len(expected) for _, expected in docs)
            share = 1 - sum(missing for missing, _ in counts) / n_names
            wrong = [sum(map(bool, each)) for each in zip(*counts, strict=True)]
            how = "carried through" if carried else "left to the network"
            cells = [n_names, f"{100 * share:.1f}", len(docs), *wrong]
            yield [f"{name}, {how}", *map(str, cells), *measure(found, [doc for doc, _ in docs])]


def count(translation: str, expected: Sequence[Placeholder]) -> tuple[int, int]:
    """How many of the names are missing, and how many come once more than they are expected."""
    found = places(translation, [*expected, *expected])
    n = len(expected)
    return found[:n].count(None), n - found[n:].count(None)


def with_names(dev: Sequence[Doc], known: NameTable) -> Iterator[tuple[Doc, list[Placeholder]]]:
    """The Docs that have names, which are their entities."""
    for doc in dev:
        names = list(known.find(doc.text))
        where = places(doc._.translation, names)
        found = [name for name, place in zip(names, where, strict=True) if place is not None]
        if found:
            spans = [doc.char_span(name.start, name.end, "NAME") for name in found]
            doc.set_ents([span for span in spans if span is not None])
            yield doc, found


def baseline(
    translator: Seq2SeqTranslator, corpus: Path, minutes: float
) -> Callable[[list[str]], list[str]]:
    """torch's own Transformer, trained."""
    encoder = featuriser_of(translator.model)
    gold = read_docs(corpus / "train.spacy", Vocab())
    pairs = [encode(texts, encoder) for texts in all_texts(Example(doc, doc) for doc in gold)]
    options = translator.model.attrs["options"]
    network = plain_seq2seq.train(options, encoder, pairs, 60 * minutes)
    return lambda texts: plain_seq2seq.translate(network, encoder, texts)


if __name__ == "__main__":
    main()
