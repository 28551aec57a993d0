"""Corpora of entities: their formats, and Docs from their sentences."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path

from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from ..errors import Errors, Warnings
from ..ner import spans as _extensions  # noqa: F401
from .columns import Scheme, Sentence, read_columns
from .docs import make_doc
from .formats import ConvertOptions, CorpusFormat, Summary
from .offsets import EXAMPLES, read_offsets

DECLARED = ("coarse", "longest", "unannotated")


def read_tagged(
    path: Path, options: ConvertOptions, summary: Summary, scheme: Scheme
) -> Iterator[Doc]:
    """Yield the Docs of a column file. Raises ValueError as `read_columns` and `make_docs`."""
    sentences = read_columns(path, scheme, options, summary)
    return make_docs(path, sentences, options, summary)


def read_records(path: Path, options: ConvertOptions, summary: Summary) -> Iterator[Doc]:
    """Yield the Docs of JSON with offsets. Raises ValueError as `read_offsets` and `make_docs`."""
    return make_docs(path, read_offsets(path, summary), options, summary)


_of_entities = partial(
    CorpusFormat,
    noun="sentence",
    label="entity",
    labels=lambda doc: [ent.label_ for ent in doc.ents],
    takes=DECLARED,
)
_tagged = partial(_of_entities, takes=("words", "strip_prefix", "strip_position", *DECLARED))
FORMATS: dict[str, CorpusFormat] = {
    "bio": _tagged(partial(read_tagged, scheme="bio"), "王⇥B-PER ⏎ 芳⇥I-PER ⏎ 去⇥O"),
    "bmes": _tagged(partial(read_tagged, scheme="bmes"), "王⇥B-PER ⏎ 小⇥M-PER ⏎ 芳⇥E-PER"),
    "bioes": _tagged(partial(read_tagged, scheme="bioes"), "王⇥B-PER ⏎ 小⇥I-PER ⏎ 芳⇥E-PER"),
    # One reader tells the layouts by their keys.
    **{name: _of_entities(read_records, example) for name, example in EXAMPLES.items()},
}


# From sentences to Docs


def make_docs(
    path: Path, sentences: Iterable[Sentence], options: ConvertOptions, summary: Summary
) -> Iterator[Doc]:
    """Yield the Doc of each sentence, with the declarations of the options. Raises as `annotated`
    and `declared`."""
    vocab = Vocab()
    separator = " " if options.words else ""
    docs = (annotated(vocab, each, path, summary, separator) for each in sentences)
    return declared(docs, options, path)


def annotated(
    vocab: Vocab, sentence: Sentence, path: Path, summary: Summary, separator: str = ""
) -> Doc:
    """The Doc of a sentence, with its entities, whose ends spaCy allows no white space at.

    Raises ValueError (F110) for such an entity unless repairs are enabled, which trim it.
    """
    doc = make_doc(vocab, sentence.units, separator)
    text = doc.text  # spaCy builds it on each access
    starts = list(accumulate((len(unit) + len(separator) for unit in sentence.units), initial=0))
    spans: list[Span] = []
    for start, end, label in sentence.entities:
        first, last = starts[start], starts[end] - len(separator)
        surface = text[first:last]
        if surface != surface.strip():
            words = {"label": label, "surface": surface}
            error = Errors.F110.format(path=path, line=sentence.line, **words)
            summary.count_repair("white space trimmed off an entity", error)
        first += len(surface) - len(surface.lstrip())
        if span := doc.char_span(first, first + len(surface.strip()), label):
            spans.append(span)
    unknown = {
        token.i
        for index in sentence.unknown
        for token in doc.char_span(starts[index], starts[index] + 1, alignment_mode="expand") or ()
    }
    unknown -= {token.i for span in spans for token in span}
    doc.set_ents(spans, missing=[doc[i : i + 1] for i in sorted(unknown)], default="outside")
    return doc


def declared(docs: Iterable[Doc], options: ConvertOptions, path: Path) -> Iterator[Doc]:
    """Keep with each Doc what its labels stand for and which ones it doesn't annotate. Drop the
    entities of labels that stand for none, and the annotation of entities that are too long.

    Raises ValueError for a `coarse` (F163) or `longest` (F168) of another form, or a second one for
    a label. Warns (W160) of a label that no entity has.
    """
    coarse = {
        label: [fine for fine in map(str.strip, labels.split(",")) if fine]
        for label, labels in declarations(options.coarse, ".*", Errors.F163).items()
    }
    lengths = declarations(options.longest, r"\s*[0-9]+\s*", Errors.F168)
    longest = {label: int(length) for label, length in lengths.items()}
    coarse_labels = {label: fine for label, fine in coarse.items() if fine not in ([], [label])}
    found: set[str] = set()
    for doc in docs:
        found.update(ent.label_ for ent in doc.ents)
        dropped = [ent for ent in doc.ents if not coarse.get(ent.label_, True)]
        kept = [ent for ent in doc.ents if ent not in dropped]
        long = [ent for ent in kept if len(ent.text) > longest.get(ent.label_, len(ent.text))]
        if long or dropped:
            kept = [ent for ent in kept if ent not in long]
            doc.set_ents(kept, missing=long, outside=dropped, default="unmodified")
        if coarse_labels:
            doc._.coarse_labels = coarse_labels
        if options.unannotated:
            doc._.unannotated_labels = list(options.unannotated)
        yield doc
    if unknown := {*coarse, *longest} - found:
        words = {"labels": ", ".join(sorted(unknown)), "found": ", ".join(sorted(found))}
        warnings.warn(Warnings.W160.format(path=path, **words), stacklevel=2)


def declarations(values: Sequence[str], rest: str, error: str) -> dict[str, str]:
    """The rest of each "LABEL=REST" by its label. Raises ValueError with the text `error` for
    another form, or the second one of a label."""
    found: dict[str, str] = {}
    for value in values:
        match = re.fullmatch(rf"\s*([^=\s][^=]*)=({rest})", value)
        if match is None or (label := match[1].strip()) in found:
            raise ValueError(error.format(value=value))
        found[label] = match[2]
    return found
