"""What a user relies on in the embedded corpora: clean files, honest splits, no templates."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import chain, pairwise
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from spacy_flat.generator.forms import FORMS
from spacy_flat.translator.names import NameTable, name_list
from spacy_flat.translator.pinyin import in_english
from spacy_flat.translator.training import places

ASSETS = Path(__file__).parents[2] / "assets"
PARTS = ("train", "dev", "test")


def read(path: str) -> str:
    return (ASSETS / path).read_text("utf-8")


def rows_of(path: str) -> list[list[str]]:
    return [line.split("\t") for line in read(path).splitlines()]


def test_entities() -> None:
    names: dict[str, set[str]] = {}
    templates = []
    for part in PARTS:
        sentences = [json.loads(line) for line in read(f"demo/{part}.jsonl").splitlines()]
        spans = [(sentence["text"], span) for sentence in sentences for span in spans_of(sentence)]
        names[part] = {text[start:end] for text, (start, end, _) in spans}
        labels = Counter(label for _, (_, _, label) in spans)
        assert labels.keys() == {"PER", "LOC", "ORG"}
        assert min(labels.values()) >= 20
        assert len(sentences) >= (400 if part == "train" else 80)
        assert 0.05 <= mean(not sentence["label"] for sentence in sentences) <= 0.2
        templates += map(template_of, sentences)
    for part in ("dev", "test"):
        assert len(names[part] - names["train"]) >= 0.5 * len(names[part])
    assert len(set(templates)) == len(templates)


def spans_of(sentence: dict[str, Any]) -> list[tuple[int, int, str]]:
    text = sentence["text"]
    spans = []
    for label, surfaces in sentence["label"].items():
        for surface, offsets in surfaces.items():
            assert all(text[start : last + 1] == surface != "" for start, last in offsets)
            spans += [(start, last + 1, label) for start, last in offsets]
    assert all(a[1] <= b[0] for a, b in pairwise(sorted(spans)))
    assert "人和药店" not in text  # shown by `make demo`
    return sorted(spans)


def template_of(sentence: dict[str, Any]) -> str:
    """The text with each entity replaced by its type's initial."""
    text: str = sentence["text"]
    for start, end, label in reversed(spans_of(sentence)):
        text = text[:start] + label[0] + text[end:]
    return text


def test_pairs() -> None:
    """Balanced, and the label can't be told by the Jaccard index of the characters. They differ,
    and no text of train is in another part."""
    parts = {part: rows_of(f"demo_pairs/{part}.tsv") for part in PARTS}
    texts = {part: {text for pair in pairs for text in pair[:2]} for part, pairs in parts.items()}
    assert texts["train"].isdisjoint(texts["dev"] | texts["test"])
    for pairs in parts.values():
        labels = [label == "1" for _, _, label in pairs]
        overlaps = [len({*a} & {*b}) / len({*a} | {*b}) for a, b, _ in pairs]
        assert len(labels) >= 100
        assert 0.48 <= mean(labels) <= 0.52
        both = list(zip(overlaps, labels, strict=True))
        right = [mean((share > t / 50) == label for share, label in both) for t in range(51)]
        assert max(*right, 1 - min(right)) <= 0.7
    keys = [frozenset(pair[:2]) for pair in chain(*parts.values())]
    assert len({*keys}) == len(keys)
    faq = dict(rows_of("demo_pairs/faq.tsv"))
    assert len(faq) >= 60
    assert faq.keys() <= set().union(*texts.values())


def test_translations() -> None:
    """They differ; dev and test have known characters and words; names are the list's."""
    parts = {part: rows_of(f"demo_parallel/{part}.tsv") for part in PARTS}
    pairs = list(chain(*parts.values()))
    for side in zip(*pairs, strict=True):
        assert len(set(side)) == len(pairs) >= 200
    characters, words = (
        {unit for pair in parts["train"] for unit in re.findall(pattern, pair[side])}
        for side, pattern in ((0, "."), (1, r"[\w']+"))
    )
    names = name_list(ASSETS / "demo_parallel/names.tsv")
    table = NameTable(names)
    for source, translation in pairs:
        assert source.endswith("？") == translation.endswith("?")
        assert {*source} <= characters
        assert {*re.findall(r"[\w']+", translation)} <= words
        if "American" not in translation:
            assert None not in places(translation, list(table.find(source))), source
    for name, label in (("王小明", "PER"), ("欧阳兰", "PER"), ("北京", "LOC"), ("嘉定", "LOC")):
        assert in_english(name, label) == names[name]


@pytest.mark.parametrize("part", PARTS)
def test_poems(part: str) -> None:
    forms = {(form.characters + 1, form.lines): name for name, form in FORMS.items()}
    found: Counter[str] = Counter()
    for poem in read(f"demo_poems/{part}.txt").split("\n\n"):
        text = "".join(poem.split())
        n_lines = len(re.findall("[^一-鿿]", text))
        name = forms[len(text) // n_lines, n_lines]
        assert re.findall("[^一-鿿]", text) == list(FORMS[name].marks)
        found[name] += 1
    assert found.keys() == FORMS.keys()
    assert min(found.values()) >= 4
