"""Poems: lines of a form, with given characters and rhymes.

Shapes: N poems, K keys.
"""

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from ..errors import Errors
from ..util.arrays import Bools, Ints, Strings
from ..util.options import require_string
from ..util.probabilities import log_softmax
from .featuriser import CharFeaturiser
from .forms import Form
from .generation import Continuation
from .model import CharLMModel
from .rhymes import rhyme_of
from .sampling import Sampling, Seeds, draws_of

ANY = "□"  # stands for any character in a prompt

Place = tuple[int, int]  # line and character in it, from 0 on


@dataclass(frozen=True)
class Poem:
    """A poem of a form.

    lines: without the marks after them.
    log_prob: the mean natural logarithm of the probability of its characters and marks.
    """

    form: Form
    lines: tuple[str, ...]
    log_prob: float

    @property
    def text(self) -> str:
        """The lines with their marks, as in training texts."""
        return "".join(self._marked())

    def __str__(self) -> str:
        return "\n".join(self._marked())

    def _marked(self) -> Iterator[str]:
        return map("".join, zip(self.lines, self.form.marks, strict=True))


def signs(text: str) -> str:
    """A text without white space, punctuation, control and combining characters."""
    left_out = ("P", "Z", "Cc", "Cf", "Cs", "M", "Sk")
    return "".join(sign for sign in text if not unicodedata.category(sign).startswith(left_out))


def given_characters(form: Form, prompt: str) -> dict[Place, str]:
    """The characters of a prompt at their places. Raises ValueError for more than the form has
    (F346), TypeError for another type (F028)."""
    given, room = signs(require_string(prompt)), form.lines * form.characters
    if len(given) > room:
        raise ValueError(Errors.F346.format(prompt=prompt, found=len(given), room=room))
    places = product(range(form.lines), range(form.characters))
    return {place: sign for place, sign in zip(places, given, strict=False) if sign != ANY}


def write_poems(
    model: CharLMModel,
    name: str,
    form: Form,
    given: Mapping[Place, str],
    rhyme: bool,
    sampling: Sampling,
    seeds: Seeds,
) -> Iterator[Poem]:
    """Write a poem from each seed, side by side.

    name: of the component.
    given: characters at their places.
    rhyme: whether even lines rhyme.

    Raises ValueError (F347) for a vocabulary without characters for lines.
    """
    featuriser: CharFeaturiser = model.attrs["featuriser"]
    n, draws, strings = len(seeds), draws_of(seeds), featuriser.strings
    # Letters of scripts without case
    words: Bools = np.array([bool(s) and unicodedata.category(s) == "Lo" for s in strings])
    if not words.any():
        raise ValueError(Errors.F347.format(name=name))
    ends = {(line, form.characters - 1) for line in range(1, form.lines, 2) if rhyme}
    rhymes = RhymingKeys(strings, words, len(ends), n)
    texts = Continuation(model, "", n)
    columns: list[Strings] = []
    log_prob = np.zeros(n)
    given = {**given, **{(line, form.characters): mark for line, mark in enumerate(form.marks)}}
    for place in product(range(form.lines), range(form.characters + 1)):
        if sign := given.get(place):
            keys = np.repeat(featuriser.keys(sign), n)
            columns.append(np.full(n, sign, dtype=object))
        else:
            allowed = rhymes.allowed() if place in ends else words
            keys = sampling.choose(texts.scores, allowed, next(draws))
            columns.append(strings[keys])
        if place in ends:
            rhymes.note(columns[-1], keys)
        log_prob += log_softmax(texts.scores)[np.arange(n), keys]
        texts.read(keys[:, None])
    for characters, total in zip(zip(*columns, strict=True), log_prob.tolist(), strict=True):
        starts = range(0, len(columns), form.characters + 1)
        lines = tuple("".join(characters[start : start + form.characters]) for start in starts)
        yield Poem(form, lines, total / len(columns))


class RhymingKeys:
    """The keys that may end the even lines of N poems.

    words: [K] keys of characters for lines.
    n_lines: lines of a poem that rhyme.
    """

    def __init__(self, strings: Strings, words: Bools, n_lines: int, n: int) -> None:
        self.words = words
        is_read = words & bool(n_lines)
        rhymes = [rhyme_of(s) if i else "" for s, i in zip(strings, is_read, strict=True)]
        self.rhymes = np.array(rhymes, dtype="U1")  # [K] "" without one
        names, counts = np.unique(self.rhymes, return_counts=True)
        frequent = names[(counts >= n_lines) & (names != "")]
        self.first: Bools = np.isin(self.rhymes, frequent)  # [K] of rhymes with enough characters
        self.rhyme = np.full(n, "", dtype="U1")  # of each poem's last even line; "" before
        self.taken: Bools = np.zeros((n, len(strings)), dtype=np.bool_)  # by even lines

    def allowed(self) -> Bools:
        """[N, K] new keys that rhyme, or all words of a poem where none does."""
        rhyming = (self.rhymes == self.rhyme[:, None]) & ~self.taken
        found: Bools = np.where(self.rhyme[:, None] == "", self.first, rhyming)
        return np.where(found.any(axis=1, keepdims=True), found, self.words)

    def note(self, characters: Strings, keys: Ints) -> None:
        """Record the characters [N] at the end of an even line, and their keys."""
        found = np.array([rhyme_of(character) for character in characters], dtype="U1")
        self.rhyme = np.where(found == "", self.rhyme, found)
        self.taken[np.arange(len(keys)), keys] = True
