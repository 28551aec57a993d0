"""Reading DocBins."""

from __future__ import annotations

from pathlib import Path

import pytest
from spacy.vocab import Vocab

from spacy_flat.corpora.docs import read_docs


def test_what_is_no_docbin(tmp_path: Path) -> None:
    (tmp_path / "train.spacy").write_bytes(b"no docs")
    with pytest.raises(ValueError, match=r"F134.*incorrect header"):
        read_docs(tmp_path / "train.spacy", Vocab())
    with pytest.raises(FileNotFoundError, match="F001"):
        read_docs(tmp_path / "none.spacy", Vocab())
