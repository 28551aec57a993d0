"""Corpora of entities: their formats, and Docs from their sentences."""

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from ..errors import Errors, Warnings
from ..ner import spans as _extensions  # noqa: F401
from .columns import Reader, Sentence
from .docs import make_doc
from .formats import ConvertOptions, CorpusFormat, Summary
from .tools import READERS


def of_entities(read: Reader, example: str, takes: tuple[str, ...]) -> CorpusFormat:
    """A format whose sentences become Docs, with the declarations of the options."""

    def read_docs(path: Path, options: ConvertOptions, summary: Summary) -> Iterator[Doc]:
        vocab, separator = Vocab(), " " * options.words
        sentences = read(path, options, summary)
        return declared((annotated(vocab, each, separator) for each in sentences), options, path)

    return CorpusFormat(read_docs, example, (*takes, "coarse", "unannotated"))


FORMATS = {name: of_entities(*row) for name, row in READERS.items()}


# From sentences to Docs


def annotated(vocab: Vocab, sentence: Sentence, separator: str = "") -> Doc:
    """The Doc of a sentence, with its entities, without white space at their ends, where spaCy
    allows none."""
    doc = make_doc(vocab, sentence.units, separator)
    text = doc.text  # spaCy builds it on each access
    starts = list(accumulate((len(unit) + len(separator) for unit in sentence.units), initial=0))
    spans: list[Span] = []
    for start, end, label in sentence.entities:
        surface = text[starts[start] : starts[end] - len(separator)]
        first = starts[start] + len(surface) - len(surface.lstrip())
        if span := doc.char_span(first, first + len(surface.strip()), label):
            spans.append(span)
    unknown = {
        token.i
        for index in sentence.unknown
        for token in doc.char_span(starts[index], starts[index] + 1, alignment_mode="expand") or ()
    }
    unknown -= {token.i for span in spans for token in span}
    doc.set_ents(spans, missing=[doc[i : i + 1] for i in sorted(unknown)], default="outside")
    if sentence.unannotated:
        doc._.unannotated_labels = list(sentence.unannotated)
    return doc


def declared(docs: Iterable[Doc], options: ConvertOptions, path: Path) -> Iterator[Doc]:
    """Keep with each Doc what its labels stand for and which ones it doesn't annotate. Drop the
    entities of labels that stand for none.

    Raises ValueError (F163) for a `coarse` of another form, or a second one for a label. Warns
    (W160) of a label that no entity has.
    """
    declarations = read_coarse(options.coarse)
    coarse_labels = {k: fine for k, fine in declarations.items() if fine not in ([], [k])}
    found: set[str] = set()
    for doc in docs:
        found.update(ent.label_ for ent in doc.ents)
        dropped = [ent for ent in doc.ents if declarations.get(ent.label_) == []]
        if dropped:
            kept = [ent for ent in doc.ents if ent not in dropped]
            doc.set_ents(kept, outside=dropped, default="unmodified")
        if coarse_labels:
            doc._.coarse_labels = coarse_labels
        if options.unannotated:
            own = doc._.unannotated_labels or ()
            doc._.unannotated_labels = list(dict.fromkeys([*own, *options.unannotated]))
        yield doc
    if unknown := declarations.keys() - found:
        words = {"labels": ", ".join(sorted(unknown)), "found": ", ".join(sorted(found))}
        warnings.warn(Warnings.W160.format(path=path, **words), stacklevel=2)


def read_coarse(values: Sequence[str]) -> dict[str, list[str]]:
    """The labels that each label stands for. Raises ValueError (F163)."""
    found: dict[str, list[str]] = {}
    for value in values:
        match = re.fullmatch(r"\s*([^=\s][^=]*)=(.*)", value)
        if match is None or (label := match[1].strip()) in found:
            raise ValueError(Errors.F163.format(value=value))
        found[label] = [fine for fine in map(str.strip, match[2].split(",")) if fine]
    return found
