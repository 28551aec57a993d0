"""From a file to a DocBin: texts, tokens and entities as spaCy sees them."""

from __future__ import annotations

from pathlib import Path
from time import process_time

import pytest
import spacy
from converted import BROKEN, SPRING, TOWER, convert, entities
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.util import get_words_and_spaces
from spacy.vocab import Vocab

from spacy_flat.corpora import ConvertOptions, Summary, convert_file
from spacy_flat.corpora.convert import FORMATS, detect_format
from spacy_flat.corpora.ner import make_doc, show_entities
from spacy_flat.corpora.repairs import AnnotatedUnits
from spacy_flat.corpora.tokens import split_off_spaces
from spacy_flat.text.units import EntitySpan


def test_characters(tmp_path: Path) -> None:
    docs, summary = convert(tmp_path, "重 B-LOC\n庆 I-LOC\n开 O\n业 O\n\n好 O\n")
    assert [doc.text for doc in docs] == ["重庆开业", "好"]
    assert [token.text for token in docs[0]] == ["重", "庆", "开", "业"]
    assert [entities(doc) for doc in docs] == [[("重庆", "LOC")], []]
    sample = ["[重庆](LOC)开业", "好"]
    assert summary == Summary("entity", 2, 5, {"LOC": 1}, {}, sample)  # type: ignore[arg-type]


def test_sentences_without_entities_are_annotated_as_such(tmp_path: Path) -> None:
    docs, _ = convert(tmp_path, "好 O\n")
    assert [token.ent_iob_ for token in docs[0]] == ["O"]


def test_words(tmp_path: Path) -> None:
    docs, _ = convert(tmp_path, "in O\nNew B-LOC\nYork I-LOC\n. O\n", words=True)
    assert docs[0].text == "in New York ."
    assert entities(docs[0]) == [("New York", "LOC")]
    assert len(docs[0]) == 4


def test_a_unit_of_several_characters_is_a_token(tmp_path: Path) -> None:
    docs, _ = convert(tmp_path, "2021 O\n年 O\nNBA B-ORG\n赛 I-ORG\n")
    assert [token.text for token in docs[0]] == ["2021", "年", "NBA", "赛"]
    assert (docs[0].ents[0].start_char, docs[0].ents[0].end_char) == (5, 9)


def test_white_space_units_stay_in_the_text(tmp_path: Path) -> None:
    docs, _ = convert(tmp_path, " \tO\n甲\tB-X\n \tI-X\n乙\tI-X\n\u3000\tO\n丙\tB-X\n \tO\n")
    assert docs[0].text == " 甲 乙\u3000丙 "
    assert entities(docs[0]) == [("甲 乙", "X"), ("丙", "X")]
    assert [t.text for t in docs[0]] == [t.text for t in spacy.blank("zh")(docs[0].text)]


def test_white_space_at_the_ends_of_an_entity(tmp_path: Path) -> None:
    text = "甲\tO\n \tB-X\n乙\tI-X\n \tI-X\n丙\tO\n\u3000\tB-Y\n"
    with pytest.raises(ValueError, match=r"F110.*corpus, sentence at line 1: the X entity ' 乙 '"):
        convert(tmp_path, text)
    docs, summary = convert(tmp_path, text, repair=True, max_repairs=1)
    assert entities(docs[0]) == [("乙", "X")]
    assert summary.repairs == {"white space trimmed off an entity": 2}


@pytest.mark.parametrize("unit", [" 国", "国 ", "\u3000国", "国0 "])
def test_white_space_around_a_unit(tmp_path: Path, unit: str) -> None:
    text = f"中\tO\n{unit}\tB-LOC\n"
    with pytest.raises(ValueError, match=r"\[F141\] .*corpus, line 2: unit"):
        convert(tmp_path, text)
    docs, summary = convert(tmp_path, text, repair=True, max_repairs=1)
    assert entities(docs[0]) == [(unit.strip(), "LOC")]
    assert docs[0].text == "中" + unit.strip()
    assert summary.repairs == {"white space trimmed off a unit": 1}


