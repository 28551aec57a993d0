"""Chinese characters."""

import re

# For the classes of regular expressions.
HAN_RANGES = "\u3005-\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # with 々, 〆 and 〇
UNSPACED_RANGES = HAN_RANGES + "\u3040-\u30ff"  # with kana, written without spaces too

# Zero width space, word joiner, byte order mark, soft hyphen: passed over where texts are read.
ZERO_WIDTH = "\u200b\u2060\ufeff\u00ad"

HAN = re.compile(f"[{HAN_RANGES}]+")
