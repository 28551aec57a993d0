"""Convert fetched corpora to a `.spacy` file of each part:

    python scripts/convert.py afqmc lcqmc
    python scripts/convert.py general

They are read from data/<corpus> and written to corpus/<corpus>, those of "general" and
"open" to corpus/general/<corpus>, with the labels of assets/release/zh_flat_general.cfg.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from math import floor
from pathlib import Path

from published import CORPORA, GROUPS, members
from spacy.tokens import Doc, Span

from spacy_flat.cli.convert import report
from spacy_flat.corpora.augmenters import COMPOUND_SURNAMES, SURNAMES, TITLES
from spacy_flat.corpora.convert import read_corpus
from spacy_flat.corpora.docs import new_docs
from spacy_flat.corpora.formats import ConvertOptions, Summary
from spacy_flat.util.files import replacing

# 某个, 某种 … are ordinary words.
CALLED = re.compile(f"[老小阿]([{SURNAMES}])|([{SURNAMES}])[某×]{{1,2}}(?![一种个些年月日天时方])")

# 小朱, 陈先生, 欧阳老师; 小时, 小游戏 … are ordinary words.
BY_SURNAME = re.compile(
    f"[老小阿](?!时|游戏|程序)[{SURNAMES}]|(?:{'|'.join(COMPOUND_SURNAMES)}|[{SURNAMES}])"
    f"(?=姓|老板|总(?![计量额动场是])|{'|'.join(title for title in TITLES if len(title) > 1)})"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", nargs="+", choices=[*CORPORA, *GROUPS], metavar="CORPUS")
    parser.add_argument("--data", type=Path, default="data", help="folder of fetched corpora")
    parser.add_argument("--out", type=Path, default="corpus", help="folder to write to")
    arguments = parser.parse_args()
    for corpus in arguments.corpora:
        general = corpus in ("general", "open")
        out = arguments.out / "general" if general else arguments.out
        for name in members(corpus):
            try:
                for part in convert_corpus(name, arguments.data, out / name, general):
                    report(part.path, part.summary, part.left_out)
            except (OSError, ValueError) as error:
                sys.exit(str(error))


class Part:
    """A part of a corpus to write. `left_out` are Docs that stand in another part, or twice."""

    def __init__(self, path: Path):
        self.path = path
        self.docs = new_docs()
        self.summary = Summary()
        self.left_out = 0

    def add(self, doc: Doc) -> None:
        self.docs.add(doc)
        self.summary.add(doc)

    def write(self) -> Part:
        with replacing(self.path) as temporary:
            self.docs.to_disk(temporary)
        return self


def convert_corpus(name: str, data: Path, out: Path, general: bool = False) -> Iterator[Part]:
    """Convert a fetched corpus, and yield each part. The training part comes last, since what the
    others hold may be left out of it. Pairs that share a text stay together.

    Raises ValueError if a file is missing or has a defect.
    """
    corpus = CORPORA[name]
    if general and corpus.general is None:
        raise ValueError(f"{name} has no mapping to the general labels.")
    declared = dict(corpus.general or {}) if general else {}
    longest, by_surname = declared.pop("longest", {}), declared.pop("by_surname", True)
    options = ConvertOptions(**{**corpus.options, **declared})
    files = {
        key: (data / name / file.name, replace(options, **corpus.others.get(key, {})))
        for key, file in corpus.files.items()
    }
    for path, _ in files.values():
        if not path.is_file():
            raise ValueError(f"{path} does not exist. Run: python scripts/fetch.py {name}")
    if corpus.strip:
        files = {key: (stripped(path, corpus.strip), how) for key, (path, how) in files.items()}
    parts = dict(corpus.made_of) or {part: (part,) for part in files}
    keys_of_training = parts.pop("train")
    left_out = read_files(files[key] for key in corpus.left_out)
    known = set(map(key_of, left_out))  # Docs that the training part must not have
    texts: set[str] = set()  # of the other parts
    for kind, keys in parts.items():
        part = Part(out / f"{kind}.spacy")
        for doc in read_files((files[key] for key in keys), part.summary):
            part.add(for_general(doc, longest, by_surname) if general else doc)
            known.add(key_of(doc))
            texts.update(texts_of(doc))
        yield part.write()
    train, dev = (Part(out / f"{name}.spacy") for name in ("train", "dev"))
    docs = read_files((files[key] for key in keys_of_training), train.summary)
    if corpus.distinct:
        docs = without(docs, known, train)
    number = 0
    for group in grouped(docs):
        if corpus.distinct and any(texts.intersection(texts_of(doc)) for doc in group):
            train.left_out += len(group)
            continue
        part = dev if is_held_out(number, corpus.dev_share) else train
        for doc in group:
            part.add(for_general(doc, longest, by_surname) if general else doc)
        number += 1
    if corpus.dev_share:
        yield dev.write()
    yield train.write()


def read_files(
    files: Iterable[tuple[Path, ConvertOptions]], total: Summary | None = None
) -> Iterator[Doc]:
    """Yield the Docs of files, and add their repairs to `total`."""
    for path, options in files:
        summary, docs = read_corpus(path, options)
        yield from docs
        if total is not None:
            total.repairs += summary.repairs


def stripped(path: Path, pattern: str) -> Path:
    """A copy of a file, without what the pattern matches."""
    target = path.with_name(f"{path.name}.stripped")
    text = re.sub(pattern, "", path.read_text("utf-8"), flags=re.MULTILINE)
    target.write_text(text, "utf-8", newline="")
    return target


def for_general(doc: Doc, longest: Mapping[str, int], by_surname: bool = True) -> Doc:
    """A Doc by the rule of zh_flat_general: names include 老, 小, 阿 and 某 (老陈, 王某), where
    MSRA has only 陈 and 王. A 王某 without annotation, as mostly in CLUENER, becomes missing
    annotation, as do entities with more characters than their label may have. If the corpus doesn't
    annotate persons `by_surname`, so does each text that may be one (小朱, 陈先生)."""
    missing = [ent for ent in doc.ents if len(ent.text) > longest.get(ent.label_, len(ent.text))]
    entities = [ent for ent in doc.ents if ent not in missing]

    def within(span: Span) -> list[Span]:
        return [ent for ent in entities + missing if ent.start < span.end and span.start < ent.end]

    for match in CALLED.finditer(doc.text):
        span = doc.char_span(*match.span(), alignment_mode="expand")
        surname, found = match[1] or match[2], within(span)
        if [ent.text for ent in found] == [surname]:
            entities.remove(found[0])
            entities.append(Span(doc, span.start, span.end, found[0].label))
        elif match[2] and not found:
            missing.append(span)
    if not by_surname:
        for match in BY_SURNAME.finditer(doc.text):
            span = doc.char_span(*match.span(), alignment_mode="expand")
            if not within(span):
                missing.append(span)
    doc.set_ents(entities, missing=missing, default="unmodified")
    return doc


def texts_of(doc: Doc) -> list[str]:
    """The texts of a pair, in any order; none of other Docs."""
    return [span.text for span in doc.spans.get("pair", ())]


def key_of(doc: Doc) -> tuple[object, ...]:
    """Equal for two Docs that are the same example, whatever their labels. One text may have
    several translations."""
    return frozenset(texts_of(doc) or [doc.text]), doc._.translation


def without(docs: Iterable[Doc], known: set[tuple[object, ...]], part: Part) -> Iterator[Doc]:
    """Yield the Docs that are not known, each once, and count the others in the part."""
    for doc in docs:
        key = key_of(doc)
        if key in known:
            part.left_out += 1
        else:
            known.add(key)
            yield doc


def grouped(docs: Iterable[Doc]) -> Iterable[list[Doc]]:
    """The connected components of pairs that share a text, in the order of their first ones; each
    of other Docs by itself."""
    parents: dict[str, str] = {}

    def root(text: str) -> str:
        while (parent := parents.setdefault(text, text)) != text:
            parents[text] = text = parents[parent]
        return text

    pairs = []
    for doc in docs:
        if not (texts := texts_of(doc)):
            yield [doc]
            continue
        pairs.append(doc)
        parents[root(texts[1])] = root(texts[0])
    groups: dict[str, list[Doc]] = {}
    for doc in pairs:
        groups.setdefault(root(texts_of(doc)[0]), []).append(doc)
    yield from groups.values()


def is_held_out(number: int, share: Fraction) -> bool:
    """Whether the group of this number, from 0, is one of a share at even distances."""
    return floor((number + 1) * share) > floor(number * share)


if __name__ == "__main__":
    main()