@given(
    st.lists(st.text("甲a 乙\u3000\t😀", min_size=1, max_size=3), min_size=1, max_size=12),
    st.sampled_from(["", " "]),
)
def test_tokens_are_those_of_spacys_slow_function(units: list[str], separator: str) -> None:
    text = separator.join(units)
    split = split_off_spaces(units, separator)
    if all(unit.isspace() == any(map(str.isspace, unit)) for unit in units):
        assert split == get_words_and_spaces(units, text)
    assert Doc(Vocab(), words=split[0], spaces=split[1]).text == text


@given(st.text("甲乙 😀", min_size=1, max_size=20), st.data())
def test_a_doc_has_the_exact_text_and_entities(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    spans = (
        [] if text[start].isspace() or text[end - 1].isspace() else [EntitySpan(start, end, "X")]
    )
    doc = make_doc(Vocab(), AnnotatedUnits(list(text), spans, 1))
    assert doc.text == text
    assert [(e.start_char, e.end_char, e.label_) for e in doc.ents] == spans


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"text": "a", "label": {}}\n', "cluener"),
        ('[\n {"text": "a", "label": {}}\n]\n', "cluener"),
        ('{"text": "label", "label": {"X": {"label": [[0, 4]]}}}\n', "cluener"),
        ('{"text": \n', "cluener"),
        ('["a", {"entities": []}]\n', "spacy"),
        ('{"id": 1, "text": "a", "label": [[0, 1, "X"]]}\n', "doccano"),
        ('[{"text": "a", "labels": []}]\n', "doccano"),
        ('{"text": "a", "entities": []}\n', "doccano"),
        ("{ O\n} O\n", "bio"),
        ("# text = 甲\n-DOCSTART- -X- O\n\n甲\tX-LOC\n", "bio"),
        ("甲\tb-per\n乙\to\n", "bio"),
        ("甲\tB_PER\n", "bio"),
        ("甲 I-X\n\n乙 B-X\n", "bio"),
        ("山\tO\n\n水\tO\n", "bio"),
        ("王\tB-PER\n芳\tI-PER\n", "bio"),
        ("王\tNR\tB-PER\n芳\tNR\tI-PER\n", "bio"),
        ("1\t王\tNR\tB-PER\n2\t芳\tNR\tI-PER\n", "bio"),
        ("甲 I-X\n乙 B-X\n\n丙 O\n丁 I-Y\n", "iob1"),
        ("\n\na B-X\nb M-X\nc E-X\n", "bmes"),
        ("a S-X\n", "bioes"),
        ("a U-X\n", "biluo"),
        ("a B-X\nb L-X\n", "biluo"),
        ("问\t答\t1\n", "pairs-tsv"),
        ("问\t答\tclass_A\n" * 2 + "问\t谁\tclass_B\n" * 2, "pairs-tsv"),
        ("他来了。\tHe came.\n", "parallel-tsv"),
        ("他来了。\tHe came.\n" * 6 + "残缺\n", "parallel-tsv"),
        ("维生素C片\tvitamin-C\n", "parallel-tsv"),
        (BROKEN, "poems"),
        (BROKEN + "\n\n白日rH尽，黄河入海流。\n" + f"{TOWER}\n" * 9, "poems"),
        (f'\n{{"title": "无题", "lines": ["{TOWER}"]}}', "poems-jsonl"),
        ('[{"paragraphs": ["山。"]}]', "poems-jsonl"),
        ('{"text": "甲", "text1": "甲", "text2": "乙", "label": {}}\n', "cluener and pairs-jsonl"),
        *(
            (text, "none of the formats")
            for text in (
                "他来了。\n",
                "今天天气很好。\n明天也是。\n",
                "I am a student.\t我是学生。\nHello.\t你好。\n",  # swapped, above all
                "运费怎么算\t见首页\n",
                "甲\tA\tCC 1\n乙\tB\tCC 2\n丙\tC\tCC 3\n",  # without labels
                '{"title": "静夜思", "author": "李白"}\n',
                '{"lines": "山"}',
                "Well, yes, I know\nHe said, she said, nothing\n",
                f"{TOWER}\n{SPRING}",  # no blank line: perhaps one poem, perhaps a text a line
                "今天下午三点在会议室开会。" * 4 + f"\n\n{TOWER}",
                "Roses are red\n\nviolets are blue",
                (TOWER + "\n" * 9) * 4 + "Roses are red",  # blank lines are none that fit
            )
        ),
    ],
)
def test_formats_are_told_by_the_file(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "corpus"
    path.write_text(text, "utf-8")
    if told in FORMATS:
        assert detect_format(path) == told
    else:
        match = rf"\[F150\] .*like {told}\b.*--format: bio, .*parallel-tsv"
        with pytest.raises(ValueError, match=match):
            detect_format(path)


@pytest.mark.parametrize("form", ["auto", *FORMATS])
@pytest.mark.parametrize("text", ["", "\n \n\n"])
def test_an_empty_file_is_an_error(tmp_path: Path, text: str, form: str) -> None:
    with pytest.raises(ValueError, match=r"\[F010\] .*corpus: no sentence"):
        convert(tmp_path, text, format=form, repair=True)


def test_a_failed_conversion_leaves_the_old_file(tmp_path: Path) -> None:
    source, target = tmp_path / "corpus", tmp_path / "corpus.spacy"
    target.write_bytes(b"old")
    source.write_text("a O\n\nb I-X\n", "utf-8")
    with pytest.raises(ValueError, match="F104"):
        convert_file(source, target, ConvertOptions(format="bio"))
    assert target.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_doc_of_many_entities_is_shown_in_linear_time() -> None:
    entities = [EntitySpan(2 * i, 2 * i + 1, "X") for i in range(4_000)]
    doc = make_doc(Vocab(), AnnotatedUnits(["好"] * 8_000, entities, 1))
    start = process_time()
    assert show_entities(doc) == "[好](X)好" * 4_000
    assert process_time() - start < 2  # 8 s where the text is joined for each


# What would be garbage


@pytest.mark.parametrize("link", ["same", "symbolic", "hard"])
def test_a_file_is_not_converted_into_itself(tmp_path: Path, link: str) -> None:
    source = tmp_path / "corpus"
    source.write_text("好 O\n", "utf-8")
    target = source if link == "same" else tmp_path / "link.spacy"
    if link == "symbolic":
        target.symlink_to(source)
    elif link == "hard":
        target.hardlink_to(source)
    with pytest.raises(ValueError, match=r"\[F112\]"):
        convert_file(source, target, ConvertOptions())
    assert source.read_text("utf-8") == "好 O\n"


@pytest.mark.parametrize(
    ("source", "target", "code"),
    [
        ("corpus", "", "F002"),
        ("corpus", "plain", "F142"),
        ("corpus", "train.bin", "F142"),
        ("corpus", "train.spacy.gz", "F142"),
        ("corpus.spacy", "twice.spacy", "F143"),
    ],
)
def test_paths_that_are_refused(tmp_path: Path, source: str, target: str, code: str) -> None:
    (tmp_path / source).write_text("好 O\n", "utf-8")
    with pytest.raises((ValueError, OSError), match=code):
        convert_file(tmp_path / source, tmp_path / target, ConvertOptions())
    assert [path.name for path in tmp_path.iterdir()] == [source]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "gb18030"])
