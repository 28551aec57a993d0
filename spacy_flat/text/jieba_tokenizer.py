"""What spaCy's tokenizer with jieba lacks: it starts quietly, and can be pickled and copied.

Importing this suffices; components are imported before a pipeline makes its tokenizer.
"""

import copyreg
import logging
from typing import Any

from spacy.lang.zh import ChineseTokenizer, Segmenter, try_jieba_import


def _reduce(tokenizer: ChineseTokenizer) -> tuple[Any, ...]:
    # Its attribute `jieba_seg` is a module.
    return _restore, ({**vars(tokenizer), "jieba_seg": None},)


def _restore(attributes: dict[str, Any]) -> ChineseTokenizer:
    tokenizer = ChineseTokenizer.__new__(ChineseTokenizer)
    vars(tokenizer).update(attributes)
    if tokenizer.segmenter == Segmenter.jieba:
        tokenizer.jieba_seg = try_jieba_import()  # type: ignore[no-untyped-call]
    return tokenizer


copyreg.pickle(ChineseTokenizer, _reduce)
# jieba sets the level of its logger itself, when it is imported.
logging.getLogger("jieba").addFilter(lambda record: record.levelno > logging.DEBUG)
