"""Corpora of entities: their formats, and Docs from their sentences."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..errors import Errors, Warnings
from ..ner import spans as _extensions  # noqa: F401
from ..text.units import EntitySpan
from .columns import Scheme, Sentence, read_columns
from .formats import ConvertOptions, CorpusFormat, Repairs
from .offsets import EXAMPLES, read_offsets
from .tokens import split_off_spaces

_DECLARATION = re.compile(r"\s*([^=\s][^=]*)=(.*)")


def columns(scheme: Scheme, example: str) -> CorpusFormat:
    """The format of column files with these tags."""

    def read(path: Path, options: ConvertOptions, repairs: Repairs, vocab: Vocab) -> Iterator[Doc]:
        separator = " " if options.words else ""
        sentences = read_columns(path, scheme, options, repairs)
        return make_docs(vocab, path, sentences, options, repairs, separator)

    takes = ("words", "strip_prefix", "strip_position", *DECLARED)
    return CorpusFormat(read, example, count_entities, show_entities, "entity", takes=takes)


def offsets(example: str) -> CorpusFormat:
    """The format of JSON with character offsets. The reader tells the layouts by their keys."""

    def read(path: Path, options: ConvertOptions, repairs: Repairs, vocab: Vocab) -> Iterator[Doc]:
        return make_docs(vocab, path, read_offsets(path, repairs), options, repairs)

    return CorpusFormat(read, example, count_entities, show_entities, "entity", takes=DECLARED)


def count_entities(doc: Doc) -> Counter[str]:
    return Counter(ent.label_ for ent in doc.ents)


def show_entities(doc: Doc) -> str:
    """The text with each entity as "[重庆](LOC)"."""
    text = doc.text  # spaCy builds it on each access
    pieces = []
    end = 0
    for ent in doc.ents:
        pieces += [text[end : ent.start_char], f"[{ent.text}]({ent.label_})"]
        end = ent.end_char
    return " ".join("".join([*pieces, text[end:]]).split())


DECLARED = ("coarse", "longest", "unannotated")
FORMATS: dict[str, CorpusFormat] = {
    "bio": columns("bio", "王⇥B-PER ⏎ 芳⇥I-PER ⏎ 去⇥O"),
    "bmes": columns("bmes", "王⇥B-PER ⏎ 小⇥M-PER ⏎ 芳⇥E-PER"),
    "bioes": columns("bioes", "王⇥B-PER ⏎ 小⇥I-PER ⏎ 芳⇥E-PER"),
    **{name: offsets(example) for name, example in EXAMPLES.items()},
}


# From sentences to Docs


def make_docs(
    vocab: Vocab,
    path: Path,
    sentences: Iterable[Sentence],
    options: ConvertOptions,
    repairs: Repairs,
    separator: str = "",
) -> Iterator[Doc]:
    """Yield the Doc of each sentence, with the declarations of the options. Raises as `declared`
    and `trim_entities`."""
    trimmed = (trim_entities(each, path, repairs) for each in sentences)
    return declared((make_doc(vocab, each, separator) for each in trimmed), options, path)


def trim_entities(sentence: Sentence, path: Path, repairs: Repairs) -> Sentence:
    """Strip white space from the ends of entities, since spaCy doesn't allow it.

    Raises ValueError (F110) unless repairs are enabled.
    """
    entities = []
    for start, end, label in sentence.entities:
        units = sentence.units[start:end]
        filled = [index for index, unit in enumerate(units, start) if not unit.isspace()]
        if [start, end - 1] != [*filled[:1], *filled[-1:]]:
            words = {"label": label, "surface": "".join(units)}
            error = Errors.F110.format(path=path, line=sentence.line, **words)
            repairs.count("white space trimmed off an entity", error)
        if filled:
            entities.append(EntitySpan(filled[0], filled[-1] + 1, label))
    return sentence._replace(entities=entities)


def make_doc(vocab: Vocab, sentence: Sentence, separator: str = "") -> Doc:
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
        for label, labels in declarations(options.coarse, Errors.F163)
    }
    longest = {label: length(most) for label, most in declarations(options.longest, Errors.F168)}
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


def declarations(values: Sequence[str], error: str) -> Iterator[tuple[str, str]]:
    """Yield the label and the rest of each "LABEL=REST". Raises ValueError with the text `error`
    for another form, or the second one of a label."""
    known = set()
    for value in values:
        match = _DECLARATION.fullmatch(value)
        if match is None or (label := match[1].strip()) in known:
            raise ValueError(error.format(value=value))
        known.add(label)
        yield label, match[2]


def length(text: str) -> int:
    """A number of characters. Raises ValueError (F168)."""
    if not re.fullmatch(r"\s*\d+\s*", text, re.ASCII):
        raise ValueError(Errors.F168.format(value=text))
    return int(text)
