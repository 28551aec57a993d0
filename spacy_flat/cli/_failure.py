"""How commands fail: with a message and exit code 1 where the user can do something about it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from spacy.cli._util import show_validation_error
from wasabi import msg

P = ParamSpec("P")
R = TypeVar("R")

_CODED = re.compile(r"\[[EFW]\d{3,}\] ")


def exiting(command: Callable[P, R]) -> Callable[P, R]:
    """Let a command end with the message of coded errors (this package's and spaCy's), of errors
    of the operating system and of config validation. Anything else is a bug and keeps its
    traceback."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with show_validation_error(hint_fill=False):
                return command(*args, **kwargs)
        except Exception as error:
            if _CODED.match(str(error)):
                msg.fail(str(error), exits=1)
            if isinstance(error, OSError):
                msg.fail(reason_of(error), exits=1)
            raise

    return run


def reason_of(error: OSError) -> str:
    """ "PATH: reason", as far as the error says so."""
    reason = error.strerror or str(error) or type(error).__name__
    return reason if error.filename is None else f"{error.filename}: {reason}"
