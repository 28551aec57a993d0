"""Damage to files of checkpoints."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def damage(path: Path, how: str) -> None:
    """how: "cut", "flipped" (a bit) or "missing"."""
    data = bytearray(path.read_bytes())
    if how == "missing":
        path.unlink()
    elif how == "cut":
        path.write_bytes(data[: len(data) // 2])
    else:
        data[len(data) // 2] ^= 0x80
        path.write_bytes(data)


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
