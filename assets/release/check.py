"""Refuse, before hours of training, what is not to be released. `project run release` begins so.

python assets/release/check.py CORPUS MODEL CONFIG TRAINED --vars.char_vectors FILE …
"""

import sys
from pathlib import Path

corpus, model, config, trained, *vectors = sys.argv[1:]
own = {
    "general": ("flat_general", "configs/zh_flat_general.cfg", "model-best"),
    "questions": ("re2_questions", "configs/zh_re2_questions.cfg", "fitted"),
    "wikiann": ("tener_wikiann", "configs/en_tener_wikiann.cfg", "model-best"),
}.get(corpus, (f"flat_{corpus}", f"configs/zh_flat_{corpus}.cfg", "refined/model-best"))
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
        "Released pipelines are trained with pretrained vectors. "
        f"Give a file with each of these: {', '.join(missing)}"
    )
