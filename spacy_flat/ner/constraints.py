"""Which entities a text may have: the rules of constrained decoding, a Doc's annotation, and
trusted words. All of them end as log-odds of entities."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, groupby, islice
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc

from ..lexicon import NOT_ENTITY
from ..text.scripts import BRACKETS, HALF_WIDTH, HAN_RANGES, LATIN_RANGES, QUOTES
from ..text.segments import Segment, part_in
from ..text.spans import EntitySpan, Units
from ..util.arrays import Bools, Float32s, Ints
from .semi_markov import REQUIRED
from .spans import existing_entities, in_characters

_CERTAIN = 500.0  # log-odds higher than those of any network

Labels = Mapping[str, Sequence[str]]  # the network's labels for a label of Docs
Odds = dict[EntitySpan, float]


def doc_labels(labels: Labels) -> dict[str, str]:
    """The label of Docs for each label of the network, unless `label_map` drops it."""
    return {label: name for name, own in labels.items() for label in own}


@dataclass
class SpanConstraints:
    """The constraints for a text or a segment, in its units, with log-odds.

    fixed: required entities, with labels of Docs.
    outside: stretches without entities.
    within: odds to add to those of all entities within spans.
    dropped: spans of which Docs don't get any entity within. The network still sees these entities:
        otherwise a longer one could take their place.
    log_odds: odds to add to those of entities with labels of the network; `_CERTAIN` beats rules.
    """

    fixed: Odds = field(default_factory=dict)
    outside: Odds = field(default_factory=dict)
    within: Odds = field(default_factory=dict)
    dropped: Odds = field(default_factory=dict)
    log_odds: Odds = field(default_factory=dict)

    def __bool__(self) -> bool:
        return any(vars(self).values())

    def split(self, segments: Sequence[Segment]) -> dict[Segment, SpanConstraints]:
        """The constraints for each segment of a text, with positions relative to its start, unless
        there are none. A required entity that it cuts is outside there; words are left out."""
        segments = sorted(segments, key=lambda each: each.start)
        ends = [segment.end for segment in segments]
        parts: dict[Segment, SpanConstraints] = defaultdict(SpanConstraints)
        if_cut = {"fixed": "outside", "log_odds": ""}
        for kind, spans in vars(self).items():
            for span, odds in spans.items():
                for segment in islice(segments, bisect_right(ends, span.start), None):
                    if segment.start >= span.end:
                        break
                    own = part_in(span, segment)
                    if name := kind if _width(own) == _width(span) else if_cut.get(kind, kind):
                        getattr(parts[segment], name)[own] = odds
        return parts

    def apply(self, odds: Float32s, labels: Labels, known: Sequence[str]) -> None:
        """Add to the log-odds [N, N, L] of a segment's entities by end, start, and label of the
        network, of which `known` are all."""
        for start, end, _ in (*self.outside, *self.fixed):
            odds[start + 1 :, :end] = -math.inf
        for (start, end, _), added in self.within.items():
            odds[: end + 1, start:] += added
        for (start, end, label), added in self.log_odds.items():
            place = end, start, known.index(label)
            odds[place] = added + (max(odds[place], 0) if added == _CERTAIN else odds[place])
        for (start, end, name), required in self.fixed.items():
            odds[end, start, [known.index(label) for label in labels[name]]] = required

    def add_words(self, words: Iterable[tuple[EntitySpan, float]], labels: Labels) -> None:
        """Add lexicon words with their trust, and with a label of the network or "not_entity".

        Of overlapping words with trust 1, the Doc's entities win, then the longer word. Among words
        of the same length, the network chooses.
        """
        certain = []
        names = doc_labels(labels)
        for span, trust in words:
            odds = -math.log1p(-trust) if trust < 1 else math.inf
            if span.label == NOT_ENTITY:
                (self.within if trust < 1 else self.dropped)[span] = -odds
            elif trust < 1:
                self.log_odds[span] = odds
            elif span.label in names:
                certain.append(span)
        self._require_words(certain, names)

    def drops(self, span: EntitySpan) -> bool:
        """Whether Docs don't get an entity."""
        return span not in self.fixed and any(
            word.start <= span.start and span.end <= word.end for word in self.dropped
        )

    def _require_words(self, words: Sequence[EntitySpan], names: Mapping[str, str]) -> None:
        taken = {place for each in (*self.fixed, *self.outside) for place in range(*each[:2])}
        for _, group in groupby(sorted(words, key=lambda s: (-_width(s), s)), key=_width):
            free = [span for span in group if taken.isdisjoint(range(*span[:2]))]
            for number, span in enumerate(free):
                beside = free[max(0, number - 1) : number] + free[number + 1 : number + 2]
                if any(abs(span.start - each.start) < _width(span) for each in beside):
                    self.log_odds[span] = _CERTAIN
                else:
                    self.fixed[span._replace(label=names[span.label])] = REQUIRED
                taken.update(range(*span[:2]))


