"""JSON with character offsets: what is read, and what is said of every defect."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from time import process_time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spacy_flat.corpora.offsets import OffsetReader, detect_layout
from spacy_flat.corpora.repairs import AnnotatedUnits, Repairs
from spacy_flat.text.units import EntitySpan

Labels = dict[str, dict[str, list[list[int]]]]


def read(path: Path, repair: bool = False) -> tuple[list[AnnotatedUnits], dict[str, int]]:
    repairs = Repairs(repair)
    return list(OffsetReader(path, repairs)), dict(repairs.counts)


def write(path: Path, text: str, label: object) -> Path:
    line = json.dumps({"text": text, "label": label}, ensure_ascii=False)
    path.write_text(line + "\n", encoding="utf-8")
    return path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30), data=st.data()
)
def test_entities_survive(tmp_path: Path, text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)))
    entities, labels = [], {}
    for start, end in pairwise(cuts):
        label = data.draw(st.sampled_from(["name", "地名", "book"]))
        entities.append(EntitySpan(start, end, label))
        spans = labels.setdefault(label, {}).setdefault(text[start:end], [])
        spans.append([start, end - 1])
    found, _ = read(write(tmp_path / "c.json", text, labels))
    assert found == [AnnotatedUnits(list(text), entities, 1)]


def test_blank_lines_are_skipped_and_lines_counted(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text('\ufeff{"text": "a", "label": {}}\n\n{"text": "b", "label": {}}\n', "utf-8")
    assert read(path)[0] == [AnnotatedUnits(["a"], [], 1), AnnotatedUnits(["b"], [], 3)]


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ('{"text": "a"', "it is not JSON"),
        ("[]", "it is neither an object nor a pair"),
        ('{"text": 1, "label": {}}', 'it has no "text"'),
        ('{"text": "a", "label": 1}', "it has no list or object of entities"),
        ('{"text": "a", "label": {"name": []}}', "label 'name' has no object of surfaces"),
        ('{"text": "\\ud800", "label": {}}', "it has U+D800, a surrogate without its other half"),
        ('{"text": "a", "label": {"\\udc00": {"a": [[0, 0]]}}}', "it has U+DC00, a surrogate"),
        ('{"text": ' + "[" * 100_000, "it is nested too deeply"),
        ('{"text": "a", "label": {"": {}}}', "label '' has no object of surfaces"),
        ('{"text": "a", "label": {"name": {"a": 0}}}', "surface 'a' has no list of offsets"),
        ('{"text": "a", "label": {"name": {"a": [0, 0]}}}', "0 is not a pair of offsets"),
        ('{"text": "a", "label": {"name": {"a": [[0]]}}}', "[0] is not a pair of offsets"),
        ('{"text": "a", "label": {"name": {"a": [[0, true]]}}}', "is not a pair of offsets"),
        *(
            (record, "CLUENER, doccano, Label Studio")
            for record in (
                '["甲"]',
                '["甲", []]',
                '["甲", {}]',
                '[1, {"entities": []}]',
                '["甲", {"entities": [[0, 1]]}]',
                '["甲", {"entities": [[0, 1, ""]]}]',
                '{"text": "甲", "label": [{"start": 0, "label": "X"}]}',
                '{"text": "甲", "label": [{"start": 0, "end": 1, "labels": "X"}]}',
                '{"text": "甲", "label": [{"start": "/p[1]", "end": "/p[1]", "labels": ["X"]}]}',
                '{"data": 1, "annotations": [{}]}',
                '{"data": {"text": "甲"}, "annotations": [{"result": 1}]}',
                '{"data": {"audio": "甲"}, "annotations": [{"result": []}]}',
                '{"text": "甲"}',
            )
        ),
    ],
)
def test_a_malformed_line_is_an_error_or_dropped(tmp_path: Path, raw: str, problem: str) -> None:
    path = tmp_path / "c.json"
    path.write_text('{"text": "好", "label": {}}\n' + raw + "\n", "utf-8")
    with pytest.raises(ValueError, match=r"F156.*c\.json, line 2: ") as error:
        read(path)
    assert problem in str(error.value)
    found, counts = read(path, repair=True)
    assert [sentence.units for sentence in found] == [["好"]]
    assert counts == {"malformed record dropped": 1}


@pytest.mark.parametrize(
    ("labels", "code", "kept", "kind"),
    [
        ({"name": {"丙丁": [[2, 4]]}}, "F107", [], "entity outside the text dropped"),
        ({"name": {"甲": [[-1, 0]]}}, "F107", [], "entity outside the text dropped"),
        ({"name": {"甲": [[1, 0]]}}, "F107", [], "entity outside the text dropped"),
        ({"name": {"丙": [[1, 2]]}}, "F108", [], "entity with another surface dropped"),
        (
            {"name": {"甲乙": [[0, 1]]}, "book": {"乙丙丁": [[1, 3]]}},
            "F109",
            [EntitySpan(1, 4, "book")],
            "overlapping entity dropped",
        ),
        (
            {"name": {"甲乙": [[0, 1]]}, "book": {"甲乙": [[0, 1]]}},
            "F109",
            [EntitySpan(0, 2, "name")],
            "overlapping entity dropped",
        ),
    ],
)
def test_a_wrong_entity_is_an_error_or_dropped(
    tmp_path: Path, labels: Labels, code: str, kept: list[EntitySpan], kind: str
) -> None:
    path = write(tmp_path / "c.json", "甲乙丙丁", labels)
    with pytest.raises(ValueError, match=rf"\[{code}\] .*c\.json, line 1: "):
        read(path)
    found, counts = read(path, repair=True)
    assert found[0].entities == kept
    assert counts == {kind: 1}


@given(st.lists(st.tuples(st.integers(0, 18), st.integers(1, 9), st.sampled_from("ab"))))
def test_the_longest_of_overlapping_entities_are_kept(spans: list[tuple[int, int, str]]) -> None:
    entities = [EntitySpan(start, start + size, label) for start, size, label in spans]
    kept: list[EntitySpan] = []
    for entity in sorted(entities, key=lambda e: (e.start - e.end, e.start)):
        if all(entity.end <= other.start or other.end <= entity.start for other in kept):
            kept.append(entity)
    reader = OffsetReader(Path("c.json"), Repairs(enabled=True))
    assert reader._without_overlap(1, "好" * 27, entities) == sorted(kept)
    assert reader.repairs.counts.total() == len(entities) - len(kept)


def test_the_longest_one_that_an_entity_overlaps_is_named(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    spans = '[[0, 3, "A"], [2, 4, "B"], [3, 7, "C"]]'
    path.write_text(f'["甲乙丙丁戊己庚", {{"entities": {spans}}}]', "utf-8")
    with pytest.raises(ValueError, match="B entity '丙丁' overlaps the C entity '丁戊己庚'"):
        read(path)


def test_a_long_text_with_many_entities_is_read_in_linear_time(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    n = 20_000
    spans = [[2 * i, 2 * i + 1, "X"] for i in range(n)]
    path.write_text(json.dumps(["好" * 2 * n, {"entities": spans}]), "utf-8")
    start = process_time()
    (sentence,), _ = read(path)
    assert process_time() - start < 3  # 18 s where each is compared with all others
    assert len(sentence.entities) == n


# Arrays and pairs


def test_an_array_is_read_as_its_lines_are(tmp_path: Path) -> None:
    records = [{"text": "好", "label": {}}, {"text": "甲,]乙", "label": {"name": {"甲": [[0, 0]]}}}]
    path = tmp_path / "c.json"
    for indent in (None, 2):
        path.write_text(json.dumps(records, ensure_ascii=False, indent=indent), "utf-8")
        assert detect_layout(path) == "cluener"
        found, _ = read(path)
        assert [sentence.units for sentence in found] == [["好"], ["甲", ",", "]", "乙"]]
        assert [sentence.entities for sentence in found] == [[], [EntitySpan(0, 1, "name")]]
    assert [sentence.line for sentence in found] == [2, 6]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[{"text": "好", "label": {}},\n{"text": ', 2),
        ('[{"text": "好", "label": {}}\n\n{"text": "好", "label": {}}]', 3),
        ('[{"text": "好", "label": {}},\n', 1),
        ('[{"text": "好", "label": {}}\n', 1),
        ('[{"text": "好", "label": {}},\n]', 2),
        ('[{"text": "好", "label": {}},\n{"text": ' + "[" * 100_000, 2),
        ('[{"text": "好", "label": {}}]\n[{"text": "坏", "label": {}}]\n', 2),
    ],
)
@pytest.mark.parametrize("repair", [False, True])
def test_a_damaged_array_is_an_error(tmp_path: Path, text: str, line: int, repair: bool) -> None:
    path = tmp_path / "c.json"
    path.write_text(text, "utf-8")
    with pytest.raises(ValueError, match=rf"\[F119\] .*c\.json, line {line} \(record \d\): "):
        read(path, repair)


@pytest.mark.parametrize("array", [True, False])
def test_pairs(tmp_path: Path, array: bool) -> None:
    pairs = [["重庆开业", {"entities": [[0, 2, "LOC"]]}], ["好", {"entities": []}]]
    lines = [json.dumps(pair, ensure_ascii=False) for pair in pairs]
    path = tmp_path / "c.json"
    path.write_text("[" + ",\n".join(lines) + "]" if array else "\n".join(lines), "utf-8")
    assert detect_layout(path) == "spacy"
    found, _ = read(path)
    assert found == [
        AnnotatedUnits(list("重庆开业"), [EntitySpan(0, 2, "LOC")], 1),
        AnnotatedUnits(["好"], [], 2),
    ]


@pytest.mark.parametrize("key", ["label", "labels", "entities"])
def test_doccano(tmp_path: Path, key: str) -> None:
    path = tmp_path / "c.json"
    records = [{"id": 7, "text": "重庆开业", key: [[0, 2, "LOC"]]}, {"text": "好", key: []}]
    path.write_text("\n".join(json.dumps(record) for record in records), "utf-8")
    found, _ = read(path)
    assert found == [
        AnnotatedUnits(list("重庆开业"), [EntitySpan(0, 2, "LOC")], 1),
        AnnotatedUnits(["好"], [], 2),
    ]


TEXT, LOC = "重庆开业", [EntitySpan(0, 2, "LOC")]
SPAN = {"start": 0, "end": 2, "label": "LOC"}
VALUE = {"start": 0, "end": 2, "text": "重庆", "labels": ["LOC"]}
VALUE_ORG = {"start": 2, "end": 4, "text": "开业", "labels": ["ORG"]}
HYPER = {
    "start": "/p[1]/text()[1]",
    "end": "/p[1]/text()[1]",
    "globalOffsets": {"start": 0, "end": 2},
    "text": "重庆",
    "hypertextlabels": ["LOC"],
}
RESULT = [{"type": "labels", "value": VALUE}, {"type": "relation", "from_id": "a"}]


def task(*annotations: dict[str, object]) -> dict[str, object]:
    return {"id": 1, "data": {"text": TEXT}, "annotations": annotations, "predictions": []}


@pytest.mark.parametrize(
    ("record", "layout", "entities"),
    [
        ({"id": 1, "text": TEXT, "spans": [{"token_start": 0, **SPAN}]}, "prodigy", LOC),
        ({"text": TEXT, "spans": [SPAN], "answer": "accept"}, "prodigy", LOC),
        ({"text": TEXT, "spans": [SPAN], "answer": "reject"}, "prodigy", None),
        ({"text": TEXT, "spans": [], "answer": "ignore"}, "prodigy", None),
        (
            {"text": TEXT, "entities": [{"label": "LOC", "start_offset": 0, "end_offset": 2}]},
            "doccano",
            LOC,
        ),
        ({"text": TEXT, "label": [], "entities": [SPAN]}, "doccano", LOC),
        ({"text": TEXT, "label": {"LOC": {"重庆": [[0, 1]]}}, "answer": "好"}, "cluener", LOC),
        ({"text": TEXT, "ents": [SPAN], "tokens": []}, "doccano", LOC),  # spaCy's Doc.to_json
        ({"text": TEXT, "label": [VALUE], "annotation_id": 7}, "label-studio", LOC),
        ({"text": TEXT, "ner": [VALUE], "annotation_id": 7}, "label-studio", LOC),
        (
            {"text": TEXT, "ner": [VALUE], "label": [VALUE_ORG], "annotation_id": 7},
            "label-studio",
            [*LOC, EntitySpan(2, 4, "ORG")],
        ),
        ({"text": TEXT, "annotation_id": 7}, "label-studio", []),
        (task({"result": RESULT}), "label-studio", LOC),
        (task({"result": []}), "label-studio", []),
        (task(), "label-studio", None),
        (task({"result": [{"type": "hypertextlabels", "value": HYPER}]}), "label-studio", LOC),
        ({"text": TEXT, "ner": [HYPER], "annotation_id": 7}, "label-studio", LOC),
        ({"text": TEXT, "id": 7, "annotator": 1}, "doccano", None),
        ({"text": TEXT, "label": [[0, 2, " LOC\t"]]}, "doccano", LOC),
        ({"text": TEXT, "label": {"LOC ": {"重庆": [[0, 1]]}}}, "cluener", LOC),
        (task({"result": RESULT, "was_cancelled": True}), "label-studio", None),
        (task({"result": []}, {"result": RESULT, "ground_truth": True}), "label-studio", LOC),
        ({"text": "", "label": []}, "doccano", None),
        ({"text": ""}, "doccano", None),
    ],
)
@pytest.mark.parametrize("array", [True, False])
def test_what_annotation_tools_export(
    tmp_path: Path, record: object, layout: str, entities: list[EntitySpan] | None, array: bool
) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps([record] if array else record), "utf-8")
    assert detect_layout(path) == layout
    repairs = Repairs()
    found = [sentence.entities for sentence in OffsetReader(path, repairs)]
    assert found == ([] if entities is None else [entities])
    assert repairs.n_skipped == (entities is None)


@pytest.mark.parametrize(
    ("entity", "problem"),
    [
        ([0, 2], "[0, 2] is neither [start, end, type] nor an object"),
        ([0.0, 2.0, "LOC"], "are not whole numbers"),
        (["0", "2", "LOC"], "are not whole numbers"),
        ({"start": 0, "label": "LOC"}, "lacks a start or an end"),
        ([0, 2, " "], "lacks a type"),
        ({"hypertextlabels": ["LOC"], "start": "/p[1]"}, "has no globalOffsets"),
    ],
)
def test_what_is_wrong_with_an_entity(tmp_path: Path, entity: object, problem: str) -> None:
    path = tmp_path / "c.json"
    good = {"text": "好", "label": []}
    path.write_text(json.dumps([good, {"text": TEXT, "label": [entity]}]), "utf-8")
    with pytest.raises(ValueError, match=r"F156.*c\.json, line 1 \(record 2\): ") as error:
        read(path)
    assert problem in str(error.value)


def test_regions_of_an_unknown_type(tmp_path: Path) -> None:
    """They would be read as text without entities."""
    path = tmp_path / "c.json"
    result = [{"type": "paragraphlabels", "value": {"start": "0", "paragraphlabels": ["LOC"]}}]
    path.write_text(json.dumps(task({"result": result})), "utf-8")
    with pytest.raises(ValueError, match=r"F156.* regions of the type 'paragraphlabels'"):
        read(path)
    choices = [{"type": "choices", "value": {"start": 0, "end": 2, "choices": ["x"]}}]
    path.write_text(json.dumps(task({"result": RESULT + choices})), "utf-8")
    assert read(path)[0][0].entities == LOC


def test_a_pair_with_an_entity_outside_its_text(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text('["甲乙", {"entities": [[1, 3, "X"]]}]', "utf-8")
    with pytest.raises(ValueError, match=r"F107.* X entity at \[1, 3\] is empty, or outside"):
        read(path)


@pytest.mark.parametrize("text", ["[ O\n", "{ O\n", '" O\n', "好 O\n", ""])
def test_columns_are_no_json(tmp_path: Path, text: str) -> None:
    path = tmp_path / "c"
    path.write_text(text, "utf-8")
    assert detect_layout(path) is None
