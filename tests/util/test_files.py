"""Files that are written whole or not at all, whatever happens meanwhile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from damage import full_disk

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


KILLED_BEFORE_A_RENAME = """
import os, sys
from pathlib import Path
from spacy_flat.util.files import replacing_folder
rename, left = os.replace, int(sys.argv[2])
def die_at_last(old, new):
    global left
    left -= 1
    os._exit(9) if left == 0 else rename(old, new)
os.replace = die_at_last
with replacing_folder(Path(sys.argv[1])) as folder:
    folder.mkdir()
    (folder / "a").write_text("new")
"""


@pytest.mark.parametrize("rename", [1, 2])
def test_a_kill_leaves_a_folder(rename: int, tmp_path: Path) -> None:
    folder = tmp_path / "before"
    folder.mkdir()
    (folder / "a").write_text("old")
    assert python(KILLED_BEFORE_A_RENAME, folder, rename).wait() == 9
    with pytest.raises(InterruptedError), replacing_folder(folder):
        raise InterruptedError  # the old one is there all the same
    assert (folder / "a").read_text() == "old"
    assert python(KILLED_BEFORE_A_RENAME, folder, rename).wait() == 9
    remove_unfinished(tmp_path)
    assert list(tmp_path.iterdir()) == [folder]
    assert (folder / "a").read_text() == "old"
    with replacing_folder(folder) as temporary:
        temporary.mkdir()
    assert list(tmp_path.rglob("*")) == [folder]


@pytest.mark.parametrize("write", [replacing, replacing_folder])
@pytest.mark.parametrize("path", ["file/new", "file/a/b/new", "link/new"])
def test_a_file_where_a_folder_should_be(write: Any, path: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a")
    (tmp_path / "link").symlink_to("missing")
    with pytest.raises(NotADirectoryError, match=rf"F138\] {tmp_path}/(file|link): "):  # noqa: SIM117
        with write(tmp_path / path):
            pass
    assert (tmp_path / "file").read_text() == "a"


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
