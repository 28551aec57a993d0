"""Files and folders on this machine, and at any address that pyarrow's filesystems know."""

from __future__ import annotations

import os
import posixpath
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from pyarrow import NativeFile
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType, LocalFileSystem

from ..errors import Errors
from ..util.files import locked, move


def open_address(address: str) -> tuple[FileSystem, str]:
    """The filesystem of a path or an address such as s3://bucket/folder, and the path in it.

    Raises ValueError (F477) for an address that pyarrow does not know.
    """
    if "://" not in address:
        # Links stay: what a file holds is told by the name that was given.
        return LocalFileSystem(), Path(os.path.abspath(address)).as_posix()
    try:
        fs, path = FileSystem.from_uri(address)
    except (ValueError, OSError, ImportError, NotImplementedError) as error:
        raise ValueError(Errors.F477.format(address=address, reason=error)) from error
    return fs, path


class Folder:
    """A folder to write to, on any filesystem. A file in it is whole or not there."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.fs, self.path = open_address(address)

    @property
    def absolute(self) -> str:
        """The address, as other processes know it too."""
        return self.address if "://" in self.address else self.path

    @property
    def is_local(self) -> bool:
        return isinstance(self.fs, LocalFileSystem)

    def names(self, within: str = "") -> list[str]:
        """The names in the folder, or in a folder within; none where there is no such folder."""
        selector = FileSelector(posixpath.join(self.path, within), allow_not_found=True)
        return sorted(info.base_name for info in self.fs.get_file_info(selector))

    def make(self, within: str) -> None:
        self.fs.create_dir(posixpath.join(self.path, within), recursive=True)

    def delete(self, name: str) -> None:
        """Delete a file, if there is one."""
        path = posixpath.join(self.path, name)
        if self.fs.get_file_info(path).type != FileType.NotFound:
            self.fs.delete_file(path)

    def clear(self, within: str) -> None:
        """Delete the files of a folder within."""
        for name in self.names(within):
            self.delete(posixpath.join(within, name))

    def read(self, name: str) -> bytes:
        with self.fs.open_input_file(posixpath.join(self.path, name)) as file:
            return bytes(file.read())

    def locked(self) -> AbstractContextManager[None]:
        """As `files.locked`. A folder at an address such as s3://bucket/folder can't be locked."""
        return locked(Path(self.path)) if self.is_local else nullcontext()

    @contextmanager
    def replacing(self, name: str, sync: bool = True) -> Iterator[NativeFile]:
        """A file to write to, which gets its name where nothing is raised.

        sync: wait until it is on the disk, so that it survives a power cut.

        Until then its name begins with a dot. It is one of its own, since a shard may be written
        twice at once, where a node was taken for lost.
        """
        folder, base = posixpath.split(name)
        temporary = posixpath.join(self.path, folder, f".{base}.{uuid.uuid4().hex}")
        try:
            with self.fs.open_output_stream(temporary) as file:
                yield file
            path = posixpath.join(self.path, name)
            if self.is_local and sync:
                move(Path(temporary), Path(path))
            else:
                self.fs.move(temporary, path)
        except BaseException:
            if self.fs.get_file_info(temporary).type != FileType.NotFound:
                self.fs.delete_file(temporary)
            raise


def walk(fs: FileSystem, path: str) -> list[FileInfo]:
    """A file, or the files in a folder and the folders within, by path.

    Those whose names begin with a dot or an underscore are left out, as is usual: other programs
    keep notes in them.
    """
    info = fs.get_file_info(path)
    if info.type != FileType.Directory:
        return [info] if info.type == FileType.File else []
    inside = fs.get_file_info(FileSelector(path, recursive=True))
    return sorted(
        (each for each in inside if each.type == FileType.File and not is_hidden(each.path, path)),
        key=lambda each: each.path,
    )


def is_hidden(path: str, folder: str) -> bool:
    parts = posixpath.relpath(path, folder).split("/")
    return any(part.startswith((".", "_")) for part in parts)
