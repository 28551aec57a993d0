"""Corpora in outside formats become spaCy's DocBin.

Entities come from column files with BIO, BMES, BIOES or BILUO tags (`columns`) and from JSON with
character offsets (`offsets`), read as sentences (`sentence`) and made into Docs (`ner`); pairs of
texts come from tables and JSON (`pairs`). `convert` and `sources` hold the tables of formats and of
known corpora, to which each task adds its rows (`tables`); `fetch` gets the files of known corpora,
and `parts` makes their parts.
"""

from .convert import Summary, convert_file
from .tables import ConvertOptions

__all__ = ["ConvertOptions", "Summary", "convert_file"]
