import pickle
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from safetensors.numpy import load, save

from spacy_flat.lexicon import Entry, Lexicon
from spacy_flat.lexicon.snapshot import PIECE

ADDED = float(np.float32(0.999))  # the trust of names that are added

# Few characters, so that words and texts meet: full-width, astral, the texts' separator.
ALPHABET = "京大学Aa１Ａ1　 𠀀😀\0"
words = st.lists(st.text(ALPHABET, max_size=5), max_size=12)
texts = st.lists(st.text(ALPHABET, max_size=20), max_size=5)


def lexicon_of(*given: str, **settings: Any) -> Lexicon:
    return Lexicon(map(Entry, given), **settings)


def found(lexicon: Lexicon, texts: list[str]) -> list[tuple[int, int, int, str]]:
    matches = lexicon.match(texts)
    rows = zip(matches.texts, matches.starts, matches.ends, matches.words, strict=True)
    return [(int(t), int(s), int(e), lexicon.snapshot.word(int(w))) for t, s, e, w in rows]


def folded(text: str) -> str:
    """Case and width of what has letters don't count."""
    has_letters = not {*text}.isdisjoint("AaＡ")
    return text.translate(str.maketrans("１Ａ", "1A")).lower() if has_letters else text


def naive(searched: list[str], texts: list[str]) -> list[tuple[int, int, int, str]]:
    """Every substring of every text, looked up, unless it cuts a word or a number."""
    words = {folded(word): word for word in reversed(searched)} | {word: word for word in searched}
    rows = []
    for number, text in enumerate(texts):
        for start in range(len(text)):
            for end in range(start + 1, len(text) + 1):
                part = text[start:end]
                word = words.get(part, words.get(folded(part)))
                if word is not None and is_whole(text, start, end):
                    rows.append((number, start, end, word))
    return rows


def is_whole(text: str, start: int, end: int) -> bool:
    """Whether no two Latin letters or digits of the alphabet meet at either end."""
    pairs = (text[place - 1 : place + 1] for place in (start, end) if 0 < place < len(text))
    return not any({*pair} <= {*kind} for pair in pairs for kind in ("AＡa", "1１"))


