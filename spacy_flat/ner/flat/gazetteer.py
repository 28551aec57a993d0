"""Train the network to use words that a user adds.

A general lexicon says little about entities, so a network trained only with it ignores names added
later. In training, some of the corpus's entities are therefore in the lattice like a user's words:
with their label as type, without a vector unless the lexicon has one, and wherever the name occurs,
whether it is an entity there or not.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...lexicon import Entry, Lexicon
from ...util.arrays import Bools, Ints

_SHIFT = 31  # bits of a place in a text


@dataclass(frozen=True)
class WordNodes:
    """Lexicon words in texts, ordered by (text, start, end), each field [M]."""

    texts: Ints
    starts: Ints
    ends: Ints
    ids: Ints
    types: Ints
    bands: Ints

    def select(self, chosen: Bools) -> "WordNodes":
        """Some of the words."""
        return WordNodes(*(column[chosen] for column in vars(self).values()))

    def order(self) -> Ints:
        """[M] numbers in the order of (text, start, end). Words are below 2¹⁶ characters long."""
        return (self.texts << (_SHIFT + 16)) | (self.starts << 16) | (self.ends - self.starts)


@dataclass(frozen=True)
class Gazetteer:
    """Names of the training corpus; training shows some at a time.

    types: [N] of each name, its label's number among the types of the component's lexicon.
    """

    names: Lexicon
    types: Ints

    @classmethod
    def build(cls, mentions: Iterable[tuple[str, str]], lexicon: Lexicon) -> "Gazetteer":
        """mentions: text and label of each entity; a name gets its most frequent label.

        The labels become types of `lexicon`.
        """
        # Spellings that are the same word for the lexicon are counted together.
        counts = Counter((lexicon.snapshot.normalise(name), label) for name, label in mentions)
        commonest = {name: label for (name, label), _ in reversed(counts.most_common())}
        names = Lexicon(
            (Entry(name, type=label) for name, label in commonest.items()),
            full_width=lexicon.snapshot.full_width,
            ignore_case=lexicon.snapshot.ignore_case,
            min_length=lexicon.snapshot.min_length,
        )
        snapshot = names.snapshot
        numbers = lexicon.declare_types(snapshot.type_names)
        return cls(names, np.array(numbers, dtype=np.int64)[snapshot.types])

    def to_data(self) -> dict[str, Any]:
        """The gazetteer as plain data."""
        return {"names": self.names.to_bytes(), "types": self.types.tolist()}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "Gazetteer":
        """Load what `to_data` gave."""
        return cls(Lexicon.from_bytes(data["names"]), np.array(data["types"], dtype=np.int64))

    def show_some(self, known: WordNodes, pieces: Sequence[str], rate: float) -> WordNodes:
        """The words and some of the names that occur in the pieces: at each call, another random
        share of all names."""
        shown = np.random.random(len(self.types)) < rate
        matches = self.names.match(pieces)
        here = shown[matches.words]
        words = matches.words[here]
        none = np.zeros(len(words), dtype=np.int64)
        names = WordNodes(
            texts=matches.texts[here].astype(np.int64),
            starts=matches.starts[here].astype(np.int64),
            ends=matches.ends[here].astype(np.int64),
            ids=none,
            types=self.types[words],
            bands=none,
        )
        return _join(known, names)


def _join(known: WordNodes, names: WordNodes) -> WordNodes:
    """All words; one that is in both keeps its id and band and takes the name's type."""
    order, name_order = known.order(), names.order()
    types = known.types.copy()
    there = np.isin(name_order, order)
    types[np.searchsorted(order, name_order[there])] = names.types[there]
    merged = np.argsort(np.concatenate([order, name_order[~there]]), kind="stable")
    columns = (
        np.concatenate([types if name == "types" else getattr(known, name), column[~there]])
        for name, column in vars(names).items()
    )
    return WordNodes(*(column[merged] for column in columns))
