"""How commands fail: with a message and exit code 1, not with a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from wasabi import msg


@contextmanager
def exit_on(*errors: type[Exception]) -> Iterator[None]:
    """End the command with the text of an error of these types, where one is raised within."""
    try:
        yield
    except errors as error:
        msg.fail(str(error), exits=1)