def _width(span: EntitySpan) -> int:
    return span.end - span.start


def constraints_of(doc: Doc, text: Units, labels: Labels, overwrite: bool) -> SpanConstraints:
    """Those of a Doc's annotation: its entities and blocked tokens, unless `overwrite`."""
    entities, blocked = ([], []) if overwrite else existing_entities(doc)
    found = SpanConstraints()
    for span in text.touched([*map(in_characters, (*entities, *blocked))]):
        (found.fixed if span.label in labels else found.outside)[span] = REQUIRED
    return found


# Line breaks, TAB, NUL, "|", and tags of markup: closing ones, those with attributes, and others in
# lower case, so that names in angle brackets, such as <NBA>, stay possible. In "a<b, 王五=3>c"
# nothing is an attribute.
_ATTRIBUTE = r"""\s+[A-Za-z][A-Za-z0-9:._-]*=(?:"[^"<>]*"|'[^'<>]*'|[^\s<>"']+)"""
BARRED = re.compile(
    "[\0\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029|｜]"
    rf"|</[A-Za-z][^<>]*>|<[A-Za-z][\w:.-]*(?:{_ATTRIBUTE})+\s*/?>|<[a-z][\w:.-]*\s*/?>"
)

_PAIRS = f"{BRACKETS}«»{QUOTES}"
_WIDTHS = {code: char for code, char in HALF_WIDTH.items() if char in "()[]{}<>\"'"}
_WIDTHS |= zip(map(ord, "｢｣"), "「」", strict=True)
_OPENING = dict(zip(_PAIRS.translate(_WIDTHS)[1::2], _PAIRS.translate(_WIDTHS)[::2], strict=True))
_QUOTES = "\"'`"  # which open and close
_APOSTROPHES = "'＇’"
# Apostrophes within Latin words, as in O'Brien, aren't quotes.
BRACKET = re.compile(
    rf"[{re.escape(_PAIRS.replace('’', ''))}\"＂`]"
    rf"|(?<![0-9{LATIN_RANGES}])[{_APOSTROPHES}]|[{_APOSTROPHES}](?![{LATIN_RANGES}])"
)
_POSSESSIVE = re.compile(rf"(?<=[{LATIN_RANGES}])[{_APOSTROPHES}]")

# Emoji with what modifies them. Names may have masks and numbers, as in 张○○, and end in ® or ★.
_SYMBOLS = re.compile(
    "[\u200d\u203c\u2049\u20e3\u231a-\u23ff\u2600-\u2604\u2607-\u2775\u2794-\u27bf\u2b50\u2b55"
    "\u303d\u3297\u3299\ufe0e\ufe0f\U0001f000-\U0001faff\U000e0020-\U000e007f]+"
)

