"""What a user relies on in `assets/demo_pairs`: balanced parts, honest splits, hard negatives."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "assets" / "demo_pairs"
SHARED = ROOT.parent / "shared" / "data"
SPLITS = ("train", "dev", "test")


class Pair(NamedTuple):
    left: str
    right: str
    label: str

    @property
    def overlap(self) -> float:
        """The Jaccard index of the characters."""
        left, right = set(self.left), set(self.right)
        return len(left & right) / len(left | right)


Corpus = dict[str, list[Pair]]


def lines_of(name: str) -> list[list[str]]:
    return [line.split("\t") for line in (DEMO / name).read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return {split: [Pair(*cells) for cells in lines_of(f"{split}.tsv")] for split in SPLITS}


@pytest.fixture(scope="module")
def faq() -> dict[str, str]:
    return dict(lines_of("faq.tsv"))


def texts_of(pairs: list[Pair]) -> list[str]:
    return [text for pair in pairs for text in (pair.left, pair.right)]


def test_sizes(corpus: Corpus) -> None:
    sizes = {split: len(pairs) for split, pairs in corpus.items()}
    assert sum(sizes.values()) >= 400
    assert 0.55 <= sizes["train"] / sum(sizes.values()) <= 0.65
    assert min(sizes.values()) >= 100


@pytest.mark.parametrize("split", SPLITS)
def test_parts_are_balanced_and_not_sorted(corpus: Corpus, split: str) -> None:
    labels = [pair.label for pair in corpus[split]]
    assert set(labels) == {"0", "1"}
    quarter = len(labels) // 4
    assert 0.48 <= mean(label == "1" for label in labels) <= 0.52
    for start in range(0, 4 * quarter, quarter):
        assert 0.3 <= mean(label == "1" for label in labels[start : start + quarter]) <= 0.7


def test_texts_are_single_questions_of_reasonable_length(corpus: Corpus) -> None:
    for text in texts_of([pair for split in SPLITS for pair in corpus[split]]):
        assert text == text.strip()
        assert text.isprintable()
        assert 5 <= len(text) <= 30


def test_no_pair_twice_and_no_text_with_itself(corpus: Corpus) -> None:
    keys = Counter(frozenset((pair.left, pair.right)) for split in SPLITS for pair in corpus[split])
    assert keys.most_common(1)[0][1] == 1
    assert all(len(key) == 2 for key in keys)


@pytest.mark.parametrize("split", ["dev", "test"])
def test_characters_are_known_and_texts_are_new(corpus: Corpus, split: str) -> None:
    """A text that stood in training beside another would give the label away."""
    seen = texts_of(corpus["train"])
    assert not set(seen) & set(texts_of(corpus[split]))
    known = set("".join(seen))
    assert mean(char in known for text in texts_of(corpus[split]) for char in text) >= 0.85


@pytest.mark.parametrize("split", SPLITS)
def test_overlap_does_not_tell_the_label(corpus: Corpus, split: str) -> None:
    """Both labels have pairs of nearly the same characters, and pairs of few in common."""
    for label in ("0", "1"):
        overlaps = [pair.overlap for pair in corpus[split] if pair.label == label]
        assert mean(overlap >= 0.5 for overlap in overlaps) >= 0.2
        assert mean(overlap <= 0.3 for overlap in overlaps) >= 0.2
    thresholds = [number / 50 for number in range(51)]
    right = [mean((p.overlap > t) == (p.label == "1") for p in corpus[split]) for t in thresholds]
    assert max(*right, 1 - min(right)) <= 0.7


def test_questions_to_search_in(corpus: Corpus, faq: dict[str, str]) -> None:
    assert len(faq) == len(lines_of("faq.tsv")) >= 60
    assert faq.keys() <= set(texts_of([pair for split in SPLITS for pair in corpus[split]]))
    assert all(len(answer) >= 8 for answer in faq.values())


def test_the_readme_has_the_figures(corpus: Corpus) -> None:
    readme = (DEMO / "README.md").read_text("utf-8")
    train = set(texts_of(corpus["train"]))
    for split, pairs in corpus.items():
        texts = texts_of(pairs)
        same = sum(pair.label == "1" for pair in pairs)
        new = len(set(texts) - train) if split != "train" else "–"
        row = f"{len(pairs)} | {same} | {sum(map(len, texts)):,} | {len(set(texts))} | {new} |"
        assert f"| {split} | {row}" in readme


@pytest.mark.skipif(not SHARED.is_dir(), reason="the real corpora are not at hand")
def test_no_text_stands_in_a_real_corpus(corpus: Corpus, faq: dict[str, str]) -> None:
    ours = {*texts_of([pair for split in SPLITS for pair in corpus[split]]), *faq.values()}
    for path in SHARED.glob("match_zh/*/*"):
        theirs = path.read_text("utf-8")
        assert not [text for text in ours if text in theirs]
