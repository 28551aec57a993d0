import threading
from copy import copy
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st

from spacy_flat.lexicon import Entry, Lexicon, WordList, fold_full_width, jieba_words, readers
from spacy_flat.lexicon.automaton import PIECE

# Few characters, so that words and texts meet: plain, full-width, astral, the texts' separator.
ALPHABET = "京大学A１Ａ1　 𠀀😀\0"
words = st.lists(st.text(ALPHABET, max_size=5), max_size=12)
texts = st.lists(st.text(ALPHABET, max_size=20), max_size=5)


def lexicon_of(*given: str, **settings) -> Lexicon:
    return Lexicon(map(Entry, given), **settings)


def found(lexicon: Lexicon, texts: list[str]) -> list[tuple[int, int, int, str]]:
    matches = lexicon.match(texts)
    rows = zip(matches.texts, matches.starts, matches.ends, matches.words, strict=True)
    return [(int(t), int(s), int(e), lexicon.word(int(w))) for t, s, e, w in rows]


def naive(
    searched: set[str], texts: list[str], fold: bool = False
) -> list[tuple[int, int, int, str]]:
    """Every substring of every text, looked up, unless it cuts a word or a number."""
    rows = []
    for number, text in enumerate(texts):
        text = plain(text) if fold else text
        for start in range(len(text)):
            for end in range(start + 1, len(text) + 1):
                if text[start:end] in searched and is_whole(text, start, end):
                    rows.append((number, start, end, text[start:end]))
    return rows


def is_whole(text: str, start: int, end: int) -> bool:
    """Whether no two Latin letters or digits of the alphabet meet at either end."""
    pairs = (text[place - 1 : place + 1] for place in (start, end) if 0 < place < len(text))
    return not any({*pair} <= {*kind} for pair in pairs for kind in ("AＡ", "1１"))


def plain(text: str) -> str:
    """Full-width to plain characters, one by one."""
    return "".join(
        " " if c == "\u3000" else chr(ord(c) - 0xFEE0) if "\uff01" <= c <= "\uff5e" else c
        for c in text
    )


def usable(given: list[str], fold: bool = False) -> set[str]:
    cleaned = {(plain(word) if fold else word).strip() for word in given}
    return {word for word in cleaned if len(word) >= 2 and "\0" not in word}


# Matching


def test_overlapping_words_in_order_with_offsets():
    lexicon = lexicon_of("人和药店", "人和", "药店", "重庆", "店在")
    assert found(lexicon, ["人和药店在重庆开业"]) == [
        (0, 0, 2, "人和"),
        (0, 0, 4, "人和药店"),
        (0, 2, 4, "药店"),
        (0, 3, 5, "店在"),
        (0, 5, 7, "重庆"),
    ]


@pytest.mark.parametrize(
    ("word", "text", "places"),
    [
        ("Meta", "Metal和Meta，Meta公司", [6, 11]),
        ("Ping An", "Ping Annex，Ping An", [11]),
        ("3M", "33M宽，3M", [5]),
        ("小米14", "小米140，小米14", [6]),
        ("Ａｒｔ", "Ａｒｔｉｃｌｅ，Ａｒｔ", [8]),
        ("été", "étés，été", [5]),
        ("Łod", "Łodž，Łod", [5]),
        ("Việ", "Việt，Việ", [5]),
        ("Meta", "Meta\u0301，Meta", [6]),
        ("Мета", "Металл，Мета", [7]),
        ("3M", "3.3M，1,3M，R3M", [11]),
        ("12", "12.5，12.", [5]),
        ("AB", "AB×CD", [0]),
        ("iPhone", "iPhone15", [0]),
        ("GPT", "用GPT4，_GPT-4", [1, 7]),
        ("トヨ", "トヨタ", [0]),
    ],
)
def test_words_do_not_cut_latin_words_and_numbers(word: str, text: str, places: list[int]):
    assert [start for _, start, _, _ in found(lexicon_of(word), [text])] == places


