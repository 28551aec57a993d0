"""Pairs of texts: what tables and JSON become, and what is wrong with them by file and line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import spacy
from commands import said
from converted import convert, load
from spacy.tokens import Doc

from spacy_flat.corpora import ConvertOptions
from spacy_flat.corpora.convert import detect_format
from spacy_flat.corpora.parts import convert_corpus
from spacy_flat.corpora.sources import SOURCES, CorpusFile, CorpusSource
from spacy_flat.similarity.pairs import pair_of

PAIRS = ["pairs-tsv", "pairs-csv", "pairs-jsonl"]


def texts(doc: Doc) -> tuple[str, str]:
    left, right = doc.spans["pair"]
    return left.text, right.text


def test_labels_that_hardly_return_are_none(tmp_path: Path) -> None:
    """Of twenty pairs half may have a label of their own."""
    half, more = ("".join(f"问{i}\t答{i}\tl{i % n}\n" for i in range(20)) for n in (10, 11))
    _, summary = convert(tmp_path, half, format="pairs-tsv")
    assert len(summary.labels) == 10
    with pytest.raises(ValueError, match=r"\[F159\].*11.*20"):
        convert(tmp_path, more, format="pairs-tsv")


# What a pair becomes


def test_a_pair_is_a_doc(tmp_path: Path) -> None:
    docs, summary = convert(tmp_path, "运费 怎么算\t邮费是多少\t1\n运费怎么算\t 几天到 \t0\n")
    assert [doc.text for doc in docs] == ["运费 怎么算\x1f邮费是多少", "运费怎么算\x1f几天到"]
    assert [texts(doc) for doc in docs] == [("运费 怎么算", "邮费是多少"), ("运费怎么算", "几天到")]
    assert [doc.cats for doc in docs] == [
        {"different": 0.0, "same": 1.0},
        {"different": 1.0, "same": 0.0},
    ]
    assert summary.labels == {"same": 1, "different": 1}
    assert (summary.label, summary.doc, summary.sentences) == ("pair", "pair", 2)
    assert summary.sample == ["same: 运费 怎么算 | 邮费是多少", "different: 运费怎么算 | 几天到"]


def test_tokens_are_those_of_spacys_characters(tmp_path: Path) -> None:
    docs, _ = convert(tmp_path, "我 用A4纸\t两  张\t1\n")
    again = spacy.blank("zh")(docs[0].text)
    assert [token.text for token in docs[0]] == [token.text for token in again]
    assert [span.text for span in pair_of(again) or ()] == ["我 用A4纸", "两  张"]


@pytest.mark.parametrize(
    ("labels", "scores", "expected"),
    [
        ("1", False, [{"different": 0.0, "same": 1.0}]),
        ("021", False, [{k: float(k == n) for k in "012"} for n in "021"]),
        ("ABA", False, [{k: float(k == n) for k in "AB"} for n in "ABA"]),
        (["3.8", "0"], True, [{"similarity": 3.8}, {"similarity": 0.0}]),
    ],
)  # fmt: skip
def test_labels(
    tmp_path: Path, labels: Sequence[str], scores: bool, expected: list[dict[str, float]]
) -> None:
    """Each Doc has all labels of the file; 0 and 1 alone are classes."""
    text = "".join(f"{number}\tx\t{label}\n" for number, label in enumerate(labels))
    docs, summary = convert(tmp_path, text, format="pairs-tsv", scores=scores)
    assert [doc.cats for doc in docs] == expected
    assert sum(summary.labels.values()) == len(labels)


# Formats

SAME = {"different": 0.0, "same": 1.0}


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("甲\t乙\t1\n", "pairs-tsv"),
        ("\ufeff甲\t\ufeff乙\t1\r\n\r\n", "pairs-tsv"),
        ("\ufeff7\t\ufeff甲\t乙\t1\n", "pairs-tsv"),
        ("id\tlabel\tsentence1\tsentence2\n5\t1\t甲\t乙\n", "pairs-tsv"),
        ("甲,乙,1\n", "pairs-csv"),
        ("label;sentence1;sentence2\n1;甲;乙\n", "pairs-csv"),
        ("sentence1,sentence2,label\n甲,乙,是\n", "pairs-csv"),
        ("sentence1,sentence2,label\n甲,乙,True\n", "pairs-csv"),
        ("\ufeffsentence1,sentence2,label\n甲,乙,1\n", "pairs-csv"),
        ('is_duplicate,"Question1",question2\n1,甲,"乙"\n', "pairs-csv"),
        ('\n{"sentence1": "甲", "sentence2": "乙", "label": "1"}\n', "pairs-jsonl"),
        ('{"text1": "甲", "text2": "乙", "label": 1}\n', "pairs-jsonl"),
        ('{"premise": "甲", "hypothesis": "乙", "gold_label": true}\n', "pairs-jsonl"),
        ('[{"score": 1.0, "question1": "甲", "question2": "乙"}]\n', "pairs-jsonl"),
    ],
)
def test_formats(tmp_path: Path, text: str, form: str) -> None:
    (tmp_path / "told").write_text(text, "utf-8", newline="")
    assert detect_format(tmp_path / "told") == form
    for name in ("auto", form):
        docs, _ = convert(tmp_path, text, format=name)
        assert [(texts(doc), doc.cats) for doc in docs] == [(("甲", "乙"), SAME)]


def test_quotes_of_csv(tmp_path: Path) -> None:
    text = '"贷15000,每月还多少",领取""红包"",1\n"领取""饿了么""红包","两\n行",0\n怎"样,乙,0\n'
    docs, _ = convert(tmp_path, text)
    assert [texts(doc) for doc in docs] == [
        ("贷15000,每月还多少", '领取""红包""'),
        ('领取"饿了么"红包', "两\n行"),
        ('怎"样', "乙"),
    ]


def test_quotes_of_tsv_are_text(tmp_path: Path) -> None:
    docs, _ = convert(tmp_path, '"甲"\t"乙\t1\n')
    assert texts(docs[0]) == ('"甲"', '"乙')


# Defects

GOOD = {
    "pairs-tsv": "甲\t乙\t1\n",
    "pairs-csv": "甲,乙,1\n",
    "pairs-jsonl": '{"sentence1": "甲", "sentence2": "乙", "label": 1}\n',
}
DEFECTS = [
    ("pairs-tsv", "丙\t丁\n", r"F151.*line 2: 2 columns, but expected 3 as before"),
    ("pairs-tsv", "丙\t丁\t1\t1\n", r"F151.*line 2: 4 columns"),
    ("pairs-csv", "丙,丁\n", r"F151.*line 2: 2 columns"),
    ("pairs-csv", "丙,丁,戊,1\n", r"F151.*line 2: 4 columns"),
    ("pairs-csv", '丙,"丁"戊,1\n', r"F152.*line 2: can't read the quotes"),
    ("pairs-csv", '丙,"丁,1\n', r"F152.*line 2: can't read the quotes"),
    ("pairs-tsv", "丙\t \t1\n", r"F153.*line 2: the right text is empty"),
    ("pairs-csv", ",丁,1\n", r"F153.*line 2: the left text is empty"),
    ("pairs-tsv", "丙\x1f\t丁\t1\n", r"F153.*line 2: the left text contains U\+001F"),
    ("pairs-tsv", "丙\t丁\t\n", r"F151.*line 2: '', but expected a label"),
    ("pairs-csv", "丙,丁,-\n", r"F151.*line 2: '-', but expected a label"),
    (
        "pairs-jsonl",
        '{"sentence1": "丙", "sentence2": "丁", "label": null}\n',
        r"F151.*line 2: '', but expected a label",
    ),
    ("pairs-jsonl", '{"sentence1": "丙", "label": 1}\n', r"F156.*line 2: .*no two texts"),
    ("pairs-jsonl", '{"sentence1": "丙", "sentence2": 1, "label": 1}\n', "F156.*not strings"),
    ("pairs-jsonl", '{"sentence1": "丙", "sentence2": "丁", "label": []}\n', "F156.*its label"),
    (
        "pairs-jsonl",
        '{"sentence1": "\\ud800", "sentence2": "丁", "label": 1}\n',
        "F156.*a surrogate",
    ),
    ("pairs-jsonl", "[1]\n", r"F156.*line 2: .*not a JSON object"),
    ("pairs-jsonl", "{\n", r"F156.*line 2: .*it is not JSON"),
]


@pytest.mark.parametrize(("form", "line", "code"), DEFECTS)
def test_defects(tmp_path: Path, form: str, line: str, code: str) -> None:
    text = GOOD[form] + line + GOOD[form].replace("甲", "己")
    with pytest.raises(ValueError, match=code):
        convert(tmp_path, text, format=form)
    docs, summary = convert(tmp_path, text, format=form, repair=True, max_repairs=0.4)
    assert [texts(doc)[0] for doc in docs] == ["甲", "己"]
    assert sum(summary.repairs.values()) == 1


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("甲\t乙\t1\n丙\t丁\n戊\t己\t1\n", {"repair": True}, "F116.*: 1 of 3 lines needed repair"),
        ("甲\t乙\n", {"format": "pairs-tsv"}, "F151.*line 1: 2 columns.*two texts and a label"),
        ("甲\t乙\t丙\t1\n", {"format": "pairs-tsv"}, "F151.*line 1: 4 columns"),
        *(
            (f"甲\t乙\t0.5\n丙\t丁\t{label}\n", {"scores": True}, f"F151.*line 2: '{label}'")
            for label in ("high", "nan", "inf")
        ),
        ("甲\t乙\t5\n丙\t丁\t3.8\n", {}, r"F157.*line 2: the label 3\.8 "),
        ("erster,zweiter,gleich\n甲,乙,1\n丙,丁,0\n", {"format": "pairs-csv"}, "F155.*line 1: "),
    ],
)
def test_errors(tmp_path: Path, text: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        convert(tmp_path, text, **{"format": "pairs-tsv", **options})


@pytest.mark.parametrize("form", PAIRS)
def test_options_of_entities_have_no_effect(tmp_path: Path, form: str) -> None:
    with pytest.raises(ValueError, match=r"F174.*--words"):
        convert(tmp_path, GOOD[form], words=True)
    with pytest.raises(ValueError, match=r"F174.*--scores"):
        convert(tmp_path, "好 O\n", scores=True)


# Parts of corpora


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CorpusSource:
    """A corpus of three fetched files."""
    source = CorpusSource(
        task="pairs",
        lang="zh",
        folder="toy",
        homepage="",
        files={name: CorpusFile(name) for name in ("a", "b", "c", "d")},
        options=ConvertOptions(),
        made_of={"train": ("a", "b"), "test": ("c",)},
        left_out=("d",),
        distinct=True,
    )
    monkeypatch.setitem(SOURCES, "toy", source)
    folder = tmp_path / "toy"
    folder.mkdir()
    (folder / "a").write_text("甲\t乙\t1\n丙\t丁\t0\n甲\t乙\t1\n", "utf-8")
    (folder / "b").write_text("sentence1,sentence2,label\n乙,甲,1\n戊,己,0\n庚,辛,1\n", "utf-8")
    (folder / "c").write_text("丁\t丙\t0\n丁\t丙\t0\n", "utf-8")
    (folder / "d").write_text("庚\t辛\t1\n", "utf-8")
    return source


def test_a_part_of_several_files_without_the_pairs_of_others(
    tmp_path: Path, toy: CorpusSource
) -> None:
    made = dict(convert_corpus("toy", tmp_path, tmp_path / "out"))
    train, test = (tmp_path / f"out/{part}.spacy" for part in ("train", "test"))
    assert set(made) == {train, test}
    assert [texts(doc) for doc in load(train)] == [("甲", "乙"), ("戊", "己")]
    assert [texts(doc) for doc in load(test)] == [("丁", "丙")] * 2  # as published
    assert (made[train].left_out, made[test].left_out) == (4, 0)


def test_repairs_of_several_files_add_up(
    tmp_path: Path, toy: CorpusSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ConvertOptions(repair=True, max_repairs=0.5)
    monkeypatch.setitem(SOURCES, "toy", replace(toy, options=options))
    for name, line in (("a", "甲\n"), ("b", "甲\n"), ("d", "甲\n")):
        with (tmp_path / "toy" / name).open("a", encoding="utf-8") as file:
            file.write(line)
    made = dict(convert_corpus("toy", tmp_path, tmp_path / "out"))
    # Those of what is left out are no part's.
    counts = {path.stem: sum(summary.repairs.values()) for path, summary in made.items()}
    assert counts == {"train": 2, "test": 0}


def test_a_file_that_was_not_fetched(tmp_path: Path, toy: CorpusSource) -> None:
    (tmp_path / "toy/d").unlink()
    with pytest.raises(ValueError, match="F121"):
        list(convert_corpus("toy", tmp_path, tmp_path / "out"))


def test_a_share_is_held_out_at_even_distances(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = CorpusSource(
        "pairs", "zh", "toy", "", {"all": CorpusFile("all")}, ConvertOptions(),
        made_of={"train": ("all",)}, dev_share=SOURCES["lcqmc"].dev_share * 3,
    )  # fmt: skip
    monkeypatch.setitem(SOURCES, "toy", source)
    (tmp_path / "toy").mkdir()
    lines = [f"甲{number}\t乙{number}\t{number % 2}\n" for number in range(44)]
    (tmp_path / "toy/all").write_text("".join(lines), "utf-8")
    made = dict(convert_corpus("toy", tmp_path, tmp_path / "out"))
    dev = load(tmp_path / "out/dev.spacy")
    assert [summary.sentences for summary in made.values()] == [15, 29]
    numbers = [int(texts(doc)[0][1:]) for doc in dev]
    assert {b - a for a, b in pairwise(numbers)} == {2, 3}


def test_pairs_with_a_text_in_common_stay_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = CorpusSource(
        "pairs", "zh", "toy", "", {"all": CorpusFile("all"), "test": CorpusFile("test")},
        ConvertOptions(), made_of={"train": ("all",), "test": ("test",)}, distinct=True,
        dev_share=SOURCES["oppo"].dev_share * 4,
    )  # fmt: skip
    monkeypatch.setitem(SOURCES, "toy", source)
    (tmp_path / "toy").mkdir()
    pairs = ["甲乙", "丙丁", "戊己", "庚辛", "乙丙", "己壬", "子丑", "辛癸"]
    (tmp_path / "toy/all").write_text("".join(f"{a}\t{b}\t1\n" for a, b in pairs), "utf-8")
    (tmp_path / "toy/test").write_text("癸\t寅\t1\n", "utf-8")
    made = dict(convert_corpus("toy", tmp_path, tmp_path / "out"))
    parts = {path.stem: ["".join(texts(doc)) for doc in load(path)] for path in made}
    # 庚辛癸 has a text of the test part; of the other groups every other is held out.
    assert parts == {
        "test": ["癸寅"],
        "dev": ["戊己", "己壬"],
        "train": ["甲乙", "丙丁", "乙丙", "子丑"],
    }
    summary = made[tmp_path / "out/train.spacy"]
    assert (summary.left_out, summary.shared) == (2, {"test": (0, 2), "dev": (0, 3)})


# The command


def test_the_command_counts_pairs(tmp_path: Path, toy: CorpusSource) -> None:
    output = said("convert", "--corpus", "toy", tmp_path, tmp_path / "out")
    assert "train.spacy: 2 pairs, 6 characters" in output
    assert "2 pairs: same 1, different 1" in output
    assert "4 pairs left out" in output
    assert "0 of the 2 texts of test are also here" in output
