"""`pipe.align`, `doc._.alignment`, and its heat map."""

import copy
import pickle
import warnings
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import spacy
import torch
from hypothesis import given
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from spacy_flat.similarity import alignment as module
from spacy_flat.similarity.alignment import Alignment, BlockAlignment
from spacy_flat.similarity.heat_map import MOST_UNITS
from spacy_flat.similarity.model import network_of
from spacy_flat.similarity.network import RE2
from spacy_flat.similarity.network import Alignment as AlignmentLayer
from spacy_flat.similarity.pairs import join_pair

from .conftest import HASH_EMBED, LISTENER, PAIRS, add_re2, re2, train

SVG = "{http://www.w3.org/2000/svg}"
TEXTS = [join_pair(left, right) for left, right, _ in PAIRS]


def assert_equal(found: Alignment | None, expected: Alignment | None) -> None:
    assert found is not None
    assert expected is not None
    assert (found.left, found.right) == (expected.left, expected.right)
    for block, other in zip(found.blocks, expected.blocks, strict=True):
        assert isinstance(block, BlockAlignment)
        for weights, others in zip(block, other, strict=True):
            assert weights.shape == others.shape
            np.testing.assert_allclose(weights, others, atol=1e-6)


def assert_right(alignment: Alignment, n_blocks: int = 2) -> None:
    L, R = len(alignment.left), len(alignment.right)
    assert len(alignment.blocks) == n_blocks
    for there, back in alignment.blocks:
        assert (there.shape, back.shape) == ((L, R), (R, L))
        np.testing.assert_allclose(there.sum(axis=1), 1, atol=1e-5)
        np.testing.assert_allclose(back.sum(axis=1), 1, atol=1e-5)


@pytest.fixture(scope="module")
def keeping(trained_pairs: Language) -> Language:
    """Keeps the alignments of its Docs."""
    nlp = copy.deepcopy(trained_pairs)
    re2(nlp).keep_alignment = True
    return nlp


# What it is


def test_texts_docs_and_spans(trained_pairs: Language) -> None:
    pipe = re2(trained_pairs)
    found = pipe.align("快递几天到", "几天能收到快递")
    assert (found.left, found.right) == (list("快递几天到"), list("几天能收到快递"))
    assert_right(found)
    doc = trained_pairs("我问快递几天到")
    assert_equal(pipe.align(doc[2:], trained_pairs("几天能收到快递")), found)


