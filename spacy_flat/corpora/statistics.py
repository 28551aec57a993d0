"""Statistics of a training corpus of entities, and problems for a component that learns from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

from spacy.tokens import Doc
from spacy.training import Example

if TYPE_CHECKING:
    from ..lexicon import Lexicon

SHOWN = 5  # examples of a fault


@dataclass
class Coverage:
    """The coverage of entities by a lexicon.

    mentions: entities. whole: those that are words of the lexicon. touched: those that have at
        least one word of the lexicon within.
    texts, whole_texts: the same of distinct texts.
    words_per_100: words of the lexicon in 100 characters of text, all lengths and overlaps.
    """

    mentions: int = 0
    whole: int = 0
    touched: int = 0
    texts: int = 0
    whole_texts: int = 0
    words_per_100: float = 0.0


@dataclass
class PartStatistics:
    """Statistics of a file of Docs.

    labels: entities by label, the most frequent first.
    unannotated: Docs without annotation of entities.
    missing: tokens without annotation in Docs that have some.
    misaligned: entities that cut tokens of the pipeline's tokenizer, and the first of them.
    lengths: shortest, median and longest text in characters. longer: texts above `max_length`.
    duplicates: texts that stand in the part before.
    """

    docs: int = 0
    characters: int = 0
    tokens: int = 0
    labels: dict[str, int] = field(default_factory=dict)
    unannotated: int = 0
    missing: int = 0
    misaligned: int = 0
    misaligned_examples: list[str] = field(default_factory=list)
    lengths: tuple[int, float, int] = (0, 0.0, 0)
    longer: int = 0
    duplicates: int = 0
    coverage: Coverage | None = None


@dataclass
class Shared:
    """What two parts share: texts, and entities of the second that the first does not have (texts
    with their labels) of all its `entities`."""

    texts: int = 0
    new_entities: int = 0
    entities: int = 0
    new_labels: list[str] = field(default_factory=list)


def describe(
    examples: Sequence[Example], max_length: int, lexicon: Lexicon | None = None
) -> PartStatistics:
    """Count what a part of a corpus holds.

    examples: gold Docs as references, and as predicted Docs those of the pipeline's tokenizer.
    """
    part = PartStatistics(docs=len(examples))
    for example in examples:
        gold = example.reference
        part.characters += len(gold.text)
        part.tokens += len(example.predicted)
        part.longer += len(gold.text) > max_length
        count_missing(part, gold)
        count_misaligned(part, example)
    labels = Counter(ent.label_ for example in examples for ent in example.reference.ents)
    part.labels = dict(labels.most_common())
    sizes = [len(example.reference.text) for example in examples]
    part.lengths = (min(sizes), median(sizes), max(sizes)) if sizes else (0, 0.0, 0)
    part.duplicates = len(sizes) - len(texts_of(examples))
    if lexicon is not None:
        part.coverage = cover(examples, lexicon)
    return part


def count_missing(part: PartStatistics, gold: Doc) -> None:
    """Count missing annotation of entities: of the whole Doc, or some of its tokens."""
    if not gold.has_annotation("ENT_IOB"):
        part.unannotated += 1
        return
    part.missing += sum(token.ent_iob == 0 for token in gold)


def count_misaligned(part: PartStatistics, example: Example) -> None:
    """Count the entities that cut tokens."""
    gold, predicted = example.reference, example.predicted
    if gold.text != predicted.text:
        return
    for ent in gold.ents:
        if predicted.char_span(ent.start_char, ent.end_char) is None:
            part.misaligned += 1
            if len(part.misaligned_examples) < SHOWN:
                around = predicted.char_span(ent.start_char, ent.end_char, alignment_mode="expand")
                tokens = " ".join(token.text for token in around) if around else "?"
                part.misaligned_examples.append(f"{ent.text} ({ent.label_}) in {tokens}")


def cover(examples: Sequence[Example], lexicon: Lexicon) -> Coverage:
    """Look the entities up in a lexicon, and its words in the texts."""
    mentions = Counter(ent.text for example in examples for ent in example.reference.ents)
    known = [text for text in mentions if text in lexicon]
    distinct = list(mentions)
    touched = {distinct[number] for number in set(lexicon.match(distinct).texts.tolist())}
    texts = [example.reference.text for example in examples]
    characters = sum(map(len, texts))
    return Coverage(
        mentions=mentions.total(),
        whole=sum(mentions[text] for text in known),
        touched=sum(mentions[text] for text in touched),
        texts=len(mentions),
        whole_texts=len(known),
        words_per_100=100 * len(lexicon.match(texts)) / max(1, characters),
    )


def compare(train: Sequence[Example], dev: Sequence[Example]) -> Shared:
    """Count what the second part has in common with the first."""
    seen = entities_of(train)
    entities = entities_of(dev)
    labels = {label for _, label in seen}
    return Shared(
        texts=len(texts_of(train) & texts_of(dev)),
        new_entities=len(entities - seen),
        entities=len(entities),
        new_labels=sorted({label for _, label in entities} - labels),
    )


def texts_of(examples: Iterable[Example]) -> set[str]:
    return {example.reference.text for example in examples}


def entities_of(examples: Iterable[Example]) -> set[tuple[str, str]]:
    """The distinct entities, as text and label."""
    return {(ent.text, ent.label_) for example in examples for ent in example.reference.ents}
