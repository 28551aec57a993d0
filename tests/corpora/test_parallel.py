"""Texts and their translations: what files become, and what is wrong with them by file and line."""

from __future__ import annotations

from pathlib import Path

import pytest
import spacy
from converted import convert
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spacy.training import Corpus


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("他\the\n他来了。\n", "F151.*corpus, line 2: "),
        ("他来了。\tHe came.\tCC-BY\n", "F151.*corpus, line 1: "),
        ("他来了。\t \n", "F153.*corpus, line 1: the translation is empty"),
        ("他\the\n\n \the\n", "F153.*corpus, line 3: the source is empty"),
    ],
)
def test_defects(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pairs_of(tmp_path, text)


def test_swapped_columns_are_warned_of(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    with pytest.warns(UserWarning, match=r"W405.*corpus: of 3 pairs, 2 have no Chinese"):
        pairs_of(tmp_path, "He came.\t他来了。\nHe left.\t他走了。\n好\tGood\n")
    recwarn.clear()
    pairs_of(tmp_path, "OK!\t好!\n好\tGood\n你\t你\nA\tB\n")
    assert not recwarn
