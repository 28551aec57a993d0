"""HTML pages that commands write."""

from __future__ import annotations

from html import escape

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ background: #fff; color: #222; font: 16px sans-serif; margin: 2rem auto; max-width: 80rem }}
section {{ border-top: 1px solid #ddd; display: grid; gap: 2rem; grid-template-columns: 1fr 1fr }}
{style}</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


def html_page(title: str, body: str, style: str = "") -> str:
    """A page.

    body: HTML; the two parts of a <section> stand side by side.
    style: more lines of CSS.
    """
    return _PAGE.format(title=escape(title), body=body, style=style)


class Html(str):
    """HTML that notebooks show."""

    def _repr_html_(self) -> str:
        return str(self)
