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

from spacy_flat.corpora.poems import form_name
from spacy_flat.generator.forms import FORMS
from spacy_flat.translator.names import NameTable, common_names, name_list
from spacy_flat.translator.pinyin import in_english
from spacy_flat.translator.training import places

ASSETS = Path(__file__).parents[2] / "assets"
PARTS = ("train", "dev", "test")


def read(path: str) -> str:
    return (ASSETS / path).read_text("utf-8")


def rows_of(path: str) -> list[list[str]]:
    return [line.split("\t") for line in read(path).splitlines()]


def test_entities() -> None:
    parts = {
        part: [json.loads(s) for s in read(f"demo/{part}.jsonl").splitlines()] for part in PARTS
    }
    names: dict[str, set[str]] = {}
    templates = []
    for part, sentences in parts.items():
        assert len(sentences) >= (400 if part == "train" else 80)
        labels: Counter[str] = Counter()
        for sentence in sentences:
            spans = entities_of(sentence)
            labels.update(label for _, _, label in spans)
            names.setdefault(part, set()).update(sentence["text"][a:b] for a, b, _ in spans)
            templates.append(template_of(sentence["text"], spans))
        assert labels.keys() == {"PER", "LOC", "ORG"}
        assert min(labels.values()) >= 20
        assert 0.05 <= mean(not sentence["label"] for sentence in sentences) <= 0.2
    for part in ("dev", "test"):
        assert len(names[part] - names["train"]) >= 0.5 * len(names[part])
    assert len(set(templates)) == len(templates)


def entities_of(sentence: dict[str, Any]) -> list[tuple[int, int, str]]:
    text = sentence["text"]
    spans = []
    for label, surfaces in sentence["label"].items():
        for surface, offsets in surfaces.items():
            assert all(text[start : last + 1] == surface != "" for start, last in offsets)
            spans += [(start, last + 1, label) for start, last in offsets]
    assert all(a[1] <= b[0] for a, b in pairwise(sorted(spans)))
    assert text == text.strip()
    assert text.isprintable()
    assert 8 <= len(text) <= 80
    assert "人和药店" not in text  # shown by `make demo`
    return sorted(spans)


def template_of(text: str, spans: list[tuple[int, int, str]]) -> str:
    """The text with each entity replaced by its type's initial."""
    for start, end, label in reversed(spans):
        text = text[:start] + label[0] + text[end:]
    return text


PAIRS = {part: rows_of(f"demo_pairs/{part}.tsv") for part in PARTS}


def texts_of(pairs: list[list[str]]) -> list[str]:
    return [text for pair in pairs for text in pair[:2]]


@pytest.mark.parametrize("part", PARTS)
def test_pairs_of_a_part(part: str) -> None:
    """Balanced, not sorted, and the label can't be told by the Jaccard index of the characters."""
    labels = [label == "1" for _, _, label in PAIRS[part]]
    overlaps = [len({*a} & {*b}) / len({*a} | {*b}) for a, b, _ in PAIRS[part]]
    quarter = len(labels) // 4
    assert quarter >= 25
    assert 0.48 <= mean(labels) <= 0.52
    for start in range(0, 4 * quarter, quarter):
        assert 0.3 <= mean(labels[start : start + quarter]) <= 0.7
    both = list(zip(overlaps, labels, strict=True))
    right = [mean((share > t / 50) == label for share, label in both) for t in range(51)]
    assert max(*right, 1 - min(right)) <= 0.7
    if part != "train":
        assert not {*texts_of(PAIRS["train"])} & {*texts_of(PAIRS[part])}


def test_texts_of_pairs_are_clean_and_differ() -> None:
    pairs = list(chain(*PAIRS.values()))
    assert all(text == text.strip() and text.isprintable() for text in texts_of(pairs))
    keys = {frozenset(pair[:2]) for pair in pairs}
    assert len(keys) == len(pairs)
    assert all(len(key) == 2 for key in keys)
    faq = dict(rows_of("demo_pairs/faq.tsv"))
    assert len(faq) >= 60
    assert faq.keys() <= set(texts_of(pairs))


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
        assert re.fullmatch(r"[\u4e00-\u9fff，]+[。？]", source)
        assert re.fullmatch(r"[A-Z][A-Za-z']*( ?[A-Za-z',]+)*[.?]", translation)
        assert source.endswith("？") == translation.endswith("?")
        assert {*source} <= characters
        assert {*re.findall(r"[\w']+", translation)} <= words
        if "American" not in translation:
            assert None not in places(translation, list(table.find(source))), source
    for name, label in (("王小明", "PER"), ("欧阳兰", "PER"), ("北京", "LOC"), ("嘉定", "LOC")):
        assert in_english(name, label) == names[name]


def test_list_of_common_names() -> None:
    names = common_names()
    assert len(names) > 600
    for name, translation in names.items():
        assert re.fullmatch(r"[\u4e00-\u9fff·]+", name)
        assert re.fullmatch(r"[A-Z][A-Za-z'. -]*|(de|van|da) [A-Z][a-z]+", translation)


@pytest.mark.parametrize("part", PARTS)
def test_poems_of_a_part(part: str) -> None:
    poems = [poem.replace("\n", "") for poem in read(f"demo_poems/{part}.txt").split("\n\n")]
    forms = Counter(map(form_name, poems))
    assert forms.keys() == FORMS.keys()
    assert min(forms.values()) >= 4
    for poem in poems:
        assert re.findall("[^一-鿿]", poem) == list(FORMS[form_name(poem) or ""].marks)
