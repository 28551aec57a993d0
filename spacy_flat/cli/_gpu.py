"""The GPU that a command is to run on."""

from __future__ import annotations

from ..errors import Errors


def use_gpu(number: int) -> None:
    """Let spaCy compute on this GPU; on the CPU for a number below 0.

    Raises ValueError (F135) where that is not possible.
    """
    if number < 0:
        return
    from thinc.api import require_gpu

    try:
        require_gpu(number)
    except (ValueError, RuntimeError) as error:  # CuPy's own are RuntimeErrors
        raise ValueError(Errors.F135.format(gpu=number, reason=error)) from error
