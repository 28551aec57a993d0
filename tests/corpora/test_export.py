"""What is written for correction is read again."""

import json
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import spacy
from commands import failure, said
from converted import doc_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin

from spacy_flat.corpora import ConvertOptions
from spacy_flat.corpora.convert import read_corpus
from spacy_flat.corpora.docs import make_doc
from spacy_flat.corpora.export import WRITERS, read_found, write_found

CHARS = st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\t\ufeff")
Spans = list[tuple[str, list[tuple[int, int, str]]]]


def spans_of(docs: list[Doc]) -> Spans:
    return [(d.text, [(e.start_char, e.end_char, e.label_) for e in d.ents]) for d in docs]


@st.composite
def docs(draw: st.DrawFn) -> Doc:
    text = "好" + draw(st.text(CHARS, max_size=20))
    doc = make_doc(spacy.blank("zh").vocab, text)
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=6)))
    spans = [doc.char_span(a, b, draw(st.sampled_from(["PER", "地名"]))) for a, b in pairwise(cuts)]
    doc.set_ents(
        [each for each in spans if each and each.text.strip() == each.text], default="outside"
    )
    for ent in doc.ents if draw(st.booleans()) else ():
        ent._.confidence = draw(st.floats(0, 1))
    return doc


@pytest.mark.filterwarnings("ignore:.*W16")
@pytest.mark.parametrize("form", WRITERS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(given=st.lists(docs(), min_size=1, max_size=3))
def test_what_is_written_is_read(tmp_path: Path, form: str, given: list[Doc]) -> None:
    DocBin(docs=given, store_user_data=True).to_disk(tmp_path / "in.spacy")
    assert write_found(tmp_path / "out", form, read_found(tmp_path / "in.spacy")) == len(given)
    read = [*read_corpus(tmp_path / "out", ConvertOptions(format=form))[1]]
    assert spans_of(read) == spans_of(given)


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    doc = doc_of("王芳去北京", (0, 2, "PER"), (3, 5, "LOC"))
    doc.ents[1]._.confidence = 0.75
    DocBin(docs=[doc], store_user_data=True).to_disk("in.spacy")
    return tmp_path


def test_confidence(corpus: Path) -> None:
    assert "out.jsonl: 1 text" in said("export", "in.spacy", "out.jsonl")
    record = json.loads(Path("out.jsonl").read_text("utf-8"))
    assert record["label"] == [
        {"start_offset": 0, "end_offset": 2, "label": "PER", "text": "王芳"},
        {"start_offset": 3, "end_offset": 5, "label": "LOC", "text": "北京", "confidence": 0.75},
    ]
    said("export", "in.spacy", "out.json", "--format", "label-studio")
    (task,) = json.loads(Path("out.json").read_text("utf-8"))
    assert [each.get("score") for each in task["predictions"][0]["result"]] == [None, 0.75]
    said("export", "in.spacy", "out.txt", "--format", "bio")
    assert Path("out.txt").read_text("utf-8").splitlines()[2:4] == ["去\t_\tO", "北\t0.750\tB-LOC"]


def test_rows_of_annotate(corpus: Path) -> None:
    """Those that failed are left out."""
    Path("rows").mkdir()
    entity = {"start": 0, "end": 2, "label": "PER", "text": "王芳", "confidence": None}
    rows = [{"id": "a", "text": "王芳去", "entities": [entity], "error": None}]
    rows.append({"id": "b", "text": None, "entities": None, "error": "F474"})
    pq.write_table(pa.Table.from_pylist(rows), "rows/0.parquet")
    said("export", ".", "out.jsonl")
    record = json.loads(Path("out.jsonl").read_text("utf-8"))
    assert (record["id"], record["text"], len(record["label"])) == ("a", "王芳去", 1)


def test_mistakes(corpus: Path) -> None:
    """What was there stays."""
    Path("out").write_text("old", "utf-8")
    assert "[F118]" in failure("export", "in.spacy", "out", "--format", "brat")
    DocBin(docs=[doc_of("好", (0, 1, "A B")), doc_of("王\n芳")]).to_disk("odd.spacy")
    assert "[F112] Text 1 has 'A B'" in failure("export", "odd.spacy", "out", "--format", "bio")
    Path("empty").mkdir()
    assert "[F010]" in failure("export", "empty", "out")
    Path("bad.spacy").write_text("x", "utf-8")
    assert "[F134]" in failure("export", "bad.spacy", "out")
    assert Path("out").read_text("utf-8") == "old"
    DocBin(docs=[spacy.blank("zh")("好")]).to_disk("raw.spacy")
    with pytest.warns(UserWarning, match="W165.*1 texts"):
        said("export", "raw.spacy", "out")
