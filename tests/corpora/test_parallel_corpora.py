"""Texts and their translations: what files become, and what is wrong with them by file and line."""

from __future__ import annotations

from pathlib import Path

import pytest
import spacy
from commands import failure, said
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import DocBin
from spacy.training import Corpus
from spacy.vocab import Vocab

from spacy_flat.corpora import ConvertOptions, Summary, convert_file

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data"

TABLE = "他来了。\tHe came.\n他走了。\tHe left.\n"
PAIRS = [("他来了。", "He came."), ("他走了。", "He left.")]


def load(path: Path) -> list[tuple[str, str]]:
    docs = DocBin().from_disk(path).get_docs(Vocab())
    return [(doc.text, doc._.translation) for doc in docs]


def convert(
    tmp_path: Path, text: str, second: str | None = None, **options: object
) -> tuple[list[tuple[str, str]], Summary]:
    source, target = tmp_path / "zh.txt", tmp_path / "corpus.spacy"
    source.write_text(text, "utf-8", newline="")
    if second is not None:
        options["target"] = tmp_path / "en.txt"
        (tmp_path / "en.txt").write_text(second, "utf-8", newline="")
    summary = convert_file(source, target, ConvertOptions(**options))  # type: ignore[arg-type]
    return load(target), summary


# What pairs become


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_tables(tmp_path: Path, end: str) -> None:
    pairs, summary = convert(tmp_path, "\ufeff" + TABLE.replace("\n", end) + f" {end}")
    assert pairs == PAIRS
    assert (summary.doc, summary.label, summary.sentences) == ("pair", "translation", 2)
    assert summary.labels == {"up to 5 words": 2}
    assert summary.sample == ["他来了。 | He came.", "他走了。 | He left."]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_two_files(tmp_path: Path, end: str) -> None:
    """Without --format, too; lines that are blank in both, and at the end of one, are none."""
    left = f"\ufeff他来了。{end} {end}他走了。{end}{end}"
    right = f"He came.{end}{end} He left. "
    pairs, summary = convert(tmp_path, left, right)
    assert pairs == PAIRS
    assert summary.characters == 8
    assert convert(tmp_path, left, right, format="parallel")[0] == PAIRS


@pytest.mark.parametrize(
    ("words", "found"), [(5, "up to 5"), (6, "up to 10"), (41, "more than 40")]
)
def test_translations_are_counted_by_their_words(tmp_path: Path, words: int, found: str) -> None:
    _, summary = convert(tmp_path, f"字\t{'word ' * words}")
    assert summary.labels == {f"{found} words": 1}


def test_training_gets_the_translation(tmp_path: Path) -> None:
    """spaCy's reader of corpora hands the reference on with its user data, and predicts afresh."""
    convert(tmp_path, TABLE)
    examples = list(Corpus(tmp_path / "corpus.spacy")(spacy.blank("zh")))
    assert [example.reference._.translation for example in examples] == [en for _, en in PAIRS]
    assert [example.predicted._.translation for example in examples] == [None, None]
    assert [example.text for example in examples] == [zh for zh, _ in PAIRS]


WRITTEN = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufeff"), min_size=1
).filter(lambda text: text == text.strip())


