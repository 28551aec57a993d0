"""Which entities a text may have: by its Doc's annotation, by trusted words, and by the rules."""

from collections.abc import Sequence
from functools import cache
from time import process_time
from typing import Any

import numpy as np
import pytest
import spacy
from blocks import blocks
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from thinc.api import fix_random_seed

from spacy_flat.ner.component import CRFEntityRecognizer
from spacy_flat.ner.constraints import SpanConstraints, rules_of
from spacy_flat.ner.semi_markov import REQUIRED
from spacy_flat.text.segments import Segment
from spacy_flat.text.spans import EntitySpan, Units

from .conftest import NETWORK, examples_of, lexicon

LABELS = ["LOC", "ORG", "PER", "", "NEW"]  # any, one that no network knows
PERSON, PLACE = EntitySpan(0, 3, "PER"), EntitySpan(3, 5, "LOC")
WORDS = ["北京", "大学", "王", "iPhone", "。", "，", " ", "\n", "(", "上海市"]


@cache
def pipeline(kind: str) -> tuple[Language, CRFEntityRecognizer]:
    """With random weights, whose entities are many and anywhere."""
    factory, _, unit = kind.partition("-")
    flat = factory == "flat_ner"
    rows: dict[str, Any] = {"embed_width": 8, "max_length": 7}
    network = {k: v for k, v in NETWORK.items() if flat or k[:4] not in ("latt", "word")}
    rows |= {} if flat else {"unit": unit}
    parts = {"network": network, "lattice" if flat else "sequence": rows}
    nlp = spacy.blank("en")
    ner: Any = nlp.add_pipe(factory, config={"model": blocks(factory, parts)})
    fix_random_seed(5)
    examples = [
        Example(nlp.make_doc(e.reference.text), e.reference) for e in examples_of(spacy.blank("zh"))
    ]
    ner.initialize(lambda: examples, nlp=nlp, **({"lexicon": lexicon()} if flat else {}))
    ner.model.shims[0].module.classify.weight.data *= 6
    return nlp, ner


def spans(n: int) -> st.SearchStrategy[list[tuple[int, int, str]]]:
    each = st.tuples(st.integers(0, n - 1), st.integers(1, 3), st.sampled_from(LABELS))
    return st.lists(each, max_size=4)


def given_entities(doc: Doc, drawn: Sequence[tuple[int, int, str]]) -> list[Span]:
    """Those drawn that spaCy takes."""
    found: list[Span] = []
    for start, length, label in drawn:
        span = doc[start : min(start + length, len(doc))]
        free = all(span.end <= each.start or each.end <= span.start for each in found)
        if free and label and not span[0].is_space and not span[-1].is_space:
            found.append(Span(doc, span.start, span.end, label))
    return found


@pytest.mark.parametrize("kind", ["flat_ner", "tener_ner-char", "tener_ner-token"])
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_every_wish_is_kept(kind: str, data: st.DataObject) -> None:
    nlp, ner = pipeline(kind)
    words = data.draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=12))

    def make() -> Doc:
        return Doc(nlp.vocab, words, [False] * len(words))

    freely, doc = ner(make()), make()
    doc.set_ents(given_entities(doc, data.draw(spans(len(doc)))), default="missing")
    kept = list(doc.ents)
    taken = {token.i for ent in kept for token in ent}
    places = data.draw(st.lists(st.integers(0, len(doc) - 1), max_size=2))
    blocked = [doc[place : place + 1] for place in sorted({*places} - taken)]
    doc.set_ents([], blocked=blocked, default="unmodified")

    def agrees(doc: Doc) -> bool:
        ents = {(ent.start, ent.end, ent.label_) for ent in doc.ents}
        inside = {place for start, end, _ in ents for place in range(start, end)}
        given = {(ent.start, ent.end, ent.label_) for ent in kept}
        return given <= ents and inside.isdisjoint(span.start for span in blocked)

    ner(doc)
    assert agrees(doc)
    # They may touch more tokens than their entities have, and those that share one are not shown.
    exact = ner.predict([make()])[0].entities
    all_shown = len(freely.ents) == len(exact)
    touched = {place for start, end, _ in exact for place in range(start, end)}
    kept_exactly = {(ent.start_char, ent.end_char, ent.label_) for ent in kept} <= set(exact)
    blocked_places = {place for b in blocked for place in range(b.start_char, b.end_char)}
    # Where a text is split, the parts' overlap decides what is dropped. Spaces at the borders of an
    # entity, which it loses, may be blocked.
    whole = len(doc.text) <= 7 and agrees(freely) and not any(b[0].is_space for b in blocked)
    if whole and all_shown and kept_exactly and touched.isdisjoint(blocked_places):
        assert [str(e) + e.label_ for e in doc.ents] == [str(e) + e.label_ for e in freely.ents]


