"""Poems of a form: lines, given characters and rhymes."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spacy.language import Language

from spacy_flat.generator import FORMS, Form
from spacy_flat.generator.component import CharGenerator
from spacy_flat.generator.rhymes import rhyme_of

from .conftest import POEMS, TEXTS, generator, make

FEW = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

# Enough characters that rhyme
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
    (poem,) = pipe.poem("五绝", "床前明月光，疑□地", seed=0)
    assert poem.text.startswith("床前明月光，疑")
    assert poem.lines[1][2] == "地"
    assert "□" not in poem.text
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


# Rhymes


@pytest.mark.parametrize(
    ("characters", "rhyme"),
    [
        *(("光乡霜床", "唐"), ("流楼秋", "尤"), ("春人门云", "文"), ("风中穷翁明用", "庚")),
        *(("知诗时日四", "支"), ("儿衣鱼绿女", "齐"), ("多歌国", "波"), ("花家麻", "麻")),
        *(("天山圆船", "寒"), ("来开", "开"), ("飞归", "微"), ("无图", "姑"), ("雪月", "皆")),
        ("高朝鸟晓了", "豪"),  # 了 is le or liǎo
        ("a，", ""),
    ],
)
def test_rhyme_classes(characters: str, rhyme: str) -> None:
    """By 中华新韵: near finals are one rhyme."""
    assert {rhyme_of(character) for character in characters} == {rhyme}


@pytest.mark.parametrize("name", ["五绝", "七律"])
def test_rhymes(pipe: CharGenerator, name: str) -> None:
    for poem in pipe.poem(name, n=8, seed=0, rhyme=True, candidates=1):
        ends = [line[-1] for line in poem.lines[1::2]]
        (rhyme,) = {rhyme_of(end) for end in ends}
        assert rhyme
        assert len(set(ends)) == FORMS[name].lines // 2


def test_rhymes_with_what_is_given() -> None:
    pipe = generator(make(texts=["春光望山"]))
    (poem,) = pipe.poem("五绝", "□□□□□□□□□光□□□□春", seed=0, rhyme=True)
    assert (poem.lines[1][-1], poem.lines[2][-1], poem.lines[3][-1]) == ("光", "春", "望")


def test_a_rhyme_has_enough_characters() -> None:
    for poem in generator(make(texts=["春月山天"])).poem("五绝", n=4, seed=0, rhyme=True):
        assert {line[-1] for line in poem.lines[1::2]} == {"山", "天"}


def test_what_cannot_be_met() -> None:
    """No two characters rhyme; the form is kept."""
    (poem,) = generator(make(texts=["光月"])).poem("五绝", seed=0, rhyme=True)
    assert set("".join(poem.lines)) <= {"光", "月"}


# Wrong arguments


@pytest.mark.parametrize(
    ("form", "options", "error"),
    [
        ("八绝", {}, r"F343.*'八绝'.*五绝, 七绝, 五律, 七律"),
        ("五绝", {"prompt": "春" * 21}, r"F346.*21 .* 20"),
        ("五绝", {"rhyme": "no"}, r"F341.*rhyme = 'no'.*true or false"),
        ("五绝", {"tempo": 1}, "tempo"),
    ],
)
def test_errors(pipe: CharGenerator, form: Any, options: dict[str, Any], error: str) -> None:
    with pytest.raises((ValueError, TypeError), match=error):
        pipe.poem(form, **options)
    with pytest.raises(ValueError, match=r"F344.*'春夏秋' has 3 .* 4 lines"):
        pipe.acrostic("春夏秋")


def test_a_vocabulary_without_characters_for_lines() -> None:
    with pytest.raises(ValueError, match=r"F347.*'char_generator'"):
        generator(make(texts=["abc, 12"])).poem("五绝")
