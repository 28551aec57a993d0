"""Files that are written whole or not at all, whatever happens meanwhile."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from spacy_flat.training.checkpoints import read_checkpoint, write_checkpoint
from spacy_flat.util.files import locked, remove_unfinished, replacing, replacing_folder


def python(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


LOCK = """
import sys
from pathlib import Path
from spacy_flat.util.files import locked
with locked(Path(sys.argv[1])):
    print(flush=True)
    input()
"""


def test_one_process_writes_to_a_folder(tmp_path: Path) -> None:
    other = python(LOCK, tmp_path)
    assert other.stdout is not None
    other.stdout.readline()
    with pytest.raises(BlockingIOError, match="F043"), locked(tmp_path):
        pass
    other.kill()
    other.wait()
    for _ in range(2):
        with locked(tmp_path):
            pass


def test_a_folder_is_whole_or_not_there(tmp_path: Path) -> None:
    def write(text: str) -> None:
        with replacing_folder(tmp_path / "a") as folder:
            folder.mkdir()
            (folder / "b").write_text(text)
            if text == "broken":
                raise InterruptedError

    write("old")
    with pytest.raises(InterruptedError):
        write("broken")
    assert (tmp_path / "a/b").read_text() == "old"
    write("new")
    assert (tmp_path / "a/b").read_text() == "new"
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]


@pytest.mark.parametrize("is_killed", [True, False])
def test_interrupted_between_two_renames(is_killed: bool, tmp_path: Path) -> None:
    """The old folder stays after an exception, and is restored after a kill."""
    code = """
import os, signal, sys
from pathlib import Path
from spacy_flat.util.files import replacing_folder
replace = os.replace
def interrupt(source, target):
    if Path(source).parent.name == "new":
        os.kill(os.getpid(), signal.SIGKILL if sys.argv[2] == "True" else signal.SIGINT)
    replace(source, target)
os.replace = interrupt
with replacing_folder(Path(sys.argv[1])) as folder:
    folder.mkdir()
"""
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b").touch()
    assert python(code, tmp_path / "a", is_killed).wait() != 0
    remove_unfinished(tmp_path)
    assert list(tmp_path.rglob("*")) == [tmp_path / "a", tmp_path / "a/b"]


def test_checkpoints(tmp_path: Path) -> None:
    """Two are kept, and none that is later than the one that was written. An error of reading says
    nothing of damage."""
    for step in (3, 6, 9, 4):
        write_checkpoint(tmp_path, step, lambda folder: (folder / "a").write_bytes(b"a"))
        with pytest.raises(ImportError):
            read_checkpoint(tmp_path, lambda folder: import_module("not_installed"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000000004"]


@pytest.mark.parametrize("write", [replacing, replacing_folder])
@pytest.mark.parametrize("path", ["file/new", "file/a/b/new", "link/new"])
def test_a_file_where_a_folder_should_be(write: Any, path: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a")
    (tmp_path / "link").symlink_to("missing")
    with pytest.raises(NotADirectoryError, match=rf"F138\] {tmp_path}/(file|link): "):  # noqa: SIM117
        with write(tmp_path / path):
            pass
    assert (tmp_path / "file").read_text() == "a"


@contextmanager
def full_disk(size: int = 10_000) -> Iterator[None]:
    """Files can't grow beyond some bytes."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk(tmp_path: Path) -> None:
    """It is an error that names the folder, and the last checkpoint stays."""

    def write(size: int) -> None:
        write_checkpoint(tmp_path, size, lambda folder: (folder / "a").write_bytes(bytes(4 * size)))

    write(1)
    with full_disk(), pytest.raises(OSError, match=rf"F042.*{tmp_path}/0+9999: .*too large"):
        write(9999)
    assert read_checkpoint(tmp_path, lambda folder: folder.name) == "000000001"
    with full_disk(), pytest.raises(OSError, match=rf"F042.*{tmp_path}/b: "):  # noqa: SIM117
        with replacing(tmp_path / "b") as temporary:
            temporary.write_bytes(bytes(20_000))