@given(words, texts, st.booleans())
def test_match_equals_the_search_of_all_substrings(given_words, given_texts, fold):
    lexicon = lexicon_of(*given_words, full_width=fold)
    assert found(lexicon, given_texts) == naive(usable(given_words, fold), given_texts, fold)


@pytest.mark.filterwarnings("ignore:.*W001")
@given(words, words, words, words, texts)
def test_match_after_any_changes_equals_the_search_of_all_substrings(
    first, added, removed, again, given_texts
):
    lexicon = lexicon_of(*first)
    expected = usable(first)
    lexicon.add(added)
    expected |= usable(added)
    lexicon.remove(removed)
    expected -= set(removed)
    lexicon.add(again)
    expected |= usable(again)
    assert found(lexicon, given_texts) == naive(expected, given_texts)
    assert set(lexicon) == expected
    assert len(lexicon) == len(expected)


def test_no_match_spans_two_texts():
    lexicon = lexicon_of("北京", "北\n京", "北 京")
    assert found(lexicon, ["北", "京", "", "北京", "北"]) == [(3, 0, 2, "北京")]


@pytest.mark.parametrize("given_texts", [[], [""], ["", ""]])
def test_nothing_to_search(given_texts):
    assert len(lexicon_of("北京").match(given_texts)) == 0
    assert len(Lexicon().match(["北京"])) == 0


def test_astral_characters_count_as_one():
    lexicon = lexicon_of("𠀀京", "😀😀")
    assert found(lexicon, ["😀😀😀𠀀京"]) == [
        (0, 0, 2, "😀😀"),
        (0, 1, 3, "😀😀"),
        (0, 3, 5, "𠀀京"),
    ]


@pytest.mark.parametrize("shift", range(-9, 3))
def test_words_across_the_pieces_of_a_long_text_are_found_once(shift):
    word = "一二三四五六七八"
    lexicon = lexicon_of(word, "七八")
    start = 2 * PIECE + shift
    text = "。" * start + word + "。" * PIECE
    assert found(lexicon, [text, word]) == [
        (0, start, start + 8, word),
        (0, start + 6, start + 8, "七八"),
        (1, 0, 8, word),
        (1, 6, 8, "七八"),
    ]


@pytest.mark.parametrize("length", [17, PIECE])
def test_added_words_may_be_longer_than_any_before(length: int, tmp_path: Path):
    one, other = "长" * length, "大" * length
    lexicon = lexicon_of("重庆")
    path = tmp_path / "mine.txt"
    path.write_text(other, "utf-8")
    assert lexicon.add([one]) == lexicon.update(path) == 1
    for word in (one, other):
        for offset in (0, PIECE - 1):
            assert found(lexicon, ["。" * offset + word]) == [(0, offset, offset + length, word)]
    assert found(Lexicon.from_bytes(lexicon.to_bytes()), ["。" * PIECE + one])


CALLS = ("match", "add", "remove", "declare_types")


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("重庆", "F026"),
        (None, "F026"),
        ({"重庆": 1}, "F026"),
        (["上海", 3], "F028"),
        ([b""], "F028"),
    ],
)
def test_anything_but_lists_of_strings_is_refused(call: str, value: object, code: str):
    lexicon = lexicon_of("重庆")
    with pytest.raises(TypeError, match=code):
        getattr(lexicon, call)(value)
    assert list(lexicon) == ["重庆"]


WRONG = [
    *(("F029", lambda each, entry=entry: Lexicon([entry])) for entry in ("重庆", Entry(None))),
    ("F029", lambda each: Lexicon([Entry("重庆", origin=1)])),
    ("F038", lambda each: each.add(["上海"], type=None)),
    ("F038", lambda each: each.add(["上海"], origin=1)),
    *(("F039", lambda each, path=path: each.update(path)) for path in (3, None, ["重庆"])),
    *(("F341", lambda each, n=n: Lexicon(min_length=n)) for n in (0, PIECE + 1, "2", True)),
    *(
        ("F021", lambda each, n=n: each.add(["上海"], frequency=n))
        for n in (-2, float("nan"), 1e39, "7", np.array([1, 2]))
    ),
    *(("F341", lambda each, n=n: each.frequency_bands(n)) for n in (1, 128, 8.0)),
    *(("F027", lambda each, n=n: each.word(n)) for n in (-1, 1, 0.0, "重庆")),
    ("F028", lambda each: each.index(3)),
    ("read-only", lambda each: each.types.fill(1)),
]


