"""README.md and docs/ hold: every snippet runs, every command, link and default is right."""

from __future__ import annotations

import inspect
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
import typer
from spacy.cli._util import app as spacy_app
from spacy.cli._util import parse_config_overrides
from spacy.util import load_config, registry
from thinc.api import Config
from typer.testing import CliRunner
from weasel.cli.run import project_run
from weasel.util.config import parse_config_overrides as parse_project_overrides

from spacy_flat.ner.flat.component import make_flat_ner
from spacy_flat.ner.flat.options import FLATOptions, LatticeOptions
from spacy_flat.ner.tener.component import make_tener_ner
from spacy_flat.ner.tener.options import SequenceOptions, TENEROptions
from spacy_flat.nn.optimizers import SGD, AdamW

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = {page.relative_to(ROOT).as_posix(): page.read_text("utf-8") for page in PAGES}


def blocks(language: str) -> dict[str, str]:
    """The fenced blocks of a language in all pages, by page and number."""
    return {
        f"{name}:{number}": block
        for name, text in TEXTS.items()
        for number, block in enumerate(
            re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE), 1
        )
    }


PYTHON, INI = blocks("python"), blocks("ini")
COMMANDS = list(dict.fromkeys("".join(blocks("bash").values()).splitlines()))


@pytest.fixture
def folder(mini_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of a user who follows the pages."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(mini_project / "project.yml", tmp_path)
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    (tmp_path / "benchmarks").symlink_to(ROOT / "benchmarks")
    shutil.copytree(mini_project / "corpus/demo", tmp_path / "corpus/mine")
    shutil.copytree(mini_project / "training/zh_flat_demo", tmp_path / "training/mine")
    (tmp_path / "packages").mkdir()
    for part in ("train", "dev", "test"):
        (tmp_path / f"{part}.txt").write_text(
            "王\tB-PER\n芳\tI-PER\n\n重\tB-LOC\n庆\tI-LOC\n", "utf-8"
        )
    (tmp_path / "words.tsv").write_text("Ann\tB-PER\nleft\tO\n", "utf-8")
    (tmp_path / "words.txt").write_text("人和药店\t3\n", "utf-8")
    (tmp_path / "text.txt").write_text("人和药店在重庆开业\n" * 10, "utf-8")
    return tmp_path


# Snippets


@pytest.mark.usefixtures("folder", "zh_flat_demo")
@pytest.mark.parametrize("code", PYTHON.values(), ids=PYTHON)
def test_python_runs(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, "snippet", "exec"), {})
    assert capsys.readouterr().out or "print(" not in code


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("block", INI.values(), ids=INI)
def test_lexicons_of_configs_are_read(block: str) -> None:
    parents = "[initialize]\n[initialize.components]\n[initialize.components.flat_ner]\n"
    path = "[initialize.components.flat_ner.lexicon]\n@readers = spacy-flat.Lexicon.v1\n"
    sources = "[initialize.components.flat_ner.lexicon.sources]\n"
    config = Config().from_str(parents + path + sources + block.replace(sources, ""))
    lexicon = config["initialize"]["components"]["flat_ner"]["lexicon"]
    lexicon["sources"].pop("jieba", None)  # takes seconds
    found = registry.resolve({"lexicon": lexicon})["lexicon"]
    assert list(found) == ["人和药店"]
    assert found.type_names == ("", "drug")


# Commands


