"""Column files: what is read from every scheme, and what is said of every defect."""

from itertools import pairwise
from pathlib import Path

import pytest
from converted import convert, entities
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spacy_flat.corpora.columns import Scheme, Sentence, read_columns, split_columns
from spacy_flat.corpora.formats import ConvertOptions, Summary
from spacy_flat.text.spans import EntitySpan

SCHEMES: list[Scheme] = ["bio", "bmes", "bioes"]


def read(path: Path, scheme: Scheme = "bio", repair: bool = False, text: str | None = None):
    if text is not None:
        path.write_bytes(text.encode("utf-8"))
    summary, options = Summary(repair), ConvertOptions(words=True)
    return list(read_columns(path, options, summary, scheme)), dict(summary.repairs)


def encode(length: int, spans: list[EntitySpan], scheme: Scheme) -> list[str]:
    """The plain reference: each entity's tags by its length."""
    tags = ["O"] * length
    inside = "M" if scheme == "bmes" else "I"
    for start, end, label in spans:
        for i in range(start, end):
            tags[i] = f"{'B' if i == start else inside}-{label}"
        if scheme != "bio":
            tags[end - 1] = f"{'S' if end - start == 1 else 'E'}-{label}"
    return tags


@st.composite
def sentences(draw: st.DrawFn) -> Sentence:
    alphabet = st.characters(exclude_categories=["Cs", "Nd"], exclude_characters="\r\n\t\ufeff ")
    units = draw(st.lists(st.text(alphabet, min_size=1, max_size=3), min_size=1, max_size=20))
    # U+0085 and others are white space for Python, but may be a unit of one character.
    units = [u if len(u) == 1 or not any(c.isspace() for c in u) else "X" for u in units]
    cuts = sorted(draw(st.sets(st.integers(0, len(units)), max_size=8)))
    labels = [draw(st.sampled_from(["", "PER", "creative-work", "PER.NOM"])) for _ in cuts]
    spans = zip(pairwise(cuts), labels, strict=False)
    return Sentence(units, [EntitySpan(*span, label) for span, label in spans if label], [])


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("separator", ["\t", " ", "\tNN\t"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(corpus=st.lists(sentences(), min_size=1, max_size=4))
def test_entities_survive_every_scheme(
    tmp_path: Path, scheme: Scheme, separator: str, corpus: list[Sentence]
) -> None:
    blocks = []
    for units, spans, *_ in corpus:
        tags = encode(len(units), spans, scheme)
        blocks.append("".join(f"{u}{separator}{t}\n" for u, t in zip(units, tags, strict=True)))
    found, _ = read(tmp_path / "corpus", scheme, text="\n".join(blocks))
    assert found == corpus


def test_what_is_between_sentences(tmp_path: Path) -> None:
    text = "\ufeff-DOCSTART- -X- O O\n# text = a b\na O\r\n# O\n \t\n\nc O\n-DOCSTART-\td\nd O"
    found, _ = read(tmp_path / "c", text=text)
    assert [each.units for each in found] == [["a", "#"], ["c"], ["d"]]


@pytest.mark.parametrize(
    ("line", "columns"),
    [
        ("EU NNP I-NP B-ORG", ("EU", "B-ORG")),
        ("New York\tB-LOC", ("New York", "B-LOC")),
        ("  O", (" ", "O")),  # a space as a unit
        (" \tO", (" ", "O")),
        ("2021 O ", ("2021", "O")),
        ("科", None),
        ("\tO", None),  # the unit is lost
        (" O", None),
        ("科\t", None),
        ("a" + " " * 100_000, None),
    ],
)
def test_columns_of_a_line(line: str, columns: tuple[str, str] | None) -> None:
    assert split_columns(line) == columns


UNKNOWN, START, CLOSED = (
    "unknown tag: not annotated",
    "illegal start made a start",
    "unclosed entity closed",
)


@pytest.mark.parametrize(
    ("scheme", "text", "code", "line", "spans", "kind"),
    [
        ("bio", "a S-X\n", "F103", 1, [], UNKNOWN),
        ("bio", "a B-\n", "F103", 1, [], UNKNOWN),
        ("bmes", "a I-X\n", "F103", 1, [], UNKNOWN),
        ("bioes", "a M-X\n", "F103", 1, [], UNKNOWN),
        ("bio", "a B-X\x02I-X\x02O\n", "F103", 1, [], UNKNOWN),
        ("bio", "a B-X,I-X,O\n", "F103", 1, [], UNKNOWN),
        ("bio", "a O\nb I-X\n", "F104", 2, [(1, 2, "X")], START),
        ("bio", "a B-X\nb I-Y\n", "F104", 2, [(0, 1, "X"), (1, 2, "Y")], START),
        ("bioes", "a O\nb E-X\n", "F104", 2, [(1, 2, "X")], START),
        ("bmes", "a B-X\nb M-X\nc O\n", "F105", 2, [(0, 2, "X")], CLOSED),
        ("bmes", "a O\nb B-X\n\nc O\n", "F105", 2, [(1, 2, "X")], CLOSED),
        ("bioes", "a B-X\nb S-X\n", "F105", 1, [(0, 1, "X"), (1, 2, "X")], CLOSED),
    ],
)
def test_defects(
    tmp_path: Path,
    scheme: Scheme,
    text: str,
    code: str,
    line: int,
    spans: list[EntitySpan],
    kind: str,
) -> None:
    with pytest.raises(ValueError, match=rf"\[{code}\] .*c, line {line}: "):
        read(tmp_path / "c", scheme, text=text)
    found, counts = read(tmp_path / "c", scheme, repair=True)
    assert found[0].entities == spans
    assert found[0].unknown == [0] * (kind == UNKNOWN)
    assert counts == {kind: 1}


def test_what_is_never_repaired(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"F102.*c, line 2: .*'b'"):
        read(tmp_path / "c", repair=True, text="a O\nb\n")
    (tmp_path / "c").write_bytes(b"a O\n" + "科 O\n".encode("gb18030"))
    with pytest.raises(ValueError, match=r"F004.* line 2: byte 0xbf at offset 0 .*--encoding"):
        read(tmp_path / "c", repair=True)


# In a corpus


def test_characters_and_words(tmp_path: Path) -> None:
    docs, summary = convert(tmp_path, "重 B-LOC\n庆 I-LOC\n开 O\n\n好 O\n")
    assert [doc.text for doc in docs] == ["重庆开", "好"]
    assert [entities(doc) for doc in docs] == [[("重庆", "LOC")], []]
    assert [token.ent_iob_ for token in docs[1]] == ["O"]
    assert (summary.docs, summary.characters, summary.labels) == (2, 4, {"LOC": 1})
    docs, _ = convert(tmp_path, "in O\nNew B-LOC\nYork I-LOC\n. O\n", words=True)
    assert (docs[0].text, len(docs[0])) == ("in New York .", 4)
    assert entities(docs[0]) == [("New York", "LOC")]
    docs, _ = convert(tmp_path, "2021\tO\n年\tO\nNBA\tB-ORG\n 赛\tI-ORG\n")
    assert [token.text for token in docs[0]] == ["2021", "年", "NBA", "赛"]
    docs, _ = convert(tmp_path, "去 X-LOC\n了 O\n", format="bio", repair=True)
    assert [token.ent_iob_ for token in docs[0]] == ["", "O"]


def test_white_space(tmp_path: Path) -> None:
    """None at the ends of entities."""
    docs, _ = convert(tmp_path, " \tO\n甲\tB-X\n \tI-X\n乙\tI-X\n\u3000\tO\n丙\tB-X\n \tO\n")
    assert docs[0].text == " 甲 乙\u3000丙 "
    assert entities(docs[0]) == [("甲 乙", "X"), ("丙", "X")]
    docs, _ = convert(tmp_path, "甲\tO\n \tB-X\n乙\tI-X\n \tI-X\n")
    assert entities(docs[0]) == [("乙", "X")]


def test_units_with_positions(tmp_path: Path) -> None:
    """As in Weibo: digits would become text in silence."""
    with pytest.raises(ValueError, match=r"F114.*科0 技1"):
        convert(tmp_path, "科0\tB-ORG\n技1\tI-ORG\n10\tO\n")


@pytest.mark.parametrize(
    "text",
    [
        "John B-PER\nlives O\nin O\nNew B-LOC\nYork I-LOC\n. O\n",
        "Иван B-PER\nживёт O\nв O\nМоскве B-LOC\n",
        "서울에 B-LOC\n살아요 O\n",
    ],
)
def test_words_that_would_be_written_together(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValueError, match="F115"):
        convert(tmp_path, text)
    assert convert(tmp_path, text, words=True)[0]


def test_no_blank_line(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """The file is one text."""
    for text in ("好\tO\n" * 500, "好\tO\n" * 500 + "\n好\tO\n" * 500):
        convert(tmp_path, text)
    assert not recwarn
    with pytest.warns(UserWarning, match=r"W164.*corpus: no blank line, .* 501 units"):
        convert(tmp_path, "好\tO\n" * 501)


def test_numbers_of_lines_are_no_units(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="F106"):
        convert(tmp_path, "1\t王\tB-PER\n2\t芳\tI-PER\n\n1\t去\tO\n")


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("今天 O\n天气 O\n很 O\n好 O\n", "今天天气很好"),  # words of a script without spaces
        ("ラーメン O\nください O\n", "ラーメンください"),
        ("2021 O\n12 O\n31 O\n", "20211231"),
        ("用 O\niPhone O\nPro O\n拍 O\n", "用iPhonePro拍"),
    ],
)
def test_what_only_looks_so_is_read(tmp_path: Path, text: str, whole: str) -> None:
    assert convert(tmp_path, text)[0][0].text == whole
