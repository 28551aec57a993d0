"""What the Makefile, project.yml, docs and assets quote: paths exist, and commands take their
arguments."""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest
from commands import assert_arguments
from weasel.util.config import load_project_config

ROOT = Path(__file__).parents[1]
QUOTING = (
    *("Makefile", "project.yml", "README*.md", "CONTRIBUTING.md", "docs/**/*.md", "docs/**/*.py"),
    *("assets/**/*.md", "assets/release/*.json", "assets/release/**/*.py", "assets/**/*.cfg"),
    "configs/**/*.cfg",
    *("scripts/*.py", "benchmarks/*.py"),
)
FILES = [path for pattern in QUOTING for path in sorted(ROOT.glob(pattern))]
FOLDERS = "assets|benchmarks|configs|docs|scripts|spacy_flat|tests"
RECIPES = {
    path.stem: json.loads(path.read_text("utf-8")) for path in ROOT.glob("assets/release/*.json")
}
PATH = re.compile(rf"(?<![\w/.-])(?:\.\./)*((?:{FOLDERS})/[\w./*-]*[\w*])(?![\w/${{])")


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_paths_exist(file: Path) -> None:
    for path in PATH.findall(file.read_text("utf-8")):
        assert "NAME" in path or any(ROOT.glob(path)), path


def of_make() -> Iterator[str]:
    names = ("demo", "test", "test-trained", "lint", "bench", "docs", "pictures")
    done = subprocess.run(["make", "-n", *names], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for line in done.stdout.replace("\\\n", "").splitlines():
        if match := re.search(r"\.venv/bin/(python .+)", line):
            yield match[1]


def of_texts() -> Iterator[str]:
    """Also of READMEs and metadata of assets. `tests/test_readme.py` runs those of README.md and
    docs in blocks of their own."""
    for file in FILES:
        if file.suffix in (".md", ".json"):
            yield from re.findall(r"(?:`|^ {4})(python [^`\n]+)", file.read_text("utf-8"), re.M)


def of_project() -> Iterator[str]:
    for command in load_project_config(ROOT)["commands"]:
        yield from (line for line in command["script"] if line.startswith("python "))


COMMANDS = {
    line.replace("…", "").strip()
    for line in (*of_texts(), *of_project(), *(of_make() if shutil.which("make") else ()))
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, in which nothing has been made yet."""
    for name in FOLDERS.split("|"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def assert_arguments_of(words: list[str]) -> None:
    """Paths that are to exist are made."""
    try:
        assert_arguments(words)
    except Exception as error:
        missing = re.search(r"(\w+) '(.+)' does not exist", str(getattr(error, "message", "")))
        if missing is None:
            raise
        path = Path(missing[2])
        is_folder = missing[1].lower().startswith("dir")
        (path if is_folder else path.parent).mkdir(parents=True, exist_ok=True)
        if not is_folder:
            path.touch()
        assert_arguments_of(words)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("line", sorted(COMMANDS))
def test_commands_take_their_arguments(line: str) -> None:
    _, *words = shlex.split(line.replace("CORPUS", "demo").replace("NAME", "zh_char_tang"))
    if "COMMAND" not in words:
        assert_arguments_of(words)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", RECIPES)
def test_the_runs_of_a_release_call_what_there_is_and_read_all_inputs(name: str) -> None:
    recipe, read = RECIPES[name], set[str]()
    for run in recipe["runs"]:
        names = {
            field
            for _, field, _, _ in Formatter().parse(" ".join([run["run"], *run["makes"]]))
            if field
        }
        assert names <= {*recipe["inputs"], "source", "gpu", "training", "here", "steps", "trial"}
        values = {
            each: "1" if each in ("gpu", "steps", "trial") else f"{each}.txt" for each in names
        }
        assert_arguments_of([word.format_map(values) for word in shlex.split(run["run"])])
        read |= names
    assert {*recipe["inputs"]} <= read
