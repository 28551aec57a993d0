"""`python -m spacy flat lattice`, and the pictures of the docs."""

from __future__ import annotations

import re
import runpy
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import spacy
from commands import said
from hypothesis import given
from hypothesis import strategies as st

from spacy_flat.lexicon import Entry, Lexicon
from spacy_flat.text.units import EntitySpan
from spacy_flat.viz.lattice import draw
from spacy_flat.viz.svg import visible

run = partial(said, "lattice")

PICTURES = Path(__file__).parents[2] / "docs/pictures"
BRIDGE = "南京市长江大桥"

pytestmark = pytest.mark.usefixtures("few_words")


def shown(page: str) -> list[str]:
    """The texts on a page: characters, with the labels of the spans that start there."""
    return unescape(re.sub("<[^>]*>", " ", page.partition("</h1>")[2])).split()


@pytest.fixture
def words(tmp_path: Path) -> Path:
    path = tmp_path / "mine.txt"
    path.write_text("南京\n南京市\n市长\n长江大桥\n大桥\n", "utf-8")
    return path


def test_the_words_of_a_list_with_head_and_tail(words: Path, tmp_path: Path) -> None:
    output = tmp_path / "new" / "lattice.html"
    assert "characters 7, words 5" in run(words, BRIDGE, output)
    assert shown(output.read_text("utf-8")) == [
        *["南", "0–2", "0–1", "京", "市", "2–3", "长", "3–6"],
        *["江", "大", "5–6", "桥"],
    ]


def test_a_pipelines_words_and_entities(tmp_path: Path) -> None:
    nlp = spacy.blank("zh")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "A<B", "pattern": "南京市"}])  # type: ignore[attr-defined]
    component = nlp.add_pipe("flat_ner")
    example = spacy.training.Example.from_dict(nlp.make_doc("重庆"), {"entities": [(0, 2, "LOC")]})
    lexicon = Lexicon([Entry("长江大桥", 1, "ns")])
    component.initialize(lambda: [example], nlp=nlp, lexicon=lexicon)  # type: ignore[attr-defined]
    network: Any = component.model.shims[0].module  # type: ignore[attr-defined]
    network.classify.bias.data[0] = 100.0  # it finds nothing itself
    nlp.to_disk(tmp_path / "pipeline")
    run(tmp_path / "pipeline", BRIDGE, tmp_path / "lattice.html")
    drawn = shown((tmp_path / "lattice.html").read_text("utf-8"))
    assert drawn == ["南", "A<B", "京", "市", "长", "3–6", "江", "大", "桥"]


@pytest.mark.parametrize(
    ("text", "name", "code"),
    [
        ("", "a.html", "F160"),
        ("南" * 501, "a.html", "F161"),
        ("南\udce4", "a.html", "F162"),
        ("南", "a.svg", "F146"),
    ],
)
def test_what_is_refused(words: Path, tmp_path: Path, text: str, name: str, code: str) -> None:
    output = run(words, text, tmp_path / name, code=1)
    assert f"[{code}]" in output
    assert not (tmp_path / name).exists()


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60))
def test_every_text_with_all_its_characters(text: str) -> None:
    drawn = shown(draw(text, [(0, len(text))], [EntitySpan(0, len(text), "<&\0\ud800>")]))
    label = f"0–{len(text) - 1}"
    assert [each for each in drawn if each not in (label, visible("<&\0\ud800>"))] == [
        *visible(text)
    ]


def test_what_cannot_be_seen_is_made_visible() -> None:
    assert visible("a \t\0\u3000\u200b\ue000") == "a␣␉␀␣□□"


@pytest.mark.parametrize("name", ["lattice", "pipeline"])
def test_the_docs_pictures_are_what_the_script_draws(name: str) -> None:
    drawn = runpy.run_path(str(PICTURES / "draw.py"))[name]()
    assert (PICTURES / f"{name}.svg").read_text("utf-8") == drawn, "run: make pictures"
