import jieba
from hypothesis import given
from hypothesis import strategies as st

from spacy_flat.lexicon import Lexicon
from spacy_flat.lexicon.cutting import longest_match, most_probable
from spacy_flat.lexicon.readers import jieba_lexicon
from spacy_flat.lexicon.sources import Entry


def test_the_longest_word_wins_and_the_rest_are_single_units() -> None:
    cut = longest_match(Lexicon(map(Entry, ["南京", "南京市", "市长", "长江", "大桥"])))

    assert list(cut(["南京市长江大桥", "", "在 NBA2024 打球"])) == [
        ["南京市", "长江", "大桥"],
        [],
        ["在", "NBA2024", "打", "球"],
    ]


@given(st.lists(st.text("南京市长江大桥 aB9。😀"), max_size=4))
def test_longest_match_agrees_with_a_search_at_every_place(texts: list[str]) -> None:
    words = ["南京", "南京市", "市长江", "长江", "长江大桥", "a京", "😀。"]

    def slow(text: str) -> list[str]:
        units = []
        while text:
            found = [word for word in words if text.startswith(word)]
            run = len(text) - len(text.lstrip("abcdefghijklmnopqrstuvwxyzB9"))
            size = max(map(len, found)) if found else max(run, 1)
            units.append(text[:size])
            text = text[size:]
        return [unit for unit in units if not unit.isspace()]

    cut = longest_match(Lexicon(map(Entry, words)))

    assert list(cut(texts)) == [slow(text) for text in texts]


def test_the_most_probable_path_is_jiebas() -> None:
    texts = [
        "我们在野生动物园玩，他从浙江大学毕业后去了招商银行工作。",
        "研究生命的起源，北京大学生前来应聘。",
        "NBA 2024 年的总决赛 在 波士顿 举行",
    ]

    cut = most_probable(jieba_lexicon())

    expected = [
        [word for word in jieba.cut(text, HMM=False) if not word.isspace()] for text in texts
    ]
    assert list(cut(texts)) == expected


def test_the_most_probable_path_knows_a_lexicons_own_words() -> None:
    lexicon = Lexicon([Entry("人和药店", 3.0), Entry("重庆")])

    assert list(most_probable(lexicon)(["人和药店在重庆开业"])) == [
        ["人和药店", "在", "重庆", "开", "业"]
    ]


def test_the_most_probable_path_has_words_of_any_characters() -> None:
    words = ["卡尔·马克思", "New York", "𠮷野家", "Ｔ恤"]
    cut = most_probable(Lexicon(map(Entry, words), full_width=True))

    assert list(cut(["卡尔·马克思在New York的𠮷野家买T恤和ＡＢ"])) == [
        ["卡尔·马克思", "在", "New York", "的", "𠮷野家", "买", "T恤", "和", "AB"]
    ]
