"""`render_lattice`: what it shows."""

import re
from html import unescape

import pytest
from spacy.language import Language

from ..conftest import flat


def test_words_and_entities_with_their_confidence(trained: Language) -> None:
    pipe = flat(trained)
    doc = trained.make_doc("南京市长江大桥")
    doc.set_ents([doc.char_span(0, 3, "LOC")])
    svg = pipe.render_lattice(doc)  # type: ignore[attr-defined]
    assert svg._repr_svg_() == svg
    assert {"0–2", "3–6", "LOC"} <= shown(svg)
    doc.ents[0]._.confidence = 0.731
    assert "LOC:0.73" in shown(pipe.render_lattice(doc))  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="F161"):
        pipe.render_lattice(trained.make_doc("京" * 501))  # type: ignore[attr-defined]


def shown(svg: str) -> set[str]:
    return {*unescape(re.sub("<[^>]*>", " ", svg)).split()}
