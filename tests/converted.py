"""Corpora that tests convert."""

from pathlib import Path

import spacy
from spacy.tokens import Doc, DocBin

from spacy_flat.corpora import ConvertOptions, Summary, convert_file

TOWER = "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。"
SPRING = "春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。"
BROKEN = "\n白日依山尽，\n黄河入海流。欲穷千里目， \n更上一层楼。\n\n \n" + SPRING


def load(path: Path) -> list[Doc]:
    return list(DocBin().from_disk(path).get_docs(spacy.blank("zh").vocab))


def doc_of(text: str, *spans: tuple[int, int, str]) -> Doc:
    doc = spacy.blank("zh").make_doc(text)
    doc.set_ents([doc.char_span(*span) for span in spans])
    return doc


def entities(doc: Doc) -> list[tuple[str, str]]:
    return [(ent.text, ent.label_) for ent in doc.ents]


def convert(folder: Path, text: str, /, **options: object) -> tuple[list[Doc], Summary]:
    """The Docs of a corpus file with this text."""
    source, target = folder / "corpus", folder / "new/folder/corpus.spacy"
    source.write_text(text, "utf-8", newline="")
    summary = convert_file(source, target, ConvertOptions(**options))  # type: ignore[arg-type]
    assert [path.name for path in target.parent.iterdir()] == ["corpus.spacy"]
    return load(target), summary
