"""Commands of this package in tests."""

from typer.testing import CliRunner

from spacy_flat.cli import app


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
