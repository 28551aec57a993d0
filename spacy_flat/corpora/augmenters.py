"""Augmentation of corpora of entities, for `[corpora.train.augmenter]` of a config."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Dict, List, Literal, Optional  # noqa: UP035  (thinc validates configs by these)

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from ..errors import Errors, Warnings
from ..lexicon import NOT_ENTITY, WordList
from ..ner.spans import meaning
from ..util.options import Check, require, require_number
from .docs import read_docs
from .pieces import Piece, Pieces, can_edit, example_of, pieces_of

# Surnames and titles of made-up persons, and what may stand around texts and names.
MADE_UP = json.loads(Path(__file__).with_name("made_up.json").read_text("utf-8"))
SURNAMES, GIVEN_NAMES = MADE_UP["surnames"], MADE_UP["given_names"]
PREFIXES = tuple(MADE_UP["prefixes"])  # of a surname without a given name
TITLES = tuple(MADE_UP["titles"].split())  # after one
TITLED = 0.1  # share of persons
FRAMES, FIELDS = MADE_UP["frames"], MADE_UP["fields"]

# What begins, separates and ends the cells of a row.
MARKDOWN = ("| ", " | ", " |")
ROWS = (MARKDOWN, ("", "\t", ""), ("", ",", ""), ("<tr><td>", "</td><td>", "</td></tr>"))
FORMS = (("", "：", ""), ("", ": ", ""), ("- ", "：", ""), ('"', '": "', '",'), *ROWS)

PUNCTUATION = frozenset("，。；！？：、,;!?")
TO_FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
TO_PLAIN = {full: code for code, full in TO_FULL_WIDTH.items()}
MAX_NAMES = 12  # of a list
MAX_WORDS = 3  # to write in English in a text

Meaning = tuple[str, ...]  # labels that a label stands for


def casing_augmenter(
    lower: float = 0.0, upper: float = 0.0
) -> Callable[[Language, Example], Iterator[Example]]:
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
    layout: float = 0.0,
    social: float = 0.0,
    mixed: float = 0.0,
    lists: float = 0.0,
    tables: float = 0.0,
    corpora: Dict[str, Optional[Path]] = {},  # noqa: B006, UP006, UP045
    names: Dict[str, WordList] = {},  # noqa: B006, UP006
    persons: List[str] = [],  # noqa: B006, UP006
    words: Dict[str, WordList] = {},  # noqa: B006, UP006
    traditional: Literal[0] = 0,
) -> NerAugmenter:
    """`spacy-flat.ner_augmenter.v1`: variants of Chinese texts with entities.

    width: share of texts to write with full-width letters, digits and punctuation, or with plain
        ones if the text has full-width letters or digits.
    exchange: share of texts in which to replace names by others with the same label.
    layout: share of texts to write with line breaks, markup or table cells around text or names.
    social: share of texts to write with a topic, a handle, emoji or a URL.
    mixed: share of texts in which to write ordinary words in English, and names in Latin letters.
    lists: number of lists of names to add per text, at most 1.
    tables: number of forms and tables to add per text, at most 1.
    corpora: .spacy files whose entities are names to choose from, by any key;
        null leaves one out. With coarse labels, a name only replaces names whose labels stand for
        the same.
    names: word lists with more names, by any key; the type of a word is its label.
    persons: labels for which to also make names from surnames and given names.
    words: lists of ordinary words, by any key, for `mixed` and the cells of tables; the type of a
        word is its English translation. Of equal words the first counts; those that are names in
        `corpora` or `names` don't.
    traditional: without effect, for configs of earlier versions.

    Raises ValueError (F341) for a rate outside 0 to 1, or `mixed` without words in English, and if
    there is nothing to take names from (F149). Warns (W161) of `persons` that are labels of no name
    in `corpora` and `names`.
    """
    rates = {
        "width": width,
        "exchange": exchange,
        "layout": layout,
        "social": social,
        "mixed": mixed,
        "lists": lists,
        "tables": tables,
    }
    _require_shares(rates)
    english: dict[str, str] = {}
    for entry in chain.from_iterable(words.values()):
        if entry.type:
            english.setdefault(entry.word, entry.type)
    wanted = "0 unless a list in `words` has words with their English translations"
    require("mixed", mixed, Check(wanted, lambda share: bool(english) or not share))
    paths = [Path(path) for path in corpora.values() if path]
    if (exchange or lists or tables) and not (paths or names or persons):
        raise ValueError(Errors.F149)
    return NerAugmenter(rates, paths, list(names.values()), persons, english)


@dataclass(eq=False)
class NerAugmenter:
    """See `ner_augmenter`. Yields each text or a variant, and then its lists and tables; only the
    text if it has annotation that can't be moved (`can_edit`), or unknown spaces.

    english: ordinary words, each in English.
    """

    rates: Mapping[str, float]
    corpora: Sequence[Path]
    lists: Sequence[WordList]
    persons: Sequence[str]
    english: Mapping[str, str]

    def __call__(self, nlp: Language, example: Example) -> Iterator[Example]:
        doc = example.reference
        if doc.has_unknown_spaces or not can_edit(doc):
            yield example
            return
        original = variant = pieces_of(doc)
        for change in (self.exchange, self.mixed, layout, social, width):
            if self.happens(change.__name__):
                variant = change(variant, doc)
        yield example if variant is original else _variant(nlp, variant, doc)
        for rate, make in (("lists", self.add_list), ("tables", self.add_table)):
            if self.happens(rate) and (labels := self.labels(doc)):
                pieces = make(labels, doc)
                yield example_of(nlp, width(pieces, doc) if self.happens("width") else pieces, doc)

    def happens(self, name: str) -> bool:
        return random.random() < self.rates[name]

    # Changes of a text

    def exchange(self, pieces: Pieces, doc: Doc) -> Pieces:
        """Other names of the same labels, the same for one name all over the text; some persons
        become a surname with a title outside of the name. Abbreviations of one character stay."""
        chosen: dict[Piece, Pieces] = {}
        new: Pieces = []
        for (before, _), (text, label), (after, _) in _windows(pieces):
            if not label or len(text) == 1 or meaning(label, doc) not in self.pools:
                new.append((text, label))
                continue
            has_title = before.endswith((*PREFIXES, *TITLES)) or after.startswith(TITLES)
            name = self.mention(label, doc, 0.0 if has_title else TITLED)
            new += chosen.setdefault((text, label), name)
        return new

    def mixed(self, pieces: Pieces, doc: Doc) -> Pieces:
        """A few ordinary words in English, and about half of the names in Latin letters."""
        named = self.with_latin_names(pieces, doc)
        apart = chain.from_iterable(map(self.words_apart, named))
        parts = [("", ""), *(part for part in apart if part[0]), ("", "")]
        words = [n for n, (text, of) in enumerate(parts) if not of and self.is_ordinary(text)]
        space = random.choice(("", " "))

        def gap(char: str) -> str:
            needs_space = char.isascii() and char.isalnum()
            return "" if char.isspace() else space or " " * needs_space

        for n in random.sample(words, min(len(words), random.randint(1, MAX_WORDS))):
            text, label = parts[n]
            more = random.choices(self.words, k=random.choice((0, 0, 0, 1, 2)))
            phrase = cased(" ".join(self.ordinary[word] for word in (text, *more)))
            before, after = parts[n - 1][0][-1:], parts[n + 1][0][:1]
            parts[n] = f"{gap(before)}{phrase}{gap(after)}", label
        return parts

    def with_latin_names(self, pieces: Pieces, doc: Doc) -> Pieces:
        """About half of the names in Latin letters, each the same all over the text."""
        chosen: dict[Piece, str] = {}
        new: Pieces = []
        for text, label in pieces:
            names = self.latin.get(meaning(label, doc)) if label and len(text) > 1 else None
            if names:
                name = random.choice(names) if random.random() < 0.5 else text
                text = chosen.setdefault((text, label), name)
            new.append((text, label))
        return new

    def words_apart(self, piece: Piece) -> Iterator[Piece]:
        """A piece outside of entities, cut into ordinary words, at each place the longest, and
        what is between them."""
        text, label = piece
        last = start = len(text) if label else 0
        while start < len(text):
            ends = range(min(start + self.longest, len(text)), start + 1, -1)
            end = next((end for end in ends if self.is_ordinary(text[start:end])), None)
            if end:
                yield from ((text[last:start], label), (text[start:end], label))
                last = end
            start = end or start + 1
        yield piece if label else (text[last:], label)

    # Added texts

    def add_list(self, labels: Sequence[str], doc: Doc) -> Pieces:
        """A list of names of a label."""
        label = random.choice(labels)
        names = [self.mention(label, doc, 0.0) for _ in range(random.randint(2, MAX_NAMES))]
        # A space or nothing doesn't separate names like "Tim Cook".
        spaced = any(name.isascii() for ((name, _),) in names)
        separators = [each for each in MADE_UP["separators"] if each.strip() or not spaced]
        kind = kind_of(label)
        frames = FRAMES[""] + (FRAMES[kind] if kind else [])
        before, after = random.choice(frames).split("{}")
        return [(before, ""), *joined(random.choice(separators), names), (after, "")]

    def add_table(self, labels: Sequence[str], doc: Doc) -> Pieces:
        """A form, with a field and a value a line, or a table, with a line of fields above."""
        columns = [
            random.choice(labels) if random.random() < 0.6 else ""
            for _ in range(random.randint(1, 4))
        ]
        is_form = random.random() < 0.5
        begin, between, end = style = random.choice(FORMS if is_form else ROWS)
        rows: list[list[Pieces]] = [[[(self.field(label), "")] for label in columns]]
        if style == MARKDOWN and not is_form and random.random() < 0.5:
            rows.append([[("---", "")]] * len(columns))
        for _ in range(1 if is_form else random.randint(1, 4)):
            rows.append([self.cell(label, doc) for label in columns])
        lines = map(list, zip(*rows, strict=True)) if is_form else rows
        return joined("\n", [[(begin, ""), *joined(between, row), (end, "")] for row in lines])

    def cell(self, label: str, doc: Doc) -> Pieces:
        """A name of a label, or without a label an ordinary word or a number."""
        if label:
            return self.mention(label, doc)
        if not self.words or random.random() < 0.4:
            return [(str(random.randrange(10 ** random.randint(1, 8))), "")]
        word = random.choice(self.words)
        return [(word if random.random() < 0.8 else cased(self.ordinary[word]), "")]

    def field(self, label: str) -> str:
        """The header of a column of names, or of other cells."""
        is_usual = not self.words or random.random() < (0.8 if label else 0.3)
        found: str = random.choice(FIELDS[kind_of(label)] if is_usual else self.words)
        return found

    # Names and words to choose from

    def labels(self, doc: Doc) -> list[str]:
        """The labels of the Doc's corpus that there are names for."""
        labels = [*(doc._.coarse_labels or {}), *(of[0] for of in self.pools if len(of) == 1)]
        return [label for label in dict.fromkeys(labels) if meaning(label, doc) in self.pools]

    def mention(self, label: str, doc: Doc, titled: float = TITLED) -> Pieces:
        """Some name of a label; each list is as likely as any other. A share of the persons is a
        surname with a prefix such as 小, or a title that isn't a name in a corpus, outside of it.
        """
        labels = meaning(label, doc)
        if len(labels) == 1 and labels[0] in self.persons and random.random() < titled:
            surname = random.choice(SURNAMES), label
            titles = [title for title in TITLES if title not in self.names]
            if not titles or random.random() < 0.3:
                return [(random.choice(PREFIXES), ""), surname]
            return [surname, (random.choice(titles), "")]
        names = random.choice(self.pools[labels])
        return [(random.choice(names) if names else made_up(), label)]

    @cached_property
    def pools(self) -> dict[Meaning, list[list[str]]]:
        """Lists of names, by the labels that their label stands for; an empty one is of made-up
        persons."""
        sources: list[Iterable[tuple[str, Meaning]]] = [
            ((entry.word, (entry.type,)) for entry in words if entry.type not in ("", NOT_ENTITY))
            for words in self.lists
        ]
        sources += map(read_names, self.corpora)
        pools: dict[Meaning, list[list[str]]] = {}
        known: set[str] = set()
        for source in sources:
            found: dict[Meaning, set[str]] = {}
            for text, labels in source:
                known.update(labels)
                if len(text) > 1 and text == " ".join(text.split()):
                    found.setdefault(labels, set()).add(text)
            for labels, texts in found.items():
                pools.setdefault(labels, []).append(sorted(texts))
        unknown = [label for label in self.persons if label not in known]
        if unknown and known:
            warnings.warn(Warnings.W161.format(persons=unknown), stacklevel=2)
        for label in self.persons:
            pools.setdefault((label,), []).append([])
        return pools

    @cached_property
    def latin(self) -> dict[Meaning, list[str]]:
        """Names in Latin letters, by the labels that their label stands for."""
        return {
            labels: found
            for labels, lists in self.pools.items()
            if (found := [name for names in lists for name in names if _is_latin(name)])
        }

    @cached_property
    def names(self) -> frozenset[str]:
        """All names of the corpora and lists, in lower case."""
        lists = chain.from_iterable(self.pools.values())
        return frozenset(name.lower() for name in chain.from_iterable(lists))

    @cached_property
    def ordinary(self) -> dict[str, str]:
        """Ordinary words, each in English. A word may be a name in a corpus, such as a title."""
        return {
            word: english
            for word, english in self.english.items()
            if self.names.isdisjoint((word, english.lower()))
        }

    @cached_property
    def words(self) -> list[str]:
        return [*self.ordinary]

    @cached_property
    def longest(self) -> int:
        return max(map(len, self.words), default=0)

    def is_ordinary(self, text: str) -> bool:
        """Whether a text is an ordinary word of two characters or more."""
        return len(text) > 1 and text in self.ordinary


