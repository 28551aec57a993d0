"""What a user relies on in `assets/demo`: clean files, honest splits, no templates."""

import json
from collections import Counter
from collections.abc import Iterable
from itertools import combinations, pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

DEMO = Path(__file__).parents[2] / "assets" / "demo"
SPLITS = ("train", "dev", "test")
LABELS = {"PER", "LOC", "ORG"}
DEMONSTRATION = "人和药店"  # shown by `make demo`, so no part of the corpus may hold it
NGRAM = 5
MAX_SHARED = 0.2  # of the 5-grams of the shorter sentence of a pair


class Entity(NamedTuple):
    start: int
    end: int  # exclusive
    label: str
    surface: str


class Sentence(NamedTuple):
    text: str
    entities: list[Entity]


def parse(line: str) -> Sentence:
    record = json.loads(line)
    assert set(record) == {"text", "label"}
    entities = [
        Entity(start, last + 1, label, surface)
        for label, surfaces in record["label"].items()
        for surface, spans in surfaces.items()
        for start, last in spans
    ]
    return Sentence(record["text"], sorted(entities))


def read(split: str) -> list[Sentence]:
    lines = (DEMO / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
    return [parse(line) for line in lines]


@pytest.fixture(scope="module")
def corpus() -> dict[str, list[Sentence]]:
    return {split: read(split) for split in SPLITS}


@pytest.fixture(scope="module")
def sentences(corpus: dict[str, list[Sentence]]) -> list[Sentence]:
    return [sentence for split in SPLITS for sentence in corpus[split]]


def mentions(sentences: Iterable[Sentence]) -> list[tuple[str, str]]:
    return [(ent.surface, ent.label) for sentence in sentences for ent in sentence.entities]


def masked(sentence: Sentence) -> str:
    """The sentence with each entity replaced by its type's initial: its template."""
    pieces, position = [], 0
    for ent in sentence.entities:
        pieces += [sentence.text[position : ent.start], ent.label[0]]
        position = ent.end
    return "".join(pieces) + sentence.text[position:]


def ngrams(text: str) -> set[str]:
    return {text[i : i + NGRAM] for i in range(len(text) - NGRAM + 1)}


def test_sizes(corpus: dict[str, list[Sentence]]) -> None:
    assert len(corpus["train"]) >= 400
    assert len(corpus["dev"]) >= 80
    assert len(corpus["test"]) >= 80


def test_every_type_is_well_represented_in_every_split(
    corpus: dict[str, list[Sentence]],
) -> None:
    for split in SPLITS:
        counts = Counter(label for _, label in mentions(corpus[split]))
        assert set(counts) == LABELS
        assert min(counts.values()) >= 20


def test_texts_are_single_lines_of_reasonable_length(sentences: list[Sentence]) -> None:
    for text, _ in sentences:
        assert text == text.strip()
        assert text.isprintable()
        assert 8 <= len(text) <= 80


def test_offsets_match_surfaces(sentences: list[Sentence]) -> None:
    for text, entities in sentences:
        for ent in entities:
            assert text[ent.start : ent.end] == ent.surface != ""


def test_entities_do_not_overlap(sentences: list[Sentence]) -> None:
    for _, entities in sentences:
        assert all(a.end <= b.start for a, b in pairwise(entities))


def test_about_a_tenth_has_no_entity(corpus: dict[str, list[Sentence]]) -> None:
    for split in SPLITS:
        empty = sum(not sentence.entities for sentence in corpus[split])
        assert 0.05 <= empty / len(corpus[split]) <= 0.2


def test_no_sentence_twice(sentences: list[Sentence]) -> None:
    texts = Counter(sentence.text for sentence in sentences)
    assert texts.most_common(1)[0][1] == 1


@pytest.mark.parametrize("split", ["dev", "test"])
def test_at_least_half_of_the_entities_are_unseen(
    corpus: dict[str, list[Sentence]], split: str
) -> None:
    seen = {surface for surface, _ in mentions(corpus["train"])}
    surfaces = [surface for surface, _ in mentions(corpus[split])]
    for counted in (surfaces, list(set(surfaces))):
        unseen = sum(surface not in seen for surface in counted)
        assert unseen / len(counted) >= 0.5


def test_no_template_with_swapped_names(sentences: list[Sentence]) -> None:
    templates = Counter(masked(sentence) for sentence in sentences)
    assert templates.most_common(1)[0][1] == 1


@pytest.mark.parametrize("view", ["text", "masked"])
def test_no_near_duplicates(sentences: list[Sentence], view: str) -> None:
    texts = [masked(sentence) if view == "masked" else sentence.text for sentence in sentences]
    holders: dict[str, list[int]] = {}
    sizes = []
    for index, text in enumerate(texts):
        grams = ngrams(text)
        sizes.append(len(grams))
        for gram in grams:
            holders.setdefault(gram, []).append(index)
    shared = Counter(pair for indices in holders.values() for pair in combinations(indices, 2))
    for (a, b), count in shared.items():
        share = count / min(sizes[a], sizes[b])
        assert share <= MAX_SHARED, f"{texts[a]}\n{texts[b]}"


def test_the_demonstration_sentence_is_not_in_the_corpus(sentences: list[Sentence]) -> None:
    assert not any(DEMONSTRATION in sentence.text for sentence in sentences)
