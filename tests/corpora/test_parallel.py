"""Texts and their translations: what files become, and what is wrong with them by file and line."""

from __future__ import annotations

from pathlib import Path

import pytest
import spacy
from converted import convert
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spacy.training import Corpus

PAIRS = [("他来了。", "He came."), ("他走了。", "He left.")]


def pairs_of(
    folder: Path, text: str, second: str | None = None, form: str = "parallel-tsv"
) -> list[tuple[str, str]]:
    options = {"format": form}
    if second is not None:
        (folder / "en.txt").write_text(second, "utf-8", newline="")
        options = {"target": folder / "en.txt"}  # type: ignore[dict-item]
    return [(doc.text, doc._.translation) for doc in convert(folder, text, **options)[0]]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_tables_and_two_files(tmp_path: Path, end: str) -> None:
    """Lines that are blank in both, and at the end of one, are no pairs."""
    table = "".join(f"{source}\t{translation}{end}" for source, translation in PAIRS)
    assert pairs_of(tmp_path, f"\ufeff{table} {end}") == PAIRS
    left = f"\ufeff他来了。{end} {end}他走了。{end}{end}"
    assert pairs_of(tmp_path, left, f"He came.{end}{end} He left. ") == PAIRS


def test_training_gets_the_translation(tmp_path: Path) -> None:
    """spaCy's reader of corpora hands the reference on with its user data, and predicts afresh."""
    pairs_of(tmp_path, "他来了。\tHe came.")
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
    left, right = ("\n".join(side) for side in zip(*pairs, strict=True))
    assert pairs_of(tmp_path, left, right) == pairs


@pytest.mark.parametrize(
    ("text", "second", "message"),
    [
        ("他\the\n他来了。\n", None, "F151.*corpus, line 2: "),
        ("他来了。\tHe came.\tCC-BY\n", None, "F151.*corpus, line 1: "),
        ("他来了。\t \n", None, "F153.*corpus, line 1: the translation is empty"),
        ("他\n他\n他\n", "he\n\nhe\n", r"F153.*en\.txt, line 2: the translation is empty"),
        ("他\n\n他\n", "he\nhe\nhe\n", "F153.*corpus, line 2: the source is empty"),
        ("他\n她\n它\n", "he\nshe\n", r"F420.*corpus, line 3: .*since \S*en\.txt is shorter"),
        ("他\n", "he\nshe\n", r"F420.*en\.txt, line 2: .*corpus is shorter"),
    ],
)
def test_defects(tmp_path: Path, text: str, second: str | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pairs_of(tmp_path, text, second)


def test_which_files(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"F424.*--target"):
        pairs_of(tmp_path, "他\n", form="parallel")
    with pytest.raises(ValueError, match="F424"):
        convert(tmp_path, "他\n", target=tmp_path / "corpus")
    with pytest.raises(ValueError, match=r"F174.*--target has no effect on the format"):
        convert(tmp_path, "他\the\n", target=tmp_path, format="parallel-tsv")


def test_swapped_columns_are_warned_of(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    with pytest.warns(UserWarning, match=r"W405.*corpus: of 3 pairs, 2 have no Chinese"):
        pairs_of(tmp_path, "He came.\t他来了。\nHe left.\t他走了。\n好\tGood\n")
    recwarn.clear()
    pairs_of(tmp_path, "OK!\t好!\n好\tGood\n你\t你\nA\tB\n")
    assert not recwarn
