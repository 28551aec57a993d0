"""Convert fetched corpora to a `.spacy` file of each part:

    python scripts/convert.py afqmc lcqmc
    python scripts/convert.py general

They are read from data/<corpus> and written to corpus/<corpus>, those of "general" to
corpus/general/<corpus>, with the labels of configs/zh_flat_general.cfg.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import floor
from pathlib import Path

from published import CORPORA, GROUPS, members
from spacy.tokens import Doc

from spacy_flat.cli.convert import report
from spacy_flat.corpora.convert import FORMATS, Summary, find_format, new_docs, read_file
from spacy_flat.corpora.formats import ConvertOptions, CorpusFormat
from spacy_flat.util.files import replacing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", nargs="+", choices=[*CORPORA, *GROUPS], metavar="CORPUS")
    parser.add_argument("--data", type=Path, default="data", help="folder of fetched corpora")
    parser.add_argument("--out", type=Path, default="corpus", help="folder to write to")
    arguments = parser.parse_args()
    for corpus in arguments.corpora:
        general = corpus == "general"
        out = arguments.out / corpus if general else arguments.out
        for name in members(corpus):
            try:
                for path, summary in convert_corpus(name, arguments.data, out / name, general):
                    report(path, summary)
                    for part, (known, total) in summary.shared.items():
                        print(f"  {known:,} of the {total:,} texts of {part} are also here")
            except (OSError, ValueError) as error:
                sys.exit(str(error))


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
        with replacing(self.path) as temporary:
            self.docs.to_disk(temporary)
        return self.path, self.summary


def convert_corpus(
    name: str, data: Path, out: Path, general: bool = False
) -> Iterator[tuple[Path, Summary]]:
    """Convert a fetched corpus, and yield the path and the summary of each part. The training part
    comes last, since what the others hold may be left out of it.

    Raises ValueError if a file is missing or has a defect.
    """
    corpus = CORPORA[name]
    if general and corpus.general is None:
        raise ValueError(f"{name} has no mapping to the general labels.")
    options = ConvertOptions(**{**corpus.options, **((corpus.general or {}) if general else {})})
    files = {
        key: (data / name / file.name, replace(options, **corpus.others.get(key, {})))
        for key, file in corpus.files.items()
    }
    for path, _ in files.values():
        if not path.is_file():
            raise ValueError(f"{path} does not exist. Run: python scripts/fetch.py {name}")
    form = FORMATS[find_format(*next(iter(files.values())))]
    known: set[Hashable] = set()  # Docs that the training part must not have
    texts: dict[str, set[str]] = {}  # of each part, if Docs have several
    parts = dict(corpus.made_of) or {part: (part,) for part in files}
    parts_of_training = parts.pop("train")
    for doc in read_files(files[key] for key in corpus.left_out):
        known.add(form.key(doc))
    for kind, keys in parts.items():
        part = PartWriter(form, out / f"{kind}.spacy")
        for doc in read_files((files[key] for key in keys), part.summary):
            part.add(doc)
            known.add(form.key(doc))
            if form.texts:
                texts.setdefault(kind, set()).update(form.texts(doc))
        yield part.write()
    train, dev = (PartWriter(form, out / f"{name}.spacy") for name in ("train", "dev"))
    docs = read_files((files[key] for key in parts_of_training), train.summary)
    if corpus.distinct:
        docs = without(docs, known, train)
    if form.texts:
        split_groups(docs, form.texts, train, dev, texts, corpus.dev_share, corpus.distinct)
    else:
        for number, doc in enumerate(docs):
            (dev if is_held_out(number, corpus.dev_share) else train).add(doc)
    if corpus.dev_share:
        yield dev.write()
    yield train.write()


def read_files(
    files: Iterable[tuple[Path, ConvertOptions]], total: Summary | None = None
) -> Iterator[Doc]:
    """Yield the Docs of files, and add their repairs to `total`."""
    for path, options in files:
        name = find_format(path, options)
        summary = Summary(FORMATS[name].label)
        yield from read_file(path, name, options, summary)
        if total is not None:
            total.repairs += summary.repairs


def without(docs: Iterable[Doc], known: set[Hashable], part: PartWriter) -> Iterator[Doc]:
    """Yield the Docs that are not known, each once, and count the others in the part."""
    for doc in docs:
        key = part.form.key(doc)
        if key in known:
            part.summary.left_out += 1
        else:
            known.add(key)
            yield doc


def split_groups(
    docs: Iterable[Doc],
    texts_of: Callable[[Doc], Sequence[str]],
    train: PartWriter,
    dev: PartWriter,
    texts: dict[str, set[str]],
    share: Fraction,
    distinct: bool,
) -> None:
    """Split Docs so that those with a text in common stay together, and, if they are to be
    distinct, without those that share one with another part.

    texts: those of the other parts.
    """
    elsewhere: set[str] = set().union(*texts.values())
    in_training: set[str] = set()
    number = 0
    for group in grouped(docs, texts_of):
        found = {text for doc in group for text in texts_of(doc)}
        if distinct and found & elsewhere:
            train.summary.left_out += len(group)
            continue
        is_dev = is_held_out(number, share)
        number += 1
        (texts.setdefault("dev", set()) if is_dev else in_training).update(found)
        for doc in group:
            (dev if is_dev else train).add(doc)
    train.summary.shared = {
        name: (len(found & in_training), len(found)) for name, found in texts.items()
    }


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


def is_held_out(number: int, share: Fraction) -> bool:
    """Whether the Doc of this number, from 0, is one of a share at even distances."""
    return floor((number + 1) * share) > floor(number * share)


if __name__ == "__main__":
    main()
