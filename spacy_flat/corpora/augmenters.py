"""Augmentation of corpora of entities, for `[corpora.train.augmenter]` of a config."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Dict, List, Optional  # noqa: UP035  (thinc validates configs by these)

from daachorse import MATCH_KIND_LEFTMOST_LONGEST, CharwiseDoubleArrayAhoCorasick
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from ..errors import Errors
from ..lexicon import NOT_ENTITY, WordList
from ..ner.spans import meaning
from ..util.options import require_number
from .docs import read_docs
from .pieces import Piece, Pieces, can_edit, example_of, pieces_of

# Of made-up persons.
MADE_UP = json.loads(Path(__file__).with_name("made_up.json").read_text("utf-8"))
SURNAMES: str = MADE_UP["surnames"]
GIVEN_NAMES: str = MADE_UP["given_names"]
COMPOUND_SURNAMES: list[str] = MADE_UP["compound_surnames"].split()
GIVEN_WORDS: list[str] = MADE_UP["given_words"].split()  # ordinary words and rustic names
WORD_PERSONS: list[str] = MADE_UP["word_persons"].split()  # surname and given name form a word
TITLES = MADE_UP["titles"].split()  # after a surname without a given name, outside of the name
CALLED = MADE_UP["called"].split()  # what a surname becomes, as a whole
TITLED = 0.1  # share of persons with a surname alone
INVENTED = 0.5  # share of the others that are made up
WITH_WORDS, ALL_WORD = 0.1, 0.03  # shares of these with words in their names
FULL_NAME = re.compile(
    f"(?!{'|'.join(COMPOUND_SURNAMES)}|.*[某老])[{SURNAMES}]([\u4e00-\u9fff]{{1,2}})"
)
TO_FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
TO_PLAIN = {full: code for code, full in TO_FULL_WIDTH.items()}
MAX_WORDS = 3  # to write in English in a text

Augmenter = Callable[[Language, Example], Iterator[Example]]
Meaning = tuple[str, ...]  # labels that a label stands for
Pools = Mapping[Meaning, list[list[str]]]


def casing_augmenter(lower: float = 0.0, upper: float = 0.0) -> Augmenter:
    """`spacy-flat.casing_augmenter.v1`: adds texts in lower case or capitals, as in messages and
    headlines.

    lower: share of texts to add in lower case.
    upper: share of texts to add in capitals.

    Raises ValueError (F341) for a share that isn't from 0 to 1.
    """
    _require_shares({"lower": lower, "upper": upper})

    def augment(nlp: Language, example: Example) -> Iterator[Example]:
        yield example
        doc = example.reference
        for rate, change in ((lower, str.lower), (upper, str.upper)):
            if random.random() < rate and can_edit(doc):
                yield _variant(nlp, [(change(text), label) for text, label in pieces_of(doc)], doc)

    return augment


def ner_augmenter(
    width: float = 0.0,
    exchange: float = 0.0,
    mixed: float = 0.0,
    corpora: Dict[str, Optional[Path]] = {},  # noqa: B006, UP006, UP045
    names: Dict[str, WordList] = {},  # noqa: B006, UP006
    persons: List[str] = [],  # noqa: B006, UP006
    words: Dict[str, WordList] = {},  # noqa: B006, UP006
) -> Augmenter:
    """`spacy-flat.ner_augmenter.v1`: variants of Chinese texts with entities. Texts with annotation
    that can't be moved (`can_edit`), or unknown spaces, stay as they are.

    width: share of texts to write with full-width letters, digits and punctuation, or with ASCII
        ones if the text has full-width ones.
    exchange: share of texts in which to replace names with others of the same label.
    mixed: share of texts in which to write some words in English and names in Latin letters.
    corpora: .spacy files, by any key, whose entities replace names; null leaves one out. With
        coarse labels, a name replaces only names whose labels stand for the same.
    names: word lists with more names, by any key; a word's type is its label.
    persons: labels of persons, half of whose new names are made up: a surname with characters of
        known given names, or with an ordinary word.
    words: ordinary words for `mixed`, by any key, whose type is their English translation. Of equal
        words the first counts; names of `corpora` and `names` are left out.

    Raises ValueError (F341) for a rate outside 0 to 1, and if there is nothing to take names from
    (F149).
    """
    changes = {
        "exchange": (exchange, exchanged),
        "mixed": (mixed, with_english),
        "width": (width, in_other_width),
    }
    _require_shares({name: rate for name, (rate, _) in changes.items()})
    paths = [Path(path) for path in corpora.values() if path]
    if exchange and not (paths or names or persons):
        raise ValueError(Errors.F149)
    choices = Choices(paths, [*names.values()], persons, [*words.values()])

    def augment(nlp: Language, example: Example) -> Iterator[Example]:
        doc = example.reference
        if doc.has_unknown_spaces or not can_edit(doc):
            yield example
            return
        original = pieces = pieces_of(doc)
        for rate, change in changes.values():
            if random.random() < rate:
                pieces = change(pieces, doc, choices)
        yield example if pieces is original else _variant(nlp, pieces, doc)

    return augment


# Changes of a text


def exchanged(pieces: Pieces, doc: Doc, choices: Choices) -> Pieces:
    """Other names of the same labels; some persons become a surname with a title outside of it."""
    return _renamed(pieces, doc, choices.pools, lambda label: choices.mention(label, doc))


def with_english(pieces: Pieces, doc: Doc, choices: Choices) -> Pieces:
    """A few ordinary words in English, and about half of the names in Latin letters."""

    def in_latin(label: str) -> Pieces | None:
        names = random.choice(choices.latin[meaning(label, doc)])
        return [(random.choice(names), label)] if random.random() < 0.5 else None

    pieces = _renamed(pieces, doc, choices.latin, in_latin)
    words = [
        (n, start, end)
        for n, (text, label) in enumerate(pieces)
        for start, end in ([] if label else choices.words_in(text))
    ]
    space = random.choice(("", " "))
    chosen = random.sample(words, min(len(words), random.randint(1, MAX_WORDS)))
    for n, start, end in sorted(chosen, reverse=True):
        text, label = pieces[n]
        word = f"{space}{choices.ordinary[text[start:end]]}{space}"
        pieces[n] = text[:start] + word + text[end:], label
    return pieces


def _renamed(
    pieces: Pieces, doc: Doc, pools: Pools, new_name: Callable[[str], Pieces | None]
) -> Pieces:
    """Other names for those whose labels have some, the same for one name all over the text.
    Abbreviations of one character stay."""
    chosen: dict[Piece, Pieces] = {}
    for piece in pieces:
        text, label = piece
        if label and len(text) > 1 and meaning(label, doc) in pools and piece not in chosen:
            chosen[piece] = new_name(label) or [piece]
    return [*chain.from_iterable(chosen.get(piece, [piece]) for piece in pieces)]


def in_other_width(pieces: Pieces, doc: Doc, choices: Choices) -> Pieces:
    """Full-width letters, digits and punctuation, or plain ones for full-width ones."""
    text = "".join(text for text, _ in pieces)
    has_full = any("\uff10" <= char <= "\uff5a" and char.isalnum() for char in text)
    table = TO_PLAIN if has_full else TO_FULL_WIDTH
    return [(text.translate(table), label) for text, label in pieces]


# Names and words to choose from


@dataclass(eq=False)
class Choices:
    """Names and words to choose from, read when they are needed: those of corpora, of lists with
    labels, persons of these labels to make up, and lists of ordinary words with translations."""

    corpora: Sequence[Path]
    lists: Sequence[WordList]
    persons: Sequence[str]
    words: Sequence[WordList]

    def mention(self, label: str, doc: Doc) -> Pieces:
        """Some name of a label; each list is as likely as any other. A share of the persons is a
        surname, with a title outside of it that isn't a name in a corpus, or called as 老王. Half
        of the others are made up."""
        labels = meaning(label, doc)
        if len(labels) == 1 and labels[0] in self.persons:
            if random.random() < TITLED:
                return self._by_surname(label)
            if random.random() < INVENTED or not self.pools[labels]:
                return [(self.made_up(), label)]
        return [(random.choice(random.choice(self.pools[labels])), label)]

    def _by_surname(self, label: str) -> Pieces:
        surname = random.choice(SURNAMES)
        if random.random() < 0.5:
            return [(random.choice(CALLED).format(surname), label)]
        titles = [title for title in TITLES if title not in self.names]
        return [(surname, label), (random.choice(titles or [""]), "")]

    def made_up(self) -> str:
        """A name of a person, of two to four characters. Most given names have characters as often
        as those of the corpora and lists."""
        chance = random.random()
        if chance < ALL_WORD:
            return random.choice(WORD_PERSONS)
        surname = random.choice(SURNAMES if random.random() < 0.95 else COMPOUND_SURNAMES)
        if chance < WITH_WORDS:
            return surname + random.choice(GIVEN_WORDS)
        characters = self.given if random.random() < 0.8 else GIVEN_NAMES
        return surname + "".join(random.choices(characters, k=random.choice((1, 2, 2))))

    def words_in(self, text: str) -> list[tuple[int, int]]:
        """The ordinary words in a text, from left to right the longest."""
        return [(start, end) for start, end, _ in self._automaton.find(text)]

    @cached_property
    def pools(self) -> dict[Meaning, list[list[str]]]:
        """Lists of names, by the labels that their label stands for."""
        sources: list[Iterable[tuple[str, Meaning]]] = [
            ((entry.word, (entry.type,)) for entry in words if entry.type not in ("", NOT_ENTITY))
            for words in self.lists
        ]
        sources += map(read_names, self.corpora)
        pools: dict[Meaning, list[list[str]]] = {}
        for source in sources:
            found: dict[Meaning, set[str]] = {}
            for text, labels in source:
                if len(text) > 1 and text == " ".join(text.split()):
                    found.setdefault(labels, set()).add(text)
            for labels, texts in found.items():
                pools.setdefault(labels, []).append(sorted(texts))
        return pools | {(label,): pools.get((label,), []) for label in self.persons}

    @cached_property
    def given(self) -> str:
        """The characters after the surname in persons of two or three characters."""
        persons = chain(*(chain(*self.pools[(label,)]) for label in self.persons))
        return "".join(m[1] for m in map(FULL_NAME.fullmatch, persons) if m) or GIVEN_NAMES

    @cached_property
    def latin(self) -> dict[Meaning, list[list[str]]]:
        """Names in Latin letters."""
        found = ((of, [*filter(is_latin, chain(*lists))]) for of, lists in self.pools.items())
        return {of: [names] for of, names in found if names}

    @cached_property
    def names(self) -> frozenset[str]:
        """All names of the corpora and lists, in lower case."""
        return frozenset(name.lower() for lists in self.pools.values() for name in chain(*lists))

    @cached_property
    def ordinary(self) -> dict[str, str]:
        """Ordinary words of two characters or more, each in English. A word may be a name in a
        corpus, such as a title."""
        return {
            entry.word: entry.type
            for entry in reversed([*chain.from_iterable(self.words)])
            if len(entry.word) > 1
            and entry.type
            and self.names.isdisjoint((entry.word, entry.type.lower()))
        }

    @cached_property
    def _automaton(self) -> CharwiseDoubleArrayAhoCorasick:
        return CharwiseDoubleArrayAhoCorasick([*self.ordinary], MATCH_KIND_LEFTMOST_LONGEST)


def read_names(path: Path) -> Iterator[tuple[str, Meaning]]:
    """The entities of a .spacy file, and the labels that each one's label stands for."""
    for doc in read_docs(path, Vocab()):
        for ent in doc.ents:
            yield ent.text, meaning(ent.label_, doc)


def _variant(nlp: Language, pieces: Pieces, doc: Doc) -> Example:
    """An example of the pieces of a Doc after changes."""
    example = example_of(nlp, pieces, doc)
    example.reference.cats = dict(doc.cats)
    return example


def is_latin(name: str) -> bool:
    return name.isascii() and any(map(str.isalpha, name))


def _require_shares(rates: Mapping[str, float]) -> None:
    for name, rate in rates.items():
        require_number(name, rate, 0, 1)
