"""Small pipelines from trained ones."""

from .compactor import Amount, Compactor

__all__ = ["Amount", "Compactor"]
