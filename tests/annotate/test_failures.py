"""Rows and files that fail: they are named, and all others come out."""

from __future__ import annotations

import gzip
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import spacy
from damage import full_disk
from spacy.tokens import Doc, DocBin

from spacy_flat.annotate.actor import Annotator, annotate_batch, cut_batches
from spacy_flat.annotate.addresses import Folder
from spacy_flat.annotate.rows import Row
from spacy_flat.annotate.settings import Settings
from spacy_flat.annotate.shards import MAX_ATTEMPTS, Attempt, prepare, tidy
from spacy_flat.annotate.sources import Shard, cut, find_files

from .conftest import Annotate, failed, table, write_lines
from .slow import Death


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
        b'{"id": 1}',
    ]
    Path("a.jsonl").write_bytes(b"\n".join(lines))
    assert "[F483] 8 rows failed in this run" in annotate("a.jsonl", "--shard-rows", "4", code=1)
    assert set(table()) == {"a", "a.jsonl:9"}
    assert [(each["file"], each["line"]) for each in failed()] == [
        ("a.jsonl", line) for line in (*range(2, 9), 10)
    ]
    codes = ["F473", "F473", "F474", "F474", "F472", "F475", "F473", "F474"]
    assert [each["reason"][1:5] for each in failed()] == codes
    assert [each["id"] for each in failed()] == [None, None, "d", "e", None, "g", None, "1"]


def test_rows_that_the_pipeline_can_not_annotate(annotate: Annotate) -> None:
    """Rows of the same batch are there, and what failed is not."""
    texts = ["一", "坏", "二", "长" * 1_000_001, "三"]
    write_lines(Path("a.jsonl"), [{"id": str(n), "text": text} for n, text in enumerate(texts)])
    annotate("a.jsonl", "--batch-size", "2000000", code=1)
    assert set(table()) == {"0", "2", "4"}
    bad, long = failed()
    assert bad == {"id": "1", "file": "a.jsonl", "line": 2, "reason": "ValueError: no 坏"}
    assert (long["id"], "E088" in long["reason"]) == ("3", True)


def test_docs_that_the_pipeline_can_not_annotate(annotate: Annotate) -> None:
    """One by one, they are annotated from what they were."""
    DocBin(docs=[spacy.blank("zh")(text) for text in ("一", "坏", "重庆")]).to_disk("a.spacy")
    annotate("a.spacy", code=1)
    assert set(table()) == {"a.spacy:1", "a.spacy:3"}
    assert [each["id"] for each in failed()] == ["a.spacy:2"]


@pytest.mark.parametrize("output", ["parquet", "spacy"])
def test_values_that_can_not_be_written(annotate: Annotate, output: str) -> None:
    write_lines(Path("a.jsonl"), [{"id": "a", "text": "一"}, {"id": "b", "text": "怪"}])
    options = ["--attribute", "odd"] if output == "parquet" else []
    annotate("a.jsonl", "--format", output, *options, code=1)
    (bad,) = failed()
    assert bad["id"] == "b"
    assert output == "spacy" or "[F478] The value of doc._.odd" in bad["reason"]
    (path,) = Path("out/rows").iterdir()
    if output == "parquet":
        assert set(table()) == {"a"}
    else:
        docs = DocBin().from_disk(path).get_docs(spacy.blank("zh").vocab)
        assert [doc.user_data["id"] for doc in docs] == ["a"]


