"""Mark which words of English sentences belong to no name, for `en_tener_wikiann.cfg`.

    python assets/release/plain_english.py OUT.spacy FILE.tsv …

The sentences are in the last column of each file; every second one is added without its final
mark, as in chats, titles and tables. Outside every entity are words in lower case, days (Sunday),
months, and first words that mostly occur in lower case. Names in the translator's built-in list
(Tom, Boston, New York) are entities with one of three labels. Other capitalised words, and the
words between two of them ("of" in "University of Oxford"), have no annotation.
"""

import argparse
import calendar
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import spacy
from spacy.matcher import PhraseMatcher
from spacy.tokens import Doc, DocBin, Span, Token
from spacy.util import filter_spans

from spacy_flat.translator.names import common_names
from spacy_flat.util.files import read_text_lines

GAP = 3  # words in lower case that a name may contain in a row
COARSE = {"NAME": ["LOC", "ORG", "PER"]}
NOT_NAMES = {"I", *calendar.day_name, *calendar.month_name}


def read_sentences(path: Path) -> Iterator[str]:
    for _, line in read_text_lines(path):
        yield line.split("\t")[-1]


def read_texts(paths: Sequence[Path]) -> list[str]:
    """Distinct sentences, and every second one without its final mark."""
    texts = dict.fromkeys(text for path in paths for text in read_sentences(path))
    return list(dict.fromkeys([*texts, *(text.rstrip(".!?") for text in list(texts)[::2])]))


def find_plain(docs: list[Doc]) -> set[str]:
    """Words that, after the first word of a text, occur more often in lower case than
    capitalised."""
    words = Counter(token.text for doc in docs for token in doc[1:])
    return {word for word in words if word.islower() and words[word] > words[word.title()]}


def may_be_name(token: Token, plain: set[str]) -> bool:
    if not token.text[:1].isupper() or token.text in NOT_NAMES:
        return False
    return not (token.is_sent_start and token.lower_ in plain)


def annotate(doc: Doc, plain: set[str], listed: PhraseMatcher) -> Doc:
    """Annotate listed names as entities, and words that belong to no name as outside. Leave other
    words without annotation."""
    capitals = {token.i for token in doc if may_be_name(token, plain)}
    names = [
        Span(doc, span.start, span.end, "NAME")
        for span in filter_spans(listed(doc, as_spans=True))
        if {span.start - 1, span.end}.isdisjoint(capitals)
    ]
    known = {token.i for name in names for token in name}
    unknown = sorted(capitals - known)
    missing = [Span(doc, i, i + 1) for i in unknown]
    for left, right in pairwise(unknown):
        if 1 < right - left <= GAP + 1 and known.isdisjoint(range(left, right)):
            missing.append(Span(doc, left + 1, right))
    doc.set_ents(names, missing=missing, default="outside")
    doc._.coarse_labels = COARSE
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
    listed = PhraseMatcher(nlp.vocab)
    listed.add("NAME", [nlp.make_doc(name) for name in common_names().values()])
    docs = list(nlp.pipe(read_texts(args.files)))
    plain = find_plain(docs)
    annotated = DocBin(attrs=["ENT_IOB", "ENT_TYPE", "SPACY"], store_user_data=True)
    for doc in docs:
        annotated.add(annotate(doc, plain, listed))
    args.out.parent.mkdir(parents=True, exist_ok=True)
    annotated.to_disk(args.out)
    print(f"{len(annotated)} sentences in {args.out}")


if __name__ == "__main__":
    main()
