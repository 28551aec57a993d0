"""Files and folders that are written whole or not at all."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spacy_flat.training.checkpoints import read_checkpoint, write_checkpoint
from spacy_flat.util.files import (
    encoded_in,
    locked,
    read_text_lines,
    remove_unfinished,
    replacing,
)


@given(st.text("ab\r\n\u2028\x85\v"))
@example("a\r\rb\r\r\n\r\r")
def test_lines_end_with_lf_cr_lf_or_cr(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("lines") / "a.txt"
    path.write_bytes(text.encode())
    with path.open(encoding="utf-8") as file:
        expected = [line.rstrip("\n") for line in file]
    assert [*read_text_lines(path)] == [*enumerate(expected, 1)]


LOCK = """
import sys
from pathlib import Path
from spacy_flat.util.files import locked
with locked(Path(sys.argv[1])):
    print(flush=True)
    input()
"""


def test_one_process_writes_to_a_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LOCK, str(tmp_path)]
    other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    other.stdout.readline()
    with pytest.raises(BlockingIOError, match="F043"), locked(tmp_path):
        pass
    other.kill()
    other.wait()
    for _ in range(2):
        with locked(tmp_path):
            pass


@pytest.mark.parametrize("is_folder", [True, False])
def test_what_is_written_is_whole_or_not_there(is_folder: bool, tmp_path: Path) -> None:
    path = tmp_path / "new" / "a"
    file = path / "b" if is_folder else path

    def write(text: str) -> None:
        with replacing(path) as temporary:
            assert temporary.name == "a"
            if is_folder:
                temporary.mkdir()
            (temporary / "b" if is_folder else temporary).write_text(text)
            if text == "broken":
                raise InterruptedError

    write("old")
    with pytest.raises(InterruptedError):
        write("broken")
    assert file.read_text() == "old"
    write("new")
    assert file.read_text() == "new"
    (path.parent / "tmp1.tmp").mkdir()  # as after a kill
    remove_unfinished(path.parent)
    assert list(path.parent.iterdir()) == [path]


def test_a_file_does_not_replace_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    with pytest.raises(OSError, match="a"), replacing(tmp_path / "a") as temporary:
        temporary.touch()
    assert (tmp_path / "a" / "b").is_dir()


def test_checkpoints(tmp_path: Path) -> None:
    """Two are kept, and none that is later than the one that was written. An error of reading says
    nothing of damage."""
    for step in (3, 6, 9, 4):
        write_checkpoint(tmp_path, step, lambda folder: (folder / "a").write_bytes(b"a"))
        with pytest.raises(ImportError):
            read_checkpoint(tmp_path, lambda folder: import_module("not_installed"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000000004"]


@pytest.mark.parametrize("path", ["file/new", "file/a/b/new"])
def test_a_file_where_a_folder_should_be(path: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a")
    with pytest.raises(NotADirectoryError, match=rf"F138\] {tmp_path}/file: "):  # noqa: SIM117
        with replacing(tmp_path / path):
            pass
    assert (tmp_path / "file").read_text() == "a"


@pytest.mark.parametrize("encoding", ["gb18030", "big5", "utf-16", "utf-16-le"])
def test_other_encodings(tmp_path: Path, encoding: str) -> None:
    """They are named, and read where they are given; the line of a wrong byte is right."""
    text = "人民在工作\r\n中文的文字\n\n好\n" * 3000
    (tmp_path / "a.txt").write_bytes(text.encode(encoding))
    if "le" not in encoding:
        guess = encoding.replace("-", "_")
        with pytest.raises(ValueError, match=rf"F004.*a\.txt, line 1: .* not utf-8.*like {guess}:"):
            list(read_text_lines(tmp_path / "a.txt"))
    with encoded_in(encoding):
        assert [line for _, line in read_text_lines(tmp_path / "a.txt")] == text.splitlines()
        with pytest.raises(ValueError, match="F118"), encoded_in("gbx"):
            pass
    (tmp_path / "a.txt").write_bytes("好\n".encode("gb18030") * 9000 + b"\xff\n")
    with encoded_in("gb18030"), pytest.raises(ValueError, match=r"F004.*line 9001: byte 0xff"):
        list(read_text_lines(tmp_path / "a.txt"))
