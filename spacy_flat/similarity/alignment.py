"""`doc._.alignment`: which units of two texts RE2 compares with which."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from .heat_map import draw
from .pairs import Pair

Weights = NDArray[np.float32]

MOST_WEIGHTS = 1 << 22  # of one direction of a block, if every character is a unit

# Where spaCy itself would keep the value of an extension, so that it treats it as one.
_KEY: Any = ("._.", "alignment", None, None)  # in doc.user_data


class BlockAlignment(NamedTuple):
    """How much each unit of one text attends to each of the other, in one block of the network.
    Rows sum to 1.

    L units of the left text, L' of the right one.
    """

    left_to_right: Weights  # [L, L']
    right_to_left: Weights  # [L', L]


@dataclass(frozen=True, eq=False)
class Alignment:
    """What RE2 aligns in two texts (Yang et al., 2019, section 2.2): the attention of each block.

    left, right: the units of the texts, characters or tokens; one that is "" for an empty text.
    blocks: the attention, from the first block to the last.
    """

    left: list[str]
    right: list[str]
    blocks: list[BlockAlignment]

    def to_svg(self) -> str:
        """A heat map as the text of an SVG, with the left text from top to bottom and the right one
        from left to right. Of each text it has the first 40 units."""
        return draw(self.left, self.right, self.blocks)

    def _repr_svg_(self) -> str:
        """For notebooks."""
        return self.to_svg()


def get_alignment(doc: Doc) -> Alignment | None:
    """`doc._.alignment`: the alignment of a pair, where `keep_alignment` is set."""
    data = doc.user_data.get(_KEY)
    if data is None:
        return None
    blocks = [BlockAlignment(*block) for block in data["blocks"]]
    return Alignment(list(data["left"]), list(data["right"]), blocks)


def keep_alignment(doc: Doc, alignment: Alignment) -> None:
    """Let a Doc have an alignment, as plain data that is saved with it."""
    doc.user_data[_KEY] = {
        "left": alignment.left,
        "right": alignment.right,
        "blocks": [list(block) for block in alignment.blocks],
    }


def drop_alignment(doc: Doc) -> None:
    """Let a Doc have none."""
    doc.user_data.pop(_KEY, None)


def is_too_large(pair: Pair) -> bool:
    """Whether the alignment of a pair would take too much memory."""
    left, right = pair
    return len(left.text) * len(right.text) > MOST_WEIGHTS


if not Doc.has_extension("alignment"):
    Doc.set_extension("alignment", getter=get_alignment)
