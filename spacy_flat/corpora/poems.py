"""Corpora for the generator: poems between blank lines or in JSON, or any texts, one per line.

Poems have a blank line between them, and line breaks anywhere:

    白日依山尽，黄河入海流。
    欲穷千里目，更上一层楼。

JSON has an object for each poem, one per line or all of them in one array; the list of lines
may also be called "paragraphs", as in the collection chinese-poetry:

    {"title": "登鹳雀楼", "lines": ["白日依山尽，黄河入海流。", "欲穷千里目，更上一层楼。"]}

A poem becomes a Doc of its lines with their punctuation and nothing between them, like the
generator's `Poem.text`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import Any

from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..errors import Errors
from ..generator.forms import FORMS, Form
from ..util.files import read_text_lines
from .columns import SAMPLE
from .records import check_characters, first_record, has_objects, parsed_records
from .repairs import Repairs
from .tables import ConvertOptions, CorpusFormat
from .tokens import split_off_spaces

KEYS = ("lines", "paragraphs")  # of the list of lines
LAYOUT = '{"lines": ["…，…。", …]}'

LINE_ENDS = "，。？！；："
PUNCTUATION = f"{LINE_ENDS}、「」『』《》〈〉“”‘’"
LONGEST_LINE = 40  # characters, in a file that is taken for poems

_NOTE = re.compile(r"（[^（）]*）|\([^()]*\)")
_SUPPLIED = re.compile(r"\[([^\[\]]*)\]")
_LINE_END = re.compile(f"[{LINE_ENDS}]+")
_DOUBLED = re.compile(f"(^|[{LINE_ENDS}])[{LINE_ENDS}]+")

Raw = tuple[int, Sequence[str]]  # line of the file, and the lines of a poem


# Formats


def poems(cut: Callable[[Path, Repairs], Iterator[Raw]]) -> CorpusFormat:
    """The format of files that `cut` cuts into lines of poems."""

    def read(path: Path, options: ConvertOptions, repairs: Repairs, vocab: Vocab) -> Iterator[Doc]:
        for line, lines in cut(path, repairs):
            text = join_lines(lines)
            if is_whole(path, line, text, repairs):
                yield make_text(vocab, text)

    return CorpusFormat(read, count_form, attrgetter("text"), "poem", doc="poem")


def read_texts(
    path: Path, options: ConvertOptions, repairs: Repairs, vocab: Vocab
) -> Iterator[Doc]:
    """Yield a Doc of each line that is not blank."""
    for _, line in read_text_lines(path):
        if text := line.replace("\ufeff", "").strip():
            repairs.n_lines += 1
            yield make_text(vocab, text)


def make_text(vocab: Vocab, text: str) -> Doc:
    words, spaces = split_off_spaces(list(text), "")
    return Doc(vocab, words=words, spaces=spaces)


def count_form(doc: Doc) -> Counter[str]:
    """The form: "五绝", "七绝", "五律", "七律" or "other"."""
    return Counter([form_name(doc.text) or "other"])


def form_name(text: str) -> str | None:
    """The name of the form that a text has, whatever marks end its lines; None for no known one."""
    lengths = [len(line) for line in _LINE_END.split(text)[:-1]]
    for name, form in FORMS.items():
        if lengths == [form.characters] * form.lines:
            return name
    return None


# Poems


def join_lines(lines: Sequence[str]) -> str:
    """The text of a poem, without white space and the notes of its editors.

    Notes are in round brackets; text in square ones was supplied by editors and is kept. If no line
    has punctuation, commas and full stops are added in turn.
    """
    if re.search(r"[（(\[]", text := "".join(lines)):
        lines = [without_notes(text)]
    lines = ["".join(line.replace("\ufeff", "").split()) for line in lines]
    lines = [line for line in lines if line]
    if len(lines) > 1 and not any(_LINE_END.search(line) for line in lines):
        marks = Form(len(lines), 1).marks
        lines = [line + mark for line, mark in zip(lines, marks, strict=True)]
    return "".join(lines)


def without_notes(text: str) -> str:
    """A text without notes, including nested ones, and without the marks around them."""
    found = 1
    while found:
        text, found = _NOTE.subn("", text)
    return _DOUBLED.sub(r"\1", _SUPPLIED.sub(r"\1", text))


def is_whole(path: Path, line: int, text: str, repairs: Repairs) -> bool:
    """Whether a poem is whole: not empty (F153), and nothing but characters of a script without
    upper and lower case and punctuation (F170). Others stand for characters that are lost."""
    odd = odd_character(text)
    where = {"path": path, "line": line}
    if odd is not None:
        place = text.index(odd)
        shown = text[max(0, place - 5) : place + 6]
        error = Errors.F170.format(**where, found=odd, code=f"U+{ord(odd):04X}", shown=shown)
        return repairs.count("poem with a lost character dropped", error)
    if not _LINE_END.sub("", text):
        error = Errors.F153.format(**where, side="poem", problem="is empty")
        return repairs.count("empty poem dropped", error)
    return True


def odd_character(text: str) -> str | None:
    """The first character that can't be part of a poem."""
    return next((c for c in text if unicodedata.category(c) != "Lo" and c not in PUNCTUATION), None)


def blank_line_poems(path: Path, repairs: Repairs) -> Iterator[Raw]:
    """Cut a file at its blank lines. Raises ValueError (F004)."""
    for is_text, lines in groupby(read_text_lines(path), lambda line: bool(line[1].strip())):
        if is_text:
            numbered = list(lines)
            repairs.n_lines += len(numbered)
            yield numbered[0][0], [text for _, text in numbered]


def lines_of(record: Any) -> list[str]:
    """The lines of an object. Raises ValueError that says what is wrong with it."""
    if not isinstance(record, dict):
        raise ValueError("it is not a JSON object")
    lines = next((record[key] for key in KEYS if key in record), None)
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise ValueError('it has no list "lines" or "paragraphs" of strings')
    check_characters("".join(lines))
    return lines


FORMATS: dict[str, CorpusFormat] = {
    "poems": poems(blank_line_poems),
    "poems-jsonl": poems(partial(parsed_records, parse=lines_of, layout=LAYOUT)),
    "lines": CorpusFormat(read_texts, count_form, attrgetter("text"), "text", doc="text"),
}


# Telling the format


def detect_format(path: Path) -> str | None:
    """Tell the format of a file by how it begins; None where it looks like none of poems. That of
    any texts can't be told, and has to be named."""
    if has_objects(path):
        return "poems-jsonl" if _has_lines(path) else None
    return "poems" if _has_verses(path) else None


def _has_lines(path: Path) -> bool:
    try:
        return bool(lines_of(first_record(path)))
    except ValueError:
        return False


def _has_verses(path: Path) -> bool:
    """Whether some lines are blank, and nine tenths of the others are short and contain only
    characters and punctuation."""
    sample = [text.strip() for _, text in islice(read_text_lines(path), SAMPLE)]
    verses = [text for text in sample if text]
    fitting = sum(len(text) <= LONGEST_LINE and odd_character(text) is None for text in verses)
    is_cut = "" in "\n".join(sample).strip().split("\n")
    return is_cut and fitting >= 0.9 * len(verses)
