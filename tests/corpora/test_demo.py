"""What a user relies on in the embedded corpora: clean files, honest splits, no templates."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import chain, pairwise
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import pytest

from spacy_flat.corpora.poems import form_name
from spacy_flat.generator.forms import FORMS
from spacy_flat.text.units import EntitySpan
from spacy_flat.translator.names import NameTable, common_names, name_list
from spacy_flat.translator.pinyin import in_english
from spacy_flat.translator.training import places

ASSETS = Path(__file__).parents[2] / "assets"
PARTS = ("train", "dev", "test")


def read(path: str) -> str:
    return (ASSETS / path).read_text("utf-8")


def rows_of(path: str) -> list[list[str]]:
    return [line.split("\t") for line in read(path).splitlines()]


# Entities


class Sentence(NamedTuple):
    text: str
    entities: list[EntitySpan]

    @property
    def masked(self) -> str:
        """The sentence with each entity replaced by its type's initial: its template."""
        text = self.text
        for start, end, label in reversed(self.entities):
            text = text[:start] + label[0] + text[end:]
        return text

    @property
    def surfaces(self) -> list[str]:
        return [self.text[start:end] for start, end, _ in self.entities]


def sentence_of(line: str) -> Sentence:
    text, labels = json.loads(line).values()
    entities = []
    for label, surfaces in labels.items():
        for surface, spans in surfaces.items():
            for start, last in spans:
                assert text[start : last + 1] == surface != ""
                entities.append(EntitySpan(start, last + 1, label))
    return Sentence(text, sorted(entities))


ENTITIES = {
    part: [sentence_of(line) for line in read(f"demo/{part}.jsonl").splitlines()] for part in PARTS
}
SENTENCES = list(chain(*ENTITIES.values()))


@pytest.mark.parametrize(("part", "least"), [("train", 400), ("dev", 80), ("test", 80)])
def test_entities_of_a_part(part: str, least: int) -> None:
    sentences = ENTITIES[part]
    assert len(sentences) >= least
    labels = Counter(ent.label for sentence in sentences for ent in sentence.entities)
    assert labels.keys() == {"PER", "LOC", "ORG"}
    assert min(labels.values()) >= 20
    assert 0.05 <= mean(not sentence.entities for sentence in sentences) <= 0.2
    if part != "train":
        seen = {surface for sentence in ENTITIES["train"] for surface in sentence.surfaces}
        surfaces = [surface for sentence in sentences for surface in sentence.surfaces]
        for counted in (surfaces, set(surfaces)):
            assert mean(surface not in seen for surface in counted) >= 0.5


def test_sentences_are_clean_and_differ() -> None:
    for text, entities in SENTENCES:
        assert text == text.strip()
        assert text.isprintable()
        assert 8 <= len(text) <= 80
        assert all(a.end <= b.start for a, b in pairwise(entities))
        assert "人和药店" not in text  # shown by `make demo`
    assert len({sentence.text for sentence in SENTENCES}) == len(SENTENCES)
    assert len({sentence.masked for sentence in SENTENCES}) == len(SENTENCES)


# Pairs


PAIRS = {part: rows_of(f"demo_pairs/{part}.tsv") for part in PARTS}


def texts_of(pairs: list[list[str]]) -> list[str]:
    return [text for pair in pairs for text in pair[:2]]


def overlap(pair: list[str]) -> float:
    """The Jaccard index of the characters."""
    left, right = set(pair[0]), set(pair[1])
    return len(left & right) / len(left | right)


@pytest.mark.parametrize("part", PARTS)
def test_pairs_of_a_part(part: str) -> None:
    """Balanced, not sorted, and the label can't be told by overlap."""
    pairs = PAIRS[part]
    labels = [label == "1" for _, _, label in pairs]
    quarter = len(labels) // 4
    assert quarter >= 25
    assert 0.48 <= mean(labels) <= 0.52
    for start in range(0, 4 * quarter, quarter):
        assert 0.3 <= mean(labels[start : start + quarter]) <= 0.7
    for label in ("0", "1"):
        overlaps = [overlap(pair) for pair in pairs if pair[2] == label]
        assert mean(share >= 0.5 for share in overlaps) >= 0.2
        assert mean(share <= 0.3 for share in overlaps) >= 0.2
    right = [mean((overlap(p) > t / 50) == (p[2] == "1") for p in pairs) for t in range(51)]
    assert max(*right, 1 - min(right)) <= 0.7
    train, texts = texts_of(PAIRS["train"]), texts_of(pairs)
    if part != "train":
        assert not set(train) & set(texts)
        assert mean(char in set("".join(train)) for char in "".join(texts)) >= 0.85


