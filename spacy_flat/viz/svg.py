"""Elements of pictures, as strings of SVG.

A colour is a name in `COLOURS`, with one value for light pages and one for dark ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import Literal
from unicodedata import east_asian_width

Anchor = Literal["start", "middle", "end"]

# On light pages, on dark pages.
COLOURS = {
    "page": ("#ffffff", "#0d1117"),
    "ink": ("#1f2328", "#e6edf3"),
    "muted": ("#59636e", "#9198a1"),
    "grid": ("#d1d9e0", "#3d444d"),
    "soft": ("#eef1f4", "#212830"),
    "blue": ("#0969da", "#4493f8"),
    "orange": ("#bc4c00", "#f0883e"),
    "green": ("#1a7f37", "#3fb950"),
    "purple": ("#8250df", "#ab7df8"),
    "red": ("#cf222e", "#ff7b72"),
}
FONTS = (
    "'Helvetica Neue',Arial,'PingFang SC','Hiragino Sans GB','Microsoft YaHei',"
    "'Noto Sans CJK SC','Noto Sans SC','WenQuanYi Micro Hei',sans-serif"
)
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def picture(width: float, height: float, title: str, elements: Iterable[str]) -> str:
    """A whole SVG of this size in pixels. The title is for screen readers."""
    light, dark = (
        "".join(f".{name}{{color:{values[page]}}}" for name, values in COLOURS.items())
        for page in (0, 1)
    )
    w, h = _number(width), _number(height)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" '
            f'height="{h}" role="img">',
            f"<title>{_content(title)}</title>",
            f"<style>svg{{font-family:{FONTS};fill:currentColor}}"
            f".line{{fill:none;stroke:currentColor}}{light}",
            f"@media (prefers-color-scheme:dark){{{dark}}}</style>",
            f'<rect class="page" x="0" y="0" width="{w}" height="{h}" rx="6"/>',
            *elements,
            "</svg>\n",
        ]
    )


def _element(name: str, colour: str, content: str = "", **attributes: float | str | None) -> str:
    """An element without the attributes that are None."""
    values = " ".join(
        f'{key.replace("_", "-")}="{value if isinstance(value, str) else _number(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    end = f">{_content(content)}</{name}>" if content else "/>"
    return f'<{name} class="{colour}" {values}{end}'


def text(
    x: float,
    y: float,
    content: str,
    colour: str = "ink",
    *,
    size: float = 12,
    anchor: Anchor = "middle",
    bold: bool = False,
    turned: bool = False,
    room: float | None = None,
) -> str:
    """A line of text with its base line at `y`.

    turned: reads upwards, for a y axis.
    room: maximum width in pixels; longer texts are shrunk.
    """
    if room is not None:
        size = min(size, size * room / max(1.0, text_width(content, size)))
    return _element(
        "text",
        colour,
        content,
        x=x,
        y=y,
        font_size=size,
        text_anchor=None if anchor == "start" else anchor,
        font_weight="bold" if bold else None,
        transform=f"rotate(-90 {_number(x)} {_number(y)})" if turned else None,
    )


def text_width(content: str, size: float) -> float:
    """Estimate the width of a text in pixels: a Chinese character is as wide as it is high."""
    return size * sum(1.0 if east_asian_width(char) in "WF" else 0.6 for char in content)


def polyline(points: Iterable[tuple[float, float]], colour: str, *, width: float = 1) -> str:
    """A line through points. A line of one point is a dot."""
    places = [f"{_number(x)},{_number(y)}" for x, y in points]
    is_dot = len(places) == 1
    return _element(
        "polyline",
        f"line {colour}",
        points=" ".join(2 * places if is_dot else places),
        stroke_width=width,
        stroke_linecap="round" if is_dot else None,
    )


def visible(content: str) -> str:
    """A text with invisible characters made visible: space as ␣, control characters as ␀, ␊ …, and
    others without a glyph as □."""
    return "".join(
        chr(0x2400 + ord(char))
        if ord(char) < 0x20
        else "␣"
        if char.isspace()
        else char
        if char.isprintable()
        else "□"
        for char in content
    )


def _content(content: str) -> str:
    return escape(_NOT_XML.sub("□", content), quote=False)


def _number(value: float) -> str:
    return f"{round(value, 1):.10g}"
