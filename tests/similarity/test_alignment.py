"""`pipe.align` and its picture."""

from xml.etree import ElementTree

import numpy as np
import pytest
from spacy.language import Language

from spacy_flat.viz.alignment import MAX_UNITS, Alignment

from .conftest import re2

SVG = "{http://www.w3.org/2000/svg}"


def assert_right(alignment: Alignment) -> None:
    L, R = len(alignment.left), len(alignment.right)
    assert len(alignment.blocks) == 2
    for weights in alignment.blocks:
        assert weights.shape == (L, R)
        # Rows of one direction sum to 1, columns of the other.
        assert weights.sum() == pytest.approx((L + R) / 2)


# What it is


def test_texts_docs_and_spans(trained_pairs: Language) -> None:
    pipe = re2(trained_pairs)
    found = pipe.align("快递几天到", "几天能收到快递")
    assert (found.left, found.right) == (list("快递几天到"), list("几天能收到快递"))
    assert_right(found)
    doc = trained_pairs("我问快递几天到")
    other = pipe.align(doc[2:], trained_pairs("几天能收到快递"))
    assert (other.left, other.right) == (found.left, found.right)
    for block, expected in zip(other.blocks, found.blocks, strict=True):
        np.testing.assert_allclose(block, expected, atol=1e-6)


@pytest.mark.parametrize(("left", "right"), [("", ""), ("", "快递"), ("快递", ""), ("😀", "未")])
def test_an_empty_text_has_one_empty_unit(trained_pairs: Language, left: str, right: str) -> None:
    found = re2(trained_pairs).align(left, right)
    assert (found.left, found.right) == (list(left) or [""], list(right) or [""])
    assert_right(found)


def test_texts_that_would_fill_the_memory(trained_pairs: Language) -> None:
    with pytest.raises(ValueError, match="F161"):
        re2(trained_pairs).align("快", "快" * 5001)


# The heat map


def alignment_of(left: list[str], right: list[str], n_blocks: int = 1) -> Alignment:
    """One whose first unit attends to the other text's last, and others to all alike."""
    weights = np.full((len(left), len(right)), 1 / len(right), dtype=np.float32)
    weights[0] = 0
    weights[0, -1] = 1
    return Alignment(left, right, [weights] * n_blocks)


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def lines(svg: str) -> int:
    return len(list(ElementTree.fromstring(svg).iter(f"{SVG}polyline")))


def test_lines_show_the_attention() -> None:
    svg = alignment_of(["快", "递"], ["几", "天", "到"], n_blocks=3).to_svg()
    assert lines(svg) == 3 * 4  # the first attends to the last alone
    assert [text for text in texts(svg) if "block" in text] == ["block 1", "block 2", "block 3"]
    assert texts(svg).count("快") == texts(svg).count("天") == 3


def test_long_texts_are_drawn_in_part() -> None:
    svg = alignment_of(["快"] * 5000, ["international" * 100] * 900).to_svg()
    assert texts(svg).count("快") == MAX_UNITS
    assert "internationa…" not in svg
    assert texts(svg).count("international"[:13] + "…") == MAX_UNITS


def test_any_text_and_weight_can_be_drawn(trained_pairs: Language) -> None:
    assert {"(empty)", "快", "␀", "<"} <= set(
        texts(re2(trained_pairs).align("", "快\x00<").to_svg())
    )
    svg = alignment_of(["\ud800", "\uffff"], ["&\n", "\U000e0001"]).to_svg()._repr_svg_()
    svg.encode("utf-8")
    assert lines(svg) == 3
    alignment = alignment_of(["快"], ["几", "天"])
    alignment.blocks[0][:] = np.nan
    assert lines(alignment.to_svg()) == 0
    assert "nan" not in alignment.to_svg()
