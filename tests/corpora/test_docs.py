"""Reading DocBins."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab

from spacy_flat.corpora.docs import read_entity_texts


def random_doc(chance: random.Random, vocab: Vocab) -> Doc:
    """Any words, with entities side by side, blocked tokens and some without annotation."""
    words = [chance.choice(["重", "庆", "New", "York", "，"]) for _ in range(chance.randint(0, 12))]
    spaces = [chance.random() < 0.5 for _ in words] if chance.random() < 0.8 else None
    doc = Doc(vocab, words=words, spaces=spaces)
    groups: dict[str, list[Span]] = {"ents": [], "blocked": [], "missing": [], "outside": []}
    start = 0
    while start < len(doc):
        end = min(len(doc), start + chance.randint(1, 3))
        kind = chance.choice(["ents", "ents", "blocked", "missing", "outside"])
        label = chance.choice(["LOC", "PER"]) if kind == "ents" else ""
        groups[kind].append(Span(doc, start, end, label=label))
        start = end
    doc.set_ents(
        groups["ents"],
        blocked=groups["blocked"],
        missing=groups["missing"],
        outside=groups["outside"],
    )
    return doc


def test_entity_texts_are_those_of_the_docs(tmp_path: Path) -> None:
    chance, vocab, path = random.Random(0), Vocab(), tmp_path / "train.spacy"
    for _ in range(100):
        docs = [random_doc(chance, vocab) for _ in range(chance.randint(0, 4))]
        DocBin(docs=docs).to_disk(path)
        assert read_entity_texts(path) == {ent.text for doc in docs for ent in doc.ents}


def test_entity_texts_of_what_is_no_docbin(tmp_path: Path) -> None:
    (tmp_path / "train.spacy").write_bytes(b"no docs")
    with pytest.raises(ValueError, match=r"F134.*incorrect header"):
        read_entity_texts(tmp_path / "train.spacy")
    with pytest.raises(FileNotFoundError, match="F001"):
        read_entity_texts(tmp_path / "none.spacy")
