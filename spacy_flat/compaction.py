"""Making a trained component small: one table for what was pretrained and trained of a vector, only
the rows that matter, fewer bits a number.

What comes out is an ordinary component. Trained further, the rows of its tables stay as they are,
but for that of unknown keys; everything else learns.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from spacy.language import Language
from thinc.api import Model

from .encoder.vocabulary import Characters
from .errors import Errors
from .pipe import NetworkPipe
from .text.batches import SegmentEncoder
from .text.initialise import shim_of, tok2vec_of
from .text.segments import split_texts
from .text.units import Ints, Units
from .text.vocabulary import KeyIndex

Bits = Literal[4, 5, 6, 7, 8, 16, 32]


@dataclass(frozen=True)
class Amount:
    """How much is kept.

    bits: of a number in a table. Up to 8, each row has a scale. Fewer than 8 save bytes on disk
        alone, in memory a number has 8. With fewer than 32, numbers of an encoder beneath have 16
        on disk.
    min_count: occurrences in the texts that were counted from which a row is kept.
    known_words: keep those words of a lexicon alone that have a row, or a label for a type.
    """

    bits: Bits = 8
    min_count: int = 0
    known_words: bool = False


class Compactor:
    """The model of a trained component, of which `apply` makes smaller ones in its place.

    model: its encoder is a `SegmentEncoder`.
    """

    def __init__(self, model: Model[Any, Any]) -> None:
        self.model = model
        self.encoder: Any = model.attrs["encoder"]
        self.shim = shim_of(model)
        sizes = self.shim.config["sizes"]
        self.tables = [name for name, size in sizes.items() if is_table(size)]
        self.below = tok2vec_of(model)
        self.shim_below = shim_of(self.below) if self.below and is_encoder(self.below) else None
        self.counts: dict[str, Ints] = {
            name: np.zeros(len(self.index(name)) + 1, np.int64) for name in self.tables
        }

    def index(self, table: str) -> KeyIndex:
        """The keys of a table."""
        index: KeyIndex = getattr(self.encoder, table)
        return index

    def count(self, texts: Sequence[str], nlp: Language) -> None:
        """Count how often each row of the tables is read in texts; `nlp` makes their tokens."""
        in_characters = self.encoder.unit == "char"
        units = [
            Units.characters(text) if in_characters else Units.of(nlp.make_doc(text), "token")
            for text in texts
        ]
        segments = split_texts(units, self.encoder.options)
        for batch in self.encoder.batches(units, segments):
            for name, counts in self.counts.items():
                counts += np.bincount(getattr(batch, name).ravel(), minlength=len(counts))

    def apply(self, amount: Amount) -> None:
        """Give the model a smaller encoder and network, made of the first ones."""
        from .nn.compact import compact_network, rounded

        indexes, rows = {}, {}
        for name in self.tables:
            index = self.index(name)
            chosen = self.counts[name][index.keys] >= amount.min_count
            indexes[name], rows[name] = index.select(chosen), index.keys[chosen]
        self.model.attrs["encoder"] = self.encoder.compact(indexes, amount.known_words)
        self.model.attrs["packed"] = True
        self.model.shims[0] = compact_network(self.shim, rows, amount.bits)
        if self.below is not None and self.shim_below is not None:
            shim = self.shim_below
            self.below.shims[0] = shim if amount.bits == 32 else rounded(shim)


def is_encoder(tok2vec: Model[Any, Any]) -> bool:
    """Whether a tok2vec is `spacy-flat.Encoder.v1`."""
    return isinstance(tok2vec.attrs.get("encoder"), Characters)


def is_table(size: object) -> bool:
    """Whether one of a network's sizes is that of a table of embeddings that it has."""
    return isinstance(size, dict) and size["width"] > 0


def compactors_of(nlp: Language) -> dict[str, Compactor]:
    """By name, those components of a pipeline that can be made small.

    Raises ValueError (F370) where there is none, (F303) for one that is not trained.
    """
    found = {}
    for name, pipe in nlp.pipeline:
        if isinstance(pipe, NetworkPipe) and isinstance(
            pipe.model.attrs["encoder"], SegmentEncoder
        ):
            pipe.require_initialised()
            found[name] = Compactor(pipe.model)
    if not found:
        raise ValueError(Errors.F370.format(components=", ".join(nlp.pipe_names) or "none"))
    return found


def thresholds(compactors: Iterable[Compactor]) -> Sequence[int]:
    """Values of `min_count`, ascending: the first drops no row, the last drops all, and each other
    one about a hundredth of them more than the one before; rows of one count go together."""
    every = np.concatenate([each[1:] for one in compactors for each in one.counts.values()])
    if not len(every):
        return [0]
    some = np.unique(np.percentile(every, range(101), method="lower"))
    return [*some.tolist(), int(every.max()) + 1]
