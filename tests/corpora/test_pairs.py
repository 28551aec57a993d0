"""Pairs of texts and translations: what tables become, and what is wrong by file and line."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import spacy
from converted import convert
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.training import Corpus


def texts(doc: Doc) -> tuple[str, str]:
    left, right = doc.spans["pair"]
    return left.text, right.text


def test_a_pair_is_a_doc(tmp_path: Path) -> None:
    text = "运费 怎么算\t邮费是多少\t1\n运费怎么算\t 几天到 \t0\n甲\t乙\t-\n"
    docs, summary = convert(tmp_path, text, format="pairs-tsv")
    assert [doc.text for doc in docs] == ["运费 怎么算\x1f邮费是多少", "运费怎么算\x1f几天到"]
    assert [texts(doc) for doc in docs] == [("运费 怎么算", "邮费是多少"), ("运费怎么算", "几天到")]
    assert [doc.cats for doc in docs] == [
        {"different": 0.0, "same": 1.0},
        {"different": 1.0, "same": 0.0},
    ]
    assert summary.labels == {"same": 1, "different": 1}
    assert (summary.docs, summary.skipped) == (2, 1)


@pytest.mark.parametrize(
    ("labels", "scores", "expected"),
    [
        ("1", False, [{"different": 0.0, "same": 1.0}]),
        ("021", False, [{k: float(k == n) for k in "012"} for n in "021"]),
        ("xx1", False, [{k: float(k == n) for k in "1x"} for n in "xx1"]),
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


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("\ufeff甲\t乙\t1\r\n\r\n", "pairs-tsv"),
        ('"\ufeff甲","\ufeff乙",1', "pairs-csv"),
        ("7\t甲\t乙\t1\n", "pairs-tsv"),
        ("id\tlabel\tsentence1\tsentence2\n5\t1\t甲\t乙\n", "pairs-tsv"),
        ("甲,乙,1\n", "pairs-csv"),
        ("sentence1,sentence2,label\n甲,乙,是\n", "pairs-csv"),
        ("\ufeffsentence1,sentence2,label\n甲,乙,True\n", "pairs-csv"),
        ('is_duplicate,"Question1",question2\n1,甲,"乙"\n', "pairs-csv"),
    ],
)
def test_formats(tmp_path: Path, text: str, form: str) -> None:
    docs, _ = convert(tmp_path, text, format=form)
    assert [texts(doc) for doc in docs] == [("甲", "乙")]
    assert docs[0].cats == {"different": 0.0, "same": 1.0}


def test_quotes(tmp_path: Path) -> None:
    text = '"贷15000,每月还多少",领取""红包"",1\n"领取""饿了么""红包","两\n行",0\n怎"样,乙,0\n'
    docs, _ = convert(tmp_path, text, format="pairs-csv")
    assert [texts(doc) for doc in docs] == [
        ("贷15000,每月还多少", '领取""红包""'),
        ('领取"饿了么"红包', "两\n行"),
        ('怎"样', "乙"),
    ]
    docs, _ = convert(tmp_path, '"甲"\t"乙\t1\n', format="pairs-tsv")
    assert texts(docs[0]) == ('"甲"', '"乙')


@pytest.mark.parametrize(
    ("form", "line", "message"),
    [
        ("pairs-tsv", "丙\t丁", r"F151.*line 2: 2 columns, but expected 3 as before"),
        ("pairs-csv", "丙,丁,戊,1", r"F151.*line 2: 4 columns"),
        ("parallel-tsv", "他来了。\tHe came.\tCC-BY", r"F151.*line 2: 3 columns"),
        ("parallel-tsv", "他来了。\t ", r"F153.*line 2: the translation is empty"),
        ("pairs-csv", '丙,"丁"戊,1', r"F152.*line 2: can't read the quotes"),
        ("pairs-csv", '丙,"丁,1', r"F152.*line 2: can't read the quotes"),
        ("pairs-tsv", "丙\t \t1", r"F153.*line 2: the right text is empty"),
        ("pairs-csv", ",丁,1", r"F153.*line 2: the left text is empty"),
        ("pairs-tsv", "丙\x1f戊\t丁\t1", "F320"),
    ],
)
def test_defects(tmp_path: Path, form: str, line: str, message: str) -> None:
    good = {"parallel-tsv": "他\tHe", "pairs-tsv": "甲\t乙\t1", "pairs-csv": "甲,乙,1"}
    with pytest.raises(ValueError, match=message):
        convert(tmp_path, f"{good[form]}\n{line}\n{good[form]}\n", format=form)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("甲\t乙\n", {}, "F151.*line 1: 2 columns.*two texts and a label"),
        ("甲\t乙\t丙\t1\n", {}, "F151.*line 1: 4 columns"),
        ("甲\t乙\t0.5\n丙\t丁\tnan\n", {"scores": True}, "F151.*line 2: 'nan'"),
        ("甲\t乙\t5\n丙\t丁\t3.8\n", {}, r"F157.*line 2: the label 3\.8 "),
        ("erster,zweiter,gleich\n甲,乙,1\n丙,丁,0\n", {"format": "pairs-csv"}, "F155.*line 1: "),
    ],
)
def test_labels_that_are_none(
    tmp_path: Path, text: str, options: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        convert(tmp_path, text, **{"format": "pairs-tsv", **options})


# Translations


def pairs_of(folder: Path, text: str) -> list[tuple[str, str]]:
    docs, _ = convert(folder, text, format="parallel-tsv")
    return [(doc.text, doc._.translation) for doc in docs]


def test_training_gets_the_translation(tmp_path: Path) -> None:
    """spaCy's reader of corpora hands the reference on with its user data, and predicts afresh."""
    assert pairs_of(tmp_path, "\ufeff他来了。\tHe came. \r\n \t\n") == [("他来了。", "He came.")]
    (example,) = Corpus(tmp_path / "new/folder/corpus.spacy")(spacy.blank("zh"))
    assert (example.reference._.translation, example.predicted._.translation) == ("He came.", None)


WRITTEN = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufeff"), min_size=1
).filter(lambda text: text == text.strip())


@pytest.mark.filterwarnings("ignore:.*W405")  # any texts are swapped at times
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(pairs=st.lists(st.tuples(WRITTEN, WRITTEN), min_size=1, max_size=5))
def test_any_texts_come_back(tmp_path: Path, pairs: list[tuple[str, str]]) -> None:
    assert pairs_of(tmp_path, "\n".join(map("\t".join, pairs))) == pairs


def test_swapped_columns_are_warned_of(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    with pytest.warns(UserWarning, match=r"W405.*corpus: of 3 pairs, 2 have no Chinese"):
        pairs_of(tmp_path, "He came.\t他来了。\nHe left.\t他走了。\n好\tGood\n")
    recwarn.clear()
    pairs_of(tmp_path, "OK!\t好!\n好\tGood\n你\t你\nA\tB\n")
    assert not recwarn