@pytest.mark.parametrize(("code", "call"), WRONG)
def test_wrong_arguments_change_nothing(code, call):
    lexicon = lexicon_of("重庆")
    with pytest.raises((TypeError, ValueError, IndexError), match=code):
        call(lexicon)
    assert list(lexicon) == ["重庆"]


def test_nothing_matches_a_surrogate():
    assert found(lexicon_of("重庆", "庆?"), ["\ud800重庆\udfff", "重庆"]) == [
        (0, 1, 3, "重庆"),
        (1, 0, 2, "重庆"),
    ]


@given(st.text(ALPHABET + "，～！"))
def test_folding_keeps_length_and_takes_each_full_width_form(text):
    assert fold_full_width(text) == plain(text)


# Words and what is known of them


def test_columns_follow_the_entries():
    entries = [
        Entry("重庆", 5, "place", "mine"),
        Entry("药店", origin="other"),
        Entry("北京", 7, "place", "other"),
    ]
    lexicon = Lexicon(entries)
    assert [lexicon.word(id) for id in range(lexicon.size)] == ["重庆", "药店", "北京"]
    assert [lexicon.index(word) for word in ("重庆", "药店", "北京", "上海")] == [0, 1, 2, -1]
    assert lexicon.frequencies.tolist() == [5, -1, 7]
    assert lexicon.lengths.tolist() == [2, 2, 2]
    assert [lexicon.type_names[type] for type in lexicon.types] == ["place", "", "place"]
    assert lexicon.type_names[0] == ""
    assert [lexicon.origin_names[n] for n in lexicon.origins] == ["mine", "other", "other"]
    assert "重庆" in lexicon
    assert "上海" not in lexicon
    assert 3 not in lexicon


def test_of_several_sources_the_first_counts_and_what_is_dropped_is_counted():
    mine = [Entry("重庆", 1, "mine"), Entry(" 重庆\u3000"), Entry("   "), Entry("店")]
    other = [
        Entry("重庆", 9, "other"),
        Entry("很" * (PIECE + 1)),
        Entry("药\0店"),
        Entry("\ud800店"),
    ]
    lexicon = Lexicon(chain(mine, other))
    assert list(lexicon) == ["重庆"]
    assert lexicon.frequencies.tolist() == [1]
    assert lexicon.dropped == {"duplicate": 2, "empty": 1, "short": 1, "long": 1, "invalid": 2}


def test_shortest_length_by_option():
    lexicon = lexicon_of("一", "一二", "一二三", "一二三四", min_length=3)
    assert list(lexicon) == ["一二三", "一二三四"]
    assert lexicon.dropped == {"short": 2}
    assert list(lexicon_of("一", min_length=1)) == ["一"]


def test_full_width_words_and_texts_are_one_with_plain_ones():
    lexicon = lexicon_of("Ｔ恤衫", "T恤衫", full_width=True)
    assert list(lexicon) == ["T恤衫"]
    assert lexicon.dropped == {"duplicate": 1}
    assert "Ｔ恤衫" in lexicon
    assert found(lexicon, ["买Ｔ恤衫"]) == found(lexicon, ["买T恤衫"]) == [(0, 1, 4, "T恤衫")]
    assert found(lexicon_of("T恤衫"), ["买Ｔ恤衫"]) == []


@pytest.mark.parametrize("word", ["", "店", "药\0店", "\ud800店", "很" * 1000])
def test_what_cannot_be_a_word_is_not_in_the_lexicon(word):
    assert word not in lexicon_of("药店")