def test_it_is_the_attention_that_the_network_pays(
    trained_pairs: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = re2(trained_pairs)
    found = pipe.align("快递几天到", "几天能收到快递")
    paid: list[Any] = []
    attention = AlignmentLayer.attention

    def recording(self: AlignmentLayer, *args: Any) -> torch.Tensor:
        paid.append(attention(self, *args))
        return paid[-1]

    monkeypatch.setattr(AlignmentLayer, "attention", recording)
    pipe.predict_pairs([("快递几天到", "几天能收到快递")])
    seen = [weights for block in found.blocks for weights in block]
    assert not np.allclose(seen[0], seen[2])
    for weights, expected in zip(seen, paid, strict=True):
        np.testing.assert_allclose(weights, expected[0].numpy(), atol=1e-6)


def test_the_other_way_round(trained_pairs: Language) -> None:
    pipe = re2(trained_pairs)
    found, swapped = pipe.align("快递几天到", "多少钱"), pipe.align("多少钱", "快递几天到")
    blocks = [BlockAlignment(*reversed(block)) for block in swapped.blocks]
    assert_equal(found, Alignment(swapped.right, swapped.left, blocks))


@pytest.mark.parametrize(("left", "right"), [("", ""), ("", "快递"), ("快递", ""), ("😀", "未")])
def test_an_empty_text_has_one_empty_unit(trained_pairs: Language, left: str, right: str) -> None:
    found = re2(trained_pairs).align(left, right)
    assert (found.left, found.right) == (list(left) or [""], list(right) or [""])
    assert_right(found)


@pytest.mark.parametrize("blocks", [1, 3])
def test_tokens_and_blocks(blocks: int) -> None:
    nlp = spacy.blank("en")
    pipe = add_re2(nlp, network={"blocks": blocks}, text={"inputs": "tokens"})
    train(nlp, steps=1)
    found = pipe.align("How do I pay?", "pay by card")
    assert found.left == ["How", "do", "I", "pay", "?"]
    assert found.right == ["pay", "by", "card"]
    assert_right(found, blocks)


def test_a_listener() -> None:
    nlp = spacy.blank("zh")
    nlp.add_pipe("tok2vec", config={"model": HASH_EMBED})
    pipe = add_re2(nlp, tok2vec=LISTENER, keep_alignment=True)
    train(nlp, steps=5)
    (doc,) = nlp.pipe([TEXTS[2]])
    left, right = doc.spans["pair"]
    assert_equal(doc._.alignment, pipe.align(left, right))
    assert nlp("没有第二个")._.alignment is None


def test_texts_that_are_too_long(
    keeping: Language, trained_pairs: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_WEIGHTS", 20)
    assert re2(trained_pairs).align("快递几天", "几天能收到")
    with pytest.raises(ValueError, match=r"\[F327\].* 4 and 6 characters"):
        re2(trained_pairs).align("快递几天", "几天能收到快")
    long, short = keeping.pipe([join_pair("快递几天", "几天能收到快"), TEXTS[0]])
    assert long.cats
    assert long._.alignment is None
    assert short._.alignment


def test_without_a_network() -> None:
    with pytest.raises(ValueError, match="F303"):
        add_re2(spacy.blank("zh")).align("a", "b")


# doc._.alignment


def test_by_request_only(trained_pairs: Language, keeping: Language) -> None:
    assert trained_pairs(TEXTS[0])._.alignment is None
    assert keeping("没有第二个")._.alignment is None
    expected = re2(trained_pairs).align(*PAIRS[0][:2])
    assert_equal(keeping(TEXTS[0])._.alignment, expected)
    with pytest.raises(ValueError, match=r"\[F310\].*keep_alignment"):
        re2(keeping).keep_alignment = "yes"


def test_the_request_is_saved(keeping: Language) -> None:
    nlp = copy.deepcopy(keeping)
    assert nlp(TEXTS[0])._.alignment


def test_the_same_alone_and_in_a_batch(keeping: Language) -> None:
    texts = [*TEXTS, "没有第二个", join_pair("", "快递"), join_pair("快", "几天能收到快递" * 5)]
    for doc in keeping.pipe(texts):
        assert_equal(doc._.alignment, keeping(doc.text)._.alignment) if doc.cats else None
        assert (doc._.alignment is None) == (doc.text == "没有第二个")


def test_a_batch_is_read_at_once(keeping: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[int] = []
    alignments = RE2.alignments

    def counting(self: RE2, *args: Any) -> Any:
        passes.append(1)
        return alignments(self, *args)

    monkeypatch.setattr(RE2, "alignments", counting)
    assert all(doc._.alignment for doc in keeping.pipe(TEXTS))
    assert len(passes) == 1


def copies_of(doc: Doc) -> Iterator[Doc]:
    yield Doc(doc.vocab).from_bytes(doc.to_bytes())
    yield from DocBin(docs=[doc], store_user_data=True).get_docs(doc.vocab)
    yield pickle.loads(pickle.dumps(doc))
    yield doc.copy()


def test_it_is_saved_with_the_doc(keeping: Language) -> None:
    doc = keeping(TEXTS[2])
    for each in copies_of(doc):
        assert_equal(each._.alignment, doc._.alignment)
        assert len(each._.alignment.to_svg()) == len(doc._.alignment.to_svg())


def test_it_comes_from_other_processes(keeping: Language) -> None:
    for doc in keeping.pipe(TEXTS, n_process=2, batch_size=3):
        assert_equal(doc._.alignment, keeping(doc.text)._.alignment)


def test_joined_docs_have_none(keeping: Language) -> None:
    """spaCy says so by the name of the extension, not with all of the data."""
    with warnings.catch_warnings(record=True) as caught:
        joined = Doc.from_docs([keeping(TEXTS[0]), keeping(TEXTS[1])])
    assert joined._.alignment is None
    assert all(
        "W101" in str(each.message) and "'alignment'" in str(each.message) for each in caught
    )


# The heat map


def alignment_of(left: list[str], right: list[str], n_blocks: int = 1) -> Alignment:
    """One whose first units attend to the other text's last, and others to all alike."""
    there = np.full((len(left), len(right)), 1 / len(right), dtype=np.float32)
    back = np.full((len(right), len(left)), 1 / len(left), dtype=np.float32)
    for weights in (there, back):
        weights[0] = 0
        weights[0, -1] = 1
    return Alignment(left, right, [BlockAlignment(there, back)] * n_blocks)


def titles(svg: str) -> list[str]:
    """What each cell says under the pointer."""
    groups = ElementTree.fromstring(svg).iter(f"{SVG}g")
    return [group.findtext(f"{SVG}title") or "" for group in groups]


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_cells_say_how_much_attends_to_what() -> None:
    svg = alignment_of(["快", "递"], ["几", "天", "到"]).to_svg()
    there = ["快 → 到: 1.00", "递 → 几: 0.33", "递 → 天: 0.33", "递 → 到: 0.33"]
    # On the same axes: rows are those of the left text.
    back = ["天 → 快: 0.50", "到 → 快: 0.50", "几 → 递: 1.00", "天 → 递: 0.50", "到 → 递: 0.50"]
    assert titles(svg) == there + back
    assert texts(svg).count("快") == texts(svg).count("天") == 2
    rects = [group.find(f"{SVG}rect") for group in ElementTree.fromstring(svg).iter(f"{SVG}g")]
    x = [float(rect.attrib["x"]) for rect in rects if rect is not None]
    assert max(x[:4]) < min(x[4:])  # one panel beside the other


def test_cells_are_where_their_units_are() -> None:
    svg = alignment_of(["快", "递"], ["几", "天", "到"]).to_svg()
    root = ElementTree.fromstring(svg)
    at = {  # in the last panel
        text.text: (float(text.attrib["x"]), float(text.attrib["y"]))
        for text in root.iter(f"{SVG}text")
    }
    (cell,) = (
        group.find(f"{SVG}rect")
        for group in root.iter(f"{SVG}g")
        if group.findtext(f"{SVG}title") == "几 → 递: 1.00"
    )
    assert cell is not None
    left, top, side = (float(cell.attrib[name]) for name in ("x", "y", "width"))
    assert left < at["几"][0] < left + side
    assert top < at["递"][1] < top + side
    assert at["几"][1] < top
    assert at["递"][0] <= left
    (anchor,) = {e.attrib["text-anchor"] for e in root.iter(f"{SVG}text") if e.text == "递"}
    assert anchor == "end"


def test_the_largest_weight_has_the_full_colour() -> None:
    even = np.full((2, 2), 0.5, dtype=np.float32)
    svg = Alignment(["快", "递"], ["几", "天"], [BlockAlignment(even, even)]).to_svg()
    cells = [group.find(f"{SVG}rect") for group in ElementTree.fromstring(svg).iter(f"{SVG}g")]
    assert len(cells) == 8
    assert all(cell is not None and "opacity" not in cell.attrib for cell in cells)
    assert titles(svg)[0] == "快 → 几: 0.50"
    assert "0.50" in texts(svg)  # the end of the scale


def test_a_panel_for_each_block_and_direction() -> None:
    svg = alignment_of(["快"], ["几"], n_blocks=3).to_svg()
    panels = [text for text in texts(svg) if text.startswith("block")]
    assert len(panels) == 6
    assert panels[-1] == "block 3: right → left"


def test_long_texts_are_drawn_in_part() -> None:
    svg = alignment_of(["快"] * 5000, ["international" * 100] * 900).to_svg()
    assert texts(svg).count("快") == 2 * MOST_UNITS
    assert "Of the left text the first 40 of 5,000 units are drawn." in texts(svg)
    assert "Of the right text the first 40 of 900 units are drawn." in texts(svg)
    width = float(ElementTree.fromstring(svg).attrib["width"])
    assert width < 1600
    assert len(svg) < 1_000_000


def test_short_texts_are_drawn_as_a_whole() -> None:
    svg = alignment_of(["快"] * MOST_UNITS, ["几"]).to_svg()
    assert texts(svg).count("快") == 2 * MOST_UNITS
    assert not any(text.startswith("Of the") for text in texts(svg))


def test_weights_that_are_no_numbers_are_blank() -> None:
    alignment = alignment_of(["快"], ["几", "天"])
    for weights in alignment.blocks[0]:
        weights[:] = np.nan
    svg = alignment.to_svg()
    assert titles(svg) == []
    assert "nan" not in svg


UNITS = st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=8)


@given(UNITS, UNITS)
def test_every_text_can_be_drawn(left: list[str], right: list[str]) -> None:
    svg = alignment_of(left, right)._repr_svg_()
    svg.encode("utf-8")
    root = ElementTree.fromstring(svg)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for rect in root.iter(f"{SVG}rect"):
        x, y, w, h = (float(rect.attrib[name]) for name in ("x", "y", "width", "height"))
        assert x >= 0
        assert y >= 0
        assert x + w <= width + 0.2
        assert y + h <= height + 0.2


def test_an_empty_text_is_drawn(trained_pairs: Language) -> None:
    svg = re2(trained_pairs).align("", "快\x00<").to_svg()
    assert {"(empty)", "快", "␀", "<"} <= set(texts(svg))


def test_the_network_stays_as_it_is(trained_pairs: Language) -> None:
    pipe = re2(trained_pairs)
    before = pipe.predict_pairs([PAIRS[0][:2]])
    pipe.align(*PAIRS[0][:2])
    assert not network_of(pipe.model).training
    np.testing.assert_array_equal(pipe.predict_pairs([PAIRS[0][:2]]), before)


# A Doc that is read again


def test_what_an_earlier_run_aligned_is_dropped(keeping: Language) -> None:
    """It belongs to probabilities that are no longer there."""
    nlp = copy.deepcopy(keeping)
    doc = nlp(TEXTS[0])
    assert doc._.alignment
    doc.spans["pair"] = [doc[0:1], doc[6:8]]
    (doc,) = nlp.pipe([doc])
    assert doc._.alignment.blocks[0].left_to_right.shape == (1, 2)
    re2(nlp).keep_alignment = False
    assert nlp(doc)._.alignment is None
    # Nor does one stay that is too large now.
    doc = keeping(TEXTS[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_WEIGHTS", 5)
        assert keeping(doc)._.alignment is None
