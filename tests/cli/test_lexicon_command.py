"""`python -m spacy flat lexicon` as a user types it."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import spacy
from commands import failure, printed
from spacy.training import Example

from spacy_flat.cli._lexicon import load_lexicon
from spacy_flat.lexicon import Lexicon
from spacy_flat.lexicon.sources import Entry

run = partial(printed, "lexicon")


def rows(output: str) -> set[tuple[str, ...]]:
    return {tuple(line.split()) for line in output.splitlines()}


@pytest.fixture
def words(tmp_path: Path) -> Path:
    path = tmp_path / "mine.txt"
    path.write_text("人和药店\t5\tnt\n药店\t300\tn\n重庆\n药店\n店\n", "utf-8")
    return path


def test_counts_of_a_word_list(words: Path) -> None:
    output = run(words)
    assert "3 words" in output
    assert "1 duplicate" in output
    assert "1 short" in output
    expected = {("mine.txt", "3"), ("nt", "1"), ("(unknown)", "1"), ("2", "2"), ("4", "1")}
    assert expected <= rows(output)
    words.write_text("".join(f"词{n:02}\t1\ttype{n:02}\n" for n in range(20)), "utf-8")
    assert "and 5 more, with 5 words" in run(words)


def test_words_are_looked_up(words: Path) -> None:
    assert {
        ("人和药店", "mine.txt", "nt", "5", "(default)"),
        ("重庆", "mine.txt", "(unknown)", "(unknown)", "(default)"),
        ("北京", "not", "in", "the", "lexicon", "–", "–", "–"),
    } <= rows(run(words, "--word", "人和药店", "--word", "重庆", "--word", "北京"))


def test_words_of_texts(words: Path) -> None:
    assert {
        ("0–4", "mine.txt", "nt", "5", "(default)", "人和药店"),
        ("2–4", "mine.txt", "n", "300", "(default)", "药店"),
        ("5–7", "mine.txt", "(unknown)", "(unknown)", "(default)", "重庆"),
        ("no", "words"),
    } <= rows(run(words, "--text", "人和药店在重庆开业", "--text", "没有"))


def test_lexicons_of_a_pipeline_with_their_changes(tmp_path: Path) -> None:
    nlp = spacy.blank("zh")
    example = Example.from_dict(nlp.make_doc("重庆"), {"entities": [(0, 2, "LOC")]})
    for name, word in (("places", "重庆"), ("drugs", "阿司匹林")):
        pipe: Any = nlp.add_pipe("flat_ner", name=name)
        pipe.initialize(lambda: [example], nlp=nlp, lexicon=Lexicon([Entry(word, trust=0.99)]))
    pipe.lexicon.add(["人和药店"], type="LOC")
    pipe.lexicon.remove(["阿司匹林"])
    nlp.to_disk(tmp_path)
    for arguments in ([], ["--component", "tagger"]):
        message = failure("lexicon", tmp_path, *arguments)
        assert "[F136]" in message
        assert "places, drugs" in message
    output = run(tmp_path, "--component", "drugs")
    assert "1 word, 1 removed" in output
    assert {("added", "1"), ("LOC", "1")} <= rows(output)
    found = rows(run(tmp_path, "--component", "places", "--word", "重庆"))
    assert ("重庆", "added", "(unknown)", "(unknown)", "0.99") in found


def test_a_word_list_beside_jiebas(words: Path) -> None:
    alone = load_lexicon(str(words))
    both = load_lexicon(str(words), add_jieba=True)
    assert "清华大学" not in alone
    assert "清华大学" in both
    assert len(both) > len(alone) + 300_000
    # Of equal words the list's counts.
    assert both.origin_names[both.origins[both.index("药店")]] == "mine.txt"