def test_frequency_bands():
    frequencies = [-1, 0, 6, 7, 30_000, 999_999, 10**8]
    lexicon = Lexicon(Entry(f"词{n}", f) for n, f in enumerate(frequencies))
    bands = lexicon.frequency_bands(8)
    assert bands.dtype == np.int8
    # The first of seven steps of the logarithm ends at the seventh root of a million.
    assert bands.tolist() == [0, 1, 1, 2, 6, 7, 7]
    assert lexicon.frequency_bands(2).tolist() == [0, 1, 1, 1, 1, 1, 1]
    lexicon.add(["上海"], frequency=1e9)
    assert lexicon.frequency_bands(8)[:-1].tolist() == bands.tolist()


@pytest.mark.parametrize("lexicon", [["陈志远"], 3])
def test_a_component_takes_no_other_lexicon(lexicon):
    ner = spacy.blank("zh").add_pipe("flat_ner")
    with pytest.raises(TypeError, match="F041"):
        ner.initialize(list, lexicon=lexicon)


# Changes


def test_added_words_have_ids_at_the_end():
    lexicon = lexicon_of("重庆", "药店")
    assert lexicon.add(["上海", "重庆", "北京"], type="place", frequency=3) == 2
    assert [lexicon.index(word) for word in ("重庆", "药店", "上海", "北京")] == [0, 1, 2, 3]
    assert lexicon.type_names[lexicon.types[2]] == "place"
    assert lexicon.frequencies[2] == 3
    assert lexicon.origin_names[lexicon.origins[2]] == "added"
    # Known words take what they are given, too, and keep the rest.
    assert lexicon.type_names[lexicon.types[0]] == "place"
    assert lexicon.add(["上海"]) == 0
    assert lexicon.type_names[lexicon.types[2]] == "place"
    assert lexicon.frequencies[2] == 3
    assert lexicon.dropped == {}


def test_words_left_out_are_named(tmp_path: Path):
    lexicon = lexicon_of("重庆", min_length=2)
    unusable = ["店", " ", "药\0店", "人", "京", "海", "很" * (PIECE + 1)]
    message = (
        r"W001.*4 short \('店', '人', '京', …\); 1 empty \(' '\); "
        r"1 invalid \('药\\x00店'\); 1 long \('很{58}…\)\."
    )
    with pytest.warns(UserWarning, match=message) as warned:
        assert lexicon.add(["上海", *unusable, "重庆"]) == 1
    assert warned[0].filename == __file__
    assert list(lexicon) == ["重庆", "上海"]
    assert lexicon.dropped == {"short": 4, "empty": 1, "invalid": 1, "long": 1}
    path = tmp_path / "mine.txt"
    path.write_text("北京\n店\n", "utf-8")
    with pytest.warns(UserWarning, match=r"W001.*: 1 short \('店'\)\.") as warned:
        assert lexicon.update(path) == 1
    assert warned[0].filename == __file__


def test_words_already_there_are_not_worth_a_warning(recwarn: pytest.WarningsRecorder):
    lexicon_of("重庆").add(["重庆", "上海", "上海"])
    assert not recwarn


