"""Write the pairs of the FAQs in assets/faq to corpus/faq:

    python scripts/faqs.py

Of each question: its other wordings, near misses, and what looks most like it in the same field.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from convert import Part
from spacy.vocab import Vocab

from spacy_flat.corpora.docs import make_doc
from spacy_flat.similarity.pairs import DIFFERENT, SAME, join_pair, mark_pair, pair_of

FOLDER = Path(__file__).parents[1] / "assets/faq"
CONTRAST = "contrast"  # texts of all fields, without unanswerable ones

Pair = tuple[str, str, bool]


class Question(NamedTuple):
    text: str
    same: list[str]
    different: list[str]


class Faq(NamedTuple):
    """The questions of a field, and queries that none of them answers."""

    questions: list[Question]
    unanswerable: list[str]


def read_faqs(path: Path) -> dict[str, Faq]:
    """The FAQ of each field."""
    faqs: dict[str, Faq] = {}
    for line in path.read_text("utf-8").splitlines():
        entry = json.loads(line)
        faq = faqs.setdefault(entry["field"], Faq([], []))
        faq.unanswerable.extend(entry.get("unanswerable", []))
        if "question" in entry:
            faq.questions.append(Question(*(entry[k] for k in ("question", "same", "different"))))
    return faqs


def pairs_of(field: str, faq: Faq) -> Iterator[Pair]:
    for question in faq.questions:
        yield from ((text, question.text, True) for text in question.same)
        yield from (
            (a, b, True) for a, b in zip(question.same[::2], question.same[1::2], strict=True)
        )
        for number, text in enumerate(question.different):
            yield text, question.text, False
            yield text, question.same[number], False
    if field == CONTRAST:
        return
    texts = [question.text for question in faq.questions]
    for question in faq.questions:
        others = [text for text in texts if text != question.text]
        yield from ((text, best, False) for text in question.same for best in nearest(text, others))
    yield from ((text, best, False) for text in faq.unanswerable for best in nearest(text, texts))


def nearest(text: str, others: list[str], n: int = 2) -> list[str]:
    """The texts with the most characters in common, by Jaccard's index."""

    def shared(other: str) -> float:
        return len({*text} & {*other}) / len({*text} | {*other})

    return sorted(others, key=shared, reverse=True)[:n]


def main() -> None:
    vocab = Vocab()
    for name in ("train", "dev"):
        part = Part(Path("corpus/faq") / f"{name}.spacy")
        for field, faq in read_faqs(FOLDER / f"{name}.jsonl").items():
            for left, right, is_same in pairs_of(field, faq):
                doc = make_doc(vocab, join_pair(left, right))
                doc.cats = {DIFFERENT: float(not is_same), SAME: float(is_same)}
                if pair := pair_of(doc):
                    mark_pair(doc, pair)
                part.add(doc)
        part.write()
        print(part.path, part.summary.labels)


if __name__ == "__main__":
    main()