def test_the_encoding_to_convert_from_is_named(tmp_path: Path, encoding: str) -> None:
    text = "好\tO\n" if encoding == "gb18030" else "\ufeff好\tO\n"
    source = tmp_path / "corpus"
    source.write_bytes(text.encode(encoding))
    named = "GB18030" if encoding == "gb18030" else "UTF-16"
    with pytest.raises(ValueError, match=rf"\[F004\] .*line 1: .*iconv -f {named} -t UTF-8"):
        convert_file(source, tmp_path / "c.spacy", ConvertOptions())


@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        ("好 O\r店 O\r\r好 O\r", {}, "F113"),
        ('{"text": "a", "label": {}}\r{"text": "b", "label": {}}\r', {}, "F113"),
        ("科0\tO\n技1\tO\n30\tO\n", {}, "F114"),
        ("John B-PER\nlives O\nin O\nNew B-LOC\nYork I-LOC\n. O\n", {}, "F115"),
        ("Иван B-PER\nживёт O\nв O\nМоскве B-LOC\n", {}, "F115"),
        ("en:John B-PER\nen:lives O\n", {"strip_prefix": "en:"}, "F115"),
        ("서울에 B-LOC\n살아요 O\n", {}, "F115"),
        ("O\t我\nB-PER\t王\nI-PER\t芳\n", {}, r"F144.*first column has tags.*\(O B-PER I-PER …\)"),
        ("王\tPER-B\n芳\tPER-I\n去\tO\n", {}, r"F147.*\(PER-B\)\. Put it first: B-PER"),
        ("王 PER_S\n去 O\n了 O\n", {}, r"F147.*\(PER_S\)"),
        ('{"text": "a", "label": {}}', {"words": True}, "F174.*--words has no effect on .*cluener"),
        ('["a", {"entities": []}]', {"strip_position": True}, "F174.*--strip-position"),
        ("北\tX-LOC\n京\tX-LOC\n", {}, r"F103.*line 1: 'X-LOC'|F116.*unknown tag"),
        ('{"text": "a"}\n', {}, r"F156.*line 1: .*it has no list"),
        ('{"text": "a", "label": "X"}\n', {"max_repairs": 1}, r"F156.*line 1: .*it has no list"),
        ("好 O\n", {"format": "conll"}, r"F118.*'conll'.*auto, bio, iob1"),
    ],
)
@pytest.mark.parametrize("repair", [False, True])
def test_what_would_be_misread_is_an_error(
    tmp_path: Path, text: str, options: dict[str, object], code: str, repair: bool
) -> None:
    source = tmp_path / "corpus"
    source.write_bytes(text.encode("utf-8"))
    with pytest.raises(ValueError, match=code):
        convert_file(
            source,
            tmp_path / "c.spacy",
            ConvertOptions(repair=repair, **options),  # type: ignore[arg-type]
        )
    assert not (tmp_path / "c.spacy").exists()


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("今天 O\n天气 O\n很 O\n好 O\n", "今天天气很好"),  # words of a script without spaces
        ("ラーメン O\nください O\n", "ラーメンください"),
        ("2021 O\n12 O\n31 O\n", "20211231"),  # numbers, not positions
        ("2021 O\n年 O\nA4 O\n纸 O\n", "2021年A4纸"),
        ("O O\nB-1 B-X\n", "OB-1"),  # units that look like tags
        ("用 O\niPhone O\nPro O\n拍 O\n", "用iPhonePro拍"),
    ],
)
def test_what_only_looks_so_is_read(tmp_path: Path, text: str, whole: str) -> None:
    docs, _ = convert(tmp_path, text)
    assert docs[0].text == whole


def test_many_repairs_are_an_error_unless_asked_for(tmp_path: Path) -> None:
    lines = [f"{'好 O' if i % 10 else '坏'}\n" for i in range(100)]
    message = r"F116.*: 10 of 100 lines needed repair \(.*dropped 10\), more than 5%.*with: 好"
    with pytest.raises(ValueError, match=message):
        convert(tmp_path, "".join(lines), repair=True)
    _, summary = convert(tmp_path, "".join(lines), repair=True, max_repairs=0.1)
    assert summary.repairs == {"line without a tag dropped": 10}


def test_repairs_of_few_entities_in_much_text_are_many(tmp_path: Path) -> None:
    text = "好 O\n" * 1000 + "山 I-LOC\n好 O\n" + "山 B-LOC\n好 O\n" * 9
    with pytest.raises(ValueError, match=r"F116.*: 1 of 10 entities needed repair"):
        convert(tmp_path, text, repair=True)
