"""Forms of poems: how many lines of how many characters, and where level and oblique tones go."""

from dataclasses import dataclass
from itertools import cycle, islice
from typing import Literal

from ..errors import Errors
from ..util.options import check_of, require, require_count

Tones = Literal["平起", "仄起"]

LEVEL, OBLIQUE = "平", "仄"

# The four kinds of lines of regulated verse, in their order (Wang Li, 1977, chapter 2). "中" is
# either tone: more freedom would allow three equal tones at the end (三平尾, 三仄尾), or an
# isolated level tone (孤平). Lines of seven characters start with two more: either tone, and the
# opposite of the next second tone.
_LINES = ("中仄平平仄", "平平仄仄平", "中平平仄仄", "中仄仄平平")


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

    def tones(self, start: Tones) -> list[str]:
        """The tone of each character of each line: "平", "仄", or "中" for either.

        start: "平起" or "仄起", by the second character of the first line.

        Raises ValueError (F345) unless lines have 5 or 7 characters, (F341) for another start.
        """
        require("tones", start, check_of(Tones))
        if self.characters not in (5, 7):
            raise ValueError(Errors.F345.format(characters=self.characters))
        lines = [_lengthened(line) if self.characters == 7 else line for line in _LINES]
        first = next(n for n in (0, 2) if lines[n][1] == start[0])
        ordered = islice(cycle(lines), first, first + self.lines)
        return list(ordered)


def _lengthened(line: str) -> str:
    return "中" + (LEVEL if line[1] == OBLIQUE else OBLIQUE) + line


FORMS = {"五绝": Form(4, 5), "七绝": Form(4, 7), "五律": Form(8, 5), "七律": Form(8, 7)}


def form_of(form: str | Form) -> Form:
    """Look up a form by its name. Raises ValueError (F343) for an unknown name."""
    if isinstance(form, Form):
        return form
    if not isinstance(form, str) or form not in FORMS:
        raise ValueError(Errors.F343.format(form=form, names=", ".join(FORMS)))
    return FORMS[form]
