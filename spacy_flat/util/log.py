"""The logger "spacy_flat": messages during initialisation and training.

It writes to stderr; `logging.getLogger("spacy_flat").setLevel("WARNING")` silences it.
"""

import logging

logger = logging.getLogger("spacy_flat")
if not logger.handlers:
    logger.setLevel(logging.INFO)
    logger.addHandler(logging.StreamHandler())
