"""Small pipelines from trained ones."""

from .compactor import Compactor

__all__ = ["Compactor"]
