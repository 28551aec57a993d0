"""Poems: lines of a form, with given characters, rhymes and tones.

Shapes: N poems, K keys.
"""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import Errors
from ..util.arrays import Bools, Ints, Strings
from ..util.softmax import log_softmax
from .featuriser import CharFeaturiser
from .forms import Form
from .model import CharLMModel
from .prosody import reading
from .sampling import Draws, Sampling, seeds_of_texts
from .writing import Continuation, draws_at_once

Place = tuple[int, int]  # line and character in it, from 0 on


@dataclass(frozen=True)
class Poem:
    """A poem, and which requirements it meets.

    lines: without the marks after them.
    log_prob: the mean natural logarithm of the probability of its characters and marks.
    rhymes: whether its even lines end on different characters of one rhyme; None if not required.
    misplaced: (line, character in it), from 0, of each character without the required tone; None
        if tones weren't required.
    """

    form: Form
    lines: tuple[str, ...]
    log_prob: float
    rhymes: bool | None = None
    misplaced: tuple[Place, ...] | None = None

    @property
    def text(self) -> str:
        """The lines with their marks, as in training texts."""
        return "".join(self._marked())

    @property
    def meets_all(self) -> bool:
        """Whether it meets all requirements."""
        return self.rhymes is not False and not self.misplaced

    def __str__(self) -> str:
        return "\n".join(self._marked())

    def _marked(self) -> Iterator[str]:
        return map("".join, zip(self.lines, self.form.marks, strict=True))


@dataclass(frozen=True)
class PoemTask:
    """The requirements of a poem.

    given: characters at their places.
    tones: of each character of each line, as in `Form.tones`; None for any.
    """

    form: Form
    given: Mapping[Place, str]
    rhyme: bool
    tones: Sequence[str] | None

    def places(self) -> Iterator[Place]:
        """The places of all characters in writing order; the place after a line is its mark's."""
        for line in range(self.form.lines):
            for character in range(self.form.characters + 1):
                yield line, character

    @property
    def rhyming(self) -> list[Place]:
        """The last places of the even lines."""
        return [(line, self.form.characters - 1) for line in range(1, self.form.lines, 2)]

    def given_at(self, place: Place) -> str | None:
        line, character = place
        return self.form.marks[line] if character == self.form.characters else self.given.get(place)

    def tone_at(self, place: Place) -> str | None:
        """ "平" or "仄"; None for either."""
        tone = self.tones[place[0]][place[1]] if self.tones else "中"
        return None if tone == "中" else tone


def signs(text: str) -> str:
    """A text without white space, punctuation, control and combining characters, and the selectors
    and skin colours of emoji."""
    left_out = ("P", "Z", "Cc", "Cf", "Cs", "M", "Sk")
    return "".join(sign for sign in text if not unicodedata.category(sign).startswith(left_out))


def compose(
    model: CharLMModel,
    name: str,
    task: PoemTask,
    n: int,
    candidates: int,
    sampling: Sampling,
    seed: int | None,
) -> list[Poem]:
    """Write n poems, each the most probable of some candidates.

    Raises ValueError (F347) for a vocabulary without characters for lines.
    """
    poems = [
        poem
        for draws in draws_at_once(seeds_of_texts(seed, n * candidates))
        for poem in _write(model, name, task, sampling, draws)
    ]
    return [
        max(poems[start : start + candidates], key=lambda poem: poem.log_prob)
        for start in range(0, len(poems), candidates)
    ]


def _write(
    model: CharLMModel, name: str, task: PoemTask, sampling: Sampling, draws: Draws
) -> Iterator[Poem]:
    """N poems, side by side."""
    featuriser: CharFeaturiser = model.attrs["featuriser"]
    n = len(draws)
    choices = Choices(featuriser, task, n)
    if not choices.words.any():
        raise ValueError(Errors.F347.format(name=name))
    texts = Continuation(model, "", n)
    columns: list[Strings] = []
    log_prob = np.zeros(n)
    for place in task.places():
        given = task.given_at(place)
        if given is not None:
            keys = np.repeat(featuriser.keys(given), n)
            column = np.full(n, given, dtype=object)
        else:
            allowed = choices.allowed(place)
            keys = sampling.choose(texts.scores, texts.seen, allowed, draws.next())
            column = featuriser.strings[keys]
        if task.rhyme and place in task.rhyming:
            choices.note_rhymes(column, keys)
        log_prob += log_softmax(texts.scores)[np.arange(n), keys]
        columns.append(column)
        texts.read(keys)
    for *characters, total in zip(*columns, log_prob.tolist(), strict=True):
        yield judge(task, characters, total / len(columns))


