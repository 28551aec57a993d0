"""Corpora in other formats become spaCy's DocBin; readers and augmenters for training.

Entities come from column files with tags (`columns`) and from JSON with character offsets
(`offsets`), made into Docs in `entities`; there are `pairs` of texts, also with translations,
and `poems`. `convert` has all formats, and tells some by the content.
"""

from .convert import convert_file
from .formats import ConvertOptions, Summary

__all__ = ["ConvertOptions", "Summary", "convert_file"]