def test_of_overlapping_words_of_the_same_length_the_network_chooses() -> None:
    given = SpanConstraints()
    given.fixed[EntitySpan(8, 9, "LOC")] = REQUIRED
    given.outside[EntitySpan(9, 10, "")] = 1.0
    words = [(EntitySpan(start, start + 2, "PER"), 1.0) for start in (0, 5, 7, 9, 1)]
    dropped = EntitySpan(3, 5, "NEW")
    given.add_words([*words, (EntitySpan(1, 2, "PER"), 1.0), (dropped, 1.0)], {"PER": ["PER"]})
    assert [*given.fixed] == [(8, 9, "LOC"), (5, 7, "PER")]
    assert set(given.log_odds) == {(0, 2, "PER"), (1, 3, "PER")}
    odds = np.zeros((10, 10, 2), np.float32)
    odds[2, 0], odds[3, 1] = 3, -np.inf
    given.apply(odds, {"PER": ["PER"], "LOC": ["LOC"]}, ["PER", "LOC"])
    assert odds[2, 0, 0] == 3 + odds[3, 1, 0] > 100


def test_no_other_entity_is_where_a_required_one_is_cut() -> None:
    given, segments = SpanConstraints(), [Segment(0, 0, 10), Segment(0, 10, 20)]
    span = EntitySpan(8, 12, "PER")
    given.fixed[span] = REQUIRED
    given.within[span] = -3.0
    given.log_odds[span] = 3.0
    parts = [given.split(segments)[each] for each in segments]
    assert [[*part.outside] for part in parts] == [[(8, 10, "PER")], [(0, 2, "PER")]]
    assert [part.within for part in parts] == [{(8, 10, "PER"): -3.0}, {(0, 2, "PER"): -3.0}]
    assert [{**part.log_odds, **part.fixed} for part in parts] == [{}, {}]


def test_required_entities_within_a_word_that_is_no_entity_stay() -> None:
    given, word = SpanConstraints(), EntitySpan(0, 5, "not_entity")
    given.fixed[PERSON] = REQUIRED
    given.add_words([(word, 1.0)], {"PER": ["PER"]})
    assert [given.drops(span) for span in (PERSON, PLACE, PLACE._replace(end=6))] == [0, 1, 0]


def test_neighbouring_words_are_both_required() -> None:
    given, words = SpanConstraints(), [EntitySpan(0, 2, "LOC"), EntitySpan(2, 4, "LOC")]
    given.add_words([(word, 1.0) for word in words], {"LOC": ["LOC"]})
    assert [*given.fixed] == words


@pytest.mark.parametrize("kind", ["flat_ner", "tener_ner-char"])
def test_labels_that_docs_do_not_get_leave_the_others(kind: str) -> None:
    nlp, ner = pipeline(kind)
    text = "".join(WORDS) * 3
    expected = [span for span in ner.predict([nlp.make_doc(text)])[0].entities if span[2] == "LOC"]
    ner.label_map = {"PER": "", "ORG": ""}
    found = ner.predict([nlp.make_doc(text)])[0].entities
    ner.label_map = None
    assert found == expected != []


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=9), st.lists(st.sampled_from(WORDS), max_size=9))
def test_a_word_that_is_no_entity_changes_nothing_beside_it(
    before: list[str], after: list[str]
) -> None:
    nlp, ner = pipeline("flat_ner")
    word, text = "市王大", "".join([*before, "上海市", "王", "大学", *after])
    doc, lexicon = nlp.make_doc(text), ner.lexicon  # type: ignore[attr-defined]
    expected = ner.predict([doc])[0].entities
    dropped = [
        span
        for span in expected
        if any(
            n <= span.start and span.end <= n + 3 for n in range(9 * 7) if text[n : n + 3] == word
        )
    ]
    lexicon.add([word], type="not_entity")
    assert ner.predict([doc])[0].entities == [span for span in expected if span not in dropped]
    assert ner.span_probabilities([doc], [dropped]) == [[0.0] * len(dropped)]
    lexicon.remove([word])


# Rules


