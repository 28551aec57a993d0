"""Full-width forms of ASCII characters."""

import re

import numpy as np

_FULL_WIDTH = re.compile("[\u3000\uff01-\uff5e]")


def fold_full_width(text: str) -> str:
    """Map full-width characters (U+FF01–U+FF5E, U+3000) to ASCII. Unlike with NFKC, each stays one
    character, so offsets stay valid."""
    if not _FULL_WIDTH.search(text):
        return text
    # An array, since str.translate is ten times as slow on Chinese text.
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").copy()
    codes[codes == 0x3000] = 0x20
    codes[(codes >= 0xFF01) & (codes <= 0xFF5E)] -= 0xFEE0
    return str(codes.tobytes(), "utf-32-le", "surrogatepass")