def layout(pieces: Pieces, doc: Doc) -> Pieces:
    """Markup or cells around the text or its names, or line breaks at its punctuation."""
    choice = random.random()
    if choice < 0.4 and any(PUNCTUATION.intersection(text) for text, label in pieces if not label):
        return broken(pieces)
    if choice < 0.6 and doc.ents:
        begin, end = random.choice(MADE_UP["around_names"])
        marked = [[(begin, ""), piece, (end, "")] if piece[1] else [piece] for piece in pieces]
        return [*chain.from_iterable(marked)]
    begin, end = random.choice(MADE_UP["around_text"])
    return [(begin, ""), *pieces, (end, "")]


def broken(pieces: Pieces) -> Pieces:
    """Breaks of one kind after at least one punctuation mark outside of entities."""
    mark = random.choice(MADE_UP["breaks"])
    places = [
        (n, at)
        for n, (text, label) in enumerate(pieces)
        for at, char in enumerate(text)
        if not label and char in PUNCTUATION
    ]
    chosen = {*random.sample(places, random.randint(1, len(places)))}
    return [
        ("".join(char + mark * ((n, at) in chosen) for at, char in enumerate(text)), label)
        for n, (text, label) in enumerate(pieces)
    ]


def social(pieces: Pieces, doc: Doc) -> Pieces:
    """A topic, a handle, emoji or a URL around the text."""
    before = random.choice(MADE_UP["topics"]) + random.choice(MADE_UP["handles"])
    return [(before, ""), *pieces, (random.choice(MADE_UP["endings"]), "")]