@pytest.mark.parametrize(
    ("text", "entity", "is_one"),
    [
        ("John goes to Yahoo! today", "Yahoo!", True),
        ("C++", "C++", True),
        ("网购12306车票", "12306", True),
        ("the <NBA> of <China Daily>", "NBA", True),
        ("the <NBA> of <China Daily>", "<China Daily>", True),
        ("若5 <x 而 北京 = 3 且 上海>2", "北京", True),
        ("若a<北京 and c>d", "北京", True),
        ("（王小明）", "（王小明）", True),
        ("（王小明）", "（王小明", False),
        ("（王小明）", "王小明）", False),
        ("赢创(上海)有限公司", "赢创(上海)有限公司", True),
        ("赢创(上海）有限公司", "赢创(上海）有限公司", True),
        ("赢创(上海)有限公司", ")有限公司", False),
        ('{"n":"张三"}', '张三"', False),
        ("“张三‘李四’王五”", "张三‘李四’王五", True),
        ("“张三‘李四”王五’", "三‘李四”王五’", False),
        ("（张三[）李四]", "张三[）李四]", False),
        ("（张三\n（李四）", "（李四）", True),
        ("O'Brien's and Macy’s", "O'Brien's", True),
        ("the Workers' Union", "Workers' Union", True),
        ("name='Anna Smith'", "Anna Smith'", False),
        ("他说'张三'来了", "张三'", False),
        ("`张三`", "`张三", False),
        ("（王小明）", "（", False),
        ("……👍", "……👍", False),
        ("王芳👨‍👩‍👧❤️", "王芳👨‍👩‍👧❤️", False),
        ("王芳👨‍👩‍👧❤️", "王芳", True),
        ("👍🏽王芳", "🏽王芳", False),
        ("I❤NY", "I❤NY", True),
        ("25℃", "25℃", True),
        ("北京|上海", "北京|", False),
        ("北京\r\n上海", "北京\r\n上海", False),
        ("北京\x85上海", "北京\x85上海", False),
        ("<p>北京</p>", "/p", False),
        ("<p>北京</p>", "<p>北京", False),
        ("<br/>北京<br />", "br", False),
        ('<A HREF="北京">上海</A>', "北京", False),
        ('<A HREF="北京">上海</A>', "上海", True),
        ('屏幕55"\n华为（Huawei）发布', "华为", True),
        ("zhang.wei@huawei.com", "huawei", False),
        ("zhang.wei@huawei.com", "zhang.wei@huawei.com", True),
        ("写给zhang.wei@huawei.com的张伟", "的张伟", True),
        ("见https://www.huawei.com/cn。", "huawei", False),
        ("京东JD.com", "JD", False),
        ("京东JD.com", "京东JD.com", True),
        ("在/home/huawei/data里", "huawei", False),
        ("C:\\Users\\张三\\a.doc", "张三", False),
        ("src/huawei/a.py", "huawei", False),
        ("谢谢@huawei_fan", "huawei", False),
        ("谢谢@张三", "张三", True),
        ("www.a.cn,Huawei", "Huawei", True),
        ("http://a.cn(Huawei)", "Huawei", True),
        ("Apple.In 2014", "Apple", True),
        ("京东JD.COM", "JD", False),
        ("D:\\图片（华为手机）", "华为", True),
        ("D:\\news\\huawei", "huawei", False),
        ("问A:\\n华为", "华为", True),
        ("问A:\\nHuawei", "Huawei", True),
        ("/Huawei/Apple/", "Huawei", True),
        ("React/Node.js", "React", True),
        ("/Huawei/Apple/a.py", "Huawei", False),
        ("https://zh.wikipedia.org/wiki/张三", "张三", False),
        ("https://zh.wikipedia.org/wiki/张三_(演员)。", "演员", False),
        ("a.cn/s?n=1&q=张三", "张三", False),
        ("s3://桶/张三", "桶", False),
        ("s3://桶/张三", "张三", False),
        ("/home/张三/文件.txt", "张三", False),
        ("../数据/张三", "张三", False),
        ("写给张三@qq.com", "张三", False),
        ("同意张三@T.E.D", "张三", True),
        ("ｗｗｗ．ａ．ｃｎ", "ａ", False),
        ("ｈｔｔｐ：／／ａ．ｃｎ／张三", "张三", False),
        ("小米／华为／Apple", "华为", True),
        ("http://a.cn华为发布", "华为", True),
        ("https://a.cn/x张三说", "张三", True),
        ("http://t.cn/abc#华为#", "华为", True),
        ("http://a.cn/张三，李四", "李四", True),
        ("小米/vivo/oppo/华为", "vivo", True),
        ("北京/Shanghai/Tokyo", "Shanghai", True),
        ("Mr.Smith", "Smith", True),
        ("用Node.js/Vue.js开发", "Vue.js", True),
        ("AMD/Intel.Corp", "AMD", True),
        ("在Booking.com公司", "Booking.com公司", True),
    ],
)
def test_what_an_entity_is(text: str, entity: str, is_one: bool) -> None:
    start = text.index(entity)
    allowed = rules_of(Units.visible_characters(text)).allowed
    assert allowed[start + len(entity), start] == is_one


