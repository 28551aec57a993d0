"""Corpora in outside formats become spaCy's DocBin.

Column files with BIO, BMES or BIOES tags (`columns`) and CLUENER's JSON lines (`cluener`) are read
as sentences (`sentence`) and written as Docs (`convert`); `sources` knows some public corpora by
name, and `fetch` gets them.
"""

from .convert import ConvertOptions, Summary, convert_file

__all__ = ["ConvertOptions", "Summary", "convert_file"]
