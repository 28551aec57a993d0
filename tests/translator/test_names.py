"""Names: what a list may hold, what is written in pinyin, and which names of a text are known."""

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.util import registry

from spacy_flat.text.scripts import Simplifier
from spacy_flat.translator.names import NameTable, Placeholder, common_names
from spacy_flat.translator.pinyin import in_english
from spacy_flat.translator.placeholders import entity_names
from spacy_flat.translator.training import places


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "names.tsv"
    path.write_text(text, "utf-8")
    return path


# Lists


def test_a_list(tmp_path: Path) -> None:
    text = "\ufeff# 注\n亚马逊\tAmazon\r\n\n 美国 \t the US \n亚马逊\tAmazon\n"
    path = str(written(tmp_path, text))  # as configs have it
    names = registry.readers.get("spacy-flat.NameList.v1")(path)
    assert names == {"亚马逊": "Amazon", "美国": "the US"}


# Pinyin

# The last ones end as countries, continents and oceans do.
PERSONS = """
王小明 Wang Xiaoming|王 Wang|欧阳兰 Ouyang Lan|欧阳 Ouyang|单雄信 Shan Xiongxin|翟天临 Zhai Tianlin
万俟洛 Moqi Luo|覃小明 Qin Xiaoming|张安安 Zhang An'an|吕布 Lü Bu|汤姆·李 Tangmu Li|阿Q AQ
王先生 Mr. Wang|欧阳兰女士 Ms. Ouyang Lan|先生 Xian Sheng|克林顿 Clinton|王上海 Wang Shanghai
王建国 Wang Jianguo|陈国 Chen Guo|李海洋 Li Haiyang|张民国 Zhang Minguo
"""
PLACES = """
嘉定 Jiading|西安 Xi'an|上海市 Shanghai|嘉定区 Jiading District|乐业县 Leye County|省 Sheng
单县 Shanxian|都匀市 Duyun|安徽六安 Anhuilu'an|K11大厦 K11Dasha|宁国 Ningguo|株洲 Zhuzhou
浦东新区 Pudong New Area|中山大街 Zhongshan Street|世纪大道 Shiji Avenue|华盛顿州 Washington
凉山州 Liangshan Prefecture|宁夏自治区 Ningxia Autonomous Region|日本 Japan|南美洲 South America
地中海 Mediterranean Sea|尖沙咀 Jianshazui|陕西省 Shaanxi Province|台湾地区 Taiwan Region
美国加州 California, America
"""


@pytest.mark.parametrize("line", PERSONS.strip().replace("\n", "|").split("|"))
def test_persons_in_english(line: str) -> None:
    name, pinyin = line.split(" ", 1)
    assert {in_english(name, label) for label in ("PER", "PERSON", "PER.NAM", "name")} == {pinyin}


@pytest.mark.parametrize("line", PLACES.strip().replace("\n", "|").split("|"))
def test_places_in_english(line: str) -> None:
    name, pinyin = line.split(" ", 1)
    assert {in_english(name, label) for label in ("LOC", "GPE", "address")} == {pinyin}


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("腾讯", "ORG"),
        ("IBM", "LOC"),
        ("Tom", "PER"),
        ("中华人民共和国", "GPE"),
        ("沙特王国", "GPE"),
        # pypinyin has no reading of 烪.
        ("王烪", "PER"),
        ("烪村", "LOC"),
    ],
)
def test_what_pinyin_would_get_wrong(name: str, label: str) -> None:
    assert in_english(name, label) is None


# Names of a text


def test_entities_with_a_known_translation() -> None:
    text = "王小明在腾讯，李华在 美国"
    ents = [(0, 3, "PER"), (4, 6, "ORG"), (10, 13, "LOC")]
    names = {"王小明": "Ming", "李华": "Li Hua"}  # the second is no entity
    assert entity_names(text, ents, NameTable(names))[0] == Placeholder(0, 3, "Ming", "PER")
    assert entity_names(text, ents, NameTable({})) == [
        Placeholder(0, 3, "Wang Xiaoming", "PER"),
        Placeholder(11, 13, "America", "LOC"),
    ]
    found = entity_names(text, ents, NameTable({"腾讯": "US"}))
    assert found[1] == Placeholder(4, 6, "US", "ORG")
    # A user's own names count before the others.
    own = NameTable({"美国": "US"}, common_names())
    found = entity_names(text, ents, own)
    assert [name.text for name in found] == ["Wang Xiaoming", "Tencent", "US"]


def test_pypinyin_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is needed for names that are not in the list only."""
    monkeypatch.setitem(sys.modules, "pypinyin", None)
    ents = [(0, 3, "PER")]
    assert entity_names("王小明", ents, NameTable({"王小明": "Ming"}))
    with pytest.raises(ImportError, match=r"F030.*spacy-flat\[translation\]"):
        entity_names("王小明", ents, NameTable({}))


def test_names_in_traditional_characters() -> None:
    """A text's own spelling counts before the simplified one, and one's own names before others."""
    simplify = Simplifier("歐欧陽阳臺台國国")
    table = NameTable({"臺北": "Taipeh"}, common_names(), simplify)
    assert [table.get(name) for name in ("臺北", "台北", "美國")] == ["Taipeh", "Taipeh", "America"]
    assert table.get("歐陽") is None
    both = NameTable({"台北": "Taipei", "臺北": "Taipeh"}, simplify=simplify)
    assert [name.text for name in both.find("臺北和台北")] == ["Taipeh", "Taipei"]
    found = entity_names("歐陽蘭在美國", [(0, 3, "PER"), (4, 6, "LOC")], table)
    assert [name.text for name in found] == ["Ouyang Lan", "America"]


# Names of pairs


LETTERS = st.text("ab ", max_size=12)


@given(LETTERS, st.lists(st.text("ab", min_size=1, max_size=3), max_size=5))
def test_places_are_whole_words_without_overlaps(target: str, texts: list[str]) -> None:
    found = places(target, [Placeholder(0, 1, text) for text in texts])
    taken = [place for place in found if place is not None]
    assert len(set(taken)) == len(taken)
    for text, place in zip(texts, found, strict=True):
        if place is not None:
            assert target[slice(*place)] == text
        else:
            assert texts.count(text) > target.split().count(text)
