"""Corpora of texts and their translations: tables with TABs, and two files line by line.

A table has a text and its translation on each line:

    亚马逊位于华盛顿州的西雅图。	Amazon is located in Seattle, Washington.

With two aligned files, each line of the second is the translation of the same line of the first;
lines that are blank in both are skipped.

A pair becomes a Doc of the text, with its translation in `doc._.translation`.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice, zip_longest
from pathlib import Path

from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..errors import Errors, Warnings
from ..text.characters import HAN
from ..translator import annotations as extensions  # noqa: F401  (doc._.translation)
from ..util.files import read_text_lines
from .cells import count_other_columns, tab_lines
from .columns import SAMPLE, has_tags
from .poems import make_text
from .records import has_objects
from .repairs import Repairs
from .tables import ConvertOptions, CorpusFormat

LENGTHS = (5, 10, 20, 40)  # words of a translation, up to which they are counted together

Pair = tuple[int, str, str]  # line of the file, text and translation
Cut = Callable[[Path, ConvertOptions, Repairs], Iterator[Pair]]


# Formats


def parallel(cut: Cut, *takes: str) -> CorpusFormat:
    """The format of files that `cut` splits into pairs. Warns (W405) if texts and translations seem
    to be swapped."""

    def read(path: Path, options: ConvertOptions, repairs: Repairs, vocab: Vocab) -> Iterator[Doc]:
        files = {"source": path, "translation": options.target or path}
        n_pairs = n_swapped = 0
        for line, *texts in cut(path, options, repairs):
            source, translation = (text.replace("\ufeff", "").strip() for text in texts)
            if is_whole(files, line, source, translation, options.max_length, repairs):
                n_pairs += 1
                n_swapped += has_chinese(translation) and not has_chinese(source)
                yield make_pair(vocab, source, translation)
        if n_swapped > 0.5 * n_pairs:
            warning = Warnings.W405.format(path=path, n=n_pairs, swapped=n_swapped)
            warnings.warn(warning, stacklevel=2)

    takes = ("max_length", *takes)
    return CorpusFormat(read, count_length, show_pair, "translation", takes, "pair", key_of)


def is_whole(
    files: dict[str, Path],
    line: int,
    source: str,
    translation: str,
    max_length: int,
    repairs: Repairs,
) -> bool:
    """Whether both sides of a pair have text (F153), and not more of it than `max_length`
    characters (F423)."""
    for side, text in (("source", source), ("translation", translation)):
        where = {"path": files[side], "line": line, "side": side}
        if not text:
            error = Errors.F153.format(**where, problem="is empty")
            return repairs.count(f"pair with an empty {side} dropped", error)
        if len(text) > max_length:
            error = Errors.F423.format(**where, length=len(text), limit=max_length)
            return repairs.count(f"pair with an over-long {side} dropped", error)
    return True


def has_chinese(text: str) -> bool:
    return HAN.search(text) is not None


def make_pair(vocab: Vocab, source: str, translation: str) -> Doc:
    doc = make_text(vocab, source)
    doc._.translation = translation
    return doc


def count_length(doc: Doc) -> Counter[str]:
    """How many words the translation has: "up to 5 words" …, "more than 40 words"."""
    n_words = len(doc._.translation.split())
    limit = next((length for length in LENGTHS if n_words <= length), None)
    return Counter([f"up to {limit} words" if limit else f"more than {LENGTHS[-1]} words"])


def show_pair(doc: Doc) -> str:
    return f"{doc.text} | {doc._.translation}"


def key_of(doc: Doc) -> tuple[str, str]:
    """Both texts: one text may have several translations."""
    return doc.text, doc._.translation


def tab_pairs(path: Path, options: ConvertOptions, repairs: Repairs) -> Iterator[Pair]:
    """Cut lines at their TAB. Raises ValueError (F004, F151)."""
    for line, cells in tab_lines(path, repairs):
        if len(cells) == 2:
            yield line, cells[0], cells[1]
        else:
            wanted = "a text, a TAB and its translation"
            count_other_columns(path, line, len(cells), wanted, repairs)


def aligned_pairs(path: Path, options: ConvertOptions, repairs: Repairs) -> Iterator[Pair]:
    """Take the lines of two files side by side.

    Raises ValueError (F004; F424 without a second file, F431 where it is the first one; F420 where
    one has more lines: which of them belong together can't be known then, so that this is not
    repaired).
    """
    if options.target is not None and options.target.exists() and path.samefile(options.target):
        raise ValueError(Errors.F431.format(path=path))
    translations = read_text_lines(options.target) if options.target else iter(())
    for left, right in zip_longest(read_text_lines(path), translations):
        line, _ = left or right
        source, translation = (numbered[1] if numbered else "" for numbered in (left, right))
        if not (source.strip() or translation.strip()):
            continue
        if options.target is None:
            raise ValueError(Errors.F424.format(path=path))
        if left is None or right is None:
            longer, shorter = (options.target, path) if left is None else (path, options.target)
            error = Errors.F420.format(path=longer, line=line, shorter=shorter)
            raise ValueError(error)
        repairs.n_lines += 1
        yield line, source, translation


FORMATS: dict[str, CorpusFormat] = {
    "parallel-tsv": parallel(tab_pairs),
    "parallel": parallel(aligned_pairs, "target"),
}


# Telling the format


def detect_format(path: Path) -> str | None:
    """Tell a table by its first lines; None where they look like no table of Chinese texts and
    translations. Others, and aligned files, have to be named."""
    if has_objects(path) or has_tags(path):
        return None
    lines = (text for _, text in read_text_lines(path) if text.strip())
    rows = [text.split("\t") for text in islice(lines, SAMPLE)]
    fitting = sum(len(row) == 2 and has_chinese(row[0]) and not has_chinese(row[1]) for row in rows)
    return "parallel-tsv" if fitting > 0.5 * len(rows) else None
