"""What is worth telling while a pipeline is made: the logger "spacy_flat".

It writes to stderr; `logging.getLogger("spacy_flat").setLevel("WARNING")` silences it.
"""

import logging

logger = logging.getLogger("spacy_flat")
if not logger.handlers:
    logger.setLevel(logging.INFO)
    logger.addHandler(logging.StreamHandler())
