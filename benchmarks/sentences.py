"""Texts to measure with, and a pipeline for those who have trained none."""

import random
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import spacy
from spacy.language import Language
from spacy.tokens import DocBin
from spacy.training import Example

from spacy_flat.lexicon import Lexicon, jieba_words

LABELS = {"nr": "PER", "ns": "LOC", "nt": "ORG"}  # of jieba's parts of speech
TRAINING_TEXTS = 320


def read_texts(path: Path) -> list[str]:
    """The texts of a `.spacy` file, or the lines of any other, in UTF-8; empty ones left out.

    Raises ValueError where there are none.
    """
    if path.suffix == ".spacy":
        vocab = spacy.blank("zh").vocab
        texts = [doc.text for doc in DocBin().from_disk(path).get_docs(vocab)]
    else:
        texts = path.read_text("utf-8").splitlines()
    texts = [text for text in texts if text.strip()]
    if not texts:
        raise ValueError(f"{path}: no texts in this file. Give another --text.")
    return texts


def draw_texts(count: int, seed: int = 0) -> list[str]:
    """Sentences of words drawn from jieba's dictionary by frequency: three clauses of seven."""
    entries = list(jieba_words())
    words = random.Random(seed).choices(
        [entry.word for entry in entries], [entry.frequency for entry in entries], k=21 * count
    )
    clauses = ["".join(words[start : start + 7]) for start in range(0, len(words), 7)]
    return ["，".join(clauses[start : start + 3]) + "。" for start in range(0, len(clauses), 3)]


def cut_texts(texts: Sequence[str], length: int, count: int) -> list[str]:
    """`count` pieces of exactly `length` characters of the texts, one after the other; it starts
    again where they end."""
    stream = "".join(texts).replace("\n", "")
    needed = length * count
    stream *= -(-needed // len(stream))
    return [stream[start : start + length] for start in range(0, needed, length)]


def make_examples(nlp: Language, texts: Sequence[str]) -> list[Example]:
    """Examples whose entities are the names, places and organisations of jieba's dictionary."""
    lexicon = _dictionary()
    examples = []
    for text in texts:
        doc = nlp.make_doc(text)
        entities = list(dictionary_entities(text, lexicon))
        examples.append(Example.from_dict(doc, {"entities": entities}))
    return examples


@cache
def _dictionary() -> Lexicon:
    return Lexicon(jieba_words())


def dictionary_entities(text: str, lexicon: Lexicon) -> Iterator[tuple[int, int, str]]:
    """Start, end and label of words that do not overlap, from the left, the longest first."""
    found = lexicon.match([text])
    spans = sorted(
        zip(found.starts.tolist(), (-found.ends).tolist(), found.words.tolist(), strict=True)
    )
    free = 0
    for start, negative_end, word in spans:
        label = LABELS.get(lexicon.snapshot.type_names[lexicon.snapshot.types[word]])
        if label is not None and start >= free:
            free = -negative_end
            yield start, free, label


def make_pipeline(factory: str) -> Language:
    """A component with default settings in a blank Chinese pipeline. It is trained for some
    seconds, so that it finds about as many entities as a real one."""
    nlp = spacy.blank("zh")
    nlp.add_pipe(factory)
    examples = make_examples(nlp, draw_texts(TRAINING_TEXTS))
    optimizer = nlp.initialize(lambda: examples)
    for start in range(0, len(examples), 16):
        nlp.update(examples[start : start + 16], sgd=optimizer)
    return nlp
