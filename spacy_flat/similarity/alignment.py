"""`doc._.alignment`: which units of two texts RE2 aligns."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from spacy.tokens import Doc

from ..util.arrays import Float32s
from ..viz.alignment import draw
from ..viz.svg import Svg
from .pairs import Pair

MOST_WEIGHTS = 1 << 22  # of one direction of a block, if every character is a unit

# The key that spaCy itself uses for the value of an extension.
_KEY: Any = ("._.", "alignment", None, None)  # in doc.user_data


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


def get_alignment(doc: Doc) -> Alignment | None:
    """The getter of `doc._.alignment`, set if the component has `keep_alignment`."""
    data = doc.user_data.get(_KEY)
    if data is None:
        return None
    blocks = [BlockAlignment(*block) for block in data["blocks"]]
    return Alignment(list(data["left"]), list(data["right"]), blocks)


def set_alignment(doc: Doc, alignment: Alignment | None) -> None:
    """Store an alignment as plain data that is saved with the Doc; None drops the old one."""
    doc.user_data.pop(_KEY, None)
    if alignment is not None:
        blocks = [list(block) for block in alignment.blocks]
        doc.user_data[_KEY] = {"left": alignment.left, "right": alignment.right, "blocks": blocks}


def is_too_large(pair: Pair) -> bool:
    """Whether the alignment of a pair would take too much memory."""
    left, right = pair
    return len(left.text) * len(right.text) > MOST_WEIGHTS


if not Doc.has_extension("alignment"):
    Doc.set_extension("alignment", getter=get_alignment)
