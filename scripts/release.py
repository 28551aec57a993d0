"""Make a released pipeline again, by the runs of assets/release/NAME.json:

    python scripts/release.py zh_char_tang [--source FOLDER] [--text FILE …]

`inputs` are the files that the runs read, with their SHA-256; each is given as an option. A run is
a Python command, and `makes` lists what it writes. Finished runs are skipped. A run is repeated if
its command, its config or script, or what it made has changed, and all after it unless it makes the
same again. The last run makes the pipeline. The script prints its scores beside those of the
previous wheel and writes the new one to assets/pipelines; its metadata record the inputs, library
versions, commits, and the duration of each run.
"""

import argparse
import json
import os
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
    recipes = {name: recipe for name, recipe in recipes.items() if recipe["runs"]}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package", choices=sorted(recipes))
    parser.add_argument("--source", default="", help="local folder of corpora; empty: download")
    parser.add_argument("--gpu", default="-1", help="number of a GPU; -1: none")
    parser.add_argument("--steps", type=int, default=0, help="of each training, to try the runs")
    parser.add_argument("--no-wheel", action="store_true", help="make the pipeline alone")
    inputs = {name: each for recipe in recipes.values() for name, each in recipe["inputs"].items()}
    for name, wanted in sorted(inputs.items()):
        parser.add_argument(f"--{name.replace('_', '-')}", default="", help=wanted["about"])
    given = parser.parse_args()
    recipe = recipes[given.package]
    paths = {name: getattr(given, name) for name in recipe["inputs"]}
    check(paths, recipe["inputs"])
    training = TRAINING / "trial" if given.steps else TRAINING
    folder = training / given.package
    values = {**paths, "source": given.source, "gpu": given.gpu, "trial": given.steps}
    values |= {"training": training, "here": folder}
    done = execute(recipe["runs"], values, folder / "runs.json")
    if not (given.no_wheel or given.steps):
        package(given.package, Path(done[-1]["makes"][0]), recipe | {"made": made(paths, done)})


def check(paths: dict[str, str], wanted: dict[str, dict[str, str]]) -> None:
    """Exit before hours of training if inputs are missing, or other files."""
    wrong = []
    for name, path in paths.items():
        option, about = "--" + name.replace("_", "-"), wanted[name]["about"]
        if not Path(path).is_file():
            wrong.append(f"{option} needs a file, but {path!r} is none: {about}.")
        elif (found := checksum(Path(path))) != wanted[name]["sha256"]:
            wrong.append(f"{option}: the SHA-256 of {path} is {found}, not that of {about}.")
    if wrong:
        sys.exit("\n".join(wrong))


def execute(runs: list[Run], values: dict[str, Any], record: Path) -> list[Run]:
    """Execute the runs that aren't finished. Returns all of them, with what they made. An
    interrupted run finds what it has written and can resume; a changed one starts from nothing."""
    known: list[Run] = json.loads(record.read_text("utf-8")) if record.is_file() else []
    done: list[Run] = []
    for run in runs:
        own = {**values, "steps": values["trial"] or run.get("steps", 0)}
        words = [word.format_map(own) for word in shlex.split(run["run"])]
        makes = [path.format_map(own) for path in run["makes"]]
        reads = {word: checksum(Path(word)) for word in words if Path(word).is_file()}
        now = {"run": shlex.join(words), "reads": reads, "makes": makes}
        before, later = (known[len(done) :] or [{}])[0], known[len(done) + 1 :]
        is_same = now.items() <= before.items()
        if is_same and before.get("sha256") == checksum_of(makes) and not run.get("always"):
            msg.info(f"Finished before: {before['run']}")
            done.append(before)
            continue
        if before and not is_same:
            for path in makes:
                if Path(path).is_relative_to(values["here"]):
                    remove(Path(path))
        write(record, [*done, now, *later])
        start = time.monotonic()
        python(*words)
        if not (found := checksum_of(makes)):
            sys.exit(f"{makes[0]} is missing after: {now['run']}")
        seconds = round(time.monotonic() - start)
        done.append({**now, "sha256": found, "commit": commit(), "seconds": seconds})
        if found != before.get("sha256"):
            later = [{"outdated": each} for each in later]
        known = [*done, *later]
        write(record, known)
    return done


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def write(record: Path, done: list[Run]) -> None:
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text(json.dumps(done, indent=2), "utf-8")


def checksum_of(paths: list[str]) -> str:
    """That of files, and of all files of folders; empty if there are none."""
    roots = [(path, path if path.is_dir() else path.parent) for path in map(Path, paths)]
    files = [
        (each, root)
        for path, root in roots
        for each in (sorted(path.rglob("*")) if path.is_dir() else [path])
        if each.is_file()
    ]
    lines = (f"{checksum(each)} {each.relative_to(root)}\n" for each, root in files)
    return sha256("".join(lines).encode()).hexdigest() if files else ""


def commit() -> str:
    words = ["git", "describe", "--always", "--dirty", "--abbrev=40"]
    return subprocess.run(words, capture_output=True, text=True).stdout.strip()


def made(paths: dict[str, str], done: list[Run]) -> dict[str, Any]:
    return {
        "inputs": {name: checksum(Path(path)) for name, path in paths.items()},
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
    if wheels := [*WHEELS.glob(f"{name}-*.whl")]:
        with zipfile.ZipFile(max(wheels, key=lambda path: path.stat().st_mtime)) as archive:
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
    """Run Python, with sets in the same order each time."""
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    subprocess.run([sys.executable, *map(str, words)], check=True, env=environment)


if __name__ == "__main__":
    main()
