"""Which units of two texts RE2 aligns."""

from dataclasses import dataclass

from ..util.arrays import Float32s
from ..viz.alignment import draw
from ..viz.svg import Svg


@dataclass(frozen=True, eq=False)
class Alignment:
    """What RE2 aligns in two texts (Yang et al., 2019, section 2.2).

    left, right: the units of the texts, characters or tokens; [""] for an empty text.
    blocks: [L, L'] of each block, first to last: how much two units attend to each other, the mean
        of both directions.
    """

    left: list[str]
    right: list[str]
    blocks: list[Float32s]

    def to_svg(self) -> Svg:
        """Draw the first 40 units of each text, with a line between two that attend to each other,
        for each block."""
        return draw(self.left, self.right, self.blocks)

    _repr_svg_ = to_svg  # for notebooks
