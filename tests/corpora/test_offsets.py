"""JSON with character offsets: what is read, and what is said of every defect."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from converted import convert, entities
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spacy_flat.corpora.columns import Sentence
from spacy_flat.corpora.formats import Summary
from spacy_flat.corpora.offsets import layout_of, read_offsets
from spacy_flat.text.units import EntitySpan

TEXT, LOC = "重庆开业", [EntitySpan(0, 2, "LOC")]
SPAN = {"start": 0, "end": 2, "label": "LOC"}
VALUE = {"start": 0, "end": 2, "text": "重庆", "labels": ["LOC"]}
HYPER = {"start": "/p[1]/text()[1]", "end": "/p[1]/text()[1]", "hypertextlabels": ["LOC"]}
HYPER |= {"globalOffsets": {"start": 0, "end": 2}, "text": "重庆"}
RESULT = [{"type": "labels", "value": VALUE}, {"type": "relation", "from_id": "a"}]


def read(path: Path, *records: object, repair: bool = False) -> list[Sentence]:
    path = path / "c.json"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return list(read_offsets(path, Summary(repair)))


def task(*annotations: dict[str, object], text: str = TEXT) -> dict[str, object]:
    return {"id": 1, "data": {"text": text}, "annotations": annotations, "predictions": []}


@pytest.mark.filterwarnings("ignore:.*W162")  # any texts have odd borders at times
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
    ("record", "layout", "spans"),
    [
        ({"text": TEXT, "label": {"LOC ": {"重庆": [[0, 1]]}}, "answer": "好"}, "cluener", LOC),
        ([TEXT, {"entities": [[0, 2, "LOC"]]}], "spacy", LOC),
        ({"id": 7, "text": TEXT, "label": [[0, 2, " LOC\t"]]}, "doccano", LOC),
        (
            {"text": TEXT, "entities": [{"label": "LOC", "start_offset": 0, "end_offset": 2}]},
            "doccano",
            LOC,
        ),
        ({"text": TEXT, "ents": [SPAN], "tokens": []}, "doccano", LOC),  # spaCy's Doc.to_json
        ({"text": TEXT, "spans": [{"token_start": 0, **SPAN}]}, "prodigy", LOC),
        ({"text": TEXT, "spans": [SPAN], "answer": "reject"}, "prodigy", None),
        (task({"result": RESULT}), "label-studio", LOC),
        (task(), "label-studio", None),
        (task({"result": RESULT, "was_cancelled": True}), "label-studio", None),
        (task({"result": []}, {"result": RESULT, "ground_truth": True}), "label-studio", LOC),
        (task({"result": [{"type": "hypertextlabels", "value": HYPER}]}), "label-studio", LOC),
    ],
)
def test_layouts(tmp_path: Path, record: object, layout: str, spans: object) -> None:
    """A record that nobody annotated is skipped."""
    assert layout_of(record) == layout
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
        ('{"text": "\\ud800", "label": {}}', "surrogates not allowed"),
        ('{"text": "甲", "label": [[0, 1]]}', "[0, 1] is neither [start, end, type] nor an object"),
        ('{"text": "甲", "label": [["0", 1, "X"]]}', "is neither [start, end, type] nor"),
        ('{"data": {"text": "甲"}, "annotations": [{"result": 1}]}', "not as Label Studio has"),
    ],
)
def test_malformed_records_are_never_repaired(tmp_path: Path, raw: str, problem: str) -> None:
    path = tmp_path / "c.json"
    path.write_text('{"text": "好", "label": {}}\n' + raw + "\n", "utf-8")
    with pytest.raises(ValueError, match=r"F156.*c\.json, line 2: ") as error:
        list(read_offsets(path, Summary(repair=True)))
    assert problem in str(error.value)


# Offsets that are wrong


@pytest.mark.parametrize(
    ("surface", "text", "start", "end"),
    [
        ("Berlin, Germany", "in Berlin,  Germany", 3, 19),
        ("a\nb", "a\r\nb", 0, 4),
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


EMOJI = "😀李雷在北京，北京"


@pytest.mark.parametrize(
    ("spans", "said", "found"),
    [
        ([(2, 4), (5, 7)], "UTF-16 code units", [(1, 3), (4, 6)]),
        ([(0, 2), (6, 8)], "offsets of the record are one too low", [(1, 3), (7, 9)]),
        ([(1, 2), (7, 8)], "ends of the record are one too low", [(1, 3), (7, 9)]),
        ([(1, 4), (4, 7)], "ends of the record are one too high", [(1, 3), (4, 6)]),
    ],
)
def test_the_kind_of_wrong_offsets_is_named(
    tmp_path: Path, spans: list[tuple[int, int]], said: str, found: list[tuple[int, int]]
) -> None:
    """And repaired."""
    marked = [
        {"start": start, "end": end, "label": "X", "text": text}
        for (start, end), text in zip(spans, ("李雷", "北京"), strict=True)
    ]
    record = {"text": EMOJI, "entities": marked}
    with pytest.raises(ValueError, match=rf"F108.*{said}"):
        read(tmp_path, record)
    (sentence,) = read(tmp_path, record, repair=True)
    assert sorted(sentence.entities) == [EntitySpan(a, b, "X") for a, b in found]
    assert not sentence.unknown
    if "UTF-16" in said:  # with and without surfaces
        record = {"text": "😀去北京", "label": [[3, 5, "LOC"]]}
        with pytest.raises(ValueError, match=r"F107.*\[3, 5\) .*of 4 characters\. .*UTF-16"):
            read(tmp_path, record)
        assert read(tmp_path, record, repair=True)[0].entities == [EntitySpan(2, 4, "LOC")]


@pytest.mark.parametrize(
    ("entity", "code", "tags"),
    [
        ({"start": 0, "end": 9, "label": "X"}, "F107", ".....BI"),
        ({"start": 0, "end": 1, "label": "X", "text": "丙"}, "F108", ".....BI"),
        ({"start": 3, "end": 6, "label": "X"}, "F109", "OOOBII."),
    ],
)
def test_what_can_not_be_placed_is_unknown(
    tmp_path: Path, entity: dict[str, Any], code: str, tags: str
) -> None:
    """Not negative."""
    wrong = json.dumps({"text": "甲，乙甲在北京", "entities": [[5, 7, "X"], entity]})
    with pytest.raises(ValueError, match=rf"\[{code}\] .*corpus, line 1: "):
        convert(tmp_path, wrong)
    docs, summary = convert(tmp_path, wrong, repair=True, coarse=["X=Y,Z"])
    assert "".join(token.ent_iob_ or "." for token in docs[0]) == tags
    assert summary.repairs.total() == 1


CHINESE = [("王芳昨天去了北京。", "王芳", "北京"), ("记者，李雷", "记者", "李雷")]
ENGLISH = [("Ann left New York.", "Ann", "New York")] * 3


@pytest.mark.parametrize("texts", [CHINESE * 5, ENGLISH])
@pytest.mark.parametrize("shift", [-1, 0, 1])
def test_shifted_offsets_without_surfaces_are_warned_of(
    tmp_path: Path, texts: list[tuple[str, ...]], shift: int, recwarn: pytest.WarningsRecorder
) -> None:
    """Entities would start or end with punctuation, or within a word."""
    records = []
    for text, *names in texts:
        text = f"“{text}”"
        places = [text.index(name) + shift for name in names]
        spans = [[at, at + len(name), "X"] for at, name in zip(places, names, strict=True)]
        records.append({"text": text, "label": spans})
    read(tmp_path, *records)
    messages = [str(warning.message) for warning in recwarn]
    assert len(messages) == bool(shift)
    assert all("[W162]" in message and "entities start or end" in message for message in messages)


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
    (sentence,) = read(tmp_path, {"text": "好" * 27, "label": found}, repair=True)
    assert sentence.entities == sorted(kept)
    dropped = {i for each in {*found} - {*kept} for i in range(each.start, each.end)}
    assert {*sentence.unknown} == dropped


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
    text = json.dumps([{"text": "好", "label": []}, {"text": "好", "label": [[0, 2, "X"]]}])
    with pytest.raises(ValueError, match=r"F107.*corpus, line of record 2: the X entity"):
        convert(tmp_path, text)
