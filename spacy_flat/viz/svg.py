"""Elements of pictures, as strings of SVG.

A colour is a name in `COLOURS`, which stands for one value on light pages and one on dark ones. A
picture has a background of its own, so that it can be read where a viewer knows the wrong page.
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

# What XML 1.0 cannot hold, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REPLACEMENT = "□"


def picture(width: float, height: float, title: str, elements: Iterable[str]) -> str:
    """Return a whole SVG of this size in pixels. The title is for screen readers."""
    size = f"{_number(width)} {_number(height)}".split()
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" '
            f'width="{size[0]}" height="{size[1]}" role="img">',
            f"<title>{_content(title)}</title>",
            f"<style>{_style()}</style>",
            box(0, 0, width, height, "page", radius=6),
            *elements,
            "</svg>\n",
        ]
    )


def _style() -> str:
    """Return the rules of the fonts and of the colours on light and on dark pages."""
    light, dark = (
        "".join(f".{name}{{color:{values[page]}}}" for name, values in COLOURS.items())
        for page in (0, 1)
    )
    return (
        f"svg{{font-family:{FONTS};fill:currentColor}}.line{{fill:none;stroke:currentColor}}"
        f"{light}\n@media (prefers-color-scheme:dark){{{dark}}}"
    )


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
    """Return one line of text whose base line is at `y`.

    turned: reads upwards, for a y axis.
    room: pixels that the text may take; a longer one is set in smaller type.
    """
    if room is not None:
        size = min(size, size * room / max(1.0, text_width(content, size)))
    attributes = f'x="{_number(x)}" y="{_number(y)}" font-size="{_number(size)}"'
    if anchor != "start":
        attributes += f' text-anchor="{anchor}"'
    if bold:
        attributes += ' font-weight="bold"'
    if turned:
        attributes += f' transform="rotate(-90 {_number(x)} {_number(y)})"'
    return f'<text class="{colour}" {attributes}>{_content(content)}</text>'


def text_width(content: str, size: float) -> float:
    """Estimate the width of a text in pixels: a Chinese character is as wide as it is high."""
    return size * sum(1.0 if east_asian_width(char) in "WF" else 0.6 for char in content)


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    colour: str,
    *,
    radius: float = 0,
    opacity: float = 1,
    outline: bool = False,
) -> str:
    """Return a filled rectangle, or its outline only."""
    attributes = (
        f'x="{_number(x)}" y="{_number(y)}" width="{_number(width)}" height="{_number(height)}"'
    )
    if radius:
        attributes += f' rx="{_number(radius)}"'
    if opacity < 1:
        attributes += f' opacity="{opacity:.2g}"'
    return f'<rect class="{"line " if outline else ""}{colour}" {attributes}/>'


def circle(x: float, y: float, radius: float, colour: str) -> str:
    """Return a filled circle."""
    return f'<circle class="{colour}" cx="{_number(x)}" cy="{_number(y)}" r="{_number(radius)}"/>'


def polyline(
    points: Iterable[tuple[float, float]], colour: str, *, width: float = 1, arrow: bool = False
) -> str:
    """Return a line through points; with an arrow, its last stretch must lead downwards."""
    places = list(points)
    drawn = " ".join(f"{_number(x)},{_number(y)}" for x, y in places)
    line = f'<polyline class="line {colour}" points="{drawn}" stroke-width="{_number(width)}"/>'
    if not arrow:
        return line
    x, y = places[-1]
    head = f"M{_number(x)} {_number(y)}l-4.5 -8h9z"
    return line + f'<path class="{colour}" d="{head}"/>'


def group(title: str, elements: Iterable[str]) -> str:
    """Return elements as one thing with a title, which browsers show under the pointer."""
    return f"<g><title>{_content(title)}</title>{''.join(elements)}</g>"


def visible(content: str) -> str:
    """Each character as one that can be seen: space as ␣, control characters as ␀, ␊ … and others
    without a glyph as □.
    """
    return "".join(_visible(char) for char in content)


def _visible(char: str) -> str:
    if ord(char) < 0x20:
        return chr(0x2400 + ord(char))
    if char.isspace():
        return "␣"
    return char if char.isprintable() else "□"


def _content(content: str) -> str:
    return escape(_NOT_XML.sub(_REPLACEMENT, content), quote=False)


def _number(value: float) -> str:
    """A tenth of a pixel is fine enough, and short."""
    return f"{round(value, 1):.10g}"
