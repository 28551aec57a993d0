"""Poems: what files become, and what is wrong with them by file and line."""

from __future__ import annotations

import json
from pathlib import Path

import converted
import pytest
from converted import BROKEN, SPRING, TOWER

from spacy_flat.corpora import Summary
from spacy_flat.corpora.poems import form_name, join_lines
from spacy_flat.generator.forms import FORMS

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data"


def convert(tmp_path: Path, text: str, **options: object) -> tuple[list[str], Summary]:
    docs, summary = converted.convert(tmp_path, text, **options)
    return [doc.text for doc in docs], summary


def records(*lines: object) -> str:
    return "\n".join(json.dumps({"title": "无题", "lines": each}) for each in lines)


# What a poem becomes


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_blank_lines_are_between_poems(tmp_path: Path, end: str) -> None:
    texts, summary = convert(tmp_path, BROKEN.replace("\n", end))
    assert texts == [TOWER, SPRING]
    assert (summary.label, summary.doc, summary.sentences) == ("poem", "poem", 2)
    assert summary.labels == {"五绝": 2}
    assert summary.sample == [TOWER, SPRING]


def test_json(tmp_path: Path) -> None:
    texts, summary = convert(tmp_path, records([TOWER[:12], TOWER[12:]], [SPRING]))
    assert texts == [TOWER, SPRING]
    assert summary.labels == {"五绝": 2}
    array = json.dumps([{"paragraphs": [TOWER]}, {"paragraphs": [SPRING]}])
    assert convert(tmp_path, array)[0] == [TOWER, SPRING]


def test_any_text_is_taken_line_by_line(tmp_path: Path) -> None:
    text = "\ufeffNew York, 3 May\n\n  两  个空格 \r\n（注）□\n"
    texts, summary = convert(tmp_path, text, format="lines")
    assert texts == ["New York, 3 May", "两  个空格", "（注）□"]
    assert (summary.doc, summary.labels) == ("text", {"other": 3})


def test_lines_without_punctuation_get_that_of_a_form(tmp_path: Path) -> None:
    """It is what the generator writes, so that training has to have it, too."""
    bare = TOWER.replace("，", "\n").replace("。", "\n")
    assert convert(tmp_path, bare, format="poems")[0] == [TOWER]
    assert join_lines(["一", "二", "三"]) == "一，二。三。"
    assert join_lines(["一句"]) == "一句"


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["白日（一作红日）依山尽，", "黄河入海流。（同前）。"], "白日依山尽，黄河入海流。"),
        (["（题于壁。", "时人（皆）知之：）白日依山尽。"], "白日依山尽。"),
        (["白[日]依（衣）山尽，黄河入(一作归)海流？"], "白日依山尽，黄河入海流？"),
    ],
)
def test_notes_are_left_out(lines: list[str], text: str) -> None:
    assert join_lines(lines) == text


def test_forms_are_told_by_their_lines() -> None:
    for name, form in FORMS.items():
        lines = ["山" * form.characters] * form.lines
        assert form_name(join_lines(lines)) == name
        assert form_name(join_lines(lines).replace("，", "？")) == name
        assert form_name(join_lines(lines[1:])) is None
    assert form_name("山") is None


# What is wrong


@pytest.mark.parametrize(("odd", "shown"), [("□", r"U\+25A1"), ("z5", "'z'"), ("{", "'{'")])
def test_lost_characters(tmp_path: Path, odd: str, shown: str) -> None:
    text = f"{TOWER}\n\n\n春眠不觉晓，\n处处闻{odd}鸟。\n"
    where = f"corpus, line 4: .*{shown}"
    with pytest.raises(ValueError, match=where) as caught:
        convert(tmp_path, text, format="poems")
    assert str(caught.value).startswith("[F170]")
    texts, summary = convert(tmp_path, text, format="poems", repair=True, max_repairs=0.5)
    assert texts == [TOWER]
    assert summary.repairs == {"poem with a lost character dropped": 1}


@pytest.mark.parametrize(
    ("record", "code", "repair"),
    [
        (records([]), "F153", "empty poem dropped"),
        (records(["（阙）", "。"]), "F153", "empty poem dropped"),
        ('{"lines": "山"}', "F156", "malformed record dropped"),
        ('{"lines": [1]}', "F156", "malformed record dropped"),
        ('{"lines": ["\\ud800"]}', "F156", "malformed record dropped"),
        ("[1]", "F156", "malformed record dropped"),
        ('{"lines": [', "F156", "malformed record dropped"),
    ],
)
def test_records(tmp_path: Path, record: str, code: str, repair: str) -> None:
    text = records([TOWER]) + "\n" + record
    with pytest.raises(ValueError, match=rf"\[{code}\] .*corpus, line 2: "):
        convert(tmp_path, text)
    texts, summary = convert(tmp_path, text, repair=True, max_repairs=0.5)
    assert texts == [TOWER]
    assert summary.repairs == {repair: 1}


def test_repairs_are_a_share_of_what_was_read(tmp_path: Path) -> None:
    poem = "\n".join([TOWER, SPRING] * 10)
    assert convert(tmp_path, f"{poem}\n\n□", format="poems", repair=True)[0] == [
        "".join([TOWER, SPRING] * 10)
    ]
    with pytest.raises(ValueError, match=r"\[F116\]"):
        convert(tmp_path, f"{TOWER}\n\n□", format="poems", repair=True)
