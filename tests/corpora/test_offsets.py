"""JSON with character offsets: what is read, and what is said of every defect."""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from converted import convert, entities
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spacy_flat.corpora.columns import Sentence
from spacy_flat.corpora.formats import ConvertOptions, Summary
from spacy_flat.corpora.offsets import UNITS, Mention, Reading, Record
from spacy_flat.corpora.tools import read_layout
from spacy_flat.text.spans import EntitySpan

TEXT, LOC = "重庆开业", [EntitySpan(0, 2, "LOC")]
SPAN = {"start": 0, "end": 2, "label": "LOC"}
VALUE = {"start": 0, "end": 2, "text": "重庆", "labels": ["LOC"]}
HYPER = {"start": "/p[1]/text()[1]", "end": "/p[1]/text()[1]", "hypertextlabels": ["LOC"]}
HYPER |= {"globalOffsets": {"start": 0, "end": 2}, "text": "重庆"}
RESULT = [{"type": "labels", "value": VALUE}, {"type": "relation", "from_id": "a"}]


def read(path: Path, *records: object, repair: bool = False) -> list[Sentence]:
    path = path / "c.json"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return list(read_layout(path, ConvertOptions(), Summary(repair)))


def task(*annotations: dict[str, object], text: str = TEXT) -> dict[str, object]:
    return {"id": 1, "data": {"text": text}, "annotations": annotations, "predictions": []}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30), data=st.data()
)
def test_entities_survive(tmp_path: Path, text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)))
    spans, labels = [], {}
    for start, end in pairwise(cuts):
        label = data.draw(st.sampled_from(["name", "地名"]))
        spans.append(EntitySpan(start, end, label))
        labels.setdefault(label, {}).setdefault(text[start:end], []).append([start, end - 1])
    assert read(tmp_path, {"text": text, "label": labels}) == [Sentence(list(text), spans, [])]


@pytest.mark.parametrize(
    ("record", "spans"),
    [
        ({"text": TEXT, "label": {"LOC ": {"重庆": [[0, 1]]}}, "answer": "好"}, LOC),
        ([TEXT, {"entities": [[0, 2, "LOC"]]}], LOC),
        ({"id": 7, "text": TEXT, "label": [[0, 2, " LOC\t"]]}, LOC),
        (
            {"text": TEXT, "entities": [{"label": "LOC", "start_offset": 0, "end_offset": 2}]},
            LOC,
        ),
        ({"text": TEXT, "ents": [SPAN], "tokens": []}, LOC),  # spaCy's Doc.to_json
        ({"text": TEXT, "spans": [{"token_start": 0, **SPAN}]}, LOC),
        ({"text": TEXT, "spans": [SPAN], "answer": "reject"}, None),
        ({"text": TEXT, "spans": [SPAN], "answer": "ignore"}, None),
        ({"text": TEXT, "label": None}, None),
        ({"text": TEXT, "label": None, "entities": [SPAN]}, LOC),
        (task({"result": RESULT}), LOC),
        (task(), None),
        (task({"result": RESULT, "was_cancelled": True}), None),
        (task({"result": []}, {"result": RESULT, "ground_truth": True}), LOC),
        (task({"result": [{"type": "hypertextlabels", "value": HYPER}]}), LOC),
    ],
)
def test_layouts(tmp_path: Path, record: object, spans: object) -> None:
    """A record that nobody annotated is skipped."""
    assert [sentence.entities for sentence in read(tmp_path, record)] == [spans] * (
        spans is not None
    )


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ('{"text": "a"', "can't read it"),
        ("[]", "it is neither an object nor a pair"),
        ('{"text": 1, "label": {}}', 'it has no "text"'),
        ('{"text": "a"}', "it has no list or object of entities"),
        ('{"text": "a", "label": {"name": []}}', "[] is not an object of surfaces"),
        (
            '{"text": "a", "label": {"name": {"a": [[0.0, 0]]}}}',
            "is neither [start, end, type] nor",
        ),
        ('{"text": "a", "label": {"": {"a": [[0, 0]]}}}', "an entity has no type"),
        ('{"text": "a", "ents": [{"start": 0, "end": 1, "labels": []}]}', "an entity has no type"),
        ('{"text": "\\ud800", "label": {}}', "surrogates not allowed"),
        ('{"text": "甲", "label": [[0, 1, "\\ud800"]]}', "surrogates not allowed"),
        ('{"text": "甲", "label": [[0, 1]]}', "[0, 1] is neither [start, end, type] nor an object"),
        ('{"text": "甲", "label": [["0", 1, "X"]]}', "is neither [start, end, type] nor"),
        ('{"text": "甲", "label": [[false, 1, "X"]]}', "'start': False, "),
        ('{"text": "甲", "label": [{"start": 0, "end": 1, "labels": "X"}]}', "'labels': 'X'} is"),
        ('["甲", {"cats": {}}]', "it has no list or object of entities"),
        ('{"data": {"text": "甲"}, "annotations": [{"result": 1}]}', "not as Label Studio has"),
    ],
)
def test_malformed_records_are_never_repaired(tmp_path: Path, raw: str, problem: str) -> None:
    path = tmp_path / "c.json"
    path.write_text('{"text": "好", "label": {}}\n' + raw + "\n", "utf-8")
    with pytest.raises(ValueError, match=r"F156.*c\.json, line 2: ") as error:
        list(read_layout(path, ConvertOptions(), Summary(repair=True)))
    assert problem in str(error.value)


