"""The network's input: characters as padded numbers, a piece of some texts at a time."""

from dataclasses import dataclass

from ..util.arrays import Bools, Ints


@dataclass(frozen=True)
class Piece:
    """A piece of B texts, C characters long, padded on the right. Each row predicts the next
    character from those before it: M in all.

    is_first: whether the texts begin here; otherwise its rows continue the first rows of the
        previous piece.
    """

    inputs: Ints  # [B, C] keys
    present: Bools  # [B, C] False for padding
    targets: Ints  # [M] keys of the characters that follow, row by row
    places: Ints  # [M] of these among all numbers: texts with their marks, one after the other
    is_first: bool
