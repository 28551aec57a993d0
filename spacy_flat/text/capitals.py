"""Texts in capitals, such as headlines."""

import re

MIN_WORDS = 3  # fewer may be acronyms or names, as in "BBC NEWS"
LINE = re.compile("[^\n\x1f]+")  # texts of a pair have \x1f in between
WORD = re.compile(r"[^\W\d_]{2,}")


def lower_capitals(text: str) -> str:
    """Lower-case the lines of a text that are in capitals. The text keeps its length."""
    return LINE.sub(lambda line: _lower(line[0]), text)


def _lower(line: str) -> str:
    words = WORD.findall(line)
    # Chinese characters have no case, so a line of acronyms and Chinese is not in capitals.
    if len(words) < MIN_WORDS or not all(map(str.isupper, "".join(words))):
        return line
    if len(low := line.lower()) == len(line):
        return low
    # "İ" in lower case has two characters.
    return "".join(low if len(low := letter.lower()) == 1 else letter for letter in line)
