"""Texts → lattice batches: characters, bigrams and the lexicon's words as padded numbers.

Shapes: B segments, C characters, M words, L = C + M nodes, characters first.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import srsly

from ...errors import Warnings
from ...lexicon import NOT_ENTITY, Lexicon
from ...lexicon.snapshot import N_BANDS
from ...text.batches import Ragged, batch_by_cost
from ...text.featuriser import SegmentFeaturiser
from ...text.scripts import Simplifier
from ...text.segments import Segment
from ...text.spans import EntitySpan, Units
from ...text.vocabulary import (
    NewTable,
    TableVocab,
    Vocabulary,
    count_codes,
    pack,
    select_vectors,
    unpack,
)
from ...util.arrays import Ints
from ...vectors import VectorSource
from ..batch import LatticeBatch
from .gazetteer import Gazetteer, WordColumns
from .options import LatticeOptions

N_LENGTHS = 10  # words of this many characters less one, and longer, are one class


@dataclass
class LatticeFeaturiser(SegmentFeaturiser):
    """Turns texts into batches.

    n_types: word types from this number on were unknown in training and become 0.
    name_types: types of names, which the lattice always shows.
    """

    options: LatticeOptions
    lexicon: Lexicon = field(default_factory=Lexicon)
    chars: TableVocab = field(default_factory=TableVocab.empty)
    bigrams: TableVocab = field(default_factory=TableVocab.empty)
    words: TableVocab = field(default_factory=TableVocab.empty)
    n_types: int = 0
    name_types: Sequence[int] = ()
    gazetteer: Gazetteer | None = None  # for training
    _warned: set[str] = field(default_factory=set, init=False, repr=False)

    @property
    def unit(self) -> Literal["char"]:
        return "char"

    @property
    def sizes(self) -> dict[str, int]:
        return {"n_types": max(1, self.n_types), "n_lengths": N_LENGTHS, "n_bands": N_BANDS}

    def batches(
        self, texts: Sequence[Units], segments: Sequence[Segment], is_train: bool = False
    ) -> Iterator[LatticeBatch]:
        """In training, the gazetteer adds some of its names."""
        pieces = [texts[segment.text].visible[segment.start : segment.end] for segment in segments]
        chars = self.characters(pieces, self.lexicon.snapshot.simplifier)
        found = self.words_in(pieces)
        if is_train and self.gazetteer is not None:
            rates = self.options.gazetteer_rate, self.options.gazetteer_noise
            found = self.gazetteer.show_some(found, pieces, *rates)
        words = Ragged(np.bincount(found.pop("texts"), minlength=len(pieces)), found)
        for rows in batch_by_cost(chars.counts, self.options.batch_size, words.counts):
            columns, has_char = chars.pad(rows)
            word_columns, has_word = words.pad(rows)
            heads, lengths = word_columns.pop("heads"), word_columns["lengths"]
            char_heads = np.broadcast_to(np.arange(has_char.shape[1]), has_char.shape)
            yield LatticeBatch(
                segments=tuple(segments[row] for row in rows),
                n_units=chars.counts[rows],
                **columns,
                **word_columns,
                heads=np.concatenate([char_heads, heads], axis=1),
                tails=np.concatenate([char_heads, heads + np.maximum(lengths - 1, 0)], axis=1),
                present=np.concatenate([has_char, has_word], axis=1),
            )

    def words_in(self, texts: Sequence[str]) -> WordColumns:
        """The lexicon words in texts, with the properties that the network knows."""
        lexicon = self.lexicon.snapshot
        matches = lexicon.match(texts)
        starts = matches.starts.astype(np.int64)
        types = lexicon.types[matches.words].astype(np.int64)
        found = {
            "texts": matches.texts.astype(np.int64),
            "heads": starts,
            "lengths": matches.ends - starts,
            "words": self.words.look_up(matches.words.astype(np.uint64)),
            "types": np.where(types < self.n_types, types, 0),
            "bands": lexicon.frequency_bands[matches.words].astype(np.int64),
        }
        undecided = (lexicon.trusts[matches.words] <= 0) & ~lexicon.blocked[matches.words]
        self._warn_of_types(types[undecided], lexicon.type_names)
        # Hide words that are in the lexicon only since a user added them as `not_entity`.
        kept = (found["words"] > 0) | (types > 0) | ~lexicon.blocked[matches.words]
        if self.options.only_known_words:
            kept &= (found["words"] > 0) | np.isin(found["types"], self.name_types)
        if kept.all():
            return found
        return {name: column[kept] for name, column in found.items()}

    def _warn_of_types(self, types: Ints, names: Sequence[str]) -> None:
        """Warn (W302) once of each type that the network doesn't know, of words without a trust."""
        unknown = {names[type] for type in set(types[types >= self.n_types].tolist())}
        if new := unknown - self._warned:
            self._warned |= new
            known = ", ".join(map(repr, self.usual_types())) or "none"
            message = Warnings.W302.format(types=", ".join(map(repr, sorted(new))), known=known)
            warnings.warn(message, stacklevel=2)

    def trusted_words(
        self, texts: Sequence[str], labels: Sequence[str], trust: float
    ) -> Iterator[tuple[int, EntitySpan, float]]:
        """The words in texts that have a trust above 0 and the type of a label or "not_entity": the
        number of the text, the word with its type, and its trust.

        trust: default trust of words with the type of a label.
        """
        lexicon = self.lexicon.snapshot
        names = lexicon.type_names
        is_label = np.isin(names, labels)
        highest = max(trust * is_label.any(), lexicon.trusts.max(initial=0))
        if highest <= 0 and not lexicon.blocked.any():  # the network decides
            return
        found = lexicon.match(texts)
        types, blocked = lexicon.types[found.words], lexicon.blocked[found.words]
        own = lexicon.trusts[found.words].astype(np.float64)
        own = np.where(own < 0, np.where(blocked, 1.0, trust), own) * (blocked | is_label[types])
        columns = found.texts, found.starts, found.ends, types, blocked, own
        chosen = (column[own > 0].tolist() for column in columns)
        for text, start, end, type, is_blocked, each in zip(*chosen, strict=True):
            yield text, EntitySpan(start, end, NOT_ENTITY if is_blocked else names[type]), each

    def usual_types(self) -> list[str]:
        """Types for words that a user adds: the labels, or all types if trained without names."""
        numbers = self.name_types or range(1, self.n_types)
        return [self.lexicon.snapshot.type_names[number] for number in numbers]

    def compact(self, vocabs: Mapping[str, TableVocab]) -> "LatticeFeaturiser":
        """The same with smaller vocabularies and a copy of the lexicon, without the gazetteer."""
        return replace(super().compact(vocabs), gazetteer=None, lexicon=copy(self.lexicon))

    def to_bytes(self) -> bytes:
        indexes = {"chars": self.chars, "bigrams": self.bigrams, "words": self.words}
        fields = {
            "n_types": self.n_types,
            "name_types": list(self.name_types),
            "indexes": pack(indexes, self.options),
            "lexicon": self.lexicon.to_bytes(),
            "gazetteer": self.gazetteer and self.gazetteer.to_data(),
        }
        return bytes(srsly.msgpack_dumps(fields))

    def from_bytes(self, data: bytes) -> "LatticeFeaturiser":
        fields = srsly.msgpack_loads(data)
        names = fields["gazetteer"]
        return LatticeFeaturiser(
            self.options,
            Lexicon.from_bytes(fields["lexicon"]),
            **unpack(fields["indexes"], self.options),
            n_types=fields["n_types"],
            name_types=fields["name_types"],
            gazetteer=Gazetteer.from_data(names) if names else None,
        )