def test_texts_of_pairs_are_clean_and_differ() -> None:
    pairs = list(chain(*PAIRS.values()))
    for text in texts_of(pairs):
        assert text == text.strip()
        assert text.isprintable()
        assert 5 <= len(text) <= 30
    keys = {frozenset(pair[:2]) for pair in pairs}
    assert len(keys) == len(pairs)
    assert all(len(key) == 2 for key in keys)
    faq = dict(rows_of("demo_pairs/faq.tsv"))
    assert len(faq) >= 60
    assert faq.keys() <= set(texts_of(pairs))


# Texts and translations


PARALLEL = {part: rows_of(f"demo_parallel/{part}.tsv") for part in PARTS}
NAMES = name_list(ASSETS / "demo_parallel/names.tsv")


def words_of(translation: str) -> list[str]:
    return re.findall(r"[\w']+", translation)


@pytest.mark.parametrize("part", PARTS)
def test_translations_of_a_part(part: str) -> None:
    pairs = PARALLEL[part]
    assert len(pairs) >= 30
    characters = {char for source, _ in PARALLEL["train"] for char in source}
    words = {word for _, translation in PARALLEL["train"] for word in words_of(translation)}
    for source, translation in pairs:
        assert re.fullmatch(r"[\u4e00-\u9fff，]+[。？]", source)
        assert re.fullmatch(r"[A-Z][A-Za-z', ]+[.?]", translation)
        assert "  " not in translation
        assert source.endswith("？") == translation.endswith("?")
        assert set(source) <= characters
        assert set(words_of(translation)) <= words


def test_translations_differ_and_have_the_names_of_the_list() -> None:
    pairs = list(chain(*PARALLEL.values()))
    for side in zip(*pairs, strict=True):
        assert len(set(side)) == len(pairs) >= 200
    has_name = []
    for source, translation in pairs:
        found = list(NameTable(NAMES).find(source))
        has_name.append(bool(found))
        if "American" not in translation:
            assert None not in places(translation, found), source
    assert mean(has_name) > 0.5
    for name in ("王小明", "李华", "张伟", "刘芳", "陈静", "赵刚", "欧阳兰"):
        assert in_english(name, "PER") == NAMES[name]
    for name in ("北京", "上海", "杭州", "成都", "嘉定"):
        assert in_english(name, "LOC") == NAMES[name]


def test_list_of_common_names() -> None:
    names = common_names()
    assert len(names) > 600
    for name, translation in names.items():
        assert re.fullmatch(r"[\u4e00-\u9fff·]+", name)
        assert re.fullmatch(r"[A-Z][A-Za-z'. -]*|(de|van|da) [A-Z][a-z]+", translation)


# Poems


POEMS = {
    part: [poem.replace("\n", "") for poem in read(f"demo_poems/{part}.txt").split("\n\n")]
    for part in PARTS
}


@pytest.mark.parametrize("part", PARTS)
def test_poems_of_a_part(part: str) -> None:
    poems = POEMS[part]
    forms = Counter(map(form_name, poems))
    assert forms.keys() == FORMS.keys()
    assert min(forms.values()) >= 4
    for poem in poems:
        form = FORMS[form_name(poem) or ""]
        lines = re.split("[，。]", poem)[:-1]
        assert [len(line) for line in lines] == [form.characters] * form.lines
        assert re.findall("[^一-鿿]", poem) == list(form.marks)
    couplets = filter(None, read(f"demo_poems/{part}.txt").splitlines())
    assert all(re.fullmatch("[^，。]+，[^，。]+。", line) for line in couplets)
