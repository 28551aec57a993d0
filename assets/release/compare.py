"""Print the scores of a pipeline beside those of the released wheel that it would replace.

python assets/release/compare.py PIPELINE WHEEL
"""

import json
import sys
import zipfile
from pathlib import Path

from wasabi import msg

pipeline, wheel = map(Path, sys.argv[1:])
now = json.loads((pipeline / "meta.json").read_text("utf-8"))["performance"]
before = {}
if wheel.is_file():
    with zipfile.ZipFile(wheel) as archive:
        (name, *_) = (each for each in archive.namelist() if each.endswith("/meta.json"))
        before = json.loads(archive.read(name))["performance"]
else:
    msg.info(f"{wheel} does not exist: nothing to compare with")


def shown(score: object) -> str:
    return f"{score:.4f}" if isinstance(score, float) else "–"


names = [name for name, score in now.items() if isinstance(score, float)]
rows = [(name, shown(before.get(name)), shown(now[name])) for name in names]
msg.table(rows, header=("score", "released", "now"), aligns=("l", "r", "r"), divider=True)
