"""Annotate the English side of translations for `en_tener_e5.cfg`: which words belong to no name.

    python assets/release/plain_english.py OUT.spacy FILE.tsv …

The last column of each file has English sentences. Words in lower case, and first words that mostly
occur in lower case, are outside every entity. Whether other words belong to one is missing, as is
what stands between two of them ("of" in "University of Oxford").
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import spacy
from spacy.tokens import Doc, DocBin, Span, Token

GAP = 3  # words in lower case that a name may contain in a row


def read_sentences(path: Path) -> Iterator[str]:
    for line in path.read_text(encoding="utf8").splitlines():
        yield line.split("\t")[-1]


def is_capitalised(token: Token) -> bool:
    return token.text[:1].isupper() and token.text != "I"


def find_plain(docs: list[Doc]) -> set[str]:
    """Words that occur in lower case more often than capitalised within a sentence."""
    words = Counter(token.text for doc in docs for token in doc[1:])
    return {word for word in words if word.islower() and words[word] > words[word.title()]}


def annotate(doc: Doc, plain: set[str]) -> Doc:
    """Set what is no entity; leave what might belong to one missing."""
    names = [
        token.i
        for token in doc
        if is_capitalised(token) and not (token.is_sent_start and token.lower_ in plain)
    ]
    missing = [Span(doc, i, i + 1) for i in names]
    for left, right in pairwise(names):
        if 1 < right - left <= GAP + 1:
            missing.append(Span(doc, left + 1, right))
    doc.set_ents([], missing=missing, default="outside")
    return doc


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    args = parser.parse_args()
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    sentences = dict.fromkeys(text for path in args.files for text in read_sentences(path))
    docs = list(nlp.pipe(sentences))
    plain = find_plain(docs)
    annotated = DocBin(attrs=["ENT_IOB", "ENT_TYPE", "SPACY"])
    for doc in docs:
        annotated.add(annotate(doc, plain))
    args.out.parent.mkdir(parents=True, exist_ok=True)
    annotated.to_disk(args.out)
    print(f"{len(annotated)} sentences in {args.out}")


if __name__ == "__main__":
    main()