@pytest.mark.filterwarnings("ignore:.*W405")  # any texts are swapped at times
@settings(max_examples=30, deadline=None)
@given(pairs=st.lists(st.tuples(WRITTEN, WRITTEN), min_size=1, max_size=5))
def test_any_texts_come_back(
    pairs: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("pairs")
    table = "\n".join("\t".join(pair) for pair in pairs)
    assert convert(folder, table, format="parallel-tsv")[0] == pairs
    left, right = ("\n".join(side) for side in zip(*pairs, strict=True))
    assert convert(folder, left, right)[0] == pairs


# What is wrong with files


@pytest.mark.parametrize(
    ("bad", "code", "line", "kind"),
    [
        ("他来了。", "F151", 2, "line with other columns dropped"),
        ("他来了。\tHe came.\tCC-BY", "F151", 2, "line with other columns dropped"),
        ("他来了。\t ", "F153", 2, "pair with an empty translation dropped"),
        ("\tHe came.", "F153", 2, "pair with an empty source dropped"),
        ("他" * 9 + "\tHe came.", "F423", 2, "pair with an over-long source dropped"),
        ("他来了。\tHe came in.", "F423", 2, "pair with an over-long translation dropped"),
    ],
)
def test_defects_of_tables(tmp_path: Path, bad: str, code: str, line: int, kind: str) -> None:
    text = f"他来了。\tHe came.\n{bad}\n他走了。\tHe left.\n"
    options = {"format": "parallel-tsv", "max_length": 8}
    with pytest.raises(ValueError, match=rf"{code}.*zh\.txt, line {line}: "):
        convert(tmp_path, text, **options)
    assert not (tmp_path / "corpus.spacy").exists()
    pairs, summary = convert(tmp_path, text, repair=True, max_repairs=0.5, **options)
    assert pairs == PAIRS
    assert summary.repairs == {kind: 1}


def test_the_file_with_the_empty_or_long_line_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"F153.*en\.txt, line 2: the translation is empty"):
        convert(tmp_path, "他\n他\n他\n", "he\n\nhe\n")
    with pytest.raises(ValueError, match=r"F153.*zh\.txt, line 2: the source is empty"):
        convert(tmp_path, "他\n\n他\n", "he\nhe\nhe\n")
    with pytest.raises(ValueError, match=r"F423.*en\.txt, line 1: the translation has 1,001"):
        convert(tmp_path, "他\n", "h" * 1001)
    assert convert(tmp_path, "他", "h" * 1000)[0]


@pytest.mark.parametrize("repair", [False, True])
def test_unequal_lengths_are_never_repaired(tmp_path: Path, repair: bool) -> None:
    match = r"F420.*zh\.txt, line 3: no matching line, since \S*en\.txt is shorter"
    with pytest.raises(ValueError, match=match):
        convert(tmp_path, "他\n她\n它\n", "he\nshe\n", repair=repair)
    with pytest.raises(ValueError, match=r"F420.*en\.txt, line 2: .*zh\.txt is shorter"):
        convert(tmp_path, "他\n", "he\nshe\n", repair=repair)


@pytest.mark.parametrize(
    ("second", "options", "match"),
    [
        (None, {"format": "parallel", "target": "zh.txt"}, "F431"),
        (None, {"format": "parallel", "target": "x/../zh.txt"}, "F431"),
        (None, {"format": "parallel"}, "F424.*--target"),
        ("he\n", {"format": "parallel-tsv"}, "F174.*--target has no effect on the format"),
    ],
)
def test_which_files(
    tmp_path: Path, second: str | None, options: dict[str, str], match: str
) -> None:
    (tmp_path / "x").mkdir()
    targets = {"target": tmp_path / options["target"]} if "target" in options else {}
    with pytest.raises(ValueError, match=match):
        convert(tmp_path, "他\n", second, **{**options, **targets})


SWAPPED = "He came.\t他来了。\nHe left.\t他走了。\n好\tGood\n"


def test_swapped_columns_and_files_are_warned_of(tmp_path: Path) -> None:
    match = r"W405.*zh\.txt: of 3 pairs, 2 have no Chinese"
    with pytest.warns(UserWarning, match=match):
        assert len(convert(tmp_path, SWAPPED, format="parallel-tsv")[0]) == 3
    with pytest.warns(UserWarning, match=match):
        convert(tmp_path, "He came.\nHe left.\n好\n", "他来了。\n他走了。\nGood\n")


@pytest.mark.filterwarnings("error")
def test_some_foreign_texts_are_not_warned_of(tmp_path: Path) -> None:
    """Nor are those with Chinese characters, or none, on both sides."""
    convert(tmp_path, "OK!\t好!\n好\tGood\n你\t你\nA\tB\n", format="parallel-tsv")


# Commands and corpora


def test_commands(tmp_path: Path) -> None:
    (tmp_path / "zh.txt").write_text("他来了。\n\n他走了。\n", "utf-8")
    (tmp_path / "en.txt").write_text("He came.\nYes.\nHe left.\n", "utf-8")
    command = ["convert", f"{tmp_path}/zh.txt", f"{tmp_path}/x.spacy", "-t", f"{tmp_path}/en.txt"]
    assert "zh.txt, line 2" in failure(*command)
    output = said(*command, "--repair", "--max-repairs", 0.5)
    assert "2 pairs" in output
    assert "pair with an empty source dropped 1" in output
    assert load(tmp_path / "x.spacy") == PAIRS