MARKS = "()（[「」“”\"'’a王\n😀"


def partners_by_line(text: str) -> dict[int, int]:
    """The slow, obvious way: of each bracket the one that it matches in its line, or -1."""
    pairs = {")": "(（", "（": "", "」": "「", "”": "“", "’": "", '"': '"', "'": "'"}
    found: dict[int, int] = {}
    stack: list[int] = []
    for place, mark in enumerate(text):
        letters = [text[n : n + 1] == "a" for n in (place - 1 if place else len(text), place + 1)]
        is_apostrophe = mark in "'’"
        if mark == "\n":
            stack = []
        elif mark in "a王😀" or (is_apostrophe and all(letters)):
            continue
        else:
            mark = "'" if mark == "'" else mark
            match = [n for n in stack if text[n] in pairs.get(mark, "")]
            if match:
                while (last := stack.pop()) != match[-1]:
                    pass
                found[place], found[last] = last, place
            elif not (is_apostrophe and letters[0]):
                found[place] = -1
                if mark not in ")」”’":
                    stack.append(place)
    return found


@settings(max_examples=300, deadline=None)
@given(st.text(MARKS, max_size=12))
def test_an_entity_has_no_bracket_without_its_partner_and_no_symbol_at_its_ends(text: str) -> None:
    partners = partners_by_line(text)
    rules = rules_of(Units.visible_characters(text))
    allowed = rules.allowed
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            part = text[start:end]
            expected = "\n" not in part and ("a" in part or "王" in part)
            expected &= all(start <= partners.get(n, n) < end for n in range(start, end))
            expected &= part == part.strip("😀")
            assert allowed[end, start] == expected, (part, partners)
    partners |= {place: -1 for place, mark in enumerate(text) if mark == "😀"}
    moved = {(a, b): (c, d) for a, b, c, d in zip(*rules.trims(), strict=True)}
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            first, last, left = start, end, (0, 0)
            while left != (first, last):
                left = first, last
                last -= left[1] - left[0] > 1 and partners.get(left[1] - 1, left[1] - 1) < left[0]
                is_open = not 0 <= partners.get(left[0], left[0]) < left[1]
                first += last - left[0] > 1 and is_open
            assert moved.get((start, end), (start, end)) == (first, last)


def test_brackets_and_symbols_within_longer_tokens_are_none() -> None:
    text = Units("token", "(a :) b)", np.array([0, 1, 3, 6, 7]), np.array([1, 2, 5, 7, 8]))
    assert rules_of(text).partners.tolist() == [2, 1, 2, 3, -1]  # type: ignore[union-attr]
    text = Units("token", "b👍🏽👍🏽", np.array([0, 3]), np.array([3, 5]))
    assert rules_of(text).partners.tolist() == [0, -1]  # type: ignore[union-attr]


@pytest.mark.parametrize("pair", ["＜＞", "〔〕", "〖〗", "｢｣", "«»", "（)", "<＞"])
def test_brackets_of_other_scripts_and_widths(pair: str) -> None:
    allowed = rules_of(Units.visible_characters(f"{pair[0]}张三{pair[1]}")).allowed
    assert [allowed[3, 1], allowed[4, 0]] == [True, True]
    assert [allowed[3, 0], allowed[4, 1]] == [False, False]


def test_unmatched_brackets_at_the_ends_are_left_out() -> None:
    text = "（张三）】"
    trims = rules_of(Units.visible_characters(text)).trims()
    moved = {(a, b): (c, d) for a, b, c, d in zip(*trims, strict=True)}
    assert moved[0, 3] == moved[1, 4] == (1, 3)
    assert moved[0, 5] == (0, 4)
    assert not {(0, 4), (1, 3)} & moved.keys()


@pytest.mark.parametrize(
    "part",
    ["a.", "a@", "-.", "/a", "a/", "www.", "a://", "@.", "/_(", "/张.", "C:\\", "\\n", "@张"],
)
def test_addresses_take_linear_time(part: str) -> None:
    for before in ("", "http://", "/home/", "C:\\"):
        start = process_time()
        rules_of(Units.visible_characters(before + part * 10_000))
        assert process_time() - start < 5


def test_many_open_brackets_take_linear_time() -> None:
    start = process_time()
    rules = rules_of(Units.visible_characters("（" * 10_000 + "]" * 10_000))
    assert process_time() - start < 5  # it was 20 s
    assert rules.partners is not None
    assert (rules.partners == -1).all()
