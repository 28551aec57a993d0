"""Corpora of texts and their translations: tables with TABs, and two files line by line.

A table has a text and its translation on each line:

    亚马逊位于华盛顿州的西雅图。	Amazon is located in Seattle, Washington.

With two aligned files, each line of the second is the translation of the same line of the first;
lines that are blank in both are skipped. A pair becomes a Doc of the text, with its translation in
`doc._.translation`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import zip_longest
from pathlib import Path

from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..errors import Errors, Warnings
from ..text.units import HAN
from ..translator import annotations as extensions  # noqa: F401  (doc._.translation)
from ..util.files import read_text_lines
from .cells import require_columns, tab_lines
from .docs import make_doc
from .formats import ConvertOptions, CorpusFormat, Summary

Pairs = Iterator[tuple[int, str, str]]  # line of the file, text and translation


def read_pairs(
    path: Path,
    options: ConvertOptions,
    summary: Summary,
    cut: Callable[[Path, Path | None], Pairs],
) -> Iterator[Doc]:
    """Yield the Docs of files that `cut` splits into pairs. Raises ValueError (F153) for a pair
    with one text, and as `cut`. Warns (W405) if texts and translations seem to be swapped."""
    vocab = Vocab()
    files = {"source": path, "translation": options.target or path}
    n_swapped = 0
    for line, *texts in cut(path, options.target):
        source, translation = (text.replace("\ufeff", "").strip() for text in texts)
        for side, text in zip(files, (source, translation), strict=True):
            if not text:
                words = {"side": side, "problem": "is empty"}
                raise ValueError(Errors.F153.format(path=files[side], line=line, **words))
        n_swapped += bool(HAN.search(translation) and not HAN.search(source))
        doc = make_doc(vocab, source)
        doc._.translation = translation
        yield doc
    if n_swapped > 0.5 * summary.docs:
        warning = Warnings.W405.format(path=path, n=summary.docs, swapped=n_swapped)
        warnings.warn(warning, stacklevel=2)


def tab_pairs(path: Path, target: Path | None) -> Pairs:
    """Split lines at their TAB. Raises ValueError (F151)."""
    for line, cells in tab_lines(path):
        require_columns(path, line, cells, len(cells) == 2, "a text, a TAB and its translation")
        yield line, cells[0], cells[1]


def aligned_pairs(path: Path, target: Path | None) -> Pairs:
    """The lines of two files side by side.

    Raises ValueError (F424 without another file; F420 where one has more lines, since it isn't
    known which of them belong together).
    """
    if target is None or path.samefile(target):
        raise ValueError(Errors.F424.format(path=path))
    for left, right in zip_longest(read_text_lines(path), read_text_lines(target)):
        line, _ = left or right
        source, translation = (numbered[1] if numbered else "" for numbered in (left, right))
        if not (source.strip() or translation.strip()):
            continue
        if left is None or right is None:
            longer, shorter = (target, path) if left is None else (path, target)
            raise ValueError(Errors.F420.format(path=longer, line=line, shorter=shorter))
        yield line, source, translation


FORMATS: dict[str, CorpusFormat] = {
    "parallel-tsv": CorpusFormat(partial(read_pairs, cut=tab_pairs), "他来了。⇥He came.", "pair"),
    "parallel": CorpusFormat(
        partial(read_pairs, cut=aligned_pairs),
        "他来了。 (in a second file --target: He came.)",
        "pair",
        takes=("target",),
    ),
}