def width(pieces: Pieces, doc: Doc) -> Pieces:
    """Full-width letters, digits and punctuation, or plain ones for full-width ones."""
    text = "".join(text for text, _ in pieces)
    has_full = any("\uff10" <= char <= "\uff5a" and char.isalnum() for char in text)
    table = TO_PLAIN if has_full else TO_FULL_WIDTH
    return [(text.translate(table), label) for text, label in pieces]


def joined(separator: str, parts: Iterable[Pieces]) -> Pieces:
    """Parts with a separator between them."""
    return [piece for part in parts for piece in ((separator, ""), *part)][1:]


def read_names(path: Path) -> Iterator[tuple[str, Meaning]]:
    """The entities of a .spacy file, and the labels that each one's label stands for."""
    for doc in read_docs(path, Vocab()):
        for ent in doc.ents:
            yield ent.text, meaning(ent.label_, doc)


def kind_of(label: str) -> str:
    """PER, LOC or ORG, by the first letters of a label; "" for others."""
    kind: str = MADE_UP["kinds"].get(label[:3].upper(), "")
    return kind


def made_up() -> str:
    """A name of a person, of two to four characters."""
    compound = MADE_UP["compound_surnames"].split()
    surname: str = random.choice(SURNAMES if random.random() < 0.95 else compound)
    return surname + "".join(random.choices(GIVEN_NAMES, k=random.randint(1, 2)))


def cased(word: str) -> str:
    """An English word, sometimes with a capital, or in capitals."""
    return random.choices((word, word[:1].upper() + word[1:], word.upper()), (17, 1, 2))[0]


def _variant(nlp: Language, pieces: Pieces, doc: Doc) -> Example:
    """An example of the pieces of a Doc after changes."""
    example = example_of(nlp, pieces, doc)
    example.reference.cats = dict(doc.cats)
    return example


def _windows(pieces: Pieces) -> Iterator[tuple[Piece, Piece, Piece]]:
    """Each piece with the ones before and after it."""
    ends: Pieces = [("", "")]
    return zip(ends + pieces, pieces, pieces[1:] + ends, strict=False)


def _is_latin(name: str) -> bool:
    return name.isascii() and any(map(str.isalpha, name))


def _require_shares(rates: Mapping[str, float]) -> None:
    for name, rate in rates.items():
        require_number(name, rate, 0, 1)
