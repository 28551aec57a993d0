"""How commands end: with a message and exit code 1 if the user can fix the error."""

import io
import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from spacy.cli._util import show_validation_error
from wasabi import msg

from ..errors import Errors, is_coded

P = ParamSpec("P")
R = TypeVar("R")


def exiting(command: Callable[P, R]) -> Callable[P, R]:
    """Let a command end with the message of coded errors (this package's and spaCy's), of errors
    of the operating system and of config validation. Anything else is a bug and keeps its
    traceback. If the output is closed (`| head -1`), typer ends silently."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        let_all_be_printed()
        try:
            with show_validation_error(hint_fill=False):
                result = command(*args, **kwargs)
            sys.stdout.flush()  # while a broken pipe can still be handled
            return result
        except Exception as error:
            if isinstance(error, BrokenPipeError):
                sys.stdout.flush()  # raises again if the pipe is that of the output
            if isinstance(error, UnicodeEncodeError) and "surrogates" in error.reason:
                msg.fail(Errors.F162.format(text=error.object[:60]), exits=1)
            if is_coded(error):
                first, *lines = str(error).split("\n")
                msg.fail(first)
                print(*lines, sep="\n", file=sys.stderr)  # a list, which wasabi would wrap
                sys.exit(1)
            if isinstance(error, OSError):
                msg.fail(reason_of(error), exits=1)
            raise

    return run


def let_all_be_printed() -> None:
    """Escape characters that the terminal can't encode; discard output if a stream is closed."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def reason_of(error: OSError) -> str:
    """ "PATH: reason", or the reason only if the error has no path."""
    reason = error.strerror or str(error) or type(error).__name__
    return reason if error.filename is None else f"{error.filename}: {reason}"
