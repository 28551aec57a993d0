"""Column files: what is read from every scheme, and what is said of every defect."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spacy_flat.corpora.columns import ColumnReader, Scheme, detect_scheme, split_columns
from spacy_flat.corpora.repairs import AnnotatedUnits, Repairs
from spacy_flat.text.units import EntitySpan

SCHEMES: list[Scheme] = ["bio", "iob1", "bmes", "bioes", "biluo"]
# Tags of an entity of one, two and of four units.
TAGS = {
    "bio": {1: "B", 2: "BI", 4: "BIII"},
    "iob1": {1: "I", 2: "II", 4: "IIII"},
    "bmes": {1: "S", 2: "BE", 4: "BMME"},
    "bioes": {1: "S", 2: "BE", 4: "BIIE"},
    "biluo": {1: "U", 2: "BL", 4: "BIIL"},
}


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode("utf-8"))
    return path


def read(path: Path, scheme: Scheme = "bio", repair: bool = False, **strip: str | bool):
    repairs = Repairs(repair)
    return list(ColumnReader(path, scheme, repairs, **strip)), dict(repairs.counts)  # type: ignore


def encode(length: int, entities: list[EntitySpan], scheme: Scheme) -> list[str]:
    """The plain reference: each entity's tags by its length."""
    tags = ["O"] * length
    for start, end, label in entities:
        inside = "M" if scheme == "bmes" else "I"
        first = "I" if scheme == "iob1" and tags[start - 1][2:] != label else "B"
        for i in range(start, end):
            tags[i] = f"{first if i == start else inside}-{label}"
        if scheme not in ("bio", "iob1"):
            single, closing = "UL" if scheme == "biluo" else "SE"
            last = single if end - start == 1 else closing
            tags[end - 1] = f"{last}-{label}"
    return tags


