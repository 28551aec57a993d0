"""Corpora of texts and their translations: a text, a TAB and its translation on each line.

    亚马逊位于华盛顿州的西雅图。	Amazon is located in Seattle, Washington.

A pair becomes a Doc of the text, with its translation in `doc._.translation`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..errors import Errors, Warnings
from ..text.units import HAN
from ..translator import annotations as extensions  # noqa: F401  (doc._.translation)
from .docs import make_doc
from .formats import ConvertOptions, CorpusFormat, Summary
from .records import require_columns, tab_lines


def read_translations(path: Path, options: ConvertOptions, summary: Summary) -> Iterator[Doc]:
    """Yield the Docs of a file. Raises ValueError for a line of another form (F151) or with one
    text (F153). Warns (W405) if texts and translations seem to be swapped."""
    vocab = Vocab()
    n_swapped = 0
    for line, cells in tab_lines(path):
        require_columns(path, line, cells, len(cells) == 2, "a text, a TAB and its translation")
        source, translation = map(str.strip, cells)
        if not (source and translation):
            words = {"side": "translation" if source else "source", "problem": "is empty"}
            raise ValueError(Errors.F153.format(path=path, line=line, **words))
        n_swapped += bool(HAN.search(translation) and not HAN.search(source))
        doc = make_doc(vocab, source)
        doc._.translation = translation
        yield doc
    if n_swapped > 0.5 * summary.docs:
        warning = Warnings.W405.format(path=path, n=summary.docs, swapped=n_swapped)
        warnings.warn(warning, stacklevel=2)


FORMATS = {"parallel-tsv": CorpusFormat(read_translations, "他来了。⇥He came.")}
