"""The logger "spacy_flat", for messages of initialisation and training, and numbers in messages.

It writes to stderr; `logging.getLogger("spacy_flat").setLevel("WARNING")` silences it.
"""

import logging
from collections.abc import Sequence

logger = logging.getLogger("spacy_flat")
if not logger.handlers:
    logger.setLevel(logging.INFO)
    logger.addHandler(logging.StreamHandler())


def shortened(words: Sequence[str], n: int = 3, separator: str = ", ") -> str:
    """The first n words, and "…" if there are more."""
    return separator.join([*words[:n], *["…"][: len(words) - n]])


def counted(n: int, noun: str) -> str:
    """ "1 sentence", "1,024 sentences", "2 entities"."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{n:,} {noun if n == 1 else plural}"
