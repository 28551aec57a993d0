"""Train the network to use words that a user adds.

A general lexicon says little about entities, so a network trained only with it ignores names added
later. In training, some of the corpus's entities are therefore in the lattice like a user's words:
with their label as type, without a vector unless the lexicon has one, and wherever the name occurs,
whether it is an entity there or not.

Real word lists also hold ordinary words, and names of another type. With noise, words in training
do, too, so that a type is a hint whose weight the network learns.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...lexicon import Entry, Lexicon
from ...util.arrays import Ints

MISTYPED, UNTYPED = 0.1, 0.2  # with noise, shares of the names with another type or none

WordColumns = dict[str, Ints]
"""Lexicon words in texts, sorted by text, head and length: the number of the text, and the columns
of a `LatticeBatch`."""


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
        entries = (Entry(name, type=label) for name, label in commonest.items())
        names = Lexicon(entries, ignore_case=lexicon.snapshot.ignore_case)
        snapshot = names.snapshot
        numbers = lexicon.declare_types(snapshot.type_names)
        return cls(names, np.array(numbers, dtype=np.int64)[snapshot.types])

    def to_data(self) -> dict[str, Any]:
        return {"names": self.names.to_bytes(), "types": self.types.tolist()}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "Gazetteer":
        return cls(Lexicon.from_bytes(data["names"]), np.array(data["types"], dtype=np.int64))

    def show_some(
        self, known: WordColumns, texts: Sequence[str], rate: float, noise: float = 0
    ) -> WordColumns:
        """The words and some of the names that occur in the texts: at each call, another random
        share of all names. A word that is both keeps its id and band and takes the name's type.

        noise: share of the other words to give a label as type.
        """
        shown = np.random.random(len(self.types)) < rate
        matches = self.names.match(texts)
        here = shown[matches.words]
        words, starts = matches.words[here], matches.starts[here].astype(np.int64)
        names = dict.fromkeys(known, np.zeros(len(words), dtype=np.int64)) | {
            "texts": matches.texts[here].astype(np.int64),
            "heads": starts,
            "lengths": matches.ends[here] - starts,
            "types": self.types[words],
        }
        order, name_order = _order(known), _order(names)
        is_known = np.isin(name_order, order)
        types = known["types"].copy()
        types[np.searchsorted(order, name_order[is_known])] = names["types"][is_known]
        merged = np.argsort(np.concatenate([order, name_order[~is_known]]), kind="stable")
        columns = {
            name: np.concatenate([column, names[name][~is_known]])[merged]
            for name, column in (known | {"types": types}).items()
        }
        if noise and len(self.types):
            columns["types"] = self._noisy(columns["types"], noise)
        return columns

    def _noisy(self, types: Ints, noise: float) -> Ints:
        """The types of words, some of them wrong or unknown."""
        labels = np.unique(self.types)
        is_name, draw = np.isin(types, labels), np.random.random(len(types))
        wrong = draw < np.where(is_name, MISTYPED, noise)
        noisy: Ints = np.where(wrong, np.random.choice(labels, len(types)), types)
        noisy[is_name & (draw > 1 - UNTYPED)] = 0
        return noisy


def _order(words: WordColumns) -> Ints:
    """[M] numbers in the order of text, head and length; words are below 2¹⁶ characters long."""
    order: Ints = (words["texts"] << 47) | (words["heads"] << 16) | words["lengths"]
    return order
