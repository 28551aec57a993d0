"""Poems of a form: lines, given characters, rhymes and tones."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spacy.language import Language

from spacy_flat.generator import FORMS, Form
from spacy_flat.generator.component import CharGenerator
from spacy_flat.generator.prosody import Reading, reading

from .conftest import POEMS, TEXTS, generator, make

FEW = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

# Enough characters of each tone that rhyme
SYLLABLES = "江山千年秋风花月春光明香长天前边人云门君心深水鸟影柳酒马雨夜梦静照望去路树雪色"


@pytest.fixture(scope="module")
def restless() -> Language:
    return make(texts=[*TEXTS, SYLLABLES, "《诗》a。"], steps=8)


@pytest.fixture(scope="module")
def pipe(restless: Language) -> CharGenerator:
    return generator(restless)


@pytest.mark.parametrize("name", FORMS)
def test_forms(pipe: CharGenerator, name: str) -> None:
    lines, characters = {"五绝": (4, 5), "七绝": (4, 7), "五律": (8, 5), "七律": (8, 7)}[name]
    poems = pipe.poem(name, n=5, seed=0)
    assert len({poem.text for poem in poems}) == 5
    for poem in poems:
        assert [len(line) for line in poem.lines] == [characters] * lines
        assert [sign for sign in poem.text if sign in "，。"] == list("，。" * (lines // 2))
        assert poem.text[characters] == "，"
        assert poem.text == str(poem).replace("\n", "")
        assert len(str(poem).splitlines()) == lines
        assert not set("".join(poem.lines)) & set("，。《》aNewYork 3May\n")
        assert poem.rhymes is poem.misplaced is None


@FEW
@given(st.integers(1, 7), st.integers(1, 9), st.booleans())
def test_free_forms(pipe: CharGenerator, lines: int, characters: int, rhyme: bool) -> None:
    (poem,) = pipe.poem(Form(lines, characters), seed=0, rhyme=rhyme, candidates=1)
    marks = ("，。" * lines)[: lines - 1] + "。"
    assert poem.text == "".join(map("".join, zip(poem.lines, marks, strict=True)))
    assert [len(line) for line in poem.lines] == [characters] * lines


@FEW
@given(
    heads=st.text(
        st.characters(exclude_categories=["Cc", "Cf", "Cs", "M", "P", "Sk", "Z"]),
        min_size=4,
        max_size=4,
    )
)
def test_each_line_begins_with_its_character(pipe: CharGenerator, heads: str) -> None:
    """Also with such as the network has never seen."""
    (poem,) = pipe.acrostic(heads, "五绝", seed=0, candidates=1)
    assert "".join(line[0] for line in poem.lines) == heads
    assert [len(line) for line in poem.lines] == [5] * 4


def test_a_prompt_begins_the_poem(pipe: CharGenerator) -> None:
    (poem,) = pipe.poem("五绝", "床前明月光，疑是", seed=0)
    assert poem.text.startswith("床前明月光，疑是")
    assert pipe.poem("五绝", POEMS[0])[0].text == POEMS[0]


def test_the_probability_is_that_of_scoring(restless: Language, pipe: CharGenerator) -> None:
    """Without the end, the mean over all characters."""
    for poem in [*pipe.poem(n=3, seed=1), *pipe.acrostic("春夏秋冬", n=2, seed=0, rhyme=True)]:
        doc = restless(poem.text)
        log_prob = -doc._.char_surprisal.sum() * 0.6931471805599453
        assert poem.log_prob == pytest.approx(log_prob / len(poem.text), rel=1e-4)


def test_the_best_candidate(pipe: CharGenerator) -> None:
    candidates = pipe.poem("五绝", n=12, candidates=1, seed=3)
    best = pipe.poem("五绝", n=3, candidates=4, seed=3)
    for number, poem in enumerate(best):
        own = candidates[4 * number : 4 * number + 4]
        assert poem.text == max(own, key=lambda each: each.log_prob).text


# Rhymes and tones


@pytest.mark.parametrize(
    ("characters", "rhyme", "tone"),
    [
        *(("光乡霜床", "唐", "平"), ("流楼秋", "尤", "平"), ("春人门云", "文", "平")),
        *(("风中穷翁明", "庚", "平"), ("知诗时", "支", "平"), ("儿衣鱼", "齐", "平")),
        *(("多歌国", "波", "平"), ("花家麻", "麻", "平"), ("天山圆船", "寒", "平")),
        *(("来开", "开", "平"), ("飞归", "微", "平"), ("高朝", "豪", "平"), ("无图", "姑", "平")),
        *(("雪月", "皆", "仄"), ("日四", "支", "仄"), ("绿女", "齐", "仄"), ("用", "庚", "仄")),
        ("了鸟晓", "豪", "仄"),  # 了 is le or liǎo
        ("a，", "", ""),
    ],
)
def test_readings(characters: str, rhyme: str, tone: str) -> None:
    """By 中华新韵: near finals are one rhyme."""
    assert {reading(character) for character in characters} == {Reading(rhyme, tone)}


@pytest.mark.parametrize(
    ("form", "start", "lines"),
    [
        ("五绝", "仄起", "中仄平平仄 平平仄仄平 中平平仄仄 中仄仄平平"),
        ("五绝", "平起", "中平平仄仄 中仄仄平平 中仄平平仄 平平仄仄平"),
        ("七绝", "平起", "中平中仄平平仄 中仄平平仄仄平 中仄中平平仄仄 中平中仄仄平平"),
        ("七绝", "仄起", "中仄中平平仄仄 中平中仄仄平平 中平中仄平平仄 中仄平平仄仄平"),
    ],
)
def test_tone_patterns(form: str, start: Any, lines: str) -> None:
    assert FORMS[form].tones(start) == lines.split()
    doubled = {"五绝": "五律", "七绝": "七律"}[form]
    assert FORMS[doubled].tones(start) == lines.split() * 2


@pytest.mark.parametrize(("name", "tones"), [("五绝", "仄起"), ("七律", "平起")])
def test_rhymes_and_tones(pipe: CharGenerator, name: str, tones: Any) -> None:
    form = FORMS[name]
    for poem in pipe.poem(name, n=8, seed=0, rhyme=True, tones=tones, candidates=1):
        assert poem.rhymes is True
        assert poem.misplaced == ()
        ends = [line[-1] for line in poem.lines[1::2]]
        assert len({reading(end).rhyme for end in ends}) == 1
        assert len(set(ends)) == form.lines // 2
        for line, pattern in zip(poem.lines, form.tones(tones), strict=True):
            for character, tone in zip(line, pattern, strict=True):
                assert tone in ("中", reading(character).tone)


def test_what_cannot_be_met() -> None:
    """No two characters rhyme, or all have one tone; the form is kept."""
    (poem,) = generator(make(texts=["光月"])).poem("五绝", seed=0, rhyme=True, tones="平起")
    assert set("".join(poem.lines)) <= {"光", "月"}
    assert (poem.rhymes, poem.misplaced) == (False, ())
    (poem,) = generator(make(texts=["光香"])).poem("五绝", seed=0, rhyme=True, tones="平起")
    places = [
        (i, j) for i, t in enumerate(FORMS["五绝"].tones("平起")) for j in range(5) if t[j] == "仄"
    ]
    assert (poem.rhymes, poem.misplaced) == (True, tuple(places))


def test_rhyme_goes_before_tone() -> None:
    """望 rhymes with 光 but is oblique, 春 is level but does not rhyme."""
    pipe = generator(make(texts=["春光望"]))
    (poem,) = pipe.poem("五绝", "春春春春春春春春春光", seed=0, rhyme=True, tones="仄起")
    assert poem.lines[3][-1] == "望"
    assert poem.rhymes is True
    assert (3, 4) in (poem.misplaced or ())


# Wrong arguments


@pytest.mark.parametrize(
    ("form", "options", "error"),
    [
        ("八绝", {}, r"F343.*'八绝'.*五绝, 七绝, 五律, 七律"),
        (["七绝"], {}, r"F343.*\['七绝'\]"),
        (Form(4, 6), {"tones": "平起"}, r"F345.* 6"),
        ("五绝", {"prompt": "春" * 21}, r"F346.*21 .* 20"),
        ("五绝", {"prompt": {(4, 0): "春"}}, r"F341.*prompt"),
        ("五绝", {"prompt": {(0, 0): "春天"}}, r"F341.*prompt"),
        ("五绝", {"tones": "起"}, r"F341.*tones = '起'"),
        ("五绝", {"candidates": 0}, r"F341.*candidates = 0"),
        ("五绝", {"rhyme": "no"}, r"F341.*rhyme = 'no'.*true or false"),
        ("五绝", {"tempo": 1}, "tempo"),
    ],
)
def test_errors(pipe: CharGenerator, form: Any, options: dict[str, Any], error: str) -> None:
    with pytest.raises((ValueError, TypeError), match=error):
        pipe.poem(form, **options)


def test_an_acrostic_has_a_character_for_each_line(pipe: CharGenerator) -> None:
    with pytest.raises(ValueError, match=r"F344.*'春夏秋' has 3 .* 4 lines"):
        pipe.acrostic("春夏秋")


def test_a_vocabulary_without_characters_for_lines() -> None:
    with pytest.raises(ValueError, match=r"F347.*'char_generator'"):
        generator(make(texts=["abc, 12"])).poem("五绝")
