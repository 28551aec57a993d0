"""Elements of pictures, as strings of SVG. What they show is escaped here."""

from collections.abc import Iterable
from html import escape
from unicodedata import east_asian_width

COLOURS = {
    "page": "#ffffff",
    "ink": "#1f2328",
    "muted": "#59636e",
    "soft": "#eef1f4",
    "blue": "#0969da",
    "orange": "#bc4c00",
    "green": "#1a7f37",
}
FONTS = (
    "'Helvetica Neue',Arial,'PingFang SC','Hiragino Sans GB','Microsoft YaHei',"
    "'Noto Sans CJK SC','Noto Sans SC','WenQuanYi Micro Hei',sans-serif"
)


class Svg(str):
    """A picture that notebooks show."""

    def _repr_svg_(self) -> str:
        return str(self)


def picture(width: float, height: float, title: str, elements: Iterable[str]) -> Svg:
    """A whole SVG of this size in pixels. The title is for screen readers."""
    colours = "".join(f".{name}{{color:{colour}}}" for name, colour in COLOURS.items())
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>svg{{font-family:{FONTS};fill:currentColor}}"
        f".line{{fill:none;stroke:currentColor}}{colours}</style>",
        box(0, 0, width, height, "page"),
        *elements,
        "</svg>\n",
    ]
    return Svg("\n".join(lines))


def text(
    x: float,
    y: float,
    content: str,
    colour: str = "ink",
    *,
    size: float = 12,
    anchor: str = "middle",
    room: float | None = None,
) -> str:
    """A line of text with its base line at `y`.

    anchor: what is at `x`: "start", "middle" or "end".
    room: maximum width in pixels; longer texts are shrunk.
    """
    if room is not None:
        size = min(size, size * room / max(1.0, text_width(content, size)))
    return _element("text", colour, content, x=x, y=y, font_size=size, text_anchor=anchor)


def text_width(content: str, size: float) -> float:
    """Estimate the width of a text in pixels: a Chinese character is as wide as it is high."""
    return size * sum(1.0 if east_asian_width(char) in "WF" else 0.6 for char in content)


def polyline(points: Iterable[tuple[float, float]], colour: str, *, opacity: float = 1) -> str:
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return _element("polyline", f"line {colour}", points=places, opacity=opacity)


def box(x: float, y: float, width: float, height: float, colour: str, *, opacity: float = 1) -> str:
    """A filled rectangle."""
    return _element("rect", colour, x=x, y=y, width=width, height=height, rx=5, opacity=opacity)


def visible(content: str) -> str:
    """A text with invisible characters made visible: space as ␣, control characters as ␀, ␊ …, and
    others without a glyph as □."""
    return "".join(map(_glyph, content))


def _glyph(char: str) -> str:
    if ord(char) < 0x20:
        return chr(0x2400 + ord(char))
    if char.isspace():
        return "␣"
    return char if char.isprintable() else "□"


def _element(name: str, colour: str, content: str = "", **attributes: float | str) -> str:
    texts = {
        key.replace("_", "-"): value if isinstance(value, str) else f"{round(value, 2):.10g}"
        for key, value in attributes.items()
    }
    values = " ".join(f'{key}="{value}"' for key, value in texts.items())
    end = f">{escape(content)}</{name}>" if content else "/>"
    return f'<{name} class="{colour}" {values}{end}'