def usable(given: list[str]) -> list[str]:
    cleaned = dict.fromkeys(word.strip() for word in given)
    return [word for word in cleaned if len(word) >= 2 and "\0" not in word]


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
    lexicon.add(["人和药"])  # shorter than one that was there before
    assert [row[3] for row in found(lexicon, ["人和药店"])] == [
        "人和",
        "人和药",
        "人和药店",
        "药店",
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


@pytest.mark.filterwarnings("ignore:.*W001")
@given(words, words, words, texts)
@example([], ["1１"], [], ["11A"])
def test_match_after_changes_equals_the_search_of_all_substrings(
    first, added, removed, given_texts
):
    lexicon = lexicon_of(*first)
    lexicon.add(added)
    known = {folded(word) for word in usable(first)}
    new = [word for word in usable(added) if folded(word) not in known]
    expected = list(dict.fromkeys(usable(first) + new))
    assert list(lexicon) == expected
    lexicon.remove(removed)
    gone = {folded(word) for word in usable(removed)}
    kept = [word for word in expected if folded(word) not in gone]
    assert found(lexicon, given_texts) == naive(kept, given_texts)
    assert list(lexicon) == kept
    assert len(lexicon) == len(kept)


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


def test_nothing_matches_a_surrogate():
    assert found(lexicon_of("重庆", "庆?"), ["\ud800重庆\udfff", "重庆"]) == [
        (0, 1, 3, "重庆"),
        (1, 0, 2, "重庆"),
    ]


# Words and what is known of them


def test_of_equal_entries_the_first_counts_and_unusable_ones_are_left_out():
    mine = [Entry("重庆", 1, "mine"), Entry(" 重\u200b庆\u3000"), Entry("   "), Entry("店")]
    other = [Entry("重庆", 9), Entry("很" * (PIECE + 1)), Entry("药\0店"), Entry("\ud800店")]
    lexicon = Lexicon([*mine, *other])
    assert list(lexicon) == ["重庆"]
    assert lexicon.entry("重庆") == Entry("重庆", 1, "mine")


def test_frequency_bands():
    frequencies = [-1, 0, 6, 7, 30_000, 999_999, 10**8]
    lexicon = Lexicon(Entry(f"词{n}", f) for n, f in enumerate(frequencies))
    bands = lexicon.snapshot.frequency_bands
    # The first of seven steps of the logarithm ends at the seventh root of a million.
    assert bands.tolist() == [0, 1, 1, 2, 6, 7, 7]
    lexicon.add(["上海"], frequency=1e9)
    assert lexicon.snapshot.frequency_bands.tolist() == [*bands.tolist(), 7]


# Changes


def test_what_add_changes_and_returns():
    """How many words are new, have other properties, or come back. Known words keep the rest."""
    lexicon = Lexicon([Entry("重庆", 5, "LOC", 0.5), Entry("药店")])
    assert lexicon.add(["重庆"]) == lexicon.add(["重庆"], "LOC", 5, 0.5) == 0
    assert lexicon.add(["上海", "重庆", "上海"], type="LOC") == 2  # 重庆 has the default trust
    assert [lexicon.index(word) for word in ("重庆", "药店", "上海")] == [0, 1, 2]
    assert lexicon.entry("重庆") == Entry("重庆", 5, "LOC", ADDED)
    assert lexicon.add(["重庆", "上海"], type="not_entity") == 2
    assert lexicon.add(["重庆", "上海"], frequency=5) == 1
    assert lexicon.entry("上海") == Entry("上海", 5, "not_entity")
    with pytest.raises(ValueError, match="read-only"):
        lexicon.snapshot.types.fill(1)


def test_what_is_shown():
    lexicon = Lexicon([Entry("重庆", 5, "LOC", 0.5), Entry("药店"), Entry("开业")])
    lexicon.add(["上海"], type="not_entity")
    shown = "2 no type, 1 LOC (trust 0.5), 1 not_entity"
    assert repr(lexicon) == f"Lexicon(4 words: {shown})"
    assert repr(lexicon.entry("重庆")) == "Entry('重庆', type='LOC', frequency=5, trust=0.5)"
    assert (repr(lexicon.entry("药店")), repr(Lexicon())) == ("Entry('药店')", "Lexicon(0 words)")


def test_types_by_word():
    lexicon = lexicon_of("重庆")
    assert lexicon.add({"人和药店": "COMPANY", "重庆": ""}, type="LOC", trust=0.5) == 2
    assert lexicon.entry("人和药店") == Entry("人和药店", -1, "COMPANY", 0.5)
    assert lexicon.entry("重庆") == Entry("重庆", -1, "LOC", 0.5)
    with pytest.raises(TypeError, match=r"F028.*1"):
        lexicon.add({"上海": 1})
    assert "上海" not in lexicon


def test_words_in_letters_are_found_whatever_their_case():
    lexicon = lexicon_of("KFC", "得物App", "T恤", "Мета", "Łódź", "ΟΔΟΣ", "ＡＢ股", "iPad（港）")
    for word, text in [
        ("KFC", "去kfc吃，ＫＦｃ"),
        ("得物App", "得物APP"),
        ("T恤", "t恤"),
        ("Мета", "МЕТА"),
        ("Łódź", "łÓDŹ"),
        ("ΟΔΟΣ", "οδός，οδοσ，οδος"),
        ("ＡＢ股", "ａＢ股"),
        ("iPad（港）", "ipad（港）２台"),
    ]:
        assert {row[3] for row in found(lexicon, [text])} == {word}
    assert found(lexicon, ["kfcs，İkfc"]) == []
    assert "kfc" in lexicon
    assert lexicon.add(["kfc", "Uber"], type="COMPANY") == 2
    assert lexicon.entry("Kfc") == Entry("KFC", -1, "COMPANY", ADDED)
    assert lexicon.remove(["KfC"]) == 1
    assert found(lexicon, ["KFC，kfc，UBER"]) == [(0, 8, 12, "Uber")]


def test_of_words_that_differ_in_case_the_texts_own_counts():
    lexicon = lexicon_of("App", "APP")
    assert [row[3] for row in found(lexicon, ["APP，App，app"])] == ["APP", "App", "App"]
    own = Lexicon.from_bytes(lexicon_of("App", ignore_case=False).to_bytes())
    assert [row[3] for row in found(own, ["APP，App，app"])] == ["App"]
    assert lexicon.remove(["app"]) == 1
    assert list(lexicon) == []


@pytest.mark.parametrize("char", ["\u200b", "\u2060", "\ufeff", "\u00ad"])
def test_zero_width_characters_are_passed_over(char: str):
    lexicon = lexicon_of("拼多多", "KFC")
    text = f"{char}在拼{char}多{char}{char}多{char}和{char}K{char}FC"
    assert found(lexicon, ["拼多多", text, "拼多多"]) == [
        (0, 0, 3, "拼多多"),
        (1, 2, 8, "拼多多"),
        (1, 11, 15, "KFC"),
        (2, 0, 3, "拼多多"),
    ]
    assert f" 拼{char}多多\u3000" in lexicon
    assert lexicon.add([f"拼多{char}多 "]) == 0
    assert lexicon.remove([f"{char}拼多多\n"]) == 1


@pytest.mark.parametrize("call", ["match", "add", "remove"])
@pytest.mark.parametrize(("value", "code"), [("重庆", "F026"), (None, "F026"), ([b""], "F028")])
def test_anything_but_lists_of_strings_is_refused(call: str, value: object, code: str):
    lexicon = lexicon_of("重庆")
    with pytest.raises(TypeError, match=code):
        getattr(lexicon, call)(value)
    assert list(lexicon) == ["重庆"]


def test_words_left_out_are_named():
    lexicon = lexicon_of("重庆")
    unusable = ["店", " ", "药\0店", "人", "京", "海", "很" * (PIECE + 1)]
    message = r"W001.*ignores 7 of the words: '店', ' ', '药\\x00店', …\."
    with pytest.warns(UserWarning, match=message) as warned:
        assert lexicon.add(["上海", *unusable, "重庆"]) == 1
    assert warned[0].filename == __file__
    assert list(lexicon) == ["重庆", "上海"]


@pytest.mark.parametrize("wrong", [-0.5, -1, 1.5, "much"])
def test_trust_and_frequency_have_bounds(wrong: Any) -> None:
    lexicon = lexicon_of("药店")
    with pytest.raises(ValueError, match=r"F341.*trust"):
        lexicon.add({"重庆": "LOC"}, trust=wrong)
    if wrong not in (-1, 1.5):  # -1 is unknown
        with pytest.raises(ValueError, match=r"F341.*frequency"):
            lexicon.add(["重庆"], frequency=wrong)
    assert "重庆" not in lexicon


def test_a_type_without_a_trust_brings_back_the_default() -> None:
    """A user's word counts as such, although the pipeline's own lists, which have a trust of 0,
    have it, too."""
    lexicon = Lexicon([Entry("苹果", 1, "COMPANY", 0.0), Entry("宜家", 1, "", 0.5)])
    lexicon.add(["苹果", "宜家"])
    assert lexicon.snapshot.trusts.tolist() == [0, 0.5]
    lexicon.add(["苹果"], type="not_entity")
    assert lexicon.snapshot.trusts.tolist() == [-1, 0.5]
    lexicon.add(["苹果"], type="COMPANY", trust=0.25)
    assert lexicon.snapshot.trusts.tolist() == [0.25, 0.5]


def test_words_blocked_before_there_was_a_column_for_it() -> None:
    lexicon = Lexicon([Entry("苹果", 1, "COMPANY"), Entry("宜家")])
    lexicon.declare_types(["not_entity"])
    header, _, saved = lexicon.to_bytes().partition(b"\n")
    arrays = load(saved)
    del arrays["blocked"]
    arrays["types"] = np.array([2, 0], np.int32)
    loaded = Lexicon.from_bytes(header + b"\n" + save(arrays))
    assert [loaded.entry(word).type for word in ("苹果", "宜家")] == ["not_entity", ""]


def test_removed_words_keep_their_ids_and_start_anew():
    lexicon = Lexicon([Entry("重庆", 5, "place", 0.5), Entry("药店")])
    assert lexicon.remove(["重庆", "上海"]) == 1
    assert found(lexicon, ["重庆药店"]) == [(0, 2, 4, "药店")]
    assert ("重庆" in lexicon, len(lexicon), lexicon.snapshot.size) == (False, 1, 2)
    assert lexicon.add(["重庆"]) == 1
    assert (lexicon.index("重庆"), lexicon.entry("重庆")) == (0, Entry("重庆"))


def test_update_adds_and_overwrites_what_the_file_gives(tmp_path: Path):
    path = tmp_path / "drugs.txt"
    words = "重庆\n药店\t\tdrug\n阿司匹林\t7\tdrug\n"
    path.write_text(f"{words}药店\t9\tother\n阿司匹林\t9\tother\n", "utf-8")
    lexicon = Lexicon([Entry("重庆", 5, "place"), Entry("药店", 3, "shop"), Entry("上海", 1, "x")])
    lexicon.remove(["重庆"])
    assert lexicon.update(path) == 3
    assert list(map(lexicon.entry, lexicon)) == [
        Entry("重庆"),
        Entry("药店", 3, "drug"),
        Entry("上海", 1, "x"),
        Entry("阿司匹林", 7, "drug"),  # of equal words the first counts
    ]


def test_update_needs_a_path() -> None:
    for words in (["重庆"], {"重庆": "LOC"}, None):
        with pytest.raises(TypeError, match=r"F049.*lexicon\.add"):
            Lexicon().update(words)  # type: ignore[arg-type]


@pytest.mark.parametrize("words", [["重庆", "上海"], "重庆", None, {"重庆"}, {"重庆": None}])
def test_temporary_words_have_types(words: Any) -> None:
    with pytest.raises(TypeError, match="F048"), lexicon_of("重庆").with_words(words):
        pass


def test_temporary_words_are_those_of_a_thread_and_end_in_any_order():
    lexicon = lexicon_of("重庆")

    def words() -> list[str]:
        return list(lexicon)

    with ThreadPoolExecutor(1) as other:
        first = lexicon.with_words([("上海", "LOC")], trust=1)
        second = lexicon.with_words({"北京": "LOC", "kfc": "ORG"})
        first.__enter__()
        second.__enter__()
        assert words() == ["重庆", "上海", "北京", "kfc"]
        assert other.submit(words).result() == ["重庆"]
        other.submit(lexicon.add, ["南京"]).result()
        lexicon.add(["南京"], type="LOC")
        assert other.submit(words).result() == ["重庆", "南京"]
        assert words() == ["重庆", "南京", "上海", "北京", "kfc"]
        assert list(pickle.loads(pickle.dumps(lexicon))) == words()
        saved = lexicon.to_bytes()
        first.__exit__(None, None, None)
        assert words() == ["重庆", "南京", "北京", "kfc"]
        assert lexicon.entry("KFC") == Entry("kfc", -1, "ORG", ADDED)
        second.__exit__(None, None, None)
        assert words() == other.submit(words).result() == ["重庆", "南京"]
    assert list(Lexicon.from_bytes(saved)) == ["重庆", "南京", "上海", "北京", "kfc"]


def test_a_pinned_lexicon_stays_the_same_in_its_thread():
    lexicon = lexicon_of("重庆")
    with lexicon.pinned():
        lexicon.add(["上海"])
        assert list(lexicon) == ["重庆"]
    assert list(lexicon) == ["重庆", "上海"]


def test_simplified_words_in_traditional_texts() -> None:
    lexicon = lexicon_of("台湾", "乾坤", "干杯", simplified="臺台灣湾乾干電电積积")
    for each in (lexicon, copy(lexicon), Lexicon.from_bytes(lexicon.to_bytes())):
        assert found(each, ["臺灣"]) == found(each, ["台湾"]) == [(0, 0, 2, "台湾")]
        assert found(each, ["乾坤乾杯"]) == [(0, 0, 2, "乾坤"), (0, 2, 4, "干杯")]
        assert ("臺灣" in each, "乾坤" in each, "乾杯" in each) == (True, True, True)
    assert lexicon.add(["臺積電", "臺灣"], type="ORG") == 2
    for text in ("臺積電", "台积电", "台積電"):
        assert found(lexicon, [text]) == [(0, 0, 3, "台积电")]
    assert lexicon.add(["乾坤"], type="PER") == 1
    assert lexicon.entry("乾坤") == Entry("乾坤", -1, "PER", ADDED)
    assert lexicon.remove(["臺積電"]) == 1
    assert not found(lexicon, ["台积电"])


def test_trust_needs_a_type():
    lexicon = lexicon_of("重庆")
    for words in (["北京", "上海"], {"北京": "LOC", "上海": ""}):
        with pytest.raises(ValueError, match=r"F046.*上海"):
            lexicon.add(words, trust=1)
    assert list(lexicon) == ["重庆"]
    lexicon.add(["上海"], trust=0)
    lexicon.close_types(["PER"])
    with pytest.raises(ValueError, match=r"F044.*'LOC'.*'PER'"):
        lexicon.add(["北京"], type="LOC")