@pytest.mark.parametrize("line", COMMANDS, ids=COMMANDS)
def test_commands(line: str, request: pytest.FixtureRequest) -> None:
    words = shlex.split(line)
    if words[0] == "make":
        assert_make(words)
        return
    folder = request.getfixturevalue("folder")
    request.getfixturevalue("zh_flat_demo")
    if words[:5] == ["python", "-m", "spacy", "project", "run"]:
        name, place, *overrides = words[5:]
        project_run(folder / place, name, overrides=parse_project_overrides(overrides), dry=True)
    elif words[:4] == ["python", "-m", "spacy", "flat"]:
        registry.cli.get_all()  # as `python -m spacy` does first
        result = CliRunner().invoke(spacy_app, words[3:])
        assert result.exit_code == 0, result.output
    elif words[:4] == ["python", "-m", "pip", "install"]:
        extra = re.fullmatch(r"\.\[(\w+)\]", words[4])
        assert extra
        assert f"\n{extra[1]} = [" in (ROOT / "pyproject.toml").read_text("utf-8")
    elif words[:3] == ["python", "-m", "spacy"]:
        assert_arguments(words[3:])
    else:
        assert words[0] == "python"
        assert (folder / words[1]).is_file()


def assert_make(words: list[str]) -> None:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    subprocess.run([*words, "-n"], cwd=ROOT, check=True, capture_output=True)


def assert_arguments(words: list[str]) -> None:
    """A command of spaCy's takes these arguments, and the config has what they override."""
    name, *arguments = words
    command = typer.main.get_command(spacy_app).commands[name]  # type: ignore[attr-defined]
    context = command.make_context(name, list(arguments))
    if name == "train":
        assert_overrides(context.params["config_path"], context.args)


def assert_overrides(config: Path, arguments: list[str]) -> None:
    for dotted in parse_config_overrides(list(arguments), env_var=None):
        node = load_config(config)
        for name in dotted.split("."):
            assert name in node, dotted
            node = node[name]


def test_options_of_training() -> None:
    rows = re.findall(r"^\| [^|]+ \| `(--.+)` \|$", TEXTS["docs/training.md"], re.MULTILINE)
    assert rows
    for row in rows:
        train = f"train {ROOT / 'configs/zh_flat.cfg'} --output training/mine {row}"
        assert_arguments(shlex.split(train))


# Facts


@pytest.mark.parametrize("page", PAGES, ids=TEXTS)
def test_links(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        linked = page.parent / path if path else page
        assert linked.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", linked.read_text("utf-8"), re.MULTILINE)
            assert anchor in [heading.lower().replace(" ", "-") for heading in headings]


def settings(heading: str) -> dict[str, list[str]]:
    """The rows of the table under a heading of docs/configuration.md, by setting."""
    section = TEXTS["docs/configuration.md"].split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| `")]
    return {
        name: [cell.strip() for cell in cells]
        for names, *cells in rows
        for name in re.findall(r"`(\w+)`", names)
    }


def as_text(value: object) -> str:
    """A default as the tables show it."""
    return f"`{Config({'a': {'b': _listed(value)}}).to_str().split('= ')[1]}`"


def _listed(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


@pytest.mark.parametrize(
    ("heading", "options"),
    [
        ("FLAT's network", FLATOptions),
        ("FLAT's lattice", LatticeOptions),
        ("TENER's network", TENEROptions),
        ("TENER's sequence", SequenceOptions),
    ],
)
def test_options_and_defaults(heading: str, options: type) -> None:
    expected = {field.name: as_text(field.default) for field in fields(options)}
    assert {name: cells[0] for name, cells in settings(heading).items()} == expected


@pytest.mark.parametrize("make", [make_flat_ner, make_tener_ner])
def test_settings_of_the_component(make: Callable[..., object]) -> None:
    own = list(inspect.signature(make).parameters)
    assert settings("The component").keys() == set(own) - {"nlp", "name"}


def test_settings_of_optimisers() -> None:
    rows = settings("Optimisers")
    columns: list[type] = [SGD, AdamW]
    for column, optimiser in enumerate(columns):
        parameters = inspect.signature(optimiser).parameters.values()
        told = {name for name, cells in rows.items() if cells[column]}
        assert told == {parameter.name for parameter in parameters}
        for parameter in parameters:
            shown = re.findall("`[^`]+`", rows[parameter.name][column])
            assert as_text(parameter.default) in [text.replace("1e-8", "1e-08") for text in shown]