def test_files_that_can_not_be_read(annotate: Annotate) -> None:
    """What comes before the damage is there; the damage is named in every run."""
    Path("in").mkdir()
    lines = "".join(f"重庆{sha256(b'%d' % n).hexdigest()}\n" for n in range(3_000))
    Path("in/cut.txt.gz").write_bytes(gzip.compress(lines.encode())[:-2000])
    Path("in/damaged.parquet").write_bytes(b"PAR1 no Parquet")
    Path("in/damaged.spacy").write_bytes(b"no DocBin")
    pq.write_table(pa.table({"other": [1]}), "in/other.parquet")
    Path("in/whole.txt").write_text("好\n", "utf-8")
    annotate("in", "--shard-rows", "500", code=1)
    rows = table()
    read = [int(id.split(":")[1]) for id in rows if id.startswith("cut.txt.gz")]
    assert 1_000 < len(read) < 3_000
    assert sorted(read) == list(range(1, len(read) + 1))
    assert "whole.txt:1" in rows
    assert {each["file"]: each["line"] for each in failed()} == {
        "cut.txt.gz": len(read) + 1,
        "damaged.parquet": 1,
        "damaged.spacy": 1,
        "other.parquet": 1,
    }
    assert "[F476] No column 'text' among other" in failed()[3]["reason"]
    assert annotate("in", code=1).count("[F481]") == 4


def test_a_file_that_can_not_be_read_any_more(annotate: Annotate, monkeypatch: Any) -> None:
    """Its shards are left to be done; others are."""
    for name in ("a.txt", "b.txt"):
        Path(name).write_text("好\n", "utf-8")
    annotate_shard = Annotator.annotate

    def lose_a_file(annotator: Annotator, shard: Shard) -> Any:
        Path("a.txt").unlink(missing_ok=True)
        return annotate_shard(annotator, shard)

    monkeypatch.setattr(Annotator, "annotate", lose_a_file)
    output = annotate("a.txt", "b.txt", code=1)
    assert "[F481] a.txt" in output
    assert "[F482] 1 of 2 shards are not finished, among them 00000-00000" in output
    assert set(table()) == {"b.txt:1"}


def test_output_that_can_not_be_written(annotate: Annotate, monkeypatch: Any) -> None:
    """The run ends at once, and not shard by shard."""
    Path("a.txt").write_text("好\n" * 3, "utf-8")

    def full(folder: Folder, name: str, **options: bool) -> None:
        if name.startswith("rows"):
            raise OSError("no space left")
        return replacing(folder, name, **options)  # type: ignore[return-value]

    replacing = Folder.replacing
    monkeypatch.setattr(Folder, "replacing", full)
    assert "[F480] out: can't be written: no space left" in annotate("a.txt", code=1)
    with full_disk(0):
        output = annotate("a.txt", out="other", code=1)
    assert "[F480] other: can't be written: [Errno 27]" in output


def test_a_pipeline_that_passes_over_what_fails(
    annotate: Annotate, pipeline: Path, tmp_path: Path
) -> None:
    """Its own error handler would let the row go, or write it without annotation."""
    shutil.copytree(pipeline, tmp_path / "careless")
    config = (pipeline / "config.cfg").read_text("utf-8")
    careless = '[nlp.after_pipeline_creation]\n@callbacks = "careless"\n\n[components]\n'
    config = config.replace("after_pipeline_creation = null\n", "")
    (tmp_path / "careless/config.cfg").write_text(
        config.replace("[components]\n", careless), "utf-8"
    )
    write_lines(Path("a.jsonl"), [{"id": text, "text": text} for text in ("一", "坏", "二")])
    annotate("a.jsonl", pipeline="careless", code=1)
    assert set(table()) == {"一", "二"}
    assert [each["id"] for each in failed()] == ["坏"]


def test_a_component_that_drops_docs() -> None:
    nlp = spacy.blank("zh")
    nlp.add_pipe("dropping")
    rows = [Row(text, 1, text) for text in ("一", "坏", "二")]
    found = annotate_batch(nlp, rows)
    assert [each.text if isinstance(each, Doc) else None for each in found] == ["一", None, "二"]


def test_batches_by_characters() -> None:
    rows = [Row(str(n), n, "字" * n) for n in (5, 4, 1, 30, 2)]
    found = [[len(row.text) for row in batch] for batch in cut_batches(rows, 10)]
    assert found == [[5, 4, 1], [30], [2]]


