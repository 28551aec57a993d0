"""Word lists as evidence: which of their words count as names."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_flat.lexicon import Entry, Lexicon
from spacy_flat.lexicon.evidence import ListReport, _of_parts, weigh
from spacy_flat.lexicon.word_lists import words as words_of_a_config

LABELS = ["GPE", "ORG", "PER"]
KNOWN = [
    *(Entry("医院", 90_000, "n"), Entry("北京", 3_000, "ns"), Entry("上海", 2_000, "ns")),
    *(Entry("和美", 3, "a"), Entry("大学", 50_000, "n"), Entry("清华大学", 900, "nt")),
    *(
        Entry("协和医院", 20, "ORG"),
        Entry("高兴", 9_000, "a"),
        Entry("的话", 10**8),
        Entry("和平", 900, "n"),
        Entry("习近平", 4, "nrfg"),
        Entry("翠湖", 10**6, "ORG"),
    ),
]


def lexicon_of_a_pipeline() -> Lexicon:
    lexicon = Lexicon(KNOWN)
    lexicon.declare_types(LABELS)
    lexicon.close_types(LABELS, LABELS)
    return lexicon


def listed(words: list[str], length: int = 8000) -> tuple[dict[str, float], ListReport]:
    """The trust of the words that count as names in a list of a length."""
    report = ListReport("list.txt")
    rare = [chr(0x8000 + n) + chr(0x9000 + n) + "县" for n in range(length - len(words))]
    entries = [Entry(word, type="GPE") for word in [*words, *rare]]
    found = weigh(entries, lexicon_of_a_pipeline().snapshot, LABELS, report)
    return {each.word: each.trust for each in found if each.word in words}, report


def test_ordinary_words_and_names_of_another_type_do_not_count() -> None:
    words = ["医院", "北京", "高兴", "协和医院", "清华大学", "院学", "翠湾", "翠湖大学", "𠮷𠮷"]
    found, report = listed(words)
    assert set(found) == {"北京", "翠湾", "翠湖大学", "𠮷𠮷"}
    assert report.ordinary == ["医院", "高兴", "协和医院", "清华大学", "院学"]
    assert "left 5 words as is, known as something else or likely by chance (医院, " in str(report)


def test_the_longer_the_list_the_rarer_a_name_must_be() -> None:
    trusts = [listed(["和平", "学院", "翠湾"], length)[0] for length in (300, 1000, 8000)]
    assert trusts[0] == {"和平": 0.0, "学院": -1.0, "翠湾": -1.0}  # -1: the component's setting
    assert "1 uncertain name with a trust of 0 (和平)" in str(listed(["和平"], 300)[1])
    assert trusts[1] == {"学院": 0.0, "翠湾": -1.0}
    assert trusts[2] == {"翠湾": -1.0}
    entries = [Entry("和平", type="GPE"), *(Entry(f"词{n}") for n in range(8000))]
    found = weigh(entries, lexicon_of_a_pipeline().snapshot, LABELS, ListReport("list.txt"))
    assert len(found) == len(entries)  # words without a label don't count


def test_a_short_list_makes_no_name_of_a_common_word_or_a_known_person() -> None:
    words = ["医院", "习近平", "翠微楼", "翠湾", "人和苑", "学院"]
    found, report = listed(words, len(words))
    assert (found, report.ordinary) == (dict.fromkeys(words[2:], -1.0), words[:2])


def test_a_word_that_a_list_repeats_is_one() -> None:
    words = ["学院", "翠湾", "医院"]
    (found, report), (twice, again) = (listed(words * n, 1000 + n * 3) for n in (1, 300))
    assert (found, report.ordinary) == (twice, again.ordinary)


def test_words_keep_their_order() -> None:
    words = [("翠湾", "GPE"), ("药店", "n"), ("习近平", "PER"), ("高兴", "a")]
    entries = [Entry(word, type=type) for word, type in words]
    snapshot = lexicon_of_a_pipeline().snapshot
    for own in (entries, entries[1::2]):
        assert weigh(own, snapshot, LABELS, ListReport("list.txt")) == own


def report_of(path: Path, lines: str, **options: Any) -> ListReport:
    path.write_text(lines, "utf-8")
    return lexicon_of_a_pipeline().check(path, **options)


NO_NAMES = [
    *("甲店，乙店", "2014年5月", "By@某人", "他来了。", "http://a.cn", "翠" * 41, "。。"),
    *('["人和药店","浙江大学"]', "<li>人和药店</li>", "- 人和药店", "1. 王大锤", "2.王大锤"),
    *('"人和药店"', "“人和药店”", "人和\u2028药店", "人\ufffd药店", "浙江大学 # hello", '"人和",'),
]
NAMES = ["360", "7-11", "Yahoo!", "@Huawei", "日月", "月月", "苯并[a]芘", "“雪龙”号", "C#", "3.6K"]


@pytest.mark.parametrize("type", ["GPE", ""])
def test_what_looks_like_no_name(tmp_path: Path, type: str) -> None:
    path = tmp_path / "list.txt"
    lines = "".join(f"{word}\t\n" for word in (*NO_NAMES, *NAMES))
    report = report_of(path, lines, type=type)
    assert report.no_names == NO_NAMES
    assert f"left out {len(NO_NAMES)} words unlike a name (甲店，乙店, " in str(report)
    with pytest.raises(ValueError, match=r"F050.*list\.txt.*'甲店，乙店', "):
        report_of(path, lines, type=type, strict=True)
    report_of(path, "".join(f"{word}\t\n" for word in NAMES), type=type, strict=True)


def test_a_trust_leaves_out_no_word(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (path := tmp_path / "list.txt").write_text("2014年5月", "utf-8")
    assert lexicon_of_a_pipeline().update(path, type="GPE", trust=0.5) == 1
    assert "list.txt: 1 word" in caplog.text
    assert "left out" not in caplog.text


def test_a_list_overrides_no_order(tmp_path: Path) -> None:
    (path := tmp_path / "list.txt").write_text("翠湖\n翠湾\n翠微\n翠苑", "utf-8")
    lexicon = lexicon_of_a_pipeline()
    lexicon.add(["翠湖"], type="not_entity")
    lexicon.add(["翠湾"], type="GPE", trust=1)
    lexicon.add(["翠微"], type="GPE", trust=0)  # as the lists of a config
    before = [lexicon.entry(word) for word in ("翠湖", "翠湾")]
    report = lexicon.check(path, type="ORG")
    assert (report.ordered, report.ordinary) == (["翠湖", "翠湾"], ["翠微"])
    assert "left 2 words as is, blocked or trusted before (翠湖, 翠湾)" in str(report)
    lexicon.update(path, type="GPE")
    assert [lexicon.entry(word) for word in ("翠湖", "翠湾")] == before
    assert lexicon.entry("翠微") == Entry("翠微", type="GPE")
    lexicon.update(path, type="ORG", trust=0.5)
    assert lexicon.entry("翠湖") == Entry("翠湖", 10**6, "ORG", 0.5)


@pytest.mark.parametrize(("word", "type"), [("上海", "ORG"), ("上海", "GPE")])
def test_no_word_as_common_as_hospital_counts(word: str, type: str) -> None:
    """Not even if jieba has it as a name (东西 is a place)."""
    report = ListReport("list.txt")
    known = Lexicon([Entry("上海", 20_000, "ns"), Entry("医院", 10**7, "n")]).snapshot
    assert weigh([Entry(word, type=type)], known, LABELS, report) == []
    assert report.ordinary == [word]


def test_the_commonest_of_jiebas_types_is_the_lists() -> None:
    report, own = ListReport("list.txt"), [("翠湖", "nt"), ("翠湾", "ns"), ("翠苑", "ns")]
    known = Lexicon([Entry("的话", 10**8), *(Entry(word, 9_000, type) for word, type in own)])
    found = weigh([Entry(word, type="GPE") for word, _ in own], known.snapshot, LABELS, report)
    assert [each.trust for each in found] == [0.0, -1.0, -1.0]


def test_a_rare_word_of_common_parts_is_likely_by_chance() -> None:
    known = Lexicon(
        [Entry("翠湖", 10**7), Entry("大学", 10**7), Entry("翠湖大学", 1, "n")]
    ).snapshot
    assert weigh([Entry("翠湖大学", type="GPE")], known, LABELS, ListReport("list.txt")) == []


WORDS = {"甲乙": 5.0, "乙丙": 7.0, "丙": 2.0, "甲乙丙": 1.0, "丁丁": 3.0}


@given(st.lists(st.text("甲乙丙丁戊", min_size=2, max_size=6), min_size=1, max_size=5))
def test_the_most_probable_parts(texts: list[str]) -> None:
    lexicon = Lexicon([Entry(word, rate) for word, rate in WORDS.items()]).snapshot
    rates = np.log10(np.array([WORDS[lexicon.word(id)] / 100 for id in range(lexicon.size)]))
    characters = np.full(0x9000, -4.0)
    for char, rate in {"甲": -1.0, "乙": -2.5, "丙": -1.5}.items():
        characters[ord(char)] = rate

    def best(text: str) -> float:
        if not text:
            return 0.0
        parts = [
            (math.log10(WORDS[text[:n]] / 100) if n > 1 else characters[ord(text[0])], text[n:])
            for n in range(1, len(text) + 1)
            if n == 1 or text[:n] in WORDS
        ]
        return float(max(rate + best(rest) for rate, rest in parts))

    found = lexicon.match(texts)
    assert _of_parts(texts, found, rates[found.words], characters) == pytest.approx(
        [best(text) for text in texts]
    )


def test_a_file_is_evidence_and_a_trust_an_order(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (path := tmp_path / "places.txt").write_text(
        "\n".join(["医院", "翠湾", *(f"村{chr(n)}" for n in range(0x8000, 0x80C6))]), "utf-8"
    )
    lexicon = lexicon_of_a_pipeline()
    report = lexicon.check(path, type="GPE")
    assert (report.n_words, report.ordinary, "翠湾" in lexicon) == (200, ["医院"], False)
    assert lexicon.update(path, type="GPE") == 199
    assert (lexicon.entry("医院"), lexicon.entry("翠湾")) == (KNOWN[0], Entry("翠湾", type="GPE"))
    lexicon.update(path, type="GPE", trust=0.9)
    assert lexicon.entry("医院") == Entry("医院", 90_000, "GPE", pytest.approx(0.9))  # type: ignore[arg-type]
    lexicon.add(["高兴"], type="PER")
    assert lexicon.entry("高兴") == Entry("高兴", 9_000, "PER", pytest.approx(0.999))  # type: ignore[arg-type]


def test_a_type_replaces_a_lists_parts_of_speech_and_a_trust_needs_a_label(tmp_path: Path) -> None:
    (path := tmp_path / "names.txt").write_text("翠微楼 3 nt\n人和苑 2 GPE\n翠湾 1 n", "utf-8")
    lexicon = lexicon_of_a_pipeline()
    lexicon.update(path, type="ORG", trust=0.5)
    found = [lexicon.entry(word) for word in ("翠微楼", "人和苑", "翠湾")]
    assert [each and each.type for each in found] == ["ORG", "GPE", "ORG"]
    with pytest.raises(ValueError, match=r"F046.*'翠微楼', '翠湾'\. "):
        lexicon.update(path, trust=0.5)
    with pytest.raises(ValueError, match=r"F046.*'翠湾'"), lexicon.with_words({"翠湾": "n"}, 0.5):
        pass
    lexicon.add(["翠湾县"], type="n")
    assert lexicon.entry("翠湾县") == Entry("翠湾县", type="n")


def test_what_a_list_has_that_cannot_be_used(tmp_path: Path) -> None:
    (path := tmp_path / "names.txt").write_text("翠湾\t\tPRE\n的\t\tGPE\n医院\t\tn\n", "utf-8")
    lexicon = lexicon_of_a_pipeline()
    assert str(lexicon.check(path)).endswith("3 words; 1 unusable word (的); 1 unknown type (PRE)")
    report = str(lexicon.check(path, type="ORG"))
    assert report.endswith("1 unknown type (PRE); 2 replaced types (PRE, n)")
    with pytest.raises(ValueError, match=r"F044.*'PRE'"):
        lexicon.update(path, strict=True)
    with pytest.raises(ValueError, match=r"F044.*'PRE'"):
        lexicon.check(path, type="GPE", strict=True)
    path.write_text("翠湾\t\tn\n湾\n", "utf-8")
    with pytest.raises(ValueError, match=r"W001.*'湾'"):
        lexicon.check(path, type="GPE", strict=True)


def test_a_damaged_line_of_many(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path, lexicon = tmp_path / "places.txt", lexicon_of_a_pipeline()
    lines = [f"翠湾{chr(0x7000 + n)}".encode() for n in range(200)]
    path.write_bytes(b"\n".join([*lines, "坏湾\t3?".encode(), b"\xff\xfe"]))
    report = lexicon.check(path, type="GPE")
    assert report.n_words == 200
    assert [line.split("]")[0] for line in report.damaged] == ["[F007", "[F004"]
    in_short = (
        "2 damaged lines (line 201: the frequency '3?' is not a number of 0 …, line 202: byte"
    )
    assert in_short in str(report)
    words_of_a_config(path)
    assert f"{path}: left out {in_short}" in caplog.text
    first_two = r"F007.*places.txt, line 201.*\n.*F004.*line 202"
    with pytest.raises(ValueError, match=first_two):
        lexicon.update(path, type="GPE", strict=True)
    path.write_bytes(b"\n".join([*lines, *["坏湾\t3?".encode()] * 6]))
    with pytest.raises(ValueError, match=r"(?s)^(\[F007] [^\n]*line 20[1-5][^\n]*\n){5}…$"):
        lexicon.update(path, type="GPE")
    path.write_text("\n", "utf-8")
    with pytest.warns(UserWarning, match="W002"):
        assert lexicon.update(path) == 0