# Offsets that are wrong


@pytest.mark.parametrize(
    ("surface", "text", "start", "end"),
    [
        ("Berlin, Germany", "in Berlin,  Germany", 3, 19),
        ("a\nb", "a\r\nb", 0, 4),
        ("a\\nb", "a\nb", 0, 3),
        ("cafe\u0301", "café", 0, 4),
        ("ＡＢＣ", "ABC公司", 0, 3),
    ],
)
def test_offsets_count_where_only_white_space_differs(
    tmp_path: Path, surface: str, text: str, start: int, end: int
) -> None:
    value = {"start": start, "end": end, "text": surface, "labels": ["LOC"]}
    record = task({"result": [{"type": "labels", "value": value}]}, text=text)
    assert read(tmp_path, record)[0].entities == [EntitySpan(start, end, "LOC")]


# How often characters count, before them and within; and whether the last unit is the end.
WAYS = [(unit, ends) for unit in ("utf-32-le", "utf-16-le", "utf-8") for ends in (0, 1)]
SIZES = {"utf-32-le": 4, "utf-16-le": 2, "utf-8": 1}
TEXTS = [
    ("😂😂王芳去北京", ["王芳", "北京"]),
    ("Ann😀和李雷在New York，明天回来", ["Ann", "李雷", "New York"]),
    ("昨天重庆开业", ["重庆"]),
    ("🇨🇳中国队赢了李雷", ["中国队", "李雷"]),
]


def counted(text: str, at: int, unit: str) -> int:
    return len(text[:at].encode(unit)) // SIZES[unit]


@settings(max_examples=100)
@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12),
    start=st.integers(0, 50),
    end=st.integers(0, 50),
    way=st.sampled_from(WAYS),
    first=st.integers(0, 1),
)
def test_units_are_those_of_encodings(
    text: str, start: int, end: int, way: tuple[str, int], first: int
) -> None:
    unit, inclusive = way
    reading = Reading(first, bool(inclusive), [*UNITS][[*SIZES].index(unit)])
    record = Record(1, text, [Mention("X", start, end)])
    places = {counted(text, at, unit): at for at in range(len(text) + 1)}
    a, b = places.get(start - first), places.get(end + inclusive - first)
    assert record.places(reading)[0].text == ("" if None in (a, b) else text[a:b])