@st.composite
def sentences(draw: st.DrawFn) -> AnnotatedUnits:
    alphabet = st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\t\ufeff ")
    units = draw(st.lists(st.text(alphabet, min_size=1, max_size=3), min_size=1, max_size=20))
    # U+0085 and others are white space for Python, but may be a unit of one character.
    units = [u if len(u) == 1 or not any(c.isspace() for c in u) else "X" for u in units]
    cuts = sorted(draw(st.sets(st.integers(0, len(units)), max_size=8)))
    entities = []
    for start, end in pairwise(cuts):
        label = draw(st.sampled_from(["", "PER", "creative-work", "PER.NOM"]))
        if label:
            entities.append(EntitySpan(start, end, label))
    return AnnotatedUnits(units, entities, 1)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("separator", ["\t", " ", "\tNN\t"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(corpus=st.lists(sentences(), min_size=1, max_size=4))
def test_entities_survive_every_scheme(
    tmp_path: Path, scheme: Scheme, separator: str, corpus: list[AnnotatedUnits]
) -> None:
    blocks = []
    for sentence in corpus:
        tags = encode(len(sentence.units), sentence.entities, scheme)
        blocks.append(
            "\n".join(f"{u}{separator}{t}" for u, t in zip(sentence.units, tags, strict=True))
        )
    found, _ = read(write(tmp_path / "corpus", "\n\n".join(blocks)), scheme)
    assert [s._replace(line=1) for s in found] == corpus


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("length", [1, 2, 4])
def test_tags_of_an_entity(tmp_path: Path, scheme: Scheme, length: int) -> None:
    tags = [f"{prefix}-LOC" for prefix in TAGS[scheme][length]]
    text = "".join(f"山 {tag}\n" for tag in ["O", *tags, "O"])
    found, _ = read(write(tmp_path / "c", text), scheme)
    assert found[0].entities == [EntitySpan(1, 1 + length, "LOC")]


def test_neighbouring_entities_of_one_type_stay_two(tmp_path: Path) -> None:
    found, _ = read(write(tmp_path / "c", "京 B-LOC\n沪 B-LOC\n杭 I-LOC\n"))
    assert found[0].entities == [EntitySpan(0, 1, "LOC"), EntitySpan(1, 3, "LOC")]


def test_sentences_end_at_blank_lines_and_docstarts(tmp_path: Path) -> None:
    text = "-DOCSTART- -X- O O\n\na O\nb O\n \t\n\nc O\n-DOCSTART-\td\nd O"
    found, _ = read(write(tmp_path / "c", text))
    assert [(s.units, s.line) for s in found] == [(["a", "b"], 3), (["c"], 7), (["d"], 9)]


def test_comments_are_no_units(tmp_path: Path) -> None:
    found, _ = read(write(tmp_path / "c", "# text = a b\na O\n# O\n#\tO\n# b\nb O\n"))
    assert [(s.units, s.line) for s in found] == [(["a", "#", "#", "b"], 2)]


def test_windows_line_ends_and_byte_order_marks_are_no_content(tmp_path: Path) -> None:
    found, _ = read(write(tmp_path / "c", "\ufeffa B-X\r\nb I-X\r\n\r\n\ufeff\r\n"))
    assert found == [AnnotatedUnits(["a", "b"], [EntitySpan(0, 2, "X")], 1)]


@pytest.mark.parametrize(
    ("line", "columns"),
    [
        ("科 B-ORG", ("科", "B-ORG")),
        ("EU NNP I-NP B-ORG", ("EU", "B-ORG")),
        ("New York\tB-LOC", ("New York", "B-LOC")),
        ("  O", (" ", "O")),  # a space as a unit
        ("\u3000 O", ("\u3000", "O")),
        (" \tO", (" ", "O")),
        ("2021 O ", ("2021", "O")),
        ("科", None),
        ("\tO", None),  # the unit is lost
        (" O", None),
        ("科\t", None),
    ],
)
def test_columns_of_a_line(line: str, columns: tuple[str, str] | None) -> None:
    assert split_columns(line) == columns


def test_a_line_of_white_space_is_split_quickly() -> None:
    assert split_columns("a" + " " * 100_000) is None


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_scheme_is_told_by_the_tags(tmp_path: Path, scheme: Scheme) -> None:
    text = "".join(f"山 {prefix}-LOC\n" for length in (1, 4) for prefix in TAGS[scheme][length])
    assert detect_scheme(write(tmp_path / "c", text)) == scheme


def test_positions_are_stripped(tmp_path: Path) -> None:
    path = write(tmp_path / "c", "科0\tO\n技1\tO\n30\tO\n410\tO\n\ufffd\ufffd0\tO\n")
    found, _ = read(path, strip_position=True)
    assert found[0].units == ["科", "技", "3", "4", "\ufffd\ufffd"]


def test_a_prefix_is_stripped(tmp_path: Path) -> None:
    found, _ = read(write(tmp_path / "c", "en:New B-LOC\nen:York I-LOC\n"), strip_prefix="en:")
    assert found[0].units == ["New", "York"]


DEFECTS = [
    # scheme, text, code, line, what the repair yields, kind
    ("bio", "a O\nb\n", "F102", 2, [], "line without a tag dropped"),
    ("bio", "a S-X\n", "F103", 1, [], "unknown tag read as O"),
    ("bio", "a B-\n", "F103", 1, [], "unknown tag read as O"),
    ("bio", "a O\n# X-LOC\n", "F103", 2, [], "unknown tag read as O"),
    ("bio", "a B\n", "F103", 1, [], "unknown tag read as O"),
    ("bmes", "a I-X\n", "F103", 1, [], "unknown tag read as O"),
    ("bioes", "a M-X\n", "F103", 1, [], "unknown tag read as O"),
    ("biluo", "a E-X\n", "F103", 1, [], "unknown tag read as O"),
    ("biluo", "a O\nb L-X\n", "F104", 2, [(1, 2, "X")], "illegal start made a start"),
    ("biluo", "a B-X\nb I-X\nc O\n", "F105", 2, [(0, 2, "X")], "unclosed entity closed"),
    ("bio", "a O\nb I-X\n", "F104", 2, [(1, 2, "X")], "illegal start made a start"),
    ("bio", "a B-X\nb I-Y\n", "F104", 2, [(0, 1, "X"), (1, 2, "Y")], "illegal start made a start"),
    ("bioes", "a O\nb E-X\n", "F104", 2, [(1, 2, "X")], "illegal start made a start"),
    ("bmes", "a B-X\nb M-X\nc O\n", "F105", 2, [(0, 2, "X")], "unclosed entity closed"),
    ("bmes", "a O\nb B-X\n\nc O\n", "F105", 2, [(1, 2, "X")], "unclosed entity closed"),
    ("bioes", "a B-X\nb S-X\n", "F105", 1, [(0, 1, "X"), (1, 2, "X")], "unclosed entity closed"),
]


@pytest.mark.parametrize(("scheme", "text", "code", "line", "entities", "kind"), DEFECTS)
def test_a_defect_is_an_error_or_repaired_and_counted(
    tmp_path: Path,
    scheme: Scheme,
    text: str,
    code: str,
    line: int,
    entities: list[EntitySpan],
    kind: str,
) -> None:
    path = write(tmp_path / "c", text)
    with pytest.raises(ValueError, match=rf"\[{code}\] .*c, line {line}: "):
        read(path, scheme)
    found, counts = read(path, scheme, repair=True)
    assert found[0].entities == entities
    assert counts == {kind: 1}


@pytest.mark.parametrize("strip", [{"strip_prefix": "en:"}, {"strip_position": True}])
@pytest.mark.parametrize("unit", ["York", "en:", "3"])
def test_a_unit_that_cannot_be_stripped(
    tmp_path: Path, strip: dict[str, str | bool], unit: str
) -> None:
    path = write(tmp_path / "c", f"{unit} O\n")
    with pytest.raises(ValueError, match=r"F111.* line 1: unit '.*--strip-"):
        read(path, **strip)
    found, counts = read(path, repair=True, **strip)
    assert found[0].units == [unit]
    assert counts == {"unit without prefix or position kept": 1}


def test_another_encoding_is_named_with_byte_and_line(tmp_path: Path) -> None:
    path = tmp_path / "c"
    path.write_bytes(b"a O\n" + "科 O\n".encode("gb18030"))
    with pytest.raises(ValueError, match=r"F004.* line 2: byte 0xbf at offset 0 .*GB18030"):
        read(path, repair=True)