# E-mail addresses, URLs, domains, paths of files and account names. spaCy's `like_url` and
# `like_email` judge whole tokens, but Chinese text has no spaces around them.
_DOMAINS = (
    "com|net|org|edu|gov|int|mil|info|biz|cn|hk|tw|jp|kr|sg|in|us|uk|eu|de|fr|ru|ca|au|ch|nl|io|ai|co"
    "|cc|me|tv|app|dev|top|xyz|vip|site|tech|shop|club|online"
    rf"|COM|CN|NET|ORG|中国(?![{HAN_RANGES}])"
)
_FOLDERS = "data|etc|home|mnt|opt|root|srv|tmp|usr|var|[Uu]sers"
_FILES = (  # "js" would take names, such as React/Node.js
    "c|cfg|cpp|css|csv|docx?|go|h|html?|java|json|log|md|pdf|png|py|sh|sql|ts|txt|xlsx?|xml|ya?ml"
    "|zip"
)
# Chinese belongs to an address after "/", "\", "=" or "%". After Latin letters it may be a name, as
# in "a.cn华为". Before "@" it is unclear how much of it does: only no entity ends there. Nothing
# that can fail may follow `_REST`, so that the time is linear.
_REST = rf"""(?:[.:@?+-]*(?:
    (?<=[/\\=%])[{HAN_RANGES}](?:[.:@?+-]*[\w~{HAN_RANGES}])*|(?<=_)\([^\s()]*\)|[\w/=%&\#~]))*"""
_ADDRESS = re.compile(
    rf"""
    (?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+
    |(?<!\w)(?:[a-z]\w*[:：]//|www\.){_REST}
    |(?:[{HAN_RANGES}]@|(?<![\w.-]))\w[\w-]*(?:\.[\w-]+)*\.(?-i:{_DOMAINS})(?![\w-])
     (?:(?::\d+)?[/?\#]{_REST})?
    |(?:(?<![\w./{HAN_RANGES}])(?:~|\.\.?)|(?<![\w/])/(?-i:{_FOLDERS}))/{_REST}
    |(?<![\w./+-])/?(?:[\w+-]+/)+[\w.+-]+\.(?:{_FILES})(?!\w)
    |(?<!\w)[a-z]:(?:\\(?!(?-i:[nrt](?![a-z\d_.]))){_REST})+
    |(?<!\w)@[\w.-]*\w
    """,
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)
_IN_ADDRESSES = {code: c for code, c in HALF_WIDTH.items() if c.isalnum() or c in "./@_-"}


class UnitRules(NamedTuple):
    """What decides which stretches of N units may be entities.

    barred, letters: [N + 1] how many characters before a place match `BARRED`, or are letters or
        digits. An entity has none of the former and some of the latter.
    before, after: [N] the brackets that are open before and after a unit, as a number, or where in
        an address it is. An entity with the same at both ends has all brackets matched, and cuts no
        address. Those of a symbol equal no other.
    partners: [N] for a bracket, the unit with the matching one, or -1 if there is none; for a
        symbol, -1; for any other unit, itself. None for a text without brackets and symbols.
    """

    barred: Ints
    letters: Ints
    before: Ints
    after: Ints
    partners: Ints | None

    def of_segment(self, start: int, end: int) -> UnitRules:
        """With partners by their position in the segment; negative for those before it."""
        barred, letters = (each[start : end + 1] for each in (self.barred, self.letters))
        before, after = self.before[start:end], self.after[start:end]
        partners = None if self.partners is None else self.partners[start:end] - start
        return UnitRules(barred, letters, before, after, partners)

    @property
    def allowed(self) -> Bools:
        """[N + 1, N] whether an entity may have this end and start."""
        allowed = self.letters[:, None] > self.letters[:-1]
        allowed &= self.barred[:, None] == self.barred[:-1]
        allowed[1:] &= self.after[:, None] == self.before
        return allowed

    def trims(self) -> tuple[Ints, Ints, Ints, Ints]:
        """The starts and ends of stretches with symbols at their ends, or brackets whose partners
        are not in them; and the starts and ends without these."""
        if self.partners is None:
            return (np.zeros(0, np.int64),) * 4
        n = len(self.partners)
        is_bracket = self.partners != np.arange(n)
        all_starts, lasts = np.nonzero(np.triu(is_bracket[:, None] | is_bracket))
        starts, ends = all_starts.copy(), lasts + 1
        changing = np.arange(len(starts))
        while len(changing):
            start, end = starts[changing], ends[changing]
            first, last = self.partners[start], self.partners[end - 1]
            closes = (last < start) & (end - start > 1)
            opens = ((first >= end) | (first < 0)) & (end - start > 1 + closes)
            starts[changing] += opens
            ends[changing] -= closes
            changing = changing[opens | closes]
        moved = (starts != all_starts) | (ends != lasts + 1)
        return all_starts[moved], lasts[moved] + 1, starts[moved], ends[moved]


