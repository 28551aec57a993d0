"""Tags of a sequence: entity spans as one tag a unit and back, and which tags may follow which.

Pure numpy, so that corpora, components and networks share it without importing torch.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..errors import Errors
from ..util.arrays import Bools, Float32s, Ints

OUTSIDE = 0
"""Index of the tag "O" in every tag set: tags padded with 0 are padded with "O"."""


class TagTarget(NamedTuple):
    """Gold tags of a batch: B sequences, C units, K tags.

    allowed: [B, C, K], the tags that agree with the annotation. lengths: [B] units.
    weights: [B] of the sequences in the loss.
    """

    allowed: Bools
    lengths: Ints
    weights: Float32s


class TagSet:
    """The tags of some entity labels, and the legal sequences of them.

    BIOES marks the first (B), inner (I) and last (E) unit of an entity and entities of one unit
    (S). "O" is tag 0, then come the tags of each label in turn, so a label added at the end leaves
    the other tags where they were.

    labels: entity types, distinct and not empty strings; none at all leaves the tag "O".
    names: [K] tag names such as "B-PER".
    allowed_transitions: bool [K, K], whether tag j (column) may follow tag i (row).
    allowed_starts, allowed_ends: bool [K], whether a sequence may start or end with a tag.
    label_of: [K] index of a tag's label; -1 for "O".
    roles: [4, labels], the tags of each label's first, inner and last units, and of single ones.

    Raises ValueError (F230) for empty or repeated labels.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        if "" in labels or len(set(labels)) != len(labels):
            raise ValueError(Errors.F230.format(labels=list(labels)))
        self.labels = tuple(labels)
        self.names = ("O", *(f"{role}-{label}" for label in labels for role in "BIES"))
        role_of = np.array(["O", *"BIES" * len(labels)])
        self.label_of: Ints = np.append(-1, np.arange(len(labels)).repeat(4))
        self.roles: Ints = 1 + np.arange(4 * len(labels)).reshape(-1, 4).T
        continues, goes_on = np.isin(role_of, ["I", "E"]), np.isin(role_of, ["B", "I"])
        same_label = self.label_of[:, None] == self.label_of
        self.allowed_starts: Bools = ~continues
        self.allowed_ends: Bools = ~goes_on
        self.allowed_transitions: Bools = np.where(
            continues, goes_on[:, None] & same_label, ~goes_on[:, None]
        )

    def __len__(self) -> int:
        return len(self.names)

    def encode(self, spans: Iterable[tuple[int, int, str]], length: int) -> Ints:
        """Tags [length] of one sequence with the entities `spans` = (start, end, label).

        Spans aren't empty, lie within the sequence, and don't overlap.

        Raises ValueError (F233) for an unknown label.
        """
        tags = np.full(length, OUTSIDE, dtype=np.int64)
        for start, end, label in spans:
            if label not in self.labels:
                raise ValueError(
                    Errors.F233.format(span=(start, end, label), labels=list(self.labels))
                )
            begin, inner, last, single = (each[self.labels.index(label)] for each in self.roles)
            tags[start:end] = inner
            tags[start], tags[end - 1] = begin, last if end - start > 1 else single
        return tags

    def allowed(
        self,
        spans: Iterable[tuple[int, int, str]],
        length: int,
        unknown: Iterable[tuple[int, int, str]] = (),
        coarse: Mapping[str, Sequence[str]] | None = None,
    ) -> Bools:
        """Tags [length, K] that agree with an annotation that may be incomplete.

        spans: the known entities (start, end, label). Their units have exactly their tags.
        unknown: stretches (start, end, label) whose units outside `spans` may have any tag, or
            with a label also its tags. A label that is not among `labels` has no tags.
        coarse: the labels that a label of `spans` stands for: the entity has one of them.

        All other units are "O". The known entities by themselves are always a legal sequence.

        Raises ValueError as `encode`.
        """
        coarse = coarse or {}
        choices = [(start, end, coarse.get(label) or (label,)) for start, end, label in spans]
        tags = self.encode([(start, end, labels[0]) for start, end, labels in choices], length)
        allowed: Bools = tags[:, None] == np.arange(len(self))
        outside = tags == OUTSIDE
        for start, end, labels in choices:
            for label in labels[1:]:
                other = self.encode([(0, end - start, label)], end - start)
                allowed[np.arange(start, end), other] = True
        for start, end, label in unknown:
            number = self.labels.index(label) if label in self.labels else len(self.labels)
            own = self.label_of == number if label else np.ones(len(self), np.bool_)
            allowed[start:end] |= outside[start:end, None] & own
        return allowed