@pytest.mark.parametrize("marked", [False, True])
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize(("unit", "inclusive"), WAYS)
def test_a_file_says_how_its_offsets_count(
    tmp_path: Path,
    unit: str,
    inclusive: int,
    first: int,
    marked: bool,
    recwarn: pytest.WarningsRecorder,
) -> None:
    """In all records alike, also where a single one proves nothing."""
    records = []
    for text, names in TEXTS:
        places = [(text.index(name), text.index(name) + len(name)) for name in names]
        shifts = (first, first - inclusive)
        spans = [
            tuple(counted(text, at, unit) + shift for at, shift in zip(place, shifts, strict=True))
            for place in places
        ]
        keys = ("start", "end", "label", "text")[: 3 + marked]
        marks = [
            dict(zip(keys, (*span, "X", name), strict=False))
            for span, name in zip(spans, names, strict=True)
        ]
        records.append({"text": text, "entities": marks})
    found = [
        ["".join(units[e.start : e.end]) for e in spans]
        for units, spans, *_ in read(tmp_path, *records)
    ]
    assert found == [names for _, names in TEXTS]
    usual = unit == "utf-32-le" and not inclusive and not first
    assert ["[W163]" in str(each.message) for each in recwarn] == [True] * (not usual)


WHERE = r"the X entity at \[%s\] \(line %s\) is %s in"
INCLUSIVE = {"text": "王芳去北京", "label": [[0, 1, "X"], [3, 4, "X"]]}
EXCLUSIVE = {"text": "王芳去北京开会", "label": [[3, 5, "X"]]}
SEVERAL = [{"text": "王去", "label": [[0, 0, "X"]]}, {"text": "😂去王", "label": [[2, 2, "X"]]}]


def surfaces(sentences: list[Sentence]) -> list[list[str]]:
    return [["".join(s.units[a:b]) for a, b, _ in s.entities] for s in sentences]


@pytest.mark.parametrize("repair", [False, True])
@pytest.mark.parametrize(
    "records", [[EXCLUSIVE] * 3 + [INCLUSIVE] * 4, SEVERAL, [INCLUSIVE] * 3 + [EXCLUSIVE] * 3]
)
def test_records_that_count_differently(tmp_path: Path, records: list[Any], repair: bool) -> None:
    """Or in which two ways fit: no repair guesses."""
    with pytest.raises(ValueError, match=rf"F128.*{WHERE}.*{WHERE}" % ((".*",) * 6)) as error:
        read(tmp_path, *records, repair=repair)
    *_, (one, other) = re.findall(r"is (\S+) in [^,]+, (\S+) in", str(error.value))
    assert one != other


def test_units_of_one_record_that_count_differently(tmp_path: Path) -> None:
    """It is left out and counted, where the others fit the layout."""
    odd = {"text": "😂李四", "label": [[2, 4, "X"]]}
    others = [{"text": "😂😂王芳去北京", "label": [[2, 4, "X"], [5, 7, "X"]]}] * 2
    with pytest.raises(ValueError, match=r"F107.*line 1: the X entity at \[2, 4\] "):
        read(tmp_path, odd, *others)
    sentences = read(tmp_path, odd, *others, repair=True)
    assert surfaces(sentences) == [[], *[["王芳", "北京"]] * 2]
    assert [*sentences[0].unknown] == [0, 1, 2]


@pytest.mark.parametrize("opposite", [0, 1])
def test_ends_are_those_of_each_layout(
    tmp_path: Path, opposite: int, recwarn: pytest.WarningsRecorder
) -> None:
    """A file may mix them. What is shown are the offsets of the file."""
    records = []
    for n, (text, names) in enumerate(TEXTS):
        spans = [(text.index(name), text.index(name) + len(name)) for name in names]
        marks: Any = {"X": {name: [[a, b - 1]] for name, (a, b) in zip(names, spans, strict=True)}}
        if opposite or n % 2:
            marks = [[a, b - opposite, "X"] for a, b in spans]
        records.append({"text": text, "label": marks})
    assert surfaces(read(tmp_path, *records)) == [names for _, names in TEXTS]
    shown = [
        re.search("W163.*" + WHERE % ("2, 3", 1, "'王'"), str(each.message)) for each in recwarn
    ]
    assert [each is not None for each in shown] == [True] * opposite


