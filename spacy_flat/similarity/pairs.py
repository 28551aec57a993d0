"""Two texts as one Doc: corpora, training and evaluation treat a pair like any other Doc."""

from collections.abc import Sequence
from typing import cast

from spacy.tokens import Doc, Span, Token

from ..errors import Errors

# ASCII's unit separator stands between the texts, because `spacy.Corpus.v1` and `nlp` pass on
# nothing but a text.
SEPARATOR = "\x1f"
PAIR = "pair"  # in doc.spans
# Names in doc.cats: the classes of pairs labelled 0 and 1, and a score.
DIFFERENT, SAME = "different", "same"
SIMILARITY = "similarity"

Pair = tuple[Span, Span]
Text = str | Doc | Span | Token


def join_pair(left: str, right: str) -> str:
    """The text of a pair: "LEFT\\x1fRIGHT".

    Raises ValueError (F320) if a text contains the separator.
    """
    for text in (left, right):
        if SEPARATOR in text:
            raise ValueError(Errors.F320.format(text=text))
    return f"{left}{SEPARATOR}{right}"


def pair_of(doc: Doc) -> Pair | None:
    """The two texts of a Doc: `doc.spans["pair"]`, or else the sides of its one separator, or None.

    Raises ValueError (F313) if the tokenizer left the separator in a word.
    """
    if spans := doc.spans.get(PAIR):
        left, right = spans
        return left, right
    text = doc.text
    if text.count(SEPARATOR) != 1:
        return None
    at = text.index(SEPARATOR)
    # The token may also contain white space around the separator.
    (separator,) = doc.char_span(at, at + 1, alignment_mode="expand") or doc[:0]
    if separator.text.strip():
        raise ValueError(Errors.F313.format(token=separator.text))
    return doc[: separator.i], doc[separator.i + 1 :]


def mark_pair(doc: Doc, pair: Pair) -> None:
    """Store the pair in `doc.spans["pair"]`, which is saved with the Doc."""
    doc.spans[PAIR] = list(pair)


def string_of(text: Text) -> str:
    return text if isinstance(text, str) else str(text.text)


def two_texts(number: int, pair: object) -> tuple[Text, Text]:
    """Check pair number `number`. Raises TypeError (F312) for anything but two texts."""
    is_pair = isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2
    if not (is_pair and all(isinstance(text, Text) for text in cast(Sequence[object], pair))):
        raise TypeError(Errors.F312.format(number=number, value=f"{pair!r:.60}"))
    return cast(tuple[Text, Text], pair)
