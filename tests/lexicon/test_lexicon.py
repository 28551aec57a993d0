import copy
import json
import pickle
import threading
from importlib.metadata import version
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_flat.lexicon import (
    Entry,
    Lexicon,
    Matches,
    WordList,
    fold_full_width,
    jieba_words,
    read_words,
)
from spacy_flat.lexicon import lexicon as lexicon_module
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
    """Every substring of every text, looked up."""
    rows = []
    for number, text in enumerate(texts):
        text = plain(text) if fold else text
        for start in range(len(text)):
            for end in range(start + 1, len(text) + 1):
                if text[start:end] in searched:
                    rows.append((number, start, end, text[start:end]))
    return rows


def plain(text: str) -> str:
    """Full-width to plain characters, one by one."""
    return "".join(
        " " if c == "\u3000" else chr(ord(c) - 0xFEE0) if "\uff01" <= c <= "\uff5e" else c
        for c in text
    )


def usable(given: list[str], fold: bool = False, shortest: int = 2, longest: int = 16) -> set[str]:
    cleaned = {(plain(word) if fold else word).strip() for word in given}
    return {word for word in cleaned if shortest <= len(word) <= longest and "\0" not in word}


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


def test_matches_are_int32_arrays():
    matches = lexicon_of("重庆").match(["在重庆"])
    assert isinstance(matches, Matches)
    assert len(matches) == 1
    for column in (matches.texts, matches.starts, matches.ends, matches.words):
        assert column.dtype == np.int32
        assert column.shape == (1,)


@given(words, texts, st.booleans())
def test_match_equals_the_search_of_all_substrings(given_words, given_texts, fold):
    lexicon = lexicon_of(*given_words, full_width=fold)
    assert found(lexicon, given_texts) == naive(usable(given_words, fold), given_texts, fold)


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


def test_an_empty_lexicon_matches_nothing():
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
    lexicon = lexicon_of(word, "七八", max_length=8)
    start = 2 * PIECE + shift
    text = "。" * start + word + "。" * PIECE
    assert found(lexicon, [text, word]) == [
        (0, start, start + 8, word),
        (0, start + 6, start + 8, "七八"),
        (1, 0, 8, word),
        (1, 6, 8, "七八"),
    ]


def test_longest_words_allowed():
    word = "长" * PIECE
    lexicon = lexicon_of(word, max_length=PIECE)
    for offset in (0, 1, PIECE - 1, PIECE):
        assert found(lexicon, ["。" * offset + word]) == [(0, offset, offset + PIECE, word)]


def test_one_string_for_a_list_is_refused():
    lexicon = lexicon_of("重庆")
    for call in (lexicon.match, lexicon.add, lexicon.remove):
        with pytest.raises(TypeError, match=r"F026.*'重庆'"):
            call("重庆")


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
    other = [Entry("重庆", 9, "other"), Entry("很" * 17), Entry("药\0店"), Entry("\ud800店")]
    lexicon = Lexicon(chain(mine, other))
    assert list(lexicon) == ["重庆"]
    assert lexicon.frequencies.tolist() == [1]
    assert lexicon.dropped == {"duplicate": 2, "empty": 1, "short": 1, "long": 1, "invalid": 2}


def test_lengths_by_option():
    lexicon = lexicon_of("一", "一二", "一二三", "一二三四", min_length=3, max_length=3)
    assert list(lexicon) == ["一二三"]
    assert lexicon.dropped == {"short": 2, "long": 1}


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
    frequencies = [-1, 0, 1, 30, 30_000, 999_999, 10**8]
    lexicon = Lexicon(Entry(f"词{n}", f) for n, f in enumerate(frequencies))
    bands = lexicon.frequency_bands(8)
    assert bands.dtype == np.int8
    assert bands[0] == 0
    assert bands[1] == 1
    assert bands[-1] == 7
    assert (np.diff(bands) >= 0).all()
    assert lexicon.frequency_bands(2).tolist() == [0, 1, 1, 1, 1, 1, 1]
    lexicon.add(["上海"], frequency=1e9)
    assert lexicon.frequency_bands(8)[:-1].tolist() == bands.tolist()


