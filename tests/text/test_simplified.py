from hypothesis import given
from hypothesis import strategies as st

from spacy_flat.text.scripts import Simplifier

SIMPLE = ["王芳去了重庆，看见台湾的电车。", "乾隆去了"]


def test_traditional_characters_become_simplified() -> None:
    simplifier = Simplifier.of(SIMPLE)
    assert simplifier("臺灣的電車去重慶，見賣藥的") == "台湾的电车去重庆，见卖药的"
    assert simplifier("王芳去了重庆 abc 😀") == "王芳去了重庆 abc 😀"


def test_a_character_that_training_has_more_often_stays() -> None:
    assert Simplifier.of(SIMPLE)("乾隆見了乾坤") == "乾隆见了乾坤"
    assert Simplifier.of([*SIMPLE, "干杯，干活"])("乾隆見了乾坤") == "干隆见了干坤"


def test_nothing_changes_for_traditional_and_other_texts() -> None:
    for texts in (["臺灣的電車去重慶", "见"], ["Ann left."], []):
        assert Simplifier.of(texts) == Simplifier()
        assert Simplifier.of(texts)("臺灣") == "臺灣"


@given(st.text(st.sampled_from("臺灣台湾a😀\ud800\0乾干]^-\\")))
def test_every_character_is_read_by_itself(text: str) -> None:
    simplifier = Simplifier("臺台灣湾乾干")
    assert simplifier(text) == "".join(map(simplifier, text))
    assert len(simplifier(text)) == len(text)
