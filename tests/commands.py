"""Commands in tests: those of this package, run, and the arguments of any."""

import runpy
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import typer
from blocks import filled
from spacy.cli._util import app as spacy_app
from spacy.cli._util import parse_config_overrides
from spacy.util import load_config, registry
from typer.testing import CliRunner

from spacy_flat.cli import app

ROOT = Path(__file__).parents[1]


def printed(*words: object, code: int = 0) -> str:
    """What a command prints. It must end with this code, and without a traceback."""
    result = CliRunner().invoke(app, [*map(str, words)])
    assert result.exit_code == code, result.output
    assert code == 0 or isinstance(result.exception, SystemExit)
    return result.output


def said(*words: object, code: int = 0) -> str:
    """The same on one line."""
    return " ".join(printed(*words, code=code).split())


def failure(*words: object) -> str:
    """The message of a command that fails, on one line."""
    return said(*words, code=1)


def assert_arguments(words: Sequence[str]) -> None:
    """`python …` takes these arguments, and a config has what they override."""
    if words[:2] == ["-m", "spacy"]:
        registry.cli.get_all()  # as `python -m spacy` does first
        _assert_spacys([*words[2:]])
    elif words[0].endswith(".py"):
        _assert_programs(*words)
    elif words[0] == "-c":
        compile(words[1], "-c", "exec")
    else:
        assert words[:2] in (["-m", "pip"], ["-m", "build"], ["-m", "pytest"], ["-m", "venv"])


def _assert_spacys(words: list[str]) -> None:
    command: Any = typer.main.get_command(spacy_app)
    context: Any = None
    while words and hasattr(command, "commands"):
        name, *words = words
        command = command.commands[name]
        context = command.make_context(name, [*words], context) if words else None
    if context is not None and name == "train":
        path = Path(context.params["config_path"])
        has_sources = "source =" in path.read_text("utf-8")
        overrides = parse_config_overrides([*context.args], env_var=None)
        given = load_config(path, overrides)  # which needs their sections
        for dotted in overrides:
            node = given if has_sources else filled(path)
            for part in dotted.split("."):
                assert part in node, dotted
                node = node[part]


class ParsedError(Exception):
    """In place of what a program would do."""


def _assert_programs(path: str, *arguments: str) -> None:
    parse = ArgumentParser.parse_known_args

    def stop(*given: Any) -> None:
        raise ParsedError(parse(*given)[1])

    source = (ROOT / path).read_text("utf-8")
    if "ArgumentParser" not in source:
        assert not arguments or "sys.argv" in source
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ArgumentParser, "parse_known_args", stop)
        patch.setattr(sys, "argv", [path, *arguments])
        patch.syspath_prepend(str((ROOT / path).parent))
        with pytest.raises(ParsedError) as parsed:
            runpy.run_path(str(ROOT / path), run_name="__main__")
    (unknown,) = parsed.value.args
    assert not unknown or "parse_known_args" in source