def build_vocabulary(
    options: LatticeOptions,
    texts: Sequence[str],
    lexicon: Lexicon,
    *,
    labels: Sequence[str] = (),
    mentions: Sequence[tuple[str, str]] = (),
    **vectors: VectorSource | None,
) -> Vocabulary:
    """Build the featuriser and its tables from training texts.

    labels, mentions: entity types, and text and label of each entity of the training corpus.
    vectors: char_vectors, bigram_vectors, and word_vectors of the lexicon's words.
    """
    gazetteer = None
    name_types: Sequence[int] = ()
    if options.gazetteer_rate > 0:
        gazetteer = Gazetteer.build(mentions, lexicon)
        name_types = lexicon.declare_types(labels)
    simplifier = Simplifier.of(texts)
    texts = list(map(simplifier, texts))
    source, min_freq = vectors.get("word_vectors"), options.word_min_freq or options.min_freq
    found = source.read(lexicon.__contains__) if source is not None else None
    ids = np.array([lexicon.index(key) for key in found.keys] if found else [], dtype=np.uint64)
    counts = count_codes(lexicon.match(texts).words)
    tables = {
        "chars": NewTable.of_characters(texts, vectors.get("char_vectors"), options),
        "bigrams": NewTable.of_characters(texts, vectors.get("bigram_vectors"), options, 2),
        "words": NewTable.build(counts, min_freq, select_vectors(found, ids, options), options),
    }
    lexicon.simplify(simplifier)  # from now on: vectors are those of words as they are spelled
    vocabs = {name: table.vocab for name, table in tables.items()}
    n_types = len(lexicon.snapshot.type_names)
    featuriser = LatticeFeaturiser(
        options, lexicon, **vocabs, n_types=n_types, name_types=name_types, gazetteer=gazetteer
    )
    if not options.bigrams:
        del tables["bigrams"]
    return Vocabulary(featuriser, tables)
