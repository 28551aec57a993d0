"""Damage to files of checkpoints."""

from pathlib import Path


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
