"""What is read and what is written, which rows fail, and how an interrupted run continues."""

import gzip
import json
import re
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import spacy

from spacy_flat.annotate import run, sources
from spacy_flat.util.files import locked

from .conftest import Annotate, failed, make_pipeline, rows_of, table, write_lines

TEXTS = [f"重庆{'好' * (n % 5)}{n}" for n in range(10)]
JSON = "".join(json.dumps({"id": f"r{n}", "text": text}) + "\n" for n, text in enumerate(TEXTS))
LINES = "".join(f"{text}\n" for text in TEXTS)


# Input and output


@pytest.mark.parametrize("rows", [1, 3, 100])
@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.txt", "a.TXT.gz", "a.parquet"])
def test_formats(annotate: Annotate, name: str, rows: int) -> None:
    """Every row is there once, however it is packed and cut into shards."""
    if name.endswith(".parquet"):
        columns = pa.table({"other": [0] * 10, "id": [*range(10)], "text": TEXTS})
        pq.write_table(columns, name, row_group_size=4)
    else:
        content = (JSON if "json" in name else LINES).encode()
        Path(name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    annotate(name, "--shard-rows", rows)
    ids = {"json": "r{n}", "txt": f"{name}:{{line}}", "parquet": "{n}"}
    id = next(id for key, id in ids.items() if key in name.lower())
    assert {id: row["text"] for id, row in table().items()} == {
        id.format(n=n, line=n + 1): text for n, text in enumerate(TEXTS)
    }
    assert len(list(Path("out/rows").iterdir())) == -(-10 // rows)


def test_rows_of_parquet_are_numbered(annotate: Annotate) -> None:
    pq.write_table(pa.table({"text": TEXTS}), "a.parquet", row_group_size=4)
    annotate("a.parquet", "--shard-rows", 3)
    assert {id: row["text"] for id, row in table().items()} == {
        f"a.parquet:{n}": text for n, text in enumerate(TEXTS, 1)
    }


def test_columns(annotate: Annotate) -> None:
    write_lines(
        Path("a.jsonl"), [{"id": 7, "text": "他 在重庆"}, {"id": "x", "text": "今天天气真好"}]
    )
    annotate("a.jsonl", "--attribute", "length,parts,nothing")
    expected = {
        "id": "7",
        "text": "他 在重庆",
        "entities": [{"start": 3, "end": 5, "label": "LOC", "text": "重庆", "confidence": None}],
        "cats": [("long", 0.0)],
        "length": "5",
        "parts": '[["他", 1.5]]',
        "nothing": None,
        "error": None,
    }
    assert table()["7"] == expected
    assert table()["x"]["entities"] == []
    whole = pq.read_table("out/rows")  # as users read a folder
    assert whole.column_names == list(expected)
    assert whole["length"].to_pylist() == ["5", "6"]


def test_keys_and_empty_lines(annotate: Annotate) -> None:
    write_lines(Path("a.jsonl"), [{"key": "k", "content": "重庆"}])
    annotate("a.jsonl", "--text", "content", "--id", "key")
    assert table()["k"]["text"] == "重庆"
    Path("a.txt").write_bytes("\ufeff一\r\n\r \n二".encode())
    annotate("a.txt", "--shard-rows", 1, out="other")
    rows = table(Path("other"))
    assert {id: row["text"] for id, row in rows.items()} == {"a.txt:1": "一", "a.txt:4": "二"}


def test_folders_links_and_addresses(
    annotate: Annotate, tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    """A file that is named twice is read once; names are told apart; links keep their name."""
    for name in ("in/x/a.txt", "in/y/a.txt", "in/_notes/a.txt", "in/.a.txt", "in/a.md", "b/blob"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(f"{name}\n", "utf-8")
    Path("b/a.txt").symlink_to("blob")
    with pytest.warns(UserWarning, match=r"W466.*/in: 1 of the files .*: a\.md\. "):
        annotate(f"file://{tmp_path}/in", "in/x/a.txt", "b/a.txt", out=f"file://{tmp_path}/out")
    assert {id: row["text"] for id, row in table().items()} == {
        "in/x/a.txt:1": "in/x/a.txt",
        "in/y/a.txt:1": "in/y/a.txt",
        "b/a.txt:1": "b/blob",
    }
    Path("in/x/重 %庆.txt").write_text("好\n", "utf-8")
    for _ in range(2):  # what it has written isn't read
        annotate("in/x", "in/y", out="in/y/out")
    assert not recwarn
    assert set(table(Path("in/y/out"))) == {"x/a.txt:1", "x/重 %庆.txt:1", "y/a.txt:1"}


@pytest.mark.parametrize("name", ["a.csv", "a.tsv.gz"])
def test_tables_and_encodings(annotate: Annotate, name: str) -> None:
    """Ids are kept. A row of another length fails alone; a missing column is named."""
    rows = [["id", "正文"], ["x", "重庆" if "tsv" in name else '"重,\n\n庆"'], ["y"], ["", "好"]]
    content = "".join("\t,"["csv" in name].join(row) + "\n" for row in rows).encode("gb18030")
    Path(name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    annotate(name, "--text", "正文", "--encoding", "gb18030", code=1)
    assert [row["text"] for row in table().values()] == [rows[1][1].strip('"'), "好"]
    assert "x" in table()
    assert [error[:6] for error in failed().values()] == ["[F151]"]
    output = annotate(name, "--encoding", "gb18030", out="other", code=1)
    assert "[F476] No column of text 'text' among id, 正文" in output
    assert "looks like gb18030" in annotate(name, "--text", "正文", out="third", code=1)
    assert "[F118] There is no encoding 'gbx'" in annotate(name, "--encoding", "gbx", code=1)


# Failures


def test_rows_that_can_not_be_read(annotate: Annotate) -> None:
    lines = [
        b'{"id": "a", "text": "\xe9\x87\x8d\xe5\xba\x86"}',
        b'{"id": "b", "text": ',
        b'["c"]',
        b'{"id": "d"}',
        b'{"id": "e", "text": 5}',
        b'{"id": "f", "text": "\xe9\x87"}',
        b'{"id": "g", "text": "\\ud800"}',
        b"[" * 100_000,
        b'{"id": null, "text": "i"}',
    ]
    Path("a.jsonl").write_bytes(b"\n".join(lines))
    assert "[F483] 7 rows failed" in annotate("a.jsonl", "--shard-rows", 4, code=1)
    assert set(table()) == {"a", "a.jsonl:9"}
    unread = {"a.jsonl:6": "F004"} | {f"a.jsonl:{line}": "F473" for line in (2, 3, 8)}
    codes = {id: error[1:5] for id, error in failed().items()}
    assert codes == {**unread, "d": "F474", "e": "F474", "g": "utf-"}
    assert "a.jsonl, line 6: " in failed()["a.jsonl:6"]
    assert "iconv -f" in failed()["a.jsonl:6"]
    assert "Under 'text' is nothing." in failed()["d"]
    assert "Under 'text' is no text but 5 (int)." in failed()["e"]


def test_rows_that_the_pipeline_can_not_annotate(annotate: Annotate) -> None:
    """Rows of the same batch are there. Also values that can't be written."""
    texts = ["一", "坏", "二", "长" * 1_000_001, "怪", "类", "半", "漏", "三"]
    write_lines(Path("a.jsonl"), [{"id": str(n), "text": text} for n, text in enumerate(texts)])
    annotate("a.jsonl", "--batch-size", "2000000", "--attribute", "odd", code=1)
    assert set(table()) == {"0", "2", "7", "8"}
    assert failed()["1"] == "ValueError: no 坏"
    assert "E088" in failed()["3"]
    assert "'object'" in failed()["4"]
    assert rows_of(Path("out"))["1"]["text"] == "坏"
    Path("a.txt").write_text("一\n漏\n二\n", "utf-8")  # texts that a component omits aren't errors
    annotate("a.txt", out="other")
    assert [row["text"] for row in table(Path("other")).values()] == ["一", "漏", "二"]


def test_files_that_can_not_be_read(annotate: Annotate) -> None:
    """What comes before the damage is there; the damage is named in every run."""
    Path("in").mkdir()
    lines = "".join(f"重庆{sha256(b'%d' % n).hexdigest()}\n" for n in range(3_000))
    Path("in/cut.txt.gz").write_bytes(gzip.compress(lines.encode())[:-2000])
    Path("in/damaged.parquet").write_bytes(b"PAR1 no Parquet")
    pq.write_table(pa.table({"other": ["a"], "text": [1]}), "in/numbers.parquet")
    Path("in/whole.txt").write_text("好\n", "utf-8")
    output = annotate("in", "--shard-rows", 500, code=1)
    assert "[F476] No column of text 'text' among other (string), text (int64)." in output
    read = [int(id.split(":")[1]) for id in table() if id.startswith("cut.txt.gz")]
    assert 1_000 < len(read) < 3_000
    assert sorted(read) == list(range(1, len(read) + 1))
    assert "whole.txt:1" in table()
    assert annotate("in", "--shard-rows", 500, code=1).count("[F481]") == 3


def test_output_that_can_not_be_written(annotate: Annotate, monkeypatch: Any) -> None:
    """The run ends at once, and nothing is half-written."""
    Path("a.txt").write_text("好\n" * 3, "utf-8")
    calls = []

    def full(writer: object, table: object) -> None:
        calls.append(table)
        raise OSError("no space left")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    output = annotate("a.txt", "--shard-rows", 1, code=1)
    assert "no space left" in output
    assert len(calls) == 1
    assert not list(Path("out/rows").iterdir())
    Path("file").touch()
    assert "file" in annotate("a.txt", out="file", code=1)


def test_a_pipeline_that_passes_over_what_fails(annotate: Annotate, monkeypatch: Any) -> None:
    """Its own error handler would let the row go, or write it without annotation."""
    load = spacy.load

    def careless(*arguments: Any, **settings: Any) -> Any:
        nlp = load(*arguments, **settings)
        nlp.set_error_handler(lambda name, pipe, docs, error: None)
        return nlp

    monkeypatch.setattr(spacy, "load", careless)
    write_lines(Path("a.jsonl"), [{"id": text, "text": text} for text in ("一", "坏", "二")])
    annotate("a.jsonl", code=1)
    assert (set(table()), set(failed())) == ({"一", "二"}, {"坏"})


def test_memory_is_bounded(annotate: Annotate, monkeypatch: Any) -> None:
    """Shards of long texts have fewer rows; batches are written as they come."""
    monkeypatch.setattr(sources, "SHARD_CHARACTERS", 30)
    write_lines(Path("a.jsonl"), [{"id": str(n), "text": "好" * 10} for n in range(7)])
    annotate("a.jsonl", "--batch-size", 20)
    files = [pq.ParquetFile(path) for path in sorted(Path("out/rows").iterdir())]
    assert [file.metadata.num_rows for file in files] == [3, 3, 1]
    assert [file.num_row_groups for file in files] == [2, 2, 1]
    assert set(table()) == {str(n) for n in range(7)}


# Runs that continue


@pytest.fixture
def stopped(annotate: Annotate) -> dict[str, int]:
    """A run of five shards, of which two are not finished. When the others were written."""
    records = [{"id": f"r{n}", "text": "坏" if n in (3, 7) else "好"} for n in range(10)]
    write_lines(Path("a.jsonl"), records)
    annotate("a.jsonl", "--shard-rows", 2, code=1)
    for name in ("00000-00001", "00000-00004"):
        Path(f"out/rows/{name}.parquet").unlink()
    Path("out/rows/.00000-00001.parquet.half").write_text("half")
    return {path.name: path.stat().st_mtime_ns for path in Path("out/rows").glob("[!.]*")}


def test_finished_shards_are_skipped(annotate: Annotate, stopped: dict[str, int]) -> None:
    output = annotate("a.jsonl", "--shard-rows", 2, "--batch-size", 7, code=1)
    assert "3 rows annotated in this run" in output
    for name, written in stopped.items():
        assert Path(f"out/rows/{name}").stat().st_mtime_ns == written
    assert set(table()) == {f"r{n}" for n in range(10)} - {"r3", "r7"}
    assert set(failed()) == {"r3", "r7"}
    assert not list(Path("out/rows").glob(".*"))


@pytest.mark.parametrize(
    ("option", "name"),
    [
        (["--text", "id"], "text"),
        (["--attribute", "length"], "attributes"),
        (["--shard-rows", "3"], "shard_rows"),
    ],
)
def test_other_settings(
    annotate: Annotate, stopped: dict[str, int], option: list[str], name: str
) -> None:
    output = annotate("a.jsonl", "--shard-rows", 2, *option, code=1)
    assert f"out: cannot resume: changed since the start: {name}" in output


def test_other_files_and_pipelines(annotate: Annotate, stopped: object, tmp_path: Path) -> None:
    make_pipeline(tmp_path / "other", notes="other")
    assert "pipeline" in annotate("a.jsonl", "--shard-rows", 2, pipeline="other", code=1)
    with Path("a.jsonl").open("a") as file:
        file.write("{}\n")
    assert "a.jsonl" in annotate("a.jsonl", "--shard-rows", 2, code=1)
    for name in ("1.txt", "2.txt"):
        Path(name).write_text(f"{name}\n", "utf-8")
    annotate("1.txt", "2.txt", out="both")
    cases = {"2.txt": "/1.txt", "2.txt 1.txt": "order of", "1.txt 2.txt a.jsonl": "/a.jsonl"}
    for files, named in cases.items():
        assert re.search(rf"F447.*start: .*{named}", annotate(*files.split(), out="both", code=1))
    Path("folder").mkdir()
    Path("folder/precious.txt").touch()
    assert "[F395]" in annotate("a.jsonl", out="folder", code=1)


def test_a_run_that_could_not_begin(annotate: Annotate) -> None:
    """Its settings bind nobody."""
    Path("a.txt").write_text("重庆\n", "utf-8")
    assert "F468" in annotate("a.txt", "--attribute", "lenght", code=1)
    assert not list(Path("out/rows").iterdir())
    annotate("a.txt", "--attribute", "length")
    assert table()["a.txt:1"]["length"] == "2"
    with locked(Path("out")):
        assert "[F043]" in annotate("a.txt", "--attribute", "length", code=1)


def test_the_vocabulary_does_not_grow(annotate: Annotate, monkeypatch: Any) -> None:
    """With millions of texts it would fill the memory."""
    texts = [{"text": chr(0x3400 + n) + f"x{n}"} for n in range(1000)]
    write_lines(Path("a.jsonl"), texts)
    made: list[Any] = []
    load = run.load_pipeline
    monkeypatch.setattr(
        run, "load_pipeline", lambda settings: made.append(load(settings)) or made[0]
    )
    annotate("a.jsonl", "--shard-rows", 100)
    assert not any(each["text"][0] in set(made[0].vocab.strings) for each in texts)


# The command


@pytest.mark.parametrize("missing", ["ray", "pyarrow"])
def test_missing_packages(annotate: Annotate, monkeypatch: Any, missing: str) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    for option in (("--actors", 2), ("--address", "auto"), ("--gpus-per-actor", 1)):
        assert "[F030]" in annotate("a.txt", *option, code=1)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["nothing.jsonl"], "[F001] nothing.jsonl: no such file or folder"),
        (["nowhere://a/b"], "[F477]"),
        (["a.doc"], "[F466] a.doc: no text files found"),
        (["empty"], "[F466] empty: no text files found"),
    ],
)
def test_mistakes(annotate: Annotate, arguments: list[str], code: str) -> None:
    Path("a.doc").touch()
    Path("empty").mkdir()
    assert code in annotate(*arguments, code=1)
    message = annotate(*arguments, pipeline="no_pipeline", code=1)
    assert "[F467] 'no_pipeline' is neither an installed pipeline" in message
    assert not Path("out").exists()
