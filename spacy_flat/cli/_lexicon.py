"""The lexicon that a command is given: of a pipeline, of a word list, or jieba's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Errors

if TYPE_CHECKING:
    from spacy.language import Language

    from ..lexicon import Lexicon


def load_lexicon(source: str) -> Lexicon:
    """The lexicon of a pipeline (package or folder) or of a word list; jieba's for "".

    Raises ValueError (F034) where no component of the pipeline has one; otherwise as `spacy.load`
    and `read_words`.
    """
    return load_source(source)[0]


def load_source(source: str) -> tuple[Lexicon, Language | None]:
    """As `load_lexicon`; and the pipeline, where the source is one."""
    from ..lexicon import Lexicon, read_words
    from ..lexicon.readers import jieba_lexicon

    if not source:
        return jieba_lexicon(), None
    if Path(source).is_file():
        return Lexicon(read_words(source)), None
    import spacy

    nlp = spacy.load(source)
    for _, component in nlp.pipeline:
        lexicon = getattr(component, "lexicon", None)
        if isinstance(lexicon, Lexicon):
            return lexicon, nlp
    raise ValueError(Errors.F034.format(name=source, components=", ".join(nlp.pipe_names)))
