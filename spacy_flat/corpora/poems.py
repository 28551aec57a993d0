"""Corpora for the generator: poems between blank lines, after titles or in JSON, or any texts, one
per line.

JSON has an object for each poem, one per line or all of them in one array; the list of lines may
also be called "paragraphs", as in the collection chinese-poetry. A poem becomes a Doc of its lines
with their punctuation and nothing between them, like the generator's `Poem.text`.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..errors import Errors
from ..generator.forms import Form
from ..util.files import read_text_lines
from .docs import make_doc
from .formats import ConvertOptions, CorpusFormat, Summary
from .records import Line, parsed_records

KEYS = ("lines", "paragraphs")  # of the list of lines
LAYOUT = '{"lines": ["…，…。", …]}'

LINE_ENDS = "，。？！；："
PUNCTUATION = f"{LINE_ENDS}、「」『』《》〈〉“”‘’"

# Editors put notes into round brackets, and text that they supplied into square ones.
_NOTE = re.compile(r"（[^（）]*）|\([^()]*\)|[\[\]]")
_LINE_END = re.compile(f"[{LINE_ENDS}]+")
# Perhaps with the author. A line that ends with a colon has none, nor is 孟子曰： one.
_TITLE = re.compile(rf"^(?!.*[:：]\s*$)(?:[^{LINE_ENDS}:]*(?<!曰)[:：])+")
_DOUBLED = re.compile(f"(^|[{LINE_ENDS}])[{LINE_ENDS}]+")

Poems = Iterator[tuple[Line, Sequence[str]]]  # line of the file, and the lines of a poem


def read_poems(
    path: Path, options: ConvertOptions, summary: Summary, cut: Callable[[Path], Poems]
) -> Iterator[Doc]:
    """Yield the Docs of a file that `cut` splits into lines of poems. Raises ValueError as
    `is_whole` and `cut`."""
    vocab = Vocab()
    for line, lines in cut(path):
        text = join_lines(lines)
        if is_whole(path, line, text, summary):
            yield make_doc(vocab, text)


def read_texts(path: Path, options: ConvertOptions, summary: Summary) -> Iterator[Doc]:
    """Yield a Doc of each line that is not blank."""
    vocab = Vocab()
    for _, line in read_text_lines(path):
        if text := line.strip():
            yield make_doc(vocab, text)


# Poems


def join_lines(lines: Sequence[str]) -> str:
    """The text of a poem, without white space and the notes of its editors. If no line has
    punctuation, commas and full stops are added in turn."""
    lines = [line for line in ("".join(line.split()) for line in lines) if line]
    if len(lines) > 1 and not any(_LINE_END.search(line) for line in lines):
        marks = Form(len(lines), 1).marks
        lines = [line + mark for line, mark in zip(lines, marks, strict=True)]
    return _DOUBLED.sub(r"\1", _NOTE.sub("", "".join(lines)))


def is_whole(path: Path, line: Line, text: str, summary: Summary) -> bool:
    """Whether there is a poem, and all its characters are of a script without upper and lower case,
    or punctuation. Others stand for lost ones: repairs drop such poems.

    Raises ValueError for them (F170) unless repairs are enabled.
    """
    if not _LINE_END.sub("", text):
        summary.skipped += 1
        return False
    for at, char in enumerate(text):
        if unicodedata.category(char) != "Lo" and char not in PUNCTUATION:
            shown = text[max(0, at - 5) : at + 6]
            words = {"found": char, "code": f"U+{ord(char):04X}", "shown": shown}
            error = Errors.F170.format(path=path, line=line, **words)
            summary.count_repair("poem with a lost character dropped", error)
            return False
    return True


def blank_line_poems(path: Path) -> Poems:
    """Split a file at its blank lines. Where most lines are `title:poem`, each line is a poem,
    and white space separates its lines."""
    lines = [*read_text_lines(path)]
    filled = [(number, text) for number, text in lines if text.strip()]
    if 2 * sum(_TITLE.match(text) is not None for _, text in filled) > len(filled):
        yield from ((number, _TITLE.sub("", text).split()) for number, text in filled)
        return
    for is_text, group in groupby(lines, lambda line: bool(line[1].strip())):
        if is_text:
            numbered = list(group)
            yield numbered[0][0], [text for _, text in numbered]


def lines_of(record: Any) -> list[str]:
    """The lines of an object. Raises ValueError that says what is wrong with it."""
    if not isinstance(record, dict):
        raise ValueError("it is not a JSON object")
    lines = next((record[key] for key in KEYS if key in record), None)
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise ValueError('it has no list "lines" or "paragraphs" of strings')
    "".join(lines).encode()  # raises for a surrogate, which JSON can escape
    return lines


FORMATS: dict[str, CorpusFormat] = {
    "poems": CorpusFormat(
        partial(read_poems, cut=blank_line_poems),
        "白日依山尽，黄河入海流。 ⏎ 欲穷千里目，更上一层楼。 ⏎⏎ 春眠…",
    ),
    "poems-jsonl": CorpusFormat(
        partial(read_poems, cut=partial(parsed_records, parse=lines_of, layout=LAYOUT)),
        '{"lines": ["白日依山尽，黄河入海流。", "欲穷千里目，…"]}',
    ),
    "lines": CorpusFormat(read_texts, "今天天气很好。 ⏎ 明天也是。"),
}
