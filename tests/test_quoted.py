"""What the Makefile, project.yml, docs, assets and scripts/release.py quote: paths exist, and
commands take their arguments."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import release
from commands import assert_arguments
from weasel.util.config import load_project_config

ROOT = Path(__file__).parents[1]
QUOTING = (
    *("Makefile", "project.yml", "README.md", "CONTRIBUTING.md", "docs/**/*.md", "docs/**/*.py"),
    *("assets/**/*.md", "assets/release/*.json", "assets/release/**/*.py", "configs/**/*.cfg"),
    *("scripts/*.py", "benchmarks/*.py"),
)
FILES = [path for pattern in QUOTING for path in sorted(ROOT.glob(pattern))]
FOLDERS = "assets|benchmarks|configs|docs|scripts|spacy_flat|tests"
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


def assert_arguments_of(words: list[str], overrides: bool = True) -> None:
    """Paths that are to exist are made."""
    try:
        assert_arguments(words, overrides)
    except Exception as error:
        missing = re.search(r"(\w+) '(.+)' does not exist", str(getattr(error, "message", "")))
        if missing is None:
            raise
        path = Path(missing[2])
        is_folder = missing[1].lower().startswith("dir")
        (path if is_folder else path.parent).mkdir(parents=True, exist_ok=True)
        if not is_folder:
            path.touch()
        assert_arguments_of(words, overrides)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("line", sorted(COMMANDS))
def test_commands_take_their_arguments(line: str) -> None:
    _, *words = shlex.split(line.replace("CORPUS", "demo").replace("NAME", "zh_char_tang"))
    if "COMMAND" not in words:
        # Those of project.yml override paths of all models.
        assert_arguments_of(words, "--paths.transformer" not in words)


@pytest.mark.parametrize("name", release.RELEASES)
def test_a_release_calls_what_there_is_and_needs_what_it_reads(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    general = folder / "e5/released/zh_flat_general/zh_flat_general-0"
    general.mkdir(parents=True)
    (general / "config.cfg").touch()
    files = {kind: f"{kind}.txt" for kind in ("char_vectors", "bigram_vectors", "word_vectors")}
    files |= {kind: f"{kind}.txt" for kind in ("text", "news")}
    options = [f"--{kind.replace('_', '-')}={file}" for kind, file in files.items()]
    ran: list[list[str]] = []
    needed: set[str] = set()
    monkeypatch.setattr("sys.argv", ["release.py", name, *options])
    monkeypatch.setattr(release, "require", lambda *names: needed.update(names))
    monkeypatch.setattr(release, "run", lambda *words: ran.append([*map(str, words)]))
    for step in ("compare", "keep_tensors"):
        monkeypatch.setattr(release, step, lambda pipeline: None)
    release.main()
    for words in ran:
        assert_arguments_of(words)
    given = {word for words in ran for word in words}
    assert {kind for kind, file in files.items() if file in given} == needed
