"""`python -m spacy flat lexicon` as a user types it."""

import re
from pathlib import Path

import pytest
import spacy
from spacy.training import Example
from typer.testing import CliRunner, Result

from spacy_flat.cli import app
from spacy_flat.cli._lexicon import load_lexicon
from spacy_flat.lexicon import Lexicon
from spacy_flat.lexicon.sources import Entry


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["lexicon", *arguments])


def rows(result: Result) -> set[tuple[str, ...]]:
    return {tuple(line.split()) for line in result.output.splitlines()}


@pytest.fixture
def words(tmp_path: Path) -> Path:
    path = tmp_path / "mine.txt"
    path.write_text("人和药店\t5\tnt\n药店\t300\tn\n重庆\n药店\n店\n", "utf-8")
    return path


def test_counts_of_a_word_list(words: Path) -> None:
    result = run(str(words))

    assert result.exit_code == 0
    assert "3 words" in result.output
    assert "1 duplicate" in result.output
    assert "1 short" in result.output
    assert {("mine.txt", "3"), ("nt", "1"), ("(unknown)", "1"), ("2", "2"), ("4", "1")} <= rows(
        result
    )


def test_words_are_looked_up(words: Path) -> None:
    result = run(str(words), "--word", "人和药店", "--word", "重庆", "--word", "北京")

    assert {
        ("人和药店", "mine.txt", "nt", "5", "(default)"),
        ("重庆", "mine.txt", "(unknown)", "(unknown)", "(default)"),
        ("北京", "not", "in", "the", "lexicon", "–", "–", "–"),
    } <= rows(result)


def test_words_of_texts(words: Path) -> None:
    result = run(str(words), "--text", "人和药店在重庆开业", "--text", "没有")

    assert {
        ("0–4", "mine.txt", "nt", "5", "(default)", "人和药店"),
        ("2–4", "mine.txt", "n", "300", "(default)", "药店"),
        ("5–7", "mine.txt", "(unknown)", "(unknown)", "(default)", "重庆"),
        ("no", "words"),
    } <= rows(result)


def test_the_lexicon_of_a_pipeline_with_its_changes(tmp_path: Path) -> None:
    nlp = spacy.blank("zh")
    component = nlp.add_pipe("flat_ner")
    example = Example.from_dict(nlp.make_doc("重庆"), {"entities": [(0, 2, "LOC")]})
    lexicon = Lexicon([Entry("重庆", 1, "ns", "places")])
    component.initialize(lambda: [example], nlp=nlp, lexicon=lexicon)
    component.lexicon.add(["人和药店"], type="LOC")
    component.lexicon.remove(["重庆"])
    nlp.to_disk(tmp_path / "model")

    result = run(str(tmp_path / "model"))

    assert "1 word, 1 removed" in result.output
    assert ("added", "1") in rows(result)
    assert ("LOC", "1") in rows(result)


def test_long_tables_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "many.txt"
    path.write_text("".join(f"词{n:02}\t1\ttype{n:02}\n" for n in range(20)), "utf-8")

    assert "and 5 more, with 5 words" in run(str(path)).output


def test_a_pipeline_without_lexicon(tmp_path: Path) -> None:
    nlp = spacy.blank("zh")
    nlp.add_pipe("sentencizer")
    nlp.to_disk(tmp_path)

    result = run(str(tmp_path))

    assert result.exit_code == 1
    assert "[F136]" in result.output


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_a_list_without_words(tmp_path: Path, content: str) -> None:
    (tmp_path / "words.txt").write_text(content, "utf-8")
    result = run(str(tmp_path / "words.txt"))
    assert result.exit_code == 1
    assert re.search(r"\[F010\].*words\.txt", "".join(result.output.split()))


def test_no_such_pipeline() -> None:
    assert run("no_such_pipeline").exit_code == 1


@pytest.fixture
def two_components(tmp_path: Path) -> str:
    """A pipeline of two components with a lexicon each."""
    nlp = spacy.blank("zh")
    example = Example.from_dict(nlp.make_doc("重庆"), {"entities": [(0, 2, "LOC")]})
    for name, word in (("places", "重庆"), ("drugs", "阿司匹林")):
        component = nlp.add_pipe("flat_ner", name=name)
        component.initialize(lambda: [example], nlp=nlp, lexicon=Lexicon([Entry(word, trust=0.99)]))
    nlp.to_disk(tmp_path / "model")
    return str(tmp_path / "model")


def test_a_pipeline_of_two_lexicons_takes_a_name(two_components: str) -> None:
    for arguments in ([], ["--component", "tagger"]):
        result = run(two_components, *arguments)
        assert result.exit_code == 1
        assert "[F136]" in result.output
        assert "places, drugs" in " ".join(result.output.split())
    result = run(two_components, "--component", "drugs", "--word", "阿司匹林")
    assert result.exit_code == 0
    assert "1 word\x1b" in result.output
    assert ("阿司匹林", "added", "(unknown)", "(unknown)", "0.99") in rows(result)


def test_a_word_list_beside_jiebas(words: Path) -> None:
    alone = load_lexicon(str(words))
    both = load_lexicon(str(words), add_jieba=True)
    assert "清华大学" not in alone
    assert "清华大学" in both
    assert len(both) > len(alone) + 300_000
    # Of equal words the list's counts.
    assert both.origin_names[both.origins[both.index("药店")]] == "mine.txt"
