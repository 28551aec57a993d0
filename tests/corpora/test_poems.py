"""Poems: what files become, and what is wrong with them by file and line."""

import json
from pathlib import Path

import pytest
from converted import BROKEN, SPRING, TOWER, convert

from spacy_flat.corpora.poems import join_lines


def texts(folder: Path, text: str, form: str = "poems", repair: bool = False) -> list[str]:
    return [doc.text for doc in convert(folder, text, format=form, repair=repair)[0]]


def records(*lines: object) -> str:
    return "\n".join(json.dumps({"title": "无题", "lines": each}) for each in lines)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_blank_lines_are_between_poems(tmp_path: Path, end: str) -> None:
    assert texts(tmp_path, BROKEN.replace("\n", end)) == [TOWER, SPRING]


def test_json_and_lines(tmp_path: Path) -> None:
    assert texts(tmp_path, records([TOWER[:12], TOWER[12:]], [SPRING]), "auto") == [TOWER, SPRING]
    array = json.dumps([{"paragraphs": [TOWER]}, {"paragraphs": [SPRING]}])
    assert texts(tmp_path, array, "auto") == [TOWER, SPRING]
    text = "\ufeffNew York, 3 May\n\n  两  个空格 \r\n（注）□\n"
    assert texts(tmp_path, text, "lines") == ["New York, 3 May", "两  个空格", "（注）□"]


@pytest.mark.parametrize("title", ["登鹳雀楼:", "登鹳雀楼:王之涣：", "咏史、其一（并序）:"])
def test_lines_with_titles(tmp_path: Path, title: str) -> None:
    """Each is a poem; elsewhere a colon stands for a lost character."""
    lines = [f"{title}{TOWER}", f"春晓:{SPRING}", ":山。", "空山不见人，"]
    expected = [TOWER, SPRING, "山。", "空山不见人，"]
    assert texts(tmp_path, "\n".join(lines)) == expected
    with pytest.raises(ValueError, match=r"F170.*line 2: .*':'"):
        texts(tmp_path, "\n".join([*lines[:1], "春眠不觉晓，处处闻:鸟。", *lines[1:]]))


def test_lines_without_titles(tmp_path: Path) -> None:
    """A speaker is none, and a title without a poem is an error."""
    lines = ["孟子曰：", "鱼，我所欲也。", "孟子曰：仁，人心也。", "又曰："]
    assert texts(tmp_path, "\n".join(lines)) == ["".join(lines)]
    lines = [f"登鹳雀楼:{TOWER}", f"告子:孟子曰：{SPRING}"]
    assert texts(tmp_path, "\n".join(lines)) == [TOWER, f"孟子曰：{SPRING}"]
    with pytest.raises(ValueError, match=r"F170.*line 3: .*':'"):
        texts(tmp_path, "\n".join([*lines, "静夜思:"]))


def test_lines_without_punctuation_get_that_of_a_form(tmp_path: Path) -> None:
    """It is what the generator writes, so that training has to have it, too."""
    assert texts(tmp_path, TOWER.replace("，", "\n").replace("。", "\n")) == [TOWER]
    line = TOWER.replace("，", " ").replace("。", " ")
    assert texts(tmp_path, f"登楼 : {line}\n登楼:{TOWER}") == [TOWER, TOWER]
    assert join_lines(["一", "二", "三"]) == "一，二。三。"
    assert join_lines(["一句"]) == "一句"


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["白日（一作红日）依山尽，", "黄河入海流。（同前）。"], "白日依山尽，黄河入海流。"),
        (["（题于壁。", "时人皆知之：）白日依山尽。"], "白日依山尽。"),
        (["白[日]依（衣）山尽，黄河入(一作归)海流？"], "白日依山尽，黄河入海流？"),
    ],
)
def test_notes_are_left_out(lines: list[str], text: str) -> None:
    assert join_lines(lines) == text


@pytest.mark.parametrize(("odd", "shown"), [("□", r"U\+25A1"), ("z5", "'z'"), ("{", "'{'")])
def test_lost_characters(tmp_path: Path, odd: str, shown: str) -> None:
    text = f"{TOWER}\n\n\n春眠不觉晓，\n处处闻{odd}鸟。\n"
    with pytest.raises(ValueError, match=f"F170.*corpus, line 4: .*{shown}"):
        texts(tmp_path, text)
    docs, summary = convert(tmp_path, text, format="poems", repair=True)
    assert [doc.text for doc in docs] == [TOWER]
    assert summary.repairs == {"poem with a lost character dropped": 1}


@pytest.mark.parametrize(
    "record", ['{"lines": "山"}', '{"lines": [1]}', '{"lines": ["\\ud800"]}', '{"lines": [']
)
def test_wrong_records(tmp_path: Path, record: str) -> None:
    with pytest.raises(ValueError, match=r"\[F156\] .*corpus, line 2: "):
        texts(tmp_path, records([TOWER]) + "\n" + record, "poems-jsonl", repair=True)


def test_records_without_text_are_skipped(tmp_path: Path) -> None:
    text = records([TOWER], [], ["（阙）", "。"], ["山。"])
    docs, summary = convert(tmp_path, text, format="poems-jsonl")
    assert ([doc.text for doc in docs], summary.skipped) == ([TOWER, "山。"], 2)