def prepared(pipeline: Path, texts: list[str]) -> tuple[Annotator, Shard]:
    """An annotator, and a shard of these texts."""
    Path("a.txt").write_text("".join(f"{text}\n" for text in texts), "utf-8")
    settings = Settings(str(pipeline))
    (shard,), _ = cut(find_files(["a.txt"])[0], 0, 100, settings)
    prepare(Folder("out"))
    return Annotator(settings, "out"), shard


@pytest.mark.parametrize("n", [1, 8])
def test_rows_on_which_processes_die(
    n: int, pipeline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are found, and cost no other row."""
    monkeypatch.chdir(tmp_path)
    annotator, shard = prepared(pipeline, ["一", *["死"] * n, "三"])
    for _ in range(1 + 2 * n):  # with others, and twice alone
        with pytest.raises(Death):
            annotator.annotate(shard)
    assert annotator.annotate(shard).failed == n
    assert set(table()) == {"a.txt:1", f"a.txt:{n + 2}"}
    assert {each["reason"][:6] for each in failed()} == {"[F485]"}
    assert not list(Path("out/attempts").iterdir())


def test_a_row_on_which_the_only_process_dies(annotate: Annotate) -> None:
    """The same command finds it in the end; with other texts it starts again."""
    Path("a.txt").write_text("一\n死\n三\n", "utf-8")
    for _ in range(3):
        with pytest.raises(Death):
            annotate("a.txt")
    shutil.copytree("out", "other")
    annotate("a.txt", code=1)
    assert set(table()) == {"a.txt:1", "a.txt:3"}
    Path("a.txt").write_text("一\n二\n", "utf-8")
    annotate("a.txt", out="other")


def test_an_interrupted_row_is_not_deadly(annotate: Annotate, monkeypatch: Any) -> None:
    Path("a.txt").write_text("一\n", "utf-8")
    with monkeypatch.context() as patched:
        patched.setattr("spacy_flat.annotate.actor.annotate_batch", interrupted)
        for _ in range(3):
            annotate("a.txt", code=130)
    annotate("a.txt")


def interrupted(*arguments: object) -> None:
    raise KeyboardInterrupt


def test_a_shard_of_which_processes_die_again_and_again(
    pipeline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is given up in the end, and tried anew by the next run."""
    monkeypatch.chdir(tmp_path)
    annotator, shard = prepared(pipeline, ["好"])
    for _ in range(MAX_ATTEMPTS):
        assert Attempt.begin(annotator.folder, shard.name)
    assert annotator.annotate(shard).given_up
    assert not list(Path("out/rows").iterdir())
    tidy(annotator.folder)
    assert annotator.annotate(shard).rows == 1


@pytest.mark.parametrize("output", ["parquet", "spacy"])
def test_categories_that_can_not_be_written(annotate: Annotate, output: str) -> None:
    """They cost their own row alone."""
    Path("a.txt").write_text("一\n类\n半\n二\n", "utf-8")
    assert "2 rows failed" in annotate("a.txt", "--format", output, code=1)
    assert [each["id"] for each in failed()] == ["a.txt:2", "a.txt:3"]


def test_values_that_do_not_fit_their_type(annotate: Annotate, pipeline: Path) -> None:
    Path("a.txt").write_text("一\n一二\n", "utf-8")
    options = ["--attribute", "half:int", "--attribute", "parts"]
    annotate("a.txt", *options, code=1)
    assert table()["a.txt:2"]["half"] == 1
    (broken,) = failed()
    assert (broken["id"], broken["reason"].count("F478")) == ("a.txt:1", 1)
    with pytest.raises(ValueError, match=r"F487.*none\.py"):
        Annotator(Settings(str(pipeline), code=("none.py",)), "out")


@pytest.mark.parametrize("text", ["一\n", "三\n四\n五\n六\n七\n"])
def test_a_file_that_changes_meanwhile(
    text: str, pipeline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    annotator, shard = prepared(pipeline, ["一", "二", "三"])
    Path("a.txt").write_text(text, "utf-8")
    assert annotator.annotate(shard).unread.startswith("[F486]")
    assert not list(Path("out/rows").iterdir())
