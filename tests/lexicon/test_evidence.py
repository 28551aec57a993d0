"""Word lists as evidence: which of their words count as names."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_flat.lexicon import Entry, Lexicon
from spacy_flat.lexicon.evidence import ListReport, _of_parts, weigh
from spacy_flat.lexicon.word_lists import words as words_of_a_config

LABELS = ["GPE", "ORG", "PER"]
KNOWN = [
    *(Entry("医院", 90_000, "n"), Entry("北京", 30_000, "ns"), Entry("上海", 20_000, "ns")),
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
    assert "5 unchanged ordinary words (医院, 高兴, 协和医院, 清华大学, 院学)" in str(report)


def test_the_longer_the_list_the_rarer_a_name_must_be() -> None:
    trusts = [listed(["和平", "学院", "翠湾"], length)[0] for length in (300, 1000, 8000)]
    assert trusts[0] == {"和平": 0.0, "学院": -1.0, "翠湾": -1.0}  # -1: the component's setting
    assert trusts[1] == {"学院": 0.0, "翠湾": -1.0}
    assert trusts[2] == {"翠湾": -1.0}
    entries = [Entry("和平", type="GPE"), *(Entry(f"词{n}") for n in range(8000))]
    found = weigh(entries, lexicon_of_a_pipeline().snapshot, LABELS, ListReport("list.txt"))
    assert len(found) == len(entries)  # words without a label don't count


def test_a_short_list_makes_no_name_of_a_common_word_or_a_known_person() -> None:
    words = ["医院", "习近平", "翠微楼", "翠湾", "人和苑", "学院"]
    found, report = listed(words, len(words))
    assert (found, report.ordinary) == (dict.fromkeys(words[2:], -1.0), words[:2])


def test_words_keep_their_order() -> None:
    words = [("翠湾", "GPE"), ("药店", "n"), ("习近平", "PER"), ("高兴", "a")]
    entries = [Entry(word, type=type) for word, type in words]
    snapshot = lexicon_of_a_pipeline().snapshot
    for own in (entries, entries[1::2]):
        assert weigh(own, snapshot, LABELS, ListReport("list.txt")) == own


def test_what_looks_like_no_name() -> None:
    words = ["甲店，乙店", "2014年5月", "By@某人", "他来了。", "http://a.cn", "翠" * 41, "翠湾"]
    found, report = listed(words)
    assert (set(found), report.no_names) == ({"翠湾"}, words[:-1])
    names = ["360", "7-11", "Yahoo!", "@Huawei"]
    assert not listed(names)[1].no_names


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
    (path := tmp_path / "names.txt").write_text("翠湾\t\tPRE\n湾\t\tGPE\n医院\t\tn\n", "utf-8")
    lexicon = lexicon_of_a_pipeline()
    assert str(lexicon.check(path)).endswith("1 unusable word (湾); 1 unknown type (PRE)")
    with pytest.raises(ValueError, match=r"F044.*'PRE'"):
        lexicon.update(path, strict=True)
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
