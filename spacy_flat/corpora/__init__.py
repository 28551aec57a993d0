"""Corpora in other formats become spaCy's DocBin.

Entities come from column files with BIO, BMES, BIOES or BILUO tags (`columns`) and from JSON with
character offsets (`offsets`), made into Docs in `ner`; there are `pairs` of texts, `poems`, and
texts with translations (`parallel`). `convert` has the formats, `sources` the known corpora, which
`fetch` gets and `parts` splits.
"""

from .convert import Summary, convert_file
from .tables import ConvertOptions

__all__ = ["ConvertOptions", "Summary", "convert_file"]
