"""What a user relies on in `assets/demo_parallel` and `assets/demo_en`: clean files, honest splits,
names that are translated as the list says."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import mean

import pytest

from spacy_flat.translator.names import NameTable, common_names, in_pinyin, name_list, places

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "assets" / "demo_parallel"
SHARED = ROOT.parent / "shared" / "data"
SPLITS = ("train", "dev", "test")

Corpus = dict[str, list[tuple[str, str]]]


def pairs_of(name: str) -> list[tuple[str, str]]:
    pairs = []
    for line in (DEMO / name).read_text("utf-8").splitlines():
        source, translation = line.split("\t")
        pairs.append((source, translation))
    return pairs


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return {split: pairs_of(f"{split}.tsv") for split in SPLITS}


@pytest.fixture(scope="module")
def names() -> dict[str, str]:
    return name_list(DEMO / "names.tsv")


def words_of(translation: str) -> list[str]:
    return re.findall(r"[\w']+", translation)


def test_sizes(corpus: Corpus) -> None:
    sizes = {split: len(pairs) for split, pairs in corpus.items()}
    assert sum(sizes.values()) >= 200
    assert min(sizes.values()) >= 30


def test_no_text_twice(corpus: Corpus) -> None:
    for side in (0, 1):
        texts = [pair[side] for pairs in corpus.values() for pair in pairs]
        assert len(set(texts)) == len(texts)


def test_texts_are_clean(corpus: Corpus) -> None:
    for source, translation in [pair for pairs in corpus.values() for pair in pairs]:
        assert re.fullmatch(r"[\u4e00-\u9fff，]+[。？]", source)
        assert re.fullmatch(r"[A-Z][A-Za-z', ]+[.?]", translation)
        assert "  " not in translation
        assert source.endswith("？") == translation.endswith("?")


@pytest.mark.parametrize("split", ["dev", "test"])
def test_all_words_and_characters_are_known(corpus: Corpus, split: str) -> None:
    characters = {char for source, _ in corpus["train"] for char in source}
    words = {word for _, translation in corpus["train"] for word in words_of(translation)}
    for source, translation in corpus[split]:
        assert set(source) <= characters
        assert set(words_of(translation)) <= words


def test_names_are_translated_as_listed(corpus: Corpus, names: dict[str, str]) -> None:
    has_name = []
    for source, translation in [pair for pairs in corpus.values() for pair in pairs]:
        found = list(NameTable(names).find(source))
        has_name.append(bool(found))
        if "American" not in translation:
            assert None not in places(translation, found), source
    assert mean(has_name) > 0.5


def test_pinyin_is_what_the_list_says_of_chinese_persons(names: dict[str, str]) -> None:
    for name in ("王小明", "李华", "张伟", "刘芳", "陈静", "赵刚", "欧阳兰"):
        assert in_pinyin(name, "PER") == names[name]
    for name in ("北京", "上海", "杭州", "成都", "嘉定"):
        assert in_pinyin(name, "LOC") == names[name]


def test_two_sentences_to_learn_by_heart(corpus: Corpus, names: dict[str, str]) -> None:
    pairs = pairs_of("amazon.tsv")
    found = [list(NameTable(names).find(source)) for source, _ in pairs]
    for (_, translation), own in zip(pairs, found, strict=True):
        assert None not in places(translation, own)
    assert [[name.text for name in own] for own in found] == [
        ["Amazon", "US"],
        ["Amazon", "Washington", "Seattle"],
    ]
    assert not set(pairs) & {pair for part in corpus.values() for pair in part}
    english = (ROOT / "assets/demo_en/train.bio").read_text("utf-8")
    sentences = [" ".join(re.findall(r"^(\S+)\t", part, re.M)) for part in english.split("\n\n")]
    assert "Amazon is a big company ." in sentences
    assert not {pair[1] for pair in pairs} & set(sentences)


def test_the_readmes_have_the_figures(corpus: Corpus) -> None:
    readme = (DEMO / "README.md").read_text("utf-8")
    assert f"{sum(map(len, corpus.values()))} simple sentences" in readme
    for split, pairs in corpus.items():
        characters = sum(len(source) for source, _ in pairs)
        words = sum(len(words_of(translation)) for _, translation in pairs)
        assert f"| {split} | {len(pairs)} | {characters:,} | {words:,} |" in readme
    english = (ROOT / "assets/demo_en/README.md").read_text("utf-8")
    n_train, n_dev = (
        len((ROOT / f"assets/demo_en/{part}.bio").read_text("utf-8").split("\n\n"))
        for part in ("train", "dev")
    )
    assert f"{n_train} sentences to train on and {n_dev} to develop on" in " ".join(english.split())


@pytest.mark.skipif(not SHARED.is_dir(), reason="the real corpora are not at hand")
def test_no_pair_stands_in_a_real_corpus(corpus: Corpus) -> None:
    ours = {"\t".join(pair) for pairs in corpus.values() for pair in pairs}
    for path in SHARED.glob("parallel/*/*.tsv"):
        assert not ours & set(path.read_text("utf-8").splitlines())


def test_list_of_common_names() -> None:
    """Chinese on the left, English on the right, nothing twice."""
    names = common_names()
    assert len(names) > 600
    for name, translation in names.items():
        assert re.fullmatch(r"[\u4e00-\u9fff·]+", name)
        assert re.fullmatch(r"[A-Z][A-Za-z'. -]*|(de|van|da) [A-Z][a-z]+", translation)
