"""`python -m spacy flat lattice`, and the pictures of the docs that it and others draw."""

from __future__ import annotations

import runpy
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from spacy_flat.cli import app
from spacy_flat.cli.lattice import COLUMNS, Row, Span, draw, split_rows, stack, words_in
from spacy_flat.lexicon import Lexicon
from spacy_flat.lexicon.sources import Entry
from spacy_flat.viz.svg import visible

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs/pictures"
SVG = "{http://www.w3.org/2000/svg}"
BRIDGE = "南京市长江大桥"

pytestmark = pytest.mark.usefixtures("few_words")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["lattice", *arguments])


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def titles(svg: str) -> list[str]:
    """The words of the picture, with head and tail."""
    groups = ElementTree.fromstring(svg).iter(f"{SVG}g")
    return [group.findtext(f"{SVG}title") or "" for group in groups]


@pytest.fixture
def words(tmp_path: Path) -> Path:
    path = tmp_path / "mine.txt"
    path.write_text("南京\n南京市\n市长\n长江大桥\n大桥\n", "utf-8")
    return path


def test_a_picture_is_an_svg(words: Path, tmp_path: Path) -> None:
    result = run(str(words), BRIDGE, str(tmp_path / "lattice.png"))
    assert result.exit_code == 1
    assert "[F146]" in result.output
    assert not (tmp_path / "lattice.png").exists()


def test_the_words_of_a_list_with_head_and_tail(words: Path, tmp_path: Path) -> None:
    output = tmp_path / "new" / "lattice.svg"
    result = run(str(words), BRIDGE, str(output))
    assert result.exit_code == 0
    assert "characters 7, words 5" in " ".join(result.output.split())
    svg = output.read_text("utf-8")
    assert titles(svg) == ["南京 0–1", "市长 2–3", "大桥 5–6", "南京市 0–2", "长江大桥 3–6"]
    assert [text for text in texts(svg) if text in BRIDGE and len(text) == 1] == list(BRIDGE)
    bar = texts(svg).index("南京市")
    assert texts(svg)[bar - 2 : bar + 1] == ["0", "2", "南京市"]


def test_a_pipelines_words_and_entities(tmp_path: Path) -> None:
    nlp = spacy.blank("zh")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "A<B", "pattern": "南京市"}])  # type: ignore[attr-defined]
    component = nlp.add_pipe("flat_ner")
    example = spacy.training.Example.from_dict(nlp.make_doc("重庆"), {"entities": [(0, 2, "LOC")]})
    lexicon = Lexicon([Entry("长江大桥", 1, "ns", "places")])
    component.initialize(lambda: [example], nlp=nlp, lexicon=lexicon)  # type: ignore[attr-defined]
    nlp.to_disk(tmp_path / "pipeline")
    result = run(str(tmp_path / "pipeline"), BRIDGE, str(tmp_path / "lattice.svg"))
    assert result.exit_code == 0
    svg = (tmp_path / "lattice.svg").read_text("utf-8")
    assert titles(svg) == ["长江大桥 3–6"]
    assert "A<B" in texts(svg)


@pytest.mark.parametrize(
    ("text", "code"), [("", "F160"), ("南" * 501, "F161"), ("南\udce4", "F162")]
)
def test_texts_that_are_refused(words: Path, tmp_path: Path, text: str, code: str) -> None:
    result = run(str(words), text, str(tmp_path / "lattice.svg"))
    assert result.exit_code == 1
    assert f"[{code}]" in result.output
    assert not (tmp_path / "lattice.svg").exists()


def test_as_long_a_text_as_is_allowed(words: Path, tmp_path: Path) -> None:
    result = run(str(words), (BRIDGE * 72)[:500], str(tmp_path / "lattice.svg"))
    assert result.exit_code == 0
    svg = (tmp_path / "lattice.svg").read_text("utf-8")
    assert "499" in texts(svg)
    assert "大桥 495–496" in titles(svg)


@given(st.data())
def test_every_text_with_all_its_words(data: st.DataObject) -> None:
    text = data.draw(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60))
    places = st.tuples(st.integers(0, len(text) - 1), st.integers(1, 20))
    chosen = data.draw(st.lists(places, max_size=10))
    lexicon = Lexicon([Entry(text[i : i + n], 1, "", "") for i, n in chosen], min_length=1)
    spans = words_in(lexicon, text)
    svg = draw(text, spans, [Span(0, len(text), "<&\0\ud800>")])
    drawn = {f"{visible(text[w.start : w.end])} {w.start}–{w.end - 1}" for w in spans}
    assert set(titles(svg)) == drawn


@pytest.mark.parametrize(("text", "seen"), [("a \t\0\u3000", "a␣␉␀␣"), ("\u200b\ue000", "□□")])
def test_what_cannot_be_seen_is_made_visible(text: str, seen: str) -> None:
    assert visible(text) == seen
    assert set(seen) <= set(texts(draw(text, [])))


def bars(svg: str) -> list[tuple[float, float]]:
    """Left and right of each word's bar."""
    found = [group.find(f"{SVG}rect") for group in ElementTree.fromstring(svg).iter(f"{SVG}g")]
    edges = [(float(r.attrib["x"]), float(r.attrib["width"])) for r in found if r is not None]
    return [(x, x + width) for x, width in edges]


def test_rows_are_cut_between_words_where_they_can_be() -> None:
    text = "一" * 2 * COLUMNS
    word = Span(COLUMNS - 2, COLUMNS + 1, "一一一")
    assert next(split_rows(len(text), [word])) == Row(0, COLUMNS - 2)
    assert titles(draw(text, [word])) == ["一一一 12–14"]
    long = Span(0, len(text), text)
    assert list(split_rows(len(text), [long])) == [Row(0, COLUMNS), Row(COLUMNS, 2 * COLUMNS)]
    (left, right), (next_left, next_right) = bars(draw(text, [long]))
    # Into the margin where the word goes on.
    assert right - left == next_right - next_left
    assert next_left < left < next_right < right


def overlaps(lane: Sequence[Span]) -> bool:
    return any(a.end > b.start for a, b in pairwise(lane))


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 5)), max_size=30))
def test_no_two_words_of_a_lane_overlap(places: list[tuple[int, int]]) -> None:
    words = sorted(Span(start, start + length, "") for start, length in places)
    lanes = stack(Row(0, 20), words)
    assert sorted(word for lane in lanes for word in lane) == words
    assert not any(overlaps(lane) for lane in lanes)


# The pictures of the docs


def test_the_docs_lattice_is_what_the_command_draws(tmp_path: Path) -> None:
    assert run("", BRIDGE, str(tmp_path / "lattice.svg")).exit_code == 0
    drawn = (tmp_path / "lattice.svg").read_text("utf-8")
    assert (PICTURES / "lattice.svg").read_text("utf-8") == drawn, "run: make pictures"


def test_the_docs_pipeline_is_what_the_script_draws() -> None:
    drawn = runpy.run_path(str(PICTURES / "draw.py"))["draw"]()
    assert (PICTURES / "pipeline.svg").read_text("utf-8") == drawn, "run: make pictures"


@pytest.mark.parametrize("name", ["lattice", "pipeline", "demo_curve"])
def test_the_docs_pictures_are_light_and_need_nothing_else(name: str) -> None:
    svg = (PICTURES / f"{name}.svg").read_text("utf-8")
    ElementTree.fromstring(svg)
    assert len(svg.encode()) < 15_000
    assert "prefers-color-scheme:dark" in svg
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")
    assert "<script" not in svg