def rules_of(text: Units) -> UnitRules:
    n = len(text.text)
    barred = np.zeros(n, np.bool_)
    for match in BARRED.finditer(text.text):
        barred[slice(*match.span())] = True
    letters = np.array([char.isalnum() for char in text.text], np.bool_)
    places = np.append(text.starts, n)
    barred_before, letters_before = (
        np.append(0, each.cumsum())[places] for each in (barred, letters)
    )
    open_at, partners = _brackets(text.text)
    for match in _ADDRESS.finditer(text.text.translate(_IN_ADDRESSES)):
        inside = np.arange(match.start() + 1, match.end())
        open_at[inside] = -inside
    before, after = open_at[text.starts], open_at[text.ends]
    strings = text.strings(0, len(text)) if _SYMBOLS.search(text.text) else []
    symbols = [unit for unit, string in enumerate(strings) if _SYMBOLS.fullmatch(string)]
    if not partners and not symbols:
        return UnitRules(barred_before, letters_before, before, after, None)
    own = np.arange(len(text))
    before[symbols], after[symbols], own[symbols] = -n, -n - 1, -1
    for place, partner in partners.items():
        unit = int(np.searchsorted(text.ends, place, "right"))
        if text.ends[unit] - text.starts[unit] == 1:
            own[unit] = np.searchsorted(text.ends, partner, "right") if partner >= 0 else -1
    return UnitRules(barred_before, letters_before, before, after, own)


def _brackets(text: str) -> tuple[Ints, dict[int, int]]:
    """[characters + 1] a number for the brackets that are open at a place; and the place of each
    bracket's partner, -1 for none.

    No pair goes over a line's end. What surrounds an unmatched bracket counts as unmatched, too.
    """
    numbers = count(1)
    changes, values = [0], [0]
    stack: list[tuple[str, int, int, int]] = []  # mark, place, number before, `unmatched` then
    opened: Counter[str] = Counter()  # the marks in it
    partners: dict[int, int] = {}
    now = place = unmatched = 0
    for match in BRACKET.finditer(text):
        last, place, mark = place, match.start(), match.group().translate(_WIDTHS)
        if stack and (line := text.find("\n", last, place) + 1):
            stack.clear()
            opened.clear()
            now = next(numbers)
            changes.append(line)
            values.append(now)
        opening = mark if mark in _QUOTES else _OPENING.get(mark, "")
        if opened[opening]:
            is_clean = stack[-1][0] == opening
            found = ""
            while found != opening:
                found, partner, before, then = stack.pop()
                opened[found] -= 1
            partners[place], partners[partner] = partner, place
            now = before if is_clean and then == unmatched else next(numbers)
        elif _POSSESSIVE.match(text, place):
            continue
        else:
            is_clean = not opening or mark in _QUOTES
            partners[place] = -1
            if is_clean:
                stack.append((mark, place, now, unmatched))
                opened[mark] += 1
            now = next(numbers)
        unmatched += not is_clean
        changes.append(place + 1)
        values.append(now)
    lengths = np.diff([*changes, len(text) + 1])
    return np.repeat(values, lengths), partners