def test_columns_cannot_be_written_to():
    lexicon = lexicon_of("重庆")
    with pytest.raises(ValueError, match="read-only"):
        lexicon.types[0] = 1


@pytest.mark.parametrize(("shortest", "longest"), [(0, 5), (4, 3), (2, PIECE + 1)])
def test_impossible_lengths(shortest, longest):
    with pytest.raises(ValueError, match=rf"F020.* {shortest} to {longest} "):
        Lexicon(min_length=shortest, max_length=longest)


@pytest.mark.parametrize("frequency", [-2, float("nan"), float("inf"), 1e39])
def test_impossible_frequencies_change_nothing(frequency):
    lexicon = lexicon_of("重庆")
    with pytest.raises(ValueError, match=r"F021.*上海"):
        lexicon.add(["上海"], frequency=frequency)
    assert list(lexicon) == ["重庆"]


@pytest.mark.parametrize("bands", [1, 128])
def test_impossible_bands(bands):
    with pytest.raises(ValueError, match=f"F022.*{bands}"):
        lexicon_of("重庆").frequency_bands(bands)


@pytest.mark.parametrize("id", [-1, 1])
def test_impossible_ids(id):
    with pytest.raises(IndexError, match=f"F027.*{id}"):
        lexicon_of("重庆").word(id)


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


def test_removed_words_do_not_match_but_keep_their_id():
    lexicon = lexicon_of("重庆", "药店")
    assert lexicon.remove(["重庆", "上海"]) == 1
    assert found(lexicon, ["重庆药店"]) == [(0, 2, 4, "药店")]
    assert "重庆" not in lexicon
    assert lexicon.word(0) == "重庆"
    assert (len(lexicon), lexicon.size) == (1, 2)
    assert lexicon.alive.tolist() == [False, True]


def test_a_removed_word_comes_back_with_its_id_and_starts_anew():
    lexicon = Lexicon([Entry("重庆", 5, "place", "mine")])
    lexicon.remove(["重庆"])
    assert lexicon.add(["重庆"], origin="again") == 1
    assert lexicon.index("重庆") == 0
    assert lexicon.types.tolist() == [0]
    assert lexicon.frequencies.tolist() == [-1]
    assert lexicon.origin_names[lexicon.origins[0]] == "again"


def test_update_adds_and_overwrites_what_the_file_gives(tmp_path: Path):
    path = tmp_path / "drugs.txt"
    path.write_text("重庆\n药店\t\tdrug\n阿司匹林\t7\tdrug\n", "utf-8")
    lexicon = Lexicon([Entry("重庆", 5, "place"), Entry("药店", 3, "shop"), Entry("上海", 1, "x")])
    lexicon.remove(["重庆"])
    assert lexicon.update(path) == 2
    names = [lexicon.type_names[type] for type in lexicon.types]
    assert list(lexicon) == ["重庆", "药店", "上海", "阿司匹林"]
    assert names == ["", "drug", "x", "drug"]
    assert lexicon.frequencies.tolist() == [-1, 3, 1, 7]
    origins = [lexicon.origin_names[n] for n in lexicon.origins]
    assert origins == ["drugs.txt", "drugs.txt", "added", "drugs.txt"]


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


# Saving and loading


def assert_same(one: Lexicon, other: Lexicon) -> None:
    text = ["重庆药店在上海Ａ座", "𠀀京𠀀京"]
    assert list(one) == list(other)
    assert found(one, text) == found(other, text)
    for column in ("frequencies", "types", "origins", "lengths", "alive"):
        assert getattr(one, column).tolist() == getattr(other, column).tolist()
    for setting in (
        "type_names",
        "origin_names",
        "dropped",
        "size",
        "full_width",
        "min_length",
        "max_length",
    ):
        assert getattr(one, setting) == getattr(other, setting)


