"""Forms of poems: how many lines of how many characters."""

import re
from dataclasses import dataclass

from ..errors import Errors
from ..util.options import require_count


@dataclass(frozen=True)
class Form:
    """A number of lines and characters. Commas and full stops follow the lines in turn; the last
    line has a full stop.

    Raises ValueError (F341) for a form without lines or characters.
    """

    lines: int
    characters: int

    def __post_init__(self) -> None:
        require_count("lines", self.lines)
        require_count("characters", self.characters)

    @property
    def marks(self) -> str:
        """The mark after each line."""
        return ("，。" * self.lines)[: self.lines - 1] + "。"


FORMS = {"五绝": Form(4, 5), "七绝": Form(4, 7), "五律": Form(8, 5), "七律": Form(8, 7)}


def form_of(form: str | Form) -> Form:
    """A form by its name, or as "6x5": six lines of five characters. Raises ValueError (F343) for
    an unknown name, and as `Form`."""
    if isinstance(form, Form):
        return form
    if free := re.fullmatch(r"\s*(\d+)\s*[xX×]\s*(\d+)\s*", str(form)):
        return Form(int(free[1]), int(free[2]))
    if not isinstance(form, str) or form not in FORMS:
        raise ValueError(Errors.F343.format(form=form, names=", ".join(FORMS)))
    return FORMS[form]
