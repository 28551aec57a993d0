"""Chinese characters."""

import re

# For the classes of regular expressions.
HAN_RANGES = "\u3005-\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # with 々, 〆 and 〇
UNSPACED_RANGES = HAN_RANGES + "\u3040-\u30ff"  # with kana, written without spaces too

HAN = re.compile(f"[{HAN_RANGES}]+")
