"""Which units of two texts RE2 aligns."""

from dataclasses import dataclass
from typing import NamedTuple

from ..util.arrays import Float32s
from ..viz.alignment import draw
from ..viz.svg import Svg


class BlockAlignment(NamedTuple):
    """The attention between a text of L units and one of L' units in one block. Rows sum to 1."""

    left_to_right: Float32s  # [L, L']
    right_to_left: Float32s  # [L', L]


@dataclass(frozen=True, eq=False)
class Alignment:
    """What RE2 aligns in two texts (Yang et al., 2019, section 2.2).

    left, right: the units of the texts, characters or tokens; [""] for an empty text.
    blocks: the attention of each block, first to last.
    """

    left: list[str]
    right: list[str]
    blocks: list[BlockAlignment]

    def to_svg(self) -> Svg:
        """Draw the first 40 units of each text, with a line between two that attend to each other,
        for each block."""
        weights = [(block.left_to_right + block.right_to_left.T) / 2 for block in self.blocks]
        return draw(self.left, self.right, weights)

    _repr_svg_ = to_svg  # for notebooks
