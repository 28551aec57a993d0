"""Refuse, before hours of training, what is not to be released. `project run release` begins so.

python assets/release/check.py CORPUS MODEL CONFIG TRAINED --vars.char_vectors FILE …
"""

import sys
from pathlib import Path

corpus, model, config, trained, *vectors = sys.argv[1:]
last = "model-best" if corpus == "general" else "refined/model-best"
own = (f"flat_{corpus}", f"configs/zh_flat_{corpus}.cfg", last)
if corpus == "questions":
    own = ("re2_questions", "configs/zh_re2_questions.cfg", "calibrated")
missing = [
    name for name, file in zip(vectors[::2], vectors[1::2], strict=True) if not Path(file).is_file()
]
if (model, config, trained) != own:
    sys.exit(
        "Released pipelines have settings of their own. "
        "Run: release-general, release-msra or release-cluener"
    )
if missing:
    sys.exit(
        "A released pipeline is trained with pretrained vectors of characters, bigrams and words, "
        "zh_re2_questions with those of words. "
        f"Give a file of vectors with each of these: {', '.join(missing)}"
    )