def test_weak_evidence_is_only_warned_of(tmp_path: Path) -> None:
    """The layout counts. With three of three entities, the file does."""
    fine = {"text": "王芳去北京", "label": [[0, 2, "X"]]}
    with pytest.warns(UserWarning, match="W162.*" + WHERE % ("0, 1", 1, "'王' in .*'王芳'")):
        found = read(tmp_path, INCLUSIVE)
    assert surfaces(found) == [["王", "北"]]
    with pytest.warns(UserWarning, match="W163"):
        found = read(tmp_path, INCLUSIVE, {"text": "李雷", "label": [[0, 1, "X"]]})
    assert surfaces(found) == [["王芳", "北京"], ["李雷"]]
    with pytest.warns(UserWarning, match="W162.* 3 of 8 "):
        found = read(tmp_path, *[INCLUSIVE, {"text": "李雷", "label": [[0, 1, "X"]]}, *[fine] * 5])
    assert surfaces(found) == [["王", "北"], ["李"], *[["王芳"]] * 5]
    with pytest.warns(UserWarning, match="W162.* 6 of 8 "):  # three times as much is not more
        found = read(tmp_path, *[INCLUSIVE] * 3, *[EXCLUSIVE] * 2)
    assert surfaces(found) == [["王", "北"]] * 3 + [["北京"]] * 2
    with pytest.warns(UserWarning, match="W162.*'芳去' in .*'王芳' in characters from 1"):
        found = read(tmp_path, {"text": "王芳去北京", "label": [[1, 3, "X"]]})
    assert surfaces(found) == [["芳去"]]


def test_a_count_from_0_is_likelier(tmp_path: Path) -> None:
    """Than one from 1 that fits as well."""
    with pytest.warns(UserWarning, match="W163.* is nothing in .*'她' in characters from 0"):
        assert surfaces(read(tmp_path, {"text": "他爱她", "label": [[2, 2, "X"]]})) == [["她"]]


@pytest.mark.parametrize("char", "，😂 \t")
@pytest.mark.parametrize("mark", [[0, 3, "X"], [2, 5, "X"]])
@pytest.mark.parametrize(("n", "total"), [(2, 5), (3, 7)])
def test_odd_entities_are_warned_of_above_two_in_five(
    tmp_path: Path,
    char: str,
    mark: list[Any],
    n: int,
    total: int,
    recwarn: pytest.WarningsRecorder,
) -> None:
    """They end or start with a mark, an emoji or white space."""
    marks = [mark] * n + [[0, 2, "X"]] * (total - n)
    read(tmp_path, *[{"text": f"重庆{char}北京", "label": [each]} for each in marks])
    assert [f"{n} of {total}" in str(each.message) for each in recwarn] == [True] * (n == 3)


@pytest.mark.parametrize(
    ("entity", "code", "tags"),
    [
        ({"start": 0, "end": 9, "label": "X"}, "F107", ".....BI"),
        ({"start": 0, "end": 1, "label": "X", "text": "丙"}, "F108", ".....BI"),
        ({"start": 0, "end": 1, "label": "X", "text": ""}, "F108", ".....BI"),
        ({"start": 3, "end": 6, "label": "X"}, "F109", "OOOBII."),
    ],
)
def test_what_can_not_be_placed_is_unknown(
    tmp_path: Path, entity: dict[str, Any], code: str, tags: str
) -> None:
    """Not negative."""
    wrong = json.dumps({"text": "甲，乙甲在北京", "entities": [[5, 7, "X"], entity]})
    with pytest.raises(ValueError, match=rf"\[{code}\] .*corpus, line 1: ") as error:
        convert(tmp_path, wrong)
    assert "''" not in str(error.value)
    docs, summary = convert(tmp_path, wrong, repair=True, coarse=["X=Y,Z"])
    assert "".join(token.ent_iob_ or "." for token in docs[0]) == tags
    assert summary.repairs.total() == 1


