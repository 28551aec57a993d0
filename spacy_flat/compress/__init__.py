"""Small pipelines from trained ones."""

from .compactor import Compactor, CompressConfig

Amount = CompressConfig  # its name in 0.1

__all__ = ["Amount", "Compactor", "CompressConfig"]
