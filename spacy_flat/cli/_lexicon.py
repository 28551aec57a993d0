"""The lexicon of a command: of a pipeline, of a word list, or jieba's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Errors
from ._components import choose

if TYPE_CHECKING:
    from spacy.language import Language

    from ..lexicon import Lexicon


def load_lexicon(source: str, *, component: str = "", add_jieba: bool = False) -> Lexicon:
    """The lexicon of a pipeline (package or folder) or of a word list; jieba's for "".

    component: the component with the lexicon, if several have one.
    add_jieba: add jieba's words to those of a word list.

    Raises FileNotFoundError for a missing file or pipeline (F145), ValueError for a word list
    without words (F010); otherwise as `choose`, `spacy.load` and `read_words`.
    """
    return load_source(source, component=component, add_jieba=add_jieba)[0]


def load_source(
    source: str, *, component: str = "", add_jieba: bool = False
) -> tuple[Lexicon, Language | None]:
    """As `load_lexicon`; and the pipeline, where the source is one."""
    from ..lexicon import jieba_words, read_words
    from ..lexicon.readers import jieba_lexicon, lexicon

    if not source:
        return jieba_lexicon(), None
    path = Path(source)
    if path.is_file():
        others = {"jieba": jieba_words()} if add_jieba else {}
        if not (words := read_words(path)):
            raise ValueError(Errors.F010.format(path=path, what="word"))
        return lexicon({path.name: words, **others}), None
    from ..loading import load_on_device

    require_source(source)
    nlp = load_on_device(source, "cpu")  # which has almost nothing to compute
    return lexicon_of(nlp, source, component), nlp


def require_source(source: str) -> None:
    """Raise FileNotFoundError (F145) for anything but a path or package."""
    from spacy.util import is_package

    if not Path(source).exists() and not is_package(source):
        raise FileNotFoundError(Errors.F145.format(source=source))


def lexicon_of(nlp: Language, source: str, component: str = "") -> Lexicon:
    """The lexicon of the pipeline's only component that has one, or of the one that is named.

    Raises as `load_lexicon`.
    """
    from ..lexicon import Lexicon

    candidates = {name: getattr(pipe, "lexicon", None) for name, pipe in nlp.pipeline}
    lexicons = {name: found for name, found in candidates.items() if isinstance(found, Lexicon)}
    return choose(lexicons, component, source, "component with a lexicon")
