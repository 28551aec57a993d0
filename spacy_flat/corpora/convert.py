"""A corpus file becomes a DocBin, each sentence a Doc."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Literal

from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ..errors import Errors
from ..files import read_text_lines, replacing
from ..text.units import EntitySpan
from .cluener import CluenerReader
from .columns import ColumnReader, detect_scheme
from .sentence import Repairs, Sentence

Format = Literal["auto", "bio", "bmes", "bioes", "cluener"]


@dataclass(frozen=True)
class ConvertOptions:
    """How to read a corpus file.

    format: "auto" tells it by the file.
    words: units are words with a space between them, not characters (or words) written together.
    repair: repair and count defects where that is possible instead of raising.
    strip_prefix, strip_position: see `ColumnReader`.
    """

    format: Format = "auto"
    words: bool = False
    repair: bool = False
    strip_prefix: str = ""
    strip_position: bool = False


@dataclass
class Summary:
    """What a converted file holds. `characters` are those of the texts."""

    sentences: int = 0
    characters: int = 0
    entities: Counter[str] = field(default_factory=Counter)
    repairs: Counter[str] = field(default_factory=Counter)


def convert_file(source: Path, target: Path, options: ConvertOptions) -> Summary:
    """Convert a corpus file to a `.spacy` file, whose folder is made where it is missing.

    Raises ValueError (F004 to F111); `target` is then left as it was.
    """
    repairs = Repairs(options.repair)
    summary = Summary(repairs=repairs.counts)
    separator = " " if options.words else ""
    vocab = Vocab()
    docs = DocBin(attrs=["ENT_IOB", "ENT_TYPE"])
    for sentence in read_corpus(source, options, repairs):
        sentence = trim_entities(sentence, source, repairs)
        docs.add(make_doc(vocab, sentence, separator))
        summary.sentences += 1
        summary.characters += len(separator.join(sentence.units))
        summary.entities.update(entity.label for entity in sentence.entities)
    if not summary.sentences:
        raise ValueError(Errors.F101.format(path=source))
    with replacing(target) as temporary:
        docs.to_disk(temporary)
    return summary


def read_corpus(path: Path, options: ConvertOptions, repairs: Repairs) -> Iterable[Sentence]:
    """Return the sentences of a file, which are read as they are asked for."""
    form = detect_format(path) if options.format == "auto" else options.format
    if form == "cluener":
        return CluenerReader(path, repairs)
    return ColumnReader(path, form, repairs, options.strip_prefix, options.strip_position)


def detect_format(path: Path) -> Literal["bio", "bmes", "bioes", "cluener"]:
    """Tell the format of a file by its first line, and a column file's scheme by all its tags."""
    first = next((text for _, text in read_text_lines(path) if text.strip()), "").strip()
    if first.startswith("{") and first.endswith("}"):
        return "cluener"
    return detect_scheme(path)


def trim_entities(sentence: Sentence, path: Path, repairs: Repairs) -> Sentence:
    """Take white space off the ends of entities, where spaCy allows none.

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
    doc.ents = tuple(spans)
    return doc


def split_off_spaces(units: list[str], separator: str) -> tuple[list[str], list[bool]]:
    """Return the tokens of units, and whether a space follows each.

    The same as `spacy.util.get_words_and_spaces`, but in linear time: a file without blank lines
    is one long sentence.
    """
    words: list[str] = []
    spaces: list[bool] = []
    pieces = [piece for unit in units for piece in (separator, unit)][1:] if separator else units
    for piece in pieces:
        after_word = bool(words) and not words[-1].isspace()
        if piece.startswith(" ") and after_word and not spaces[-1]:
            spaces[-1] = True
            piece = piece[1:]
        if piece.isspace() and words and words[-1].isspace():
            words[-1] += piece
        elif piece:
            words.append(piece)
            spaces.append(False)
    return words, spaces
