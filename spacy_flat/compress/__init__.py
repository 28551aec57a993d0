"""Small pipelines from trained ones."""

from .compactor import Compactor, CompressConfig

__all__ = ["Compactor", "CompressConfig"]
