"""Poems: lines of a form, with given characters, rhymes and tones.

Shapes: N poems, K keys.
"""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from ..errors import Errors
from ..util.arrays import Bools, Ints, Strings
from ..util.options import Check, require, require_string
from ..util.probabilities import log_softmax
from .featuriser import CharFeaturiser
from .forms import Form, Tones
from .model import CharLMModel
from .prosody import Reading, reading
from .sampling import Sampling, Seeds, draws_of
from .writing import Continuation

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

    def __str__(self) -> str:
        return "\n".join(self._marked())

    def _marked(self) -> Iterator[str]:
        return map("".join, zip(self.lines, self.form.marks, strict=True))


class Slot(NamedTuple):
    """A character to write.

    given: the required character; None for any.
    tone: "平" or "仄"; "中" for either.
    rhymes: whether it ends an even line that must rhyme.
    """

    place: Place
    given: str | None
    tone: str = "中"
    rhymes: bool = False


def slots_of(
    form: Form, given: Mapping[Place, str], rhyme: bool, tones: Tones | None
) -> list[Slot]:
    """All characters of a form in writing order, each line followed by its mark.

    given: characters at their places.

    Raises ValueError (F345) for a form without a tone pattern, (F341) for an unknown one.
    """
    last = form.characters - 1
    patterns = ["中" * form.characters] * form.lines if tones is None else form.tones(tones)
    slots = []
    for line, (mark, pattern) in enumerate(zip(form.marks, patterns, strict=True)):
        for place, tone in enumerate(pattern):
            rhymes = rhyme and line % 2 == 1 and place == last
            slots.append(Slot((line, place), given.get((line, place)), tone, rhymes))
        slots.append(Slot((line, last + 1), mark))
    return slots


def signs(text: str) -> str:
    """A text without white space, punctuation, control and combining characters, and the selectors
    and skin colours of emoji."""
    left_out = ("P", "Z", "Cc", "Cf", "Cs", "M", "Sk")
    return "".join(sign for sign in text if not unicodedata.category(sign).startswith(left_out))


def given_characters(form: Form, prompt: str | Mapping[Place, str]) -> Mapping[Place, str]:
    """Those of a prompt: the first ones, or by their places. Raises ValueError for more than the
    form has (F346), and for other places (F341)."""
    if isinstance(prompt, Mapping):
        places = set(product(range(form.lines), range(form.characters)))
        wanted = "a text, or characters by their places in the form, (line, place), from 0"
        are_signs = all(isinstance(each, str) and len(each) == 1 for each in prompt.values())
        require("prompt", prompt, Check(wanted, lambda given: are_signs and given.keys() <= places))
        return prompt
    require_string(prompt)
    given, room = signs(prompt), form.lines * form.characters
    if len(given) > room:
        raise ValueError(Errors.F346.format(prompt=prompt, found=len(given), room=room))
    return {divmod(i, form.characters): sign for i, sign in enumerate(given)}


def write_poems(
    model: CharLMModel,
    name: str,
    form: Form,
    slots: Sequence[Slot],
    sampling: Sampling,
    seeds: Seeds,
) -> Iterator[Poem]:
    """Write a poem from each seed, side by side.

    name: of the component.

    Raises ValueError (F347) for a vocabulary without characters for lines.
    """
    featuriser: CharFeaturiser = model.attrs["featuriser"]
    n, draws = len(seeds), draws_of(seeds)
    choices = Choices(featuriser.strings, slots, n)
    if not choices.words.any():
        raise ValueError(Errors.F347.format(name=name))
    texts = Continuation(model, "", n)
    columns: list[Strings] = []
    log_prob = np.zeros(n)
    for slot in slots:
        if slot.given is not None:
            keys = np.repeat(featuriser.keys(slot.given), n)
            columns.append(np.full(n, slot.given, dtype=object))
        else:
            allowed = choices.allowed(slot)
            keys = sampling.choose(texts.scores, texts.seen, allowed, next(draws))
            columns.append(featuriser.strings[keys])
        if slot.rhymes:
            choices.note_rhymes(columns[-1], keys)
        log_prob += log_softmax(texts.scores)[np.arange(n), keys]
        texts.read(keys)
    for *characters, total in zip(*columns, log_prob.tolist(), strict=True):
        yield judge(form, slots, characters, total / len(columns))


class Choices:
    """The allowed keys at each place of N poems written side by side.

    words: [K] keys of characters for lines: letters of scripts without case.
    rhyme: [N] the rhyme of each poem's last even line; "" before.
    taken: [N, K] keys that have ended an even line.
    """

    def __init__(self, strings: Strings, slots: Sequence[Slot], n: int) -> None:
        self.words: Bools = np.array([bool(s) and unicodedata.category(s) == "Lo" for s in strings])
        are_read = self.words & any(slot.rhymes or slot.tone != "中" for slot in slots)
        unknown = Reading("", "")
        readings = [reading(s) if i else unknown for s, i in zip(strings, are_read, strict=True)]
        self.rhymes, self.tones = np.array(readings, dtype="U1").T
        self.n_rhyming = sum(slot.rhymes for slot in slots)
        self.rhyme = np.full(n, "", dtype="U1")
        self.taken: Bools = np.zeros((n, len(strings)), dtype=np.bool_)

    def allowed(self, slot: Slot) -> Bools:
        """[N, K] allowed keys. If none meets rhyme and tone, drop the tone, then the rhyme."""
        found = np.broadcast_to(self.words, self.taken.shape)
        toned = self.words if slot.tone == "中" else self.tones == slot.tone
        for mask in (self._rhyming(toned) if slot.rhymes else self.words, toned):
            both = found & mask
            found = np.where(both.any(axis=1, keepdims=True), both, found)
        return found

    def note_rhymes(self, characters: Strings, keys: Ints) -> None:
        """Record the characters [N] at the end of an even line, and their keys."""
        found = np.array([reading(character).rhyme for character in characters], dtype="U1")
        self.rhyme = np.where(found == "", self.rhyme, found)
        self.taken[np.arange(len(keys)), keys] = True

    def _rhyming(self, toned: Bools) -> Bools:
        """[N, K] keys that rhyme; in the first even line, those of rhymes with enough characters
        for all even lines, in the required tone if possible."""
        known = self.rhymes != ""
        for fitting in (known & toned, known):
            names, counts = np.unique(self.rhymes[fitting], return_counts=True)
            first = fitting & np.isin(self.rhymes, names[counts >= self.n_rhyming])
            if first.any():
                break
        rhyming = (self.rhymes == self.rhyme[:, None]) & ~self.taken
        found: Bools = np.where(self.rhyme[:, None] == "", first, rhyming)
        return found


def judge(form: Form, slots: Sequence[Slot], characters: Sequence[str], log_prob: float) -> Poem:
    """A poem of the characters at all places, checked."""
    starts = range(0, len(characters), form.characters + 1)
    lines = tuple("".join(characters[start : start + form.characters]) for start in starts)
    written = list(zip(slots, characters, strict=True))
    rhymes = misplaced = None
    if ends := [character for slot, character in written if slot.rhymes]:
        found = {reading(end).rhyme for end in ends}
        rhymes = len(found) == 1 and "" not in found and len(set(ends)) == len(ends)
    if any(slot.tone != "中" for slot in slots):
        misplaced = tuple(
            slot.place
            for slot, character in written
            if slot.tone not in ("中", reading(character).tone)
        )
    return Poem(form, lines, log_prob, rhymes, misplaced)
