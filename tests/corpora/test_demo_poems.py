"""What a user relies on in `assets/demo_poems`: whole poems of four forms, and honest parts."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from spacy_flat.corpora.poems import form_name
from spacy_flat.generator.forms import FORMS

DEMO = Path(__file__).parents[2] / "assets" / "demo_poems"
SPLITS = ("train", "dev", "test")

Corpus = dict[str, list[str]]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """The poems of each part, without line breaks."""
    return {
        split: [
            poem.replace("\n", "")
            for poem in (DEMO / f"{split}.txt").read_text("utf-8").split("\n\n")
        ]
        for split in SPLITS
    }


def titles() -> list[list[str]]:
    return [line.split("\t") for line in (DEMO / "titles.tsv").read_text("utf-8").splitlines()]


def test_sizes(corpus: Corpus) -> None:
    assert sum(map(len, corpus.values())) >= 60
    for split in SPLITS:
        forms = Counter(map(form_name, corpus[split]))
        assert forms.keys() == FORMS.keys()
        assert min(forms.values()) >= 4


@pytest.mark.parametrize("split", SPLITS)
def test_lines_and_punctuation_are_those_of_the_form(corpus: Corpus, split: str) -> None:
    for poem in corpus[split]:
        form = FORMS[form_name(poem) or ""]
        lines = re.split("[，。]", poem)[:-1]
        assert [len(line) for line in lines] == [form.characters] * form.lines
        assert re.findall("[^一-鿿]", poem) == list(form.marks)


def test_a_line_of_the_files_is_a_couplet() -> None:
    for split in SPLITS:
        lines = (DEMO / f"{split}.txt").read_text("utf-8").splitlines()
        assert all(re.fullmatch("[^，。]+，[^，。]+。", line) for line in lines if line)


def test_no_line_stands_twice(corpus: Corpus) -> None:
    """Neither in one part, nor in two."""
    lines = [
        line for split in SPLITS for poem in corpus[split] for line in poem.split("。") if line
    ]
    assert Counter(lines).most_common(1)[0][1] == 1


def test_every_poem_has_its_title(corpus: Corpus) -> None:
    rows = titles()
    found = [(split, form_name(poem)) for split in SPLITS for poem in corpus[split]]
    assert [(split, form) for split, form, _, _ in rows] == found
    assert len({(author, title) for _, _, author, title in rows}) == len(rows)


def test_the_readme_has_the_figures(corpus: Corpus) -> None:
    readme = (DEMO / "README.md").read_text("utf-8")
    for split, poems in corpus.items():
        forms = Counter(map(form_name, poems))
        counts = " | ".join(str(forms[name]) for name in FORMS)
        assert f"| {split} | {len(poems)} | {counts} | {sum(map(len, poems)):,} |" in readme
    known = set("".join(corpus["train"]))
    for split in ("dev", "test"):
        text = "".join(corpus[split])
        share = sum(char in known for char in text) / len(text)
        assert f"{100 * share:.0f} % of the characters of {split}" in readme
