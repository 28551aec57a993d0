"""A word list as evidence: which of its words are likely to be names where they occur.

Real lists hold ordinary words, such as 医院 in a list of places, and words that arise by chance
from their neighbours, such as the village 和美 in 大疆和美的. A word counts as a name if it is
rarer by chance than a name of the list is: the longer the list, the rarer each of its names, and
in none a name is as common as 医院. Words that are blocked or have a trust above 0 stay so.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..util.arrays import Float64s
from ..util.messages import counted, shortened
from .snapshot import Matches, Snapshot
from .word_lists import Entry, counted_lines

# How often a name from a list of N words occurs, as log10 per character: RATE - DECAY * log10(N).
# In a longer list each name is rarer, and fewer words are names. Fitted on assets/kinds_dev with
# lists of 100 to 45,000 words. Of however few, no name occurs more often than MOST.
RATE, DECAY, MOST = 0.65, 2.0, -4.0
SURE = 2.0  # log10 of the odds from which a name has the component's trust

_PROPER = ("nr", "ns", "nt", "nz")  # how jieba's types of names begin
_LABELS = {"nrfg": "PER"}  # well-known persons; its other types are less exact
# Sentences, addresses, dates; then bullets, and brackets or quotes around a line.
NO_NAME = re.compile(
    r"[。；，、<\x7f-\x9f\u2028\u2029\ufffd]|\w@|://|\s#|.{41}|^\W*$"
    r"|^(?=.*\d)(?=.*\D)[\d年月日时分]+$"
    r"|^(?:[-+*•·]\s|\d+[.)]\s*[^\W\d])|^[\[{\"'“‘「].*[\]}\"'”’」],?$",
    re.DOTALL,
)


@dataclass
class ListReport:
    """What a word list holds.

    n_words: all words, without damaged lines.
    ordinary: words that aren't added or changed, since they are likely to be no name of their type.
    uncertain: words that may be names, which get a trust of 0.
    ordered: words that aren't changed, since they are blocked or have a trust above 0.
    no_names: words that look like none, and aren't added: dates, sentences, addresses, markup.
    unusable: words that the lexicon ignores.
    unknown_types: types that the network doesn't know.
    replaced_types: types instead of which the words have the one given.
    damaged: what is wrong with each damaged line.
    """

    path: str | Path
    n_words: int = 0
    ordinary: list[str] = field(default_factory=list)
    uncertain: list[str] = field(default_factory=list)
    ordered: Sequence[str] = ()
    no_names: Sequence[str] = ()
    unusable: Sequence[str] = ()
    unknown_types: Sequence[str] = ()
    replaced_types: Sequence[str] = ()
    damaged: Sequence[str] = ()

    def __str__(self) -> str:
        parts = [counted(self.n_words, "word")]
        for text, noun, words in (
            ("left {} as is, known as something else or likely by chance", "word", self.ordinary),
            ("left {} as is, blocked or trusted before", "word", self.ordered),
            ("left out {} unlike a name", "word", self.no_names),
            ("{} with a trust of 0", "uncertain name", self.uncertain),
            ("{}", "unusable word", self.unusable),
            ("{}", "unknown type", self.unknown_types),
            ("{}", "replaced type", self.replaced_types),
        ):
            if words:
                parts.append(f"{text.format(counted(len(words), noun))} ({shortened(words, 5)})")
        if self.damaged:
            parts.append(counted_lines(self.damaged))
        return f"{self.path}: {'; '.join(parts)}"


def weigh(
    entries: Sequence[Entry], lexicon: Snapshot, labels: Collection[str], report: ListReport
) -> list[Entry]:
    """The entries whose type isn't a label, and those that are likely to be names, with a trust of
    0 if this is uncertain; without those that look like no names, and orders of a user.

    lexicon: the words known before, with jieba's types. Without frequencies no name is weighed.
    """
    orders = lexicon.blocked | (lexicon.trusts > 0)
    known = dict.fromkeys(entry.word for entry in entries) if orders.any() else ()
    report.ordered = [word for word in known if orders[lexicon.ids_of(word)].any()]
    left = {*report.no_names, *report.ordered}
    entries = [*dict.fromkeys(entry for entry in entries if entry.word not in left)]
    if lexicon.frequencies.max(initial=0) <= 0:
        return entries
    unusable = {*report.unusable}
    named = [each for each in entries if each.type in labels and each.word not in unusable]
    rate = min(MOST, RATE - DECAY * math.log10(max(1, len(named))))
    odds = dict(zip(named, (rate - _chances(named, lexicon, labels)).tolist(), strict=True))
    kept = []
    for entry in entries:
        value = odds.get(entry, math.inf)
        if value > SURE:
            kept.append(entry)
        elif value > 0:
            kept.append(entry._replace(trust=0.0))
            report.uncertain.append(entry.word)
        else:
            report.ordinary.append(entry.word)
    return kept


def _chances(entries: Sequence[Entry], lexicon: Snapshot, labels: Collection[str]) -> Float64s:
    """[entries] how often a word occurs without being a name of its type, as log10 per character:
    as another word of the lexicon, or by chance from its parts."""
    words = [lexicon.normalise(entry.word) for entry in entries]
    matches = lexicon.match(words)
    lengths = np.array([len(word) for word in words], np.int64)
    is_whole = matches.ends - matches.starts == lengths[matches.texts]
    names = np.array(lexicon.type_names)
    frequencies = np.where(np.isin(names, [*labels])[lexicon.types], 0, lexicon.frequencies).clip(0)
    weights = np.repeat(frequencies, lexicon.lengths)
    total = max(1.0, weights.sum())
    codes = np.frombuffer(lexicon.text.decode().encode("utf-32-le"), np.uint32)
    with np.errstate(divide="ignore"):
        rates = np.log10(frequencies / total)
        characters = np.log10(np.bincount(codes, weights).clip(1) / total)
    chances = _of_parts(
        words, matches, np.where(is_whole, -np.inf, rates[matches.words]), characters
    )
    numbers = matches.texts[is_whole].tolist()
    ids = matches.words[is_whole]
    wanted = [entries[number].type for number in numbers]
    pairs = [*zip(wanted, names[lexicon.types[ids]].tolist(), strict=True)]
    # For each label the commonest of jieba's types of names among the list's known words.
    counts = Counter((label, type[:2]) for label, type in pairs if type.startswith(_PROPER))
    usual = {label: type for (label, type), _ in reversed(counts.most_common())}
    for number, (label, type), rate in zip(numbers, pairs, rates[ids].tolist(), strict=True):
        if _LABELS.get(type, type) in {*labels} - {label}:
            chances[number] = np.inf
        elif type != label and (rate > MOST or type[:2] != usual.get(label)):
            chances[number] = max(chances[number], rate)
    return chances


def _of_parts(
    words: Sequence[str], matches: Matches, rates: Float64s, characters: Float64s
) -> Float64s:
    """[words] how often the most probable parts of a word occur together by chance.

    matches, rates: words that may be parts. characters: rates by code point.
    """
    lengths = np.array([len(word) for word in words], np.int64)
    first = np.append(0, (lengths + 1).cumsum())[:-1]
    codes = np.frombuffer("\0".join([*words, ""]).encode("utf-32-le"), np.uint32)
    best = np.append(characters, characters.min())[codes.clip(max=len(characters))]
    best = np.append(0, best)[:-1]
    best[first] = 0
    by_end = np.argsort(matches.ends, kind="stable")
    edges = np.searchsorted(matches.ends[by_end], np.arange(lengths.max(initial=0) + 2))
    for end in range(1, len(edges) - 1):
        longer = first[lengths >= end] + end
        best[longer] += best[longer - 1]
        parts = by_end[edges[end] : edges[end + 1]]
        at = first[matches.texts[parts]]
        np.maximum.at(best, at + end, best[at + matches.starts[parts]] + rates[parts])
    return best[first + lengths]
