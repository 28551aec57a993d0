"""Refuse, before hours of training, what is not to be released. `project run release` begins so.

python assets/release/check.py CORPUS MODEL --vars.char_vectors FILE …
"""

import sys
from pathlib import Path

corpus, model, *vectors = sys.argv[1:]
missing = [
    name for name, file in zip(vectors[::2], vectors[1::2], strict=True) if not Path(file).is_file()
]
if model != f"flat_{corpus}":
    sys.exit("Released pipelines have configs of their own. Run: release-msra or release-cluener")
if missing:
    sys.exit(
        "A released pipeline is trained with pretrained vectors of characters, bigrams and words. "
        f"Give a file of vectors with each of these: {', '.join(missing)}"
    )
