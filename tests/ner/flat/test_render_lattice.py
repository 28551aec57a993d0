"""`render_lattice`: what it shows."""

import re
from html import unescape

import pytest
import spacy
from spacy.training import Example

from spacy_flat.lexicon import Entry, Lexicon
from spacy_flat.ner.flat.component import FlatEntityRecognizer

BRIDGE = "南京市长江大桥"


@pytest.fixture(scope="module")
def nlp() -> spacy.Language:
    nlp = spacy.blank("zh")
    pipe = nlp.add_pipe("flat_ner", config={"model": {"lattice": {"max_length": 20}}})
    example = Example.from_dict(nlp.make_doc(BRIDGE), {"entities": [(0, 3, "LOC")]})
    words = [Entry("南京市", 1, "ns"), Entry("长江大桥", 1, "ns")]
    pipe.initialize(lambda: [example] * 3, lexicon=Lexicon(words))
    return nlp


def shown(svg: str) -> list[str]:
    return unescape(re.sub("<[^>]*>", " ", svg)).split()


def test_words_and_entities_with_their_confidence(nlp: spacy.Language) -> None:
    pipe: FlatEntityRecognizer = nlp.get_pipe("flat_ner")  # type: ignore[assignment]
    doc = nlp.make_doc(BRIDGE)
    doc.set_ents([doc.char_span(0, 3, "LOC")])
    svg = pipe.render_lattice(doc)
    assert svg._repr_svg_() == svg
    assert {"0–2", "3–6", "LOC"} <= set(shown(svg))
    doc.ents[0]._.confidence = 0.731
    assert "LOC:0.73" in shown(pipe.render_lattice(doc))


def test_what_cannot_be_drawn(nlp: spacy.Language) -> None:
    pipe: FlatEntityRecognizer = nlp.get_pipe("flat_ner")  # type: ignore[assignment]
    with pytest.raises(ValueError, match="F161"):
        pipe.render_lattice(nlp.make_doc("京" * 501))
