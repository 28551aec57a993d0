"""Full-width forms of ASCII characters."""

import re

import numpy as np

_FULL_WIDTH = re.compile("[\u3000\uff01-\uff5e]")


def fold_full_width(text: str) -> str:
    """Take Ａ for A, １ for 1, ， for a comma and the ideographic space for the plain one.

    Each character stays one character (U+FF01–U+FF5E to U+0021–U+007E, U+3000 to U+0020), so that
    offsets stay valid, as they would not with Unicode's NFKC.
    """
    if not _FULL_WIDTH.search(text):
        return text
    # An array, since str.translate is ten times as slow on Chinese text.
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").copy()
    codes[codes == 0x3000] = 0x20
    codes[(codes >= 0xFF01) & (codes <= 0xFF5E)] -= 0xFEE0
    return str(codes.tobytes(), "utf-32-le", "surrogatepass")