@pytest.mark.parametrize("trust", [-1, 1.5, "much"])
def test_trust_is_a_share(trust: Any, tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("重庆\n", encoding="utf-8")
    lexicon = lexicon_of("药店")
    for insert in (
        lambda: lexicon.add(["重庆"], trust=trust),
        lambda: lexicon.update(path, trust=trust),
        lambda: readers.words(path, trust=trust),
    ):
        with pytest.raises(ValueError, match=r"F341.*trust"):
            insert()
    assert "重庆" not in lexicon


def test_a_type_without_a_trust_brings_back_the_default() -> None:
    """A user's word counts as such, although the pipeline's own lists, which have a trust of 0,
    have it, too."""
    lexicon = Lexicon([Entry("苹果", 1, "COMPANY", "list", 0.0), Entry("宜家", 1, "", "list", 0.5)])
    lexicon.add(["苹果", "宜家"])
    assert lexicon.trusts.tolist() == [0, 0.5]
    lexicon.add(["苹果"], type="not_entity")
    assert lexicon.trusts.tolist() == [-1, 0.5]
    lexicon.add(["苹果"], type="COMPANY", trust=0.25)
    assert lexicon.trusts.tolist() == [0.25, 0.5]


def test_removed_words_do_not_match_but_keep_their_id():
    lexicon = lexicon_of("重庆", "药店")
    assert lexicon.remove(["重庆", "上海"]) == 1
    assert found(lexicon, ["重庆药店"]) == [(0, 2, 4, "药店")]
    assert "重庆" not in lexicon
    assert lexicon.word(0) == "重庆"
    assert (len(lexicon), lexicon.size) == (1, 2)
    assert lexicon.alive.tolist() == [False, True]


def test_a_removed_word_comes_back_with_its_id_and_starts_anew():
    lexicon = Lexicon([Entry("重庆", 5, "place", "mine", 0.5)])
    lexicon.remove(["重庆"])
    assert lexicon.add(["重庆"], origin="again") == 1
    assert lexicon.trusts.tolist() == [-1]
    assert lexicon.index("重庆") == 0
    assert lexicon.types.tolist() == [0]
    assert lexicon.frequencies.tolist() == [-1]
    assert lexicon.origin_names[lexicon.origins[0]] == "again"


def test_update_adds_and_overwrites_what_the_file_gives(tmp_path: Path):
    path = tmp_path / "drugs.txt"
    words = "重庆\n药店\t\tdrug\n阿司匹林\t7\tdrug\n"
    path.write_text(f"{words}药店\t9\tother\n阿司匹林\t9\tother\n", "utf-8")
    lexicon = Lexicon([Entry("重庆", 5, "place"), Entry("药店", 3, "shop"), Entry("上海", 1, "x")])
    lexicon.remove(["重庆"])
    assert lexicon.update(path) == 2
    names = [lexicon.type_names[type] for type in lexicon.types]
    assert list(lexicon) == ["重庆", "药店", "上海", "阿司匹林"]
    assert names == ["", "drug", "x", "drug"]
    assert lexicon.frequencies.tolist() == [-1, 3, 1, 7]
    origins = [lexicon.origin_names[n] for n in lexicon.origins]
    assert origins == ["drugs.txt", "drugs.txt", "added", "drugs.txt"]
    assert lexicon.dropped == {"duplicate": 2}  # of equal words the first counts


def test_update_skips_bad_lines_when_asked(tmp_path: Path):
    path = tmp_path / "words.txt"
    path.write_text("上海\tmany\n重庆\n", "utf-8")
    lexicon = Lexicon()
    with pytest.raises(ValueError, match="F007"):
        lexicon.update(path)
    assert lexicon.update(path, skip_bad=True) == 1


def test_a_search_sees_a_change_whole_or_not_at_all():
    lexicon = lexicon_of("开头")
    batch = [f"词{n:03}" for n in range(200)]
    text = "".join(batch)
    stop = threading.Event()
    counts = set()

    def search() -> None:
        while not stop.is_set():
            counts.add(len(lexicon.match([text])))

    searchers = [threading.Thread(target=search) for _ in range(2)]
    for searcher in searchers:
        searcher.start()
    for _ in range(20):
        lexicon.add(batch)
        lexicon.remove(batch)
    stop.set()
    for searcher in searchers:
        searcher.join()
    assert counts <= {0, 200}


# The whole of jieba's dictionary


@pytest.fixture(scope="module")
def jieba_list() -> WordList:
    return jieba_words()


@pytest.fixture(scope="module")
def jieba(jieba_list: WordList) -> Lexicon:
    return Lexicon(jieba_list)


def test_jieba(jieba: Lexicon):
    assert len(jieba) > 330_000
    assert found(jieba, ["人和药店在重庆开业"]) == [
        (0, 2, 4, "药店"),
        (0, 5, 7, "重庆"),
        (0, 7, 9, "开业"),
    ]
    id = jieba.index("重庆")
    assert jieba.type_names[jieba.types[id]] == "ns"
    assert jieba.frequencies[id] > 1000
    assert jieba.origin_names == ("jieba",)
    assert set(jieba.dropped) == {"duplicate", "short"}


def test_jieba_on_disk_is_compact(jieba: Lexicon, tmp_path: Path):
    jieba.to_disk(tmp_path)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 30e6
    loaded = Lexicon.from_disk(tmp_path)
    assert loaded.size == jieba.size
    assert found(loaded, ["在重庆"]) == [(0, 1, 3, "重庆")]


def test_of_two_spellings_the_texts_own_counts() -> None:
    lexicon = lexicon_of("台湾", "臺灣", simplified="臺台灣湾")
    for text in ("臺灣", "台湾"):
        assert found(lexicon, [text]) == [(0, 0, 2, text)]


def test_removed_words_stay_removed_in_a_selection() -> None:
    lexicon = lexicon_of("重庆", "南京", "上海")
    lexicon.remove(["南京"])
    selected = lexicon.select([1, 2])
    assert (list(selected), selected.size) == (["上海"], 2)


def test_simplified_words_in_traditional_texts() -> None:
    lexicon = lexicon_of("台湾", "乾坤", "干杯", simplified="臺台灣湾乾干電电積积")
    for each in (lexicon, copy(lexicon), Lexicon.from_bytes(lexicon.to_bytes())):
        assert found(each, ["臺灣"]) == found(each, ["台湾"]) == [(0, 0, 2, "台湾")]
        assert found(each, ["乾坤乾杯"]) == [(0, 0, 2, "乾坤"), (0, 2, 4, "干杯")]
        assert ("臺灣" in each, "乾坤" in each, "乾杯" in each) == (True, True, True)
    assert lexicon.add(["臺積電", "臺灣"], type="ORG") == 1
    for text in ("臺積電", "台积电", "台積電"):
        assert found(lexicon, [text]) == [(0, 0, 3, "台积电")]
    assert lexicon.add(["乾坤"], type="PER") == 0
    assert list(lexicon.select([1, 2])) == ["乾坤", "干杯"]
    assert lexicon.type_names[lexicon.types[lexicon.index("乾坤")]] == "PER"
    assert lexicon.remove(["臺積電"]) == 1
    assert not found(lexicon, ["台积电"])


def test_trust_needs_a_type():
    lexicon = lexicon_of("重庆")
    lexicon.add(["北京"], type="LOC")
    with pytest.raises(ValueError, match=r"F046.*上海"):
        lexicon.add(["北京", "上海"], trust=1)
    assert "上海" not in lexicon
    with pytest.raises(ValueError, match=r"F046.*重庆"):
        lexicon.add(["重庆"], trust=1)
    with pytest.warns(UserWarning, match="W001"):
        lexicon.add(["北京 ", "", "a"], trust=0.5)
    lexicon.add(["北京"], trust=1)
    lexicon.add(["上海"], trust=0)
    lexicon.close_types(["PER"])
    with pytest.raises(ValueError, match=r"F046.*北京"):
        lexicon.add(["北京"], trust=1)
    assert lexicon.trusts[lexicon.index("北京")] == 1


@pytest.mark.parametrize(
    "line",
    ["人和、青禾", "人和 青禾", "人和；青禾", "人和/青禾", "人和　10", '"人和"', '["人和"]'],
)
def test_words_that_look_like_several(line: str, tmp_path: Path):
    others = 'Ping An\t\n王 Wang\t\n"开心"麻花\t\n中国 银行\t\tORG\n天、地、人\t3\n'
    (tmp_path / "names.txt").write_text(f"重庆\n{line}\t\n{others}", "utf-8")
    lexicon = lexicon_of("北京")
    with pytest.warns(UserWarning, match=r"W004.*names\.txt.*\(1\)"):
        assert lexicon.update(tmp_path / "names.txt") == 7
