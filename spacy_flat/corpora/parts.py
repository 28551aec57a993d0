"""The parts of a known corpus: their files, and the Docs to leave out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import floor
from pathlib import Path

from spacy.tokens import Doc

from ..errors import Errors
from ..util.files import replacing
from .convert import FORMATS, Summary, find_format, new_docs, read_file
from .fetch import corpus_files
from .sources import SOURCES, get_source
from .tables import ConvertOptions, CorpusFormat


class PartWriter:
    """A part of a corpus to write."""

    def __init__(self, form: CorpusFormat, path: Path):
        self.form = form
        self.path = path
        self.docs = new_docs()
        self.summary = Summary(form.label, doc=form.doc)

    def add(self, doc: Doc) -> None:
        """Add a Doc and count it."""
        self.docs.add(doc)
        self.summary.add(doc, self.form)

    def write(self) -> tuple[Path, Summary]:
        """Write the Docs. Returns their path and a summary."""
        with replacing(self.path) as temporary:
            self.docs.to_disk(temporary)
        return self.path, self.summary


def convert_corpus(
    name: str, data_dir: Path, out_dir: Path, general: bool = False
) -> Iterator[tuple[Path, Summary]]:
    """Convert a fetched corpus to a `.spacy` file of each part, and yield the path and the summary
    of each. The training part comes last, since what the others hold may be left out of it.

    general: declare its labels in the tag set of configs/zh_flat_general.cfg.

    Raises ValueError (F118; F121 where a file is missing; F164 for a corpus without these labels)
    and as `convert_file`.
    """
    source = get_source(name)
    if general and source.general is None:
        names = ", ".join(key for key, each in SOURCES.items() if each.general)
        raise ValueError(Errors.F164.format(name=name, names=names))
    options = replace(source.options, **(source.general or {})) if general else source.options
    paths = corpus_files(name, data_dir)
    made_of = source.made_of or {part: (part,) for part in paths}
    form = FORMATS[find_format(next(iter(paths.values())), options)]

    def read(files: Iterable[str], repairs: Counter[str]) -> Iterator[Doc]:
        return read_files([paths[file] for file in files], options, repairs)

    known = {form.key(doc) for doc in read(source.left_out, Counter())}
    texts: dict[str, set[str]] = {}  # of each part, where Docs have several
    for kind, files in made_of.items():
        if kind != "train":
            part = PartWriter(form, out_dir / f"{kind}.spacy")
            for doc in read(files, part.summary.repairs):
                part.add(doc)
                known.add(form.key(doc))
                if form.texts:
                    texts.setdefault(kind, set()).update(form.texts(doc))
            yield part.write()
    train, dev = (PartWriter(form, out_dir / f"{name}.spacy") for name in ("train", "dev"))
    docs = read(made_of["train"], train.summary.repairs)
    if source.distinct:
        docs = without(docs, known, train)
    if not form.texts:
        for number, doc in enumerate(docs):
            (dev if is_held_out(number, source.dev_share) else train).add(doc)
    else:
        elsewhere: set[str] = set().union(*texts.values())
        own: set[str] = set()
        number = 0
        for group in grouped(docs, form.texts):
            found = {text for doc in group for text in form.texts(doc)}
            if source.distinct and found & elsewhere:
                train.summary.left_out += len(group)
                continue
            is_dev = is_held_out(number, source.dev_share)
            number += 1
            (texts.setdefault("dev", set()) if is_dev else own).update(found)
            for doc in group:
                (dev if is_dev else train).add(doc)
        train.summary.shared = {name: (len(all_ & own), len(all_)) for name, all_ in texts.items()}
    if source.dev_share:
        yield dev.write()
    yield train.write()


def grouped(docs: Iterable[Doc], texts_of: Callable[[Doc], Sequence[str]]) -> list[list[Doc]]:
    """The connected components of Docs that share a text, in the order of their first Docs."""
    docs = list(docs)
    parents: dict[str, str] = {}

    def root(text: str) -> str:
        while (parent := parents.setdefault(text, text)) != text:
            parents[text] = text = parents[parent]
        return text

    for doc in docs:
        first, *others = texts_of(doc)
        for text in others:
            parents[root(text)] = root(first)
    groups: dict[str, list[Doc]] = {}
    for doc in docs:
        groups.setdefault(root(texts_of(doc)[0]), []).append(doc)
    return list(groups.values())


def read_files(
    paths: Iterable[Path], options: ConvertOptions, repairs: Counter[str]
) -> Iterator[Doc]:
    """Yield the Docs of files, and count what was repaired."""
    for path in paths:
        name = find_format(path, options)
        summary = Summary(FORMATS[name].label)
        yield from read_file(path, name, options, summary)
        repairs += summary.repairs


def without(docs: Iterable[Doc], known: set[Hashable], part: PartWriter) -> Iterator[Doc]:
    """Yield the Docs that are not known, each once, and count the others in the part."""
    for doc in docs:
        key = part.form.key(doc)
        if key in known:
            part.summary.left_out += 1
        else:
            known.add(key)
            yield doc


def is_held_out(number: int, share: Fraction) -> bool:
    """Whether the Doc of this number, from 0, is one of a share at even distances."""
    return floor((number + 1) * share) > floor(number * share)
