"""Corpora in other formats become spaCy's DocBin; readers and augmenters for training.

Entities come from column files with tags (`columns`) and from JSON with character offsets
(`offsets`), made into Docs in `ner`; there are `pairs` of texts, `poems`, and texts with
translations (`parallel`). `convert` has all formats, `detect` tells them by the content.
"""

from .convert import Summary, convert_file
from .formats import ConvertOptions

__all__ = ["ConvertOptions", "Summary", "convert_file"]