class Choices:
    """The allowed keys at each place of N poems written side by side.

    words: [K] keys of characters for lines: letters of scripts without case.
    rhyme: [N] the rhyme of each poem's last even line; "" before.
    """

    def __init__(self, featuriser: CharFeaturiser, task: PoemTask, n: int) -> None:
        self.task = task
        strings = featuriser.strings.tolist()
        self.words: Bools = np.array([bool(s) and unicodedata.category(s) == "Lo" for s in strings])
        needed = self.words & (task.rhyme or task.tones is not None)
        readings = [
            reading(string) if is_needed else None
            for string, is_needed in zip(strings, needed, strict=True)
        ]
        self.rhymes = np.array([known.rhyme if known else "" for known in readings])
        self.tones = np.array([known.tone if known else "" for known in readings])
        self.rhyme = np.full(n, "", dtype=self.rhymes.dtype)
        self.taken: Bools = np.zeros((n, len(strings)), dtype=np.bool_)  # by a rhyme

    def allowed(self, place: Place) -> Bools:
        """[N, K] allowed keys at a place. If none meets rhyme and tone, drop the tone, then the
        rhyme."""
        found = np.broadcast_to(self.words, self.taken.shape)
        for mask in (self._rhyming(place), self._toned(place)):
            both = found & mask
            found = np.where(both.any(axis=1, keepdims=True), both, found)
        return found

    def note_rhymes(self, characters: Strings, keys: Ints) -> None:
        """Record the characters [N] at the end of an even line, and their keys."""
        for row, character in enumerate(characters.tolist()):
            known = reading(character)
            if known is not None:
                self.rhyme[row] = known.rhyme
        self.taken[np.arange(len(keys)), keys] = True

    def _rhyming(self, place: Place) -> Bools:
        if not self.task.rhyme or place not in self.task.rhyming:
            return self.words
        own = (self.rhymes == self.rhyme[:, None]) & ~self.taken
        rhymes: Bools = np.where((self.rhyme == "")[:, None], self._common(place), own)
        return rhymes

    def _common(self, place: Place) -> Bools:
        """[K] of rhymes with enough characters for all even lines, in the required tone if
        possible."""
        known: Bools = self.rhymes != ""
        toned = self._of_frequent_rhymes(known & self._toned(place))
        return toned if toned.any() else self._of_frequent_rhymes(known)

    def _of_frequent_rhymes(self, fitting: Bools) -> Bools:
        names, counts = np.unique(self.rhymes[fitting], return_counts=True)
        common: Bools = fitting & np.isin(self.rhymes, names[counts >= len(self.task.rhyming)])
        return common

    def _toned(self, place: Place) -> Bools:
        tone = self.task.tone_at(place)
        toned: Bools = self.words if tone is None else self.tones == tone
        return toned


def judge(task: PoemTask, characters: Sequence[str], log_prob: float) -> Poem:
    """A poem of the characters at all places, checked."""
    at = dict(zip(task.places(), characters, strict=True))
    lines = tuple(
        "".join(at[line, character] for character in range(task.form.characters))
        for line in range(task.form.lines)
    )
    rhymes = _is_rhymed([at[place] for place in task.rhyming]) if task.rhyme else None
    misplaced = None
    if task.tones is not None:
        misplaced = tuple(
            place
            for place in at
            if place[1] < task.form.characters and not _fits(at[place], task.tone_at(place))
        )
    return Poem(task.form, lines, log_prob, rhymes, misplaced)


def _is_rhymed(ends: Sequence[str]) -> bool:
    readings = [reading(end) for end in ends]
    rhymes = {known.rhyme for known in readings if known is not None}
    return len(rhymes) <= 1 and None not in readings and len(set(ends)) == len(ends)


def _fits(character: str, tone: str | None) -> bool:
    known = reading(character) if tone is not None else None
    return tone is None or (known is not None and known.tone == tone)