@pytest.mark.parametrize(("size", "n"), [(4, 4), (1, 1)])
def test_shifted_offsets_are_warned_of(tmp_path: Path, size: int, n: int) -> None:
    """Entities start or end within words, or with punctuation."""
    text = "昨天，王芳去了北京，李雷去了重庆。"
    names = ("王芳", "北京", "李雷", "重庆")[:size]
    marks = [[text.index(name) - 1, text.index(name) + 1, "X"] for name in names]
    with pytest.warns(UserWarning, match=rf"W162.*c\.json: {n} of {size} entities start or end"):
        read(tmp_path, {"text": text, "label": marks})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 18), st.integers(1, 9), st.sampled_from("ab"))))
def test_the_longest_of_overlapping_entities_are_kept(
    tmp_path: Path, spans: list[tuple[int, int, str]]
) -> None:
    found = [EntitySpan(start, start + size, label) for start, size, label in spans]
    kept: list[EntitySpan] = []
    for entity in sorted(found, key=lambda e: (e.start - e.end, e.start)):
        if all(entity.end <= other.start or other.end <= entity.start for other in kept):
            kept.append(entity)
    marks = [
        {"start": a, "end": b, "label": label, "text": "好" * (b - a)} for a, b, label in found
    ]
    (sentence,) = read(tmp_path, {"text": "好" * 27, "entities": marks}, repair=True)
    assert sentence.entities == sorted(kept)
    dropped = {i for each in {*found} - {*kept} for i in range(each.start, each.end)}
    assert {*sentence.unknown} == dropped


def test_an_entity_that_is_repeated_is_one(tmp_path: Path) -> None:
    assert read(tmp_path, {"text": TEXT, "label": [[0, 2, "LOC"]] * 2})[0].entities == LOC


def test_an_entity_with_two_labels(tmp_path: Path) -> None:
    record = json.dumps({"text": TEXT, "entities": [{**VALUE, "labels": ["LOC", "ORG"]}]})
    with pytest.raises(ValueError, match=r"F109.*ORG .* LOC"):
        convert(tmp_path, record)
    docs, summary = convert(tmp_path, record, repair=True)
    assert entities(docs[0]) == [("重庆", "LOC")]
    assert summary.repairs == {"second label dropped": 1}


# Arrays


def test_an_array_is_read_as_its_lines_are(tmp_path: Path) -> None:
    records = [{"text": "好", "label": {}}, {"text": "甲,]乙", "label": {"name": {"甲": [[0, 0]]}}}]
    for indent in (None, 2):
        text = json.dumps(records, ensure_ascii=False, indent=indent)
        docs, _ = convert(tmp_path, text)
        assert [doc.text for doc in docs] == ["好", "甲,]乙"]
        assert [entities(doc) for doc in docs] == [[], [("甲", "name")]]


@pytest.mark.parametrize(
    "text",
    [
        '[{"text": "好", "label": {}},\n{"text": ',
        '[{"text": "好", "label": {}}\n\n{"text": "好", "label": {}}]',
        '[{"text": ' + "[" * 100_000,
        '[{"text": "好", "label": {}}]\n[{"text": "坏", "label": {}}]\n',
    ],
)
def test_a_damaged_array_is_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValueError, match=r"\[F119\] .*corpus: can't read the JSON array"):
        convert(tmp_path, text, repair=True)


def test_a_record_of_an_array_is_named(tmp_path: Path) -> None:
    text = json.dumps([{"text": "好", "label": []}, {"text": "好", "label": [[0, 9, "X"]]}])
    with pytest.raises(ValueError, match=r"F107.*corpus, line of record 2: the X entity"):
        convert(tmp_path, text)
