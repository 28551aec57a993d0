"""The network's input: characters as padded numbers, a piece of some texts at a time.

Shapes: B texts, C characters, M characters to predict, N all numbers.
"""

from dataclasses import dataclass

from ..util.arrays import Bools, Ints


@dataclass(frozen=True)
class TextBatch:
    """Some whole texts as numbers, the longest first, without padding."""

    n_units: Ints  # [B] characters, descending
    starts: Ints  # [B] where the texts begin in `keys`
    keys: Ints  # [N] of all texts, each between a start and an end mark


@dataclass(frozen=True)
class Piece:
    """A piece of some texts, padded on the right. Each row predicts the next character from those
    before it."""

    inputs: Ints  # [B, C] keys, 0 for unknown characters and padding
    present: Bools  # [B, C] False for padding
    targets: Ints  # [M] keys of the characters that follow, row by row
    places: Ints  # [M] of these among all numbers