@pytest.fixture
def changed() -> Lexicon:
    entries = [Entry("重庆", 5, "地名"), Entry("药店"), Entry("𠀀京"), Entry("重庆")]
    lexicon = Lexicon(entries, full_width=True, max_length=9)
    lexicon.add(["上海", "Ａ座"], "x")
    lexicon.remove(["药店"])
    return lexicon


def test_bytes_disk_pickle_and_copy_give_the_same(changed: Lexicon, tmp_path: Path):
    changed.to_disk(tmp_path / "new" / "lexicon")
    copies = [
        Lexicon.from_bytes(changed.to_bytes()),
        Lexicon.from_disk(tmp_path / "new" / "lexicon"),
        pickle.loads(pickle.dumps(changed)),
        copy.deepcopy(changed),
    ]
    for other in copies:
        assert_same(changed, other)
        other.add(["北京"])
        assert other.index("北京") == changed.size
    assert "北京" not in changed


@given(words, words)
def test_any_lexicon_survives_bytes(given_words, added):
    lexicon = lexicon_of(*given_words)
    lexicon.add(added)
    assert_same(lexicon, Lexicon.from_bytes(lexicon.to_bytes()))


def test_saving_again_replaces_and_leaves_no_other_file(changed: Lexicon, tmp_path: Path):
    lexicon_of("旧词").to_disk(tmp_path)
    changed.to_disk(tmp_path)
    assert_same(changed, Lexicon.from_disk(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {"lexicon.json", "lexicon.safetensors"}


def test_automata_of_another_daachorse_are_built_anew(changed: Lexicon, tmp_path: Path):
    changed.to_disk(tmp_path)
    header = json.loads((tmp_path / "lexicon.json").read_text())
    assert header["daachorse"] == version("daachorse")
    header["daachorse"] = "0.0.1"
    (tmp_path / "lexicon.json").write_text(json.dumps(header))
    assert_same(changed, Lexicon.from_disk(tmp_path))


@pytest.mark.parametrize("missing", ["lexicon.json", "lexicon.safetensors"])
def test_a_directory_without_a_lexicon(changed: Lexicon, tmp_path: Path, missing: str):
    changed.to_disk(tmp_path)
    (tmp_path / missing).unlink()
    with pytest.raises(FileNotFoundError, match=f"F023.*{missing}"):
        Lexicon.from_disk(tmp_path)


def test_damaged_arrays(changed: Lexicon):
    data = bytearray(changed.to_bytes())
    data[-5] ^= 1
    for damaged in (bytes(data), bytes(data[:-9])):
        with pytest.raises(ValueError, match=r"F024.*checksum"):
            Lexicon.from_bytes(damaged)


@pytest.mark.parametrize("data", [b"", b"hello", b"\xff\n", b"[1]\n", b"{}\n"])
def test_data_that_is_no_lexicon(data: bytes):
    with pytest.raises(ValueError, match=r"F024.*header"):
        Lexicon.from_bytes(data)


def test_a_header_that_lacks_something(changed: Lexicon):
    header, _, arrays = changed.to_bytes().partition(b"\n")
    settings = json.loads(header)
    del settings["type_names"]
    with pytest.raises(ValueError, match=r"F024.*type_names"):
        Lexicon.from_bytes(json.dumps(settings).encode() + b"\n" + arrays)


def test_a_later_format(changed: Lexicon, monkeypatch: pytest.MonkeyPatch):
    data = changed.to_bytes()
    monkeypatch.setattr(lexicon_module, "FORMAT", 0)
    with pytest.raises(ValueError, match=r"F025.*format 1.*format 0"):
        Lexicon.from_bytes(data)


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


def test_a_word_list_beside_jieba(jieba_list: WordList, tmp_path: Path):
    path = tmp_path / "mine.txt"
    path.write_text("人和药店\n重庆\n", "utf-8")
    lexicon = Lexicon(chain(jieba_list.entries[:1000], read_words(path, type="company")))
    id = lexicon.index("人和药店")
    assert lexicon.origin_names[lexicon.origins[id]] == "mine.txt"
    assert lexicon.type_names[lexicon.types[id]] == "company"
