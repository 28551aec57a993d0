"""Make a released pipeline again, by the runs of assets/release/NAME.json and nothing else:

    python scripts/release.py zh_char_tang [--source FOLDER] [--text FILE …]

`inputs` are the files that the runs read, with their SHA-256; each is given as an option. A run is
a command for Python, and `makes` the file or folder that it writes. What is finished isn't done
again; a run that changed is, with all after it. The last one makes the pipeline. Its wheel goes to
assets/pipelines, after a table of its scores beside those of the one before, and its metadata say
of what commit, files and versions it is made, and how long each run took.
"""

import argparse
import json
import platform
import shlex
import shutil
import subprocess
import sys
import time
import zipfile
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fetch import checksum
from wasabi import msg

RECIPES = Path("assets/release")
WHEELS = Path("assets/pipelines")
TRAINING = Path("training")
LIBRARIES = ("torch", "spacy", "thinc", "numpy", "jieba")

Run = dict[str, Any]


def main() -> None:
    recipes = {path.stem: json.loads(path.read_text("utf-8")) for path in RECIPES.glob("*.json")}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package", choices=sorted(recipes))
    parser.add_argument("--source", default="", help="local folder of corpora; empty: download")
    parser.add_argument("--gpu", default="-1")
    parser.add_argument("--steps", type=int, default=0, help="of each training, to try the runs")
    parser.add_argument("--no-wheel", action="store_true", help="make the pipeline alone")
    for name in sorted({name for recipe in recipes.values() for name in recipe["inputs"]}):
        parser.add_argument(f"--{name.replace('_', '-')}", default="")
    given = parser.parse_args()
    recipe = recipes[given.package]
    inputs = {name: getattr(given, name) for name in recipe["inputs"]}
    check(inputs, recipe["inputs"])
    folder = TRAINING / given.package
    values = {**inputs, "source": given.source, "gpu": given.gpu, "here": folder}
    done = execute(recipe["runs"], values, given.steps, folder / "runs.json")
    if not given.no_wheel:
        package(given.package, Path(str(done[-1]["makes"])), recipe | {"made": made(inputs, done)})


def check(inputs: dict[str, str], wanted: dict[str, dict[str, str]]) -> None:
    """Exit before hours of training if an input is missing, or another file."""
    for name, path in inputs.items():
        option, about = "--" + name.replace("_", "-"), wanted[name]["about"]
        if not Path(path).is_file():
            sys.exit(f"{option} needs a file, but {path!r} is none: {about}.")
        if (found := checksum(Path(path))) != wanted[name]["sha256"]:
            sys.exit(f"{option}: the SHA-256 of {path} is {found}, not that of {about}.")


def execute(runs: list[Run], values: dict[str, Any], steps: int, record: Path) -> list[Run]:
    """Do the runs that are not finished. Returns all of them, with what they made."""
    before: list[Run] = json.loads(record.read_text("utf-8")) if record.is_file() else []
    done: list[Run] = []
    for run in runs:
        own = {**values, "steps": steps or run.get("steps", 0)}
        words = [word.format_map(own) for word in shlex.split(run["run"])]
        makes = Path(run["makes"].format_map(own))
        known = before[len(done)] if len(before) > len(done) else {}
        if known.get("run") == shlex.join(words) and known["sha256"] == checksum_of(makes):
            msg.info(f"Finished before: {known['run']}")
            done.append(known)
            continue
        before, start = [], time.monotonic()
        subprocess.run([sys.executable, *words], check=True)
        seconds = round(time.monotonic() - start)
        result = {"makes": str(makes), "sha256": checksum_of(makes), "seconds": seconds}
        if not result["sha256"]:
            sys.exit(f"{makes} is missing after: {shlex.join(words)}")
        done.append({"run": shlex.join(words), **result})
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(json.dumps(done, indent=2), "utf-8")
    return done


def checksum_of(path: Path) -> str:
    """That of a file, or of all files of a folder; empty if there is none."""
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    lines = (f"{checksum(each)} {each.relative_to(path)}\n" for each in files)
    return sha256("".join(lines).encode()).hexdigest() if files else ""


def made(inputs: dict[str, str], done: list[Run]) -> dict[str, Any]:
    commit = ["git", "describe", "--always", "--dirty", "--abbrev=40"]
    return {
        "commit": subprocess.run(commit, capture_output=True, text=True).stdout.strip(),
        "inputs": {name: checksum(Path(path)) for name, path in inputs.items()},
        "versions": {"python": platform.python_version()} | {n: version(n) for n in LIBRARIES},
        "runs": done,
    }


def package(name: str, pipeline: Path, meta: dict[str, Any]) -> None:
    compare(name, pipeline)
    keep_tensors(pipeline)
    path = TRAINING / name / "meta.json"
    path.write_text(json.dumps(meta, ensure_ascii=False, indent=2), "utf-8")
    folder = TRAINING / f"packages/{name}-{meta['version']}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    python("-m", "spacy", "package", pipeline, folder.parent, "--build", "none",
           "--meta-path", path, "--version", meta["version"])  # fmt: skip
    python("-m", "build", "--wheel", "--no-isolation", "--config-setting", "quiet=true",
           "--outdir", WHEELS, folder)  # fmt: skip


def compare(name: str, pipeline: Path) -> None:
    """Print the scores beside those of the wheel before."""
    now = json.loads((pipeline / "meta.json").read_text("utf-8"))["performance"]
    before = {}
    if wheels := sorted(WHEELS.glob(f"{name}-*.whl")):
        with zipfile.ZipFile(wheels[-1]) as archive:
            (meta, *_) = (each for each in archive.namelist() if each.endswith("/meta.json"))
            before = json.loads(archive.read(meta))["performance"]
    rows = [
        (key, *(f"{s:.4f}" if isinstance(s, float) else "–" for s in (before.get(key), score)))
        for key, score in now.items()
        if isinstance(score, float)
    ]
    msg.table(rows, header=("score", "released", "now"), aligns=("l", "r", "r"), divider=True)


def keep_tensors(pipeline: Path) -> None:
    """Don't set `doc.tensor` to None, with which `doc.vector` fails. A config can't say so: spaCy
    fills the setting in."""
    path = pipeline / "doc_cleaner/cfg"
    if path.is_file():
        settings = json.loads(path.read_text("utf-8"))
        settings["attrs"].pop("tensor", None)
        path.write_text(json.dumps(settings), "utf-8")


def python(*words: object) -> None:
    subprocess.run([sys.executable, *map(str, words)], check=True)


if __name__ == "__main__":
    main()
