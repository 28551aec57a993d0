"""What is read and what is written."""

from __future__ import annotations

import bz2
import gzip
import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import spacy
from spacy.tokens import DocBin

from .conftest import Annotate, failed, table, write_lines

TEXTS = [f"重庆{'好' * (n % 5)}{n}" for n in range(10)]
JSON = "".join(json.dumps({"id": f"r{n}", "text": text}) + "\n" for n, text in enumerate(TEXTS))
LINES = "".join(f"{text}\n" for text in TEXTS)


def write(path: Path) -> None:
    """The texts in a form that the name tells."""
    name = path.name
    if name.endswith(".parquet"):
        ids = [f"r{n}" for n in range(len(TEXTS))]
        columns = pa.table({"other": [0] * len(TEXTS), "id": ids, "text": TEXTS})
        pq.write_table(columns, path, row_group_size=4)
    elif name.endswith(".spacy"):
        DocBin(docs=[spacy.blank("zh")(text) for text in TEXTS]).to_disk(path)
    else:
        content = (JSON if "json" in name else LINES).encode()
        pack = {".gz": gzip.compress, ".bz2": bz2.compress}.get(path.suffix, bytes)
        path.write_bytes(pack(content))


@pytest.mark.parametrize("rows", ["1", "3", "4", "100"])
@pytest.mark.parametrize(
    "name", ["a.jsonl", "a.ndjson.gz", "a.json.bz2", "a.txt", "a.TXT.gz", "a.parquet", "a.spacy"]
)
def test_formats(annotate: Annotate, name: str, rows: str) -> None:
    """Every row is there once, however it is packed and cut into shards."""
    write(Path(name))
    annotate(name, "--shard-rows", rows)
    made = "json" not in name and "parquet" not in name
    ids = [f"{name}:{n}" if made else f"r{n - 1}" for n in range(1, 11)]
    assert {id: row["text"] for id, row in table().items()} == dict(zip(ids, TEXTS, strict=True))
    if not name.endswith(".spacy"):
        assert len(list(Path("out/rows").iterdir())) == -(-10 // int(rows))


def test_columns(annotate: Annotate) -> None:
    write_lines(
        Path("a.jsonl"), [{"id": 7, "text": "他在重庆"}, {"id": "x", "text": "今天天气真好"}]
    )
    attributes = ["length:float", "length_twice:int", "parts", "nothing"]
    options = [part for each in attributes for part in ("--attribute", each)]
    annotate("a.jsonl", *options)
    expected = {
        "id": "7",
        "text": "他在重庆",
        "entities": [{"start": 2, "end": 4, "label": "LOC", "text": "重庆", "confidence": None}],
        "cats": [("long", 0.0)],
        "length": 4.0,
        "length_twice": 8,
        "parts": '[["他", 1.5]]',
        "nothing": None,
    }
    assert table()["7"] == expected
    assert table()["x"]["entities"] == []
    assert isinstance(table()["7"]["length"], float)
    frame = pd.read_parquet("out/rows")  # as users read a folder
    assert list(frame.columns) == list(expected)
    assert list(frame.length_twice) == [8, 12]


def test_other_keys(annotate: Annotate) -> None:
    write_lines(Path("a.jsonl"), [{"key": "k", "content": "重庆"}])
    annotate("a.jsonl", "--text", "content", "--id", "key")
    assert table()["k"]["text"] == "重庆"


def test_empty_lines_are_no_rows_but_count(annotate: Annotate) -> None:
    Path("a.txt").write_bytes("\ufeff一\r\n\n \n二".encode())
    annotate("a.txt", "--shard-rows", "2")
    assert {id: row["text"] for id, row in table().items()} == {"a.txt:1": "一", "a.txt:4": "二"}


def test_spacy_files_out_and_in(annotate: Annotate, tmp_path: Path) -> None:
    write_lines(Path("a.jsonl"), [{"id": "a", "text": "他在重庆"}, {"id": "b", "text": "好"}])
    annotate("a.jsonl", "--format", "spacy")
    (path,) = Path("out/rows").iterdir()
    docs = list(DocBin().from_disk(path).get_docs(spacy.blank("zh").vocab))
    assert [doc.user_data["id"] for doc in docs] == ["a", "b"]
    assert [ent.text for ent in docs[0].ents] == ["重庆"]
    assert docs[0]._.length == 4
    assert docs[0].cats == {"long": 0.0}
    Path("docs").mkdir()
    path.rename("docs/again.spacy")
    Path("out").rename("before")
    annotate("docs")
    assert {id: row["text"] for id, row in table().items()} == {"a": "他在重庆", "b": "好"}


def test_folders(annotate: Annotate) -> None:
    """They are walked; a file that is named twice is read once; names are told apart."""
    for name in (
        "in/x/a.txt",
        "in/y/a.txt",
        "in/_notes/a.txt",
        "in/.a.txt",
        "in/a.md",
        "more/a.txt",
    ):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(f"{name}\n", "utf-8")
    with pytest.warns(UserWarning, match=r"W460.* 1 file .*in/a\.md"):
        annotate("in", "in/x/a.txt", "more/a.txt", "in/y")
    assert {id: row["text"] for id, row in table().items()} == {
        "x/a.txt:1": "in/x/a.txt",
        "y/a.txt:1": "in/y/a.txt",
        "a.txt:1": "more/a.txt",
    }


def test_short_names_that_several_files_have(annotate: Annotate) -> None:
    for name in ("one/a.txt", "two/a.txt"):
        Path(name).parent.mkdir()
        Path(name).write_text("好\n", "utf-8")
    annotate("one", "two")
    assert set(table()) == {
        f"{Path(name).resolve()}:1".lstrip("/") for name in ("one/a.txt", "two/a.txt")
    }


def test_addresses(annotate: Annotate, pipeline: Path, tmp_path: Path) -> None:
    """Input and output at an address of pyarrow's."""
    write_lines(tmp_path / "in/a.jsonl", [{"id": "a", "text": "重庆"}])
    out = tmp_path / "there/out"
    annotate(f"file://{tmp_path}/in", out=f"file://{out}")
    assert set(table(out)) == {"a"}
    assert "[F477]" in annotate("nowhere://a/b", code=1)


def test_ids_that_are_there_twice(annotate: Annotate) -> None:
    """Each of the rows comes out."""
    write_lines(Path("a.jsonl"), [{"id": "a", "text": "一"}, {"id": "a", "text": "二"}])
    annotate("a.jsonl")
    assert list(pd.read_parquet("out/rows").text) == ["一", "二"]
    assert failed() == []


def test_links_and_capitals(annotate: Annotate) -> None:
    """What a file holds is told by the name that was given."""
    with gzip.open("a.TXT.GZ", "wb") as file:
        file.write("重庆\n".encode())
    Path("blob").write_text("一\n", "utf-8")
    Path("b.txt").symlink_to("blob")
    annotate("a.TXT.GZ", "b.txt")
    assert {row["text"] for row in table().values()} == {"重庆", "一"}
