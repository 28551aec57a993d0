"""Local files and folders, and those of pyarrow's filesystems."""

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
    """The filesystem and path of a local path or an address such as s3://bucket/folder.

    Raises ValueError (F477) for an address that pyarrow doesn't know.
    """
    if "://" not in address:
        # Keep links: the given name shows the format.
        return LocalFileSystem(), Path(os.path.abspath(address)).as_posix()
    try:
        fs, path = FileSystem.from_uri(address)
    except (ValueError, OSError, ImportError, NotImplementedError) as error:
        raise ValueError(Errors.F477.format(address=address, reason=error)) from error
    return fs, path


class Folder:
    """An output folder on any filesystem. Its files are complete or missing."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.fs, self.path = open_address(address)

    @property
    def absolute(self) -> str:
        """The address for other processes."""
        return self.address if "://" in self.address else self.path

    @property
    def is_local(self) -> bool:
        return isinstance(self.fs, LocalFileSystem)

    def names(self, within: str = "") -> list[str]:
        """The names in the folder or a subfolder; none if it is missing."""
        selector = FileSelector(posixpath.join(self.path, within), allow_not_found=True)
        return sorted(info.base_name for info in self.fs.get_file_info(selector))

    def make(self, within: str) -> None:
        self.fs.create_dir(posixpath.join(self.path, within), recursive=True)

    def delete(self, name: str) -> None:
        """Delete a file if it exists."""
        path = posixpath.join(self.path, name)
        if self.fs.get_file_info(path).type != FileType.NotFound:
            self.fs.delete_file(path)

    def clear(self, within: str) -> None:
        """Delete the files of a subfolder."""
        for name in self.names(within):
            self.delete(posixpath.join(within, name))

    def read(self, name: str) -> bytes:
        with self.fs.open_input_file(posixpath.join(self.path, name)) as file:
            return bytes(file.read())

    def locked(self) -> AbstractContextManager[None]:
        """As `files.locked`. Remote folders can't be locked."""
        return locked(Path(self.path)) if self.is_local else nullcontext()

    @contextmanager
    def replacing(self, name: str, sync: bool = True) -> Iterator[NativeFile]:
        """A file to write to, renamed to its name unless something is raised.

        sync: wait until it is on the disk.

        The temporary name starts with a dot and is unique: Ray may write a shard twice at once.
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
    """A file, or the files in a folder and its subfolders, except names with a leading dot or
    underscore."""
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
