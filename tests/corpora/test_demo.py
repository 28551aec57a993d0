"""What a user relies on in the embedded corpora: clean files, honest splits, no templates."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import chain, combinations, pairwise
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import pytest

from spacy_flat.corpora.poems import form_name
from spacy_flat.generator.forms import FORMS
from spacy_flat.text.units import EntitySpan
from spacy_flat.translator.names import NameTable, common_names, in_pinyin, name_list, places

ASSETS = Path(__file__).parents[2] / "assets"
SHARED = ASSETS.parents[1] / "shared/data"
PARTS = ("train", "dev", "test")
NGRAM = 5
MAX_SHARED = 0.2  # of the 5-grams of the shorter sentence of a pair


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


@pytest.mark.parametrize("view", ["text", "masked"])
def test_no_near_duplicates(view: str) -> None:
    texts = [getattr(sentence, view) for sentence in SENTENCES]
    holders: dict[str, list[int]] = {}
    grams = [{text[i : i + NGRAM] for i in range(len(text) - NGRAM + 1)} for text in texts]
    for index, gram in ((index, gram) for index, each in enumerate(grams) for gram in each):
        holders.setdefault(gram, []).append(index)
    shared = Counter(pair for indices in holders.values() for pair in combinations(indices, 2))
    for (a, b), count in shared.items():
        assert count / min(len(grams[a]), len(grams[b])) <= MAX_SHARED, f"{texts[a]}\n{texts[b]}"


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
    new = "–" if part == "train" else len(set(texts) - set(train))
    row = f"{len(pairs)} | {sum(labels)} | {sum(map(len, texts)):,} | {len(set(texts))} | {new} |"
    assert f"| {part} | {row}" in read("demo_pairs/README.md")


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
    n_chars = sum(len(source) for source, _ in pairs)
    n_words = sum(len(words_of(translation)) for _, translation in pairs)
    row = f"| {part} | {len(pairs)} | {n_chars:,} | {n_words:,} |"
    assert row in read("demo_parallel/README.md")


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
        assert in_pinyin(name, "PER") == NAMES[name]
    for name in ("北京", "上海", "杭州", "成都", "嘉定"):
        assert in_pinyin(name, "LOC") == NAMES[name]


def test_two_sentences_to_learn_by_heart() -> None:
    pairs = rows_of("demo_parallel/amazon.tsv")
    found = [list(NameTable(NAMES).find(source)) for source, _ in pairs]
    for (_, translation), own in zip(pairs, found, strict=True):
        assert None not in places(translation, own)
    names = [[name.text for name in own] for own in found]
    assert names == [["Amazon", "US"], ["Amazon", "Washington", "Seattle"]]
    parts = read("demo_en/train.bio").split("\n\n")
    english = [" ".join(re.findall(r"^(\S+)\t", part, re.M)) for part in parts]
    assert "Amazon is a big company ." in english
    assert not {pair[1] for pair in pairs} & set(english)
    assert not any(pair in part for pair in pairs for part in PARALLEL.values())
    n_dev = len(read("demo_en/dev.bio").split("\n\n"))
    figures = f"{len(parts)} sentences to train on and {n_dev} to develop on"
    assert figures in " ".join(read("demo_en/README.md").split())


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
    readme = read("demo_poems/README.md")
    counts = " | ".join(str(forms[name]) for name in FORMS)
    assert f"| {part} | {len(poems)} | {counts} | {sum(map(len, poems)):,} |" in readme
    if part != "train":
        known = set("".join(POEMS["train"]))
        share = mean(char in known for char in "".join(poems))
        assert f"{100 * share:.0f} % of the characters of {part}" in readme


def test_poems_differ_and_have_titles() -> None:
    poems = list(chain(*POEMS.values()))
    couplets = [line for poem in poems for line in poem.split("。") if line]
    assert len(set(couplets)) == len(couplets)
    titles = rows_of("demo_poems/titles.tsv")
    found = [[part, form_name(poem)] for part in PARTS for poem in POEMS[part]]
    assert [row[:2] for row in titles] == found
    assert len({tuple(row[2:]) for row in titles}) == len(poems)


# Real corpora


@pytest.mark.skipif(not SHARED.is_dir(), reason="the real corpora are not at hand")
def test_nothing_stands_in_a_real_corpus() -> None:
    texts = {*texts_of(list(chain(*PAIRS.values()))), *dict(rows_of("demo_pairs/faq.tsv")).values()}
    for path in SHARED.glob("match_zh/*/*"):
        theirs = path.read_text("utf-8")
        assert not [text for text in texts if text in theirs]
    pairs = {"\t".join(pair) for pair in chain(*PARALLEL.values())}
    for path in SHARED.glob("parallel/*/*.tsv"):
        assert not pairs & set(path.read_text("utf-8").splitlines())
