"""Corpora of entities: their formats, and converting their sentences to Docs."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import get_args

from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..errors import Errors, Warnings
from ..ner import spans as _extensions  # noqa: F401
from ..text.units import EntitySpan
from .columns import (
    ColumnReader,
    Scheme,
    are_swapped,
    detect_scheme,
    has_positions,
    has_spaced_words,
    has_tags,
    reversed_tag,
    sample_rows,
)
from .offsets import Layout, OffsetReader, detect_layout
from .repairs import AnnotatedUnits, Repairs
from .tables import ConvertOptions, CorpusFormat
from .tokens import split_off_spaces


def detect_format(path: Path) -> str | None:
    """Detect the format of a file by its first lines, and a column file's scheme by its tags.

    Raises ValueError (F147) where all tags have their position at the end.
    """
    if layout := detect_layout(path):
        return layout
    if tag := reversed_tag(sample_rows(path)):
        expected = f"{tag[-1]}-{tag[:-2]}"
        raise ValueError(Errors.F147.format(path=path, tag=tag, expected=expected))
    return detect_scheme(path) if has_tags(path) else None


def columns(scheme: Scheme) -> CorpusFormat:
    """The format of column files with these tags."""

    def read(path: Path, options: ConvertOptions, repairs: Repairs, vocab: Vocab) -> Iterator[Doc]:
        check_units(path, options)
        separator = " " if options.words else ""
        reader = ColumnReader(path, scheme, repairs, options.strip_prefix, options.strip_position)
        sentences = (trim_entities(sentence, path, repairs) for sentence in reader)
        yield from declared((make_doc(vocab, each, separator) for each in sentences), options, path)

    takes = ("words", "strip_prefix", "strip_position", *DECLARED)
    return CorpusFormat(read, count_entities, show_entities, "entity", takes)


def read_offsets(
    path: Path, options: ConvertOptions, repairs: Repairs, vocab: Vocab
) -> Iterator[Doc]:
    """Yield the Docs of JSON records, whichever layout they have."""
    sentences = (trim_entities(each, path, repairs) for each in OffsetReader(path, repairs))
    yield from declared((make_doc(vocab, sentence) for sentence in sentences), options, path)


def declared(docs: Iterable[Doc], options: ConvertOptions, path: Path) -> Iterator[Doc]:
    """Keep with each Doc what its labels stand for and which ones it doesn't annotate. Drop the
    entities of labels that stand for none, and the annotation of entities that are too long.

    Raises ValueError for a `coarse` (F163) or `longest` (F168) of another form, or the second one
    of a label. Warns (W160) of a label that no entity has.
    """
    coarse = {
        label: [fine for fine in map(str.strip, labels.split(",")) if fine]
        for label, labels in by_label(options.coarse, COARSE, Errors.F163)
    }
    longest = {label: int(most) for label, most in by_label(options.longest, LONGEST, Errors.F168)}
    coarse_labels = {label: fine for label, fine in coarse.items() if fine not in ([], [label])}
    unknown = {*coarse, *longest}
    for doc in docs:
        unknown -= {ent.label_ for ent in doc.ents}
        kept = [ent for ent in doc.ents if coarse.get(ent.label_, True)]
        long = [ent for ent in kept if len(ent.text) > longest.get(ent.label_, len(ent.text))]
        if long or len(kept) < len(doc.ents):
            doc.set_ents([ent for ent in kept if ent not in long], missing=long)
        if coarse_labels:
            doc._.coarse_labels = coarse_labels
        if options.unannotated:
            doc._.unannotated_labels = list(options.unannotated)
        yield doc
    if unknown:
        labels = ", ".join(sorted(unknown))
        warnings.warn(Warnings.W160.format(path=path, labels=labels), stacklevel=2)


def by_label(
    declarations: Iterable[str], form: re.Pattern[str], error: str
) -> Iterator[tuple[str, str]]:
    """Yield the label and the rest of each. Raises ValueError with this text for one of another
    form, or the second one of a label."""
    known = set()
    for each in declarations:
        found = form.fullmatch(each)
        if found is None or (label := found[1].strip()) in known:
            raise ValueError(error.format(value=each))
        known.add(label)
        yield label, found[2]


def count_entities(doc: Doc) -> Counter[str]:
    return Counter(ent.label_ for ent in doc.ents)


def show_entities(doc: Doc) -> str:
    """The text with each entity as "[重庆](LOC)"."""
    text = doc.text  # spaCy joins it at each access
    pieces = []
    place = 0
    for ent in doc.ents:
        pieces += [text[place : ent.start_char], f"[{ent.text}]({ent.label_})"]
        place = ent.end_char
    return " ".join("".join([*pieces, text[place:]]).split())


COARSE = re.compile(r"\s*([^=\s][^=]*)=(.*)")
LONGEST = re.compile(r"\s*([^=\s][^=]*)=\s*(\d+)\s*", re.ASCII)
DECLARED = ("coarse", "longest", "unannotated")
OFFSETS = CorpusFormat(read_offsets, count_entities, show_entities, "entity", DECLARED)
FORMATS: dict[str, CorpusFormat] = {
    "bio": columns("bio"),
    "iob1": columns("iob1"),
    "bmes": columns("bmes"),
    "bioes": columns("bioes"),
    "biluo": columns("biluo"),
    **dict.fromkeys(get_args(Layout), OFFSETS),
}


def check_units(path: Path, options: ConvertOptions) -> None:
    """Check the first units of a column file before converting it.

    Raises ValueError where they are tags (F144), where they carry positions that are not stripped
    (F114), and where they are words that would be written together (F115).
    """
    rows = sample_rows(path)
    units = [unit.removeprefix(options.strip_prefix) for unit, _ in rows]
    example = " ".join(units[:4])
    if rows and are_swapped(rows):
        raise ValueError(Errors.F144.format(path=path, units=example))
    if not options.strip_position and has_positions(units):
        raise ValueError(Errors.F114.format(path=path, units=example))
    if not options.words and has_spaced_words(units):
        raise ValueError(Errors.F115.format(path=path, units=example))


def trim_entities(sentence: AnnotatedUnits, path: Path, repairs: Repairs) -> AnnotatedUnits:
    """Strip white space from the ends of entities, since spaCy doesn't allow it.

    Raises ValueError (F110) where repairing was not asked for.
    """
    entities = []
    for start, end, label in sentence.entities:
        units = sentence.units[start:end]
        filled = [index for index, unit in enumerate(units, start) if not unit.isspace()]
        if filled and (filled[0], filled[-1] + 1) == (start, end):
            entities.append(EntitySpan(start, end, label))
            continue
        error = Errors.F110.format(
            path=path, line=sentence.line, label=label, surface="".join(units)
        )
        repairs.count("white space trimmed off an entity", error, label=True)
        if filled:
            entities.append(EntitySpan(filled[0], filled[-1] + 1, label))
    return sentence._replace(entities=entities)


def make_doc(vocab: Vocab, sentence: AnnotatedUnits, separator: str = "") -> Doc:
    """Make a Doc whose text is exactly the units with `separator` between them.

    A unit is a token, whatever its length. White space is tokenised as by spaCy's own tokenizers:
    a single space belongs to the token before it, more than that is a token.
    """
    words, spaces = split_off_spaces(sentence.units, separator)
    doc = Doc(vocab, words=words, spaces=spaces)
    starts = list(accumulate((len(unit) + len(separator) for unit in sentence.units), initial=0))
    spans = []
    for start, end, label in sentence.entities:
        span = doc.char_span(starts[start], starts[end] - len(separator), label)
        assert span is not None  # units are tokens, and entities have no outer white space
        spans.append(span)
    doc.ents = tuple(spans)
    return doc
