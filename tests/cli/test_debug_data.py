"""`python -m spacy flat debug-data` as a user types it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
import spacy
from commands import said
from converted import doc_of
from spacy.tokens import Doc, DocBin

from spacy_flat.lexicon import Lexicon, read_words

ROOT = Path(__file__).parents[2]
run = partial(said, "debug-data")


def write(path: Path, *docs: Doc) -> Path:
    DocBin(docs=docs).to_disk(path)
    return path


pytestmark = pytest.mark.usefixtures("few_words")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A folder with two parts and a word list."""
    write(tmp_path / "train.spacy", doc_of("清华大学在北京", (0, 2, "ORG")), doc_of("好" * 300))
    write(tmp_path / "dev.spacy", doc_of("好" * 300), doc_of("王芳", (0, 2, "PER")))
    (tmp_path / "words.txt").write_text("王芳\n", "utf-8")
    return tmp_path


def test_a_folder(corpus: Path) -> None:
    output = run(corpus)
    assert output.index("= train =") < output.index("= dev =") < output.index("= train and dev =")
    assert "2 texts, 307 characters, 307 tokens" in output
    assert "lengths: 7 to 300 characters, the median 153.5" in output
    assert "1 text of more than 200 characters will be cut in pieces" in output
    assert "ORG: only 1 entity in train" in output
    assert "1 text in both: scores on dev are too high" in output
    assert "entities of dev that train does not have: 1 of 1 (100.0 %)" in output
    assert "Labels of dev that train does not have: PER" in output
    assert "entities that are a word 1 of 1 (100.0 %)" in output  # 清华, in jieba's dictionary
    assert "missing" not in output
    assert "cut by the tokens" not in output


def test_files_with_options(corpus: Path) -> None:
    words = corpus / "words.txt"
    output = run(
        *(corpus / "train.spacy", corpus / "dev.spacy", "--segmenter", "jieba"),
        *("--lexicon", words, "--max-length", 5, "--output", corpus / "new/counts.json"),
    )
    assert "1 of 1 entity cut by the tokens: 清华 (ORG) in 清华大学" in output
    assert "2 texts of more than 5 characters" in output
    counts = json.loads((corpus / "new/counts.json").read_text("utf-8"))
    assert counts["train"]["labels"] == {"ORG": 1}
    assert counts["dev"]["coverage"]["whole"] == 1
    assert counts["train"]["coverage"]["whole"] == 1  # jieba's words are there, too
    assert counts["shared"]["dev"]["texts"] == 1


def test_files_of_one_name(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    old = write(tmp_path / "old/train.spacy", doc_of("王芳", (0, 2, "PER")))
    output = run(old, corpus / "train.spacy", "--output", tmp_path / "counts.json")
    assert "1 text, 2 characters" in output
    assert "2 texts, 307 characters" in output
    counts = json.loads((tmp_path / "counts.json").read_text("utf-8"))
    assert [*counts] == [str(old), str(corpus / "train.spacy"), "shared"]


def test_a_language_of_words_has_no_lexicon(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    output = run(write(tmp_path / "train.spacy", nlp.make_doc("Hello")), "--lang", "en")
    assert "of the lexicon" not in output
    assert "1 text without any annotation of entities" in output
    assert "No entities." in output


def test_missing_annotation(tmp_path: Path) -> None:
    doc = spacy.blank("zh").make_doc("重庆好")
    doc.set_ents([doc.char_span(0, 2, "LOC")], default="missing")
    assert "1 token with missing annotation" in run(write(tmp_path / "train.spacy", doc))


def test_a_config(mini_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(mini_project)
    paths = ["--paths.train", "corpus/demo/train.spacy", "--paths.dev", "corpus/demo/dev.spacy"]
    length = ["--components.flat_ner.model.lattice.max_length", 30]
    length += ["--components.flat_ner.model.lattice.min_freq", 1]
    output = run("configs/mini.cfg", *paths, *length, "--output", tmp_path / "counts.json")
    assert "= train and dev =" in output
    counts = json.loads((tmp_path / "counts.json").read_text("utf-8"))
    assert counts["train"]["docs"] == 40
    assert counts["dev"]["docs"] == 10
    # The config's own lexicon, not jieba's, and its max_length.
    gold = list(DocBin().from_disk("corpus/demo/train.spacy").get_docs(spacy.blank("zh").vocab))
    lexicon = Lexicon(read_words("words.txt"))
    mentions = [ent.text for doc in gold for ent in doc.ents]
    assert counts["train"]["coverage"]["whole"] == sum(text in lexicon for text in mentions)
    assert counts["train"]["longer"] == sum(len(doc.text) > 30 for doc in gold)


CONFIG = """
[nlp]
lang = "zh"
pipeline = ["flat_ner"]

[components]

[components.flat_ner]
factory = "flat_ner"

[corpora]

[corpora.train]
@readers = "spacy.Corpus.v1"
path = "train.spacy"

[corpora.dev]
@readers = "spacy.Corpus.v1"
path = "dev.spacy"
"""


def test_a_config_without_paths(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`spacy train` takes one whose corpora name their files themselves."""
    monkeypatch.chdir(corpus)
    Path("plain.cfg").write_text(CONFIG, "utf-8")
    assert "= train and dev =" in run("plain.cfg")
    assert "[F001] no.spacy" in run("plain.cfg", "--corpora.dev.path", "no.spacy", code=1)


def test_a_config_without_a_recogniser_cuts_no_texts(corpus: Path) -> None:
    paths = ["--paths.train", corpus / "train.spacy", "--paths.dev", corpus / "dev.spacy"]
    assert "cut in pieces" not in run(ROOT / "configs/zh_re2.cfg", *paths)


def test_labels_that_further_training_would_unlearn(
    mini_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(mini_project)
    (trained,) = Path("training").glob("*/model-best")
    doc = spacy.blank("zh").make_doc("感冒灵在重庆卖完了")
    doc.ents = [doc.char_span(0, 3, "DRUG"), doc.char_span(4, 6, "LOC")]
    some = write(tmp_path / "some.spacy", doc)
    command = [ROOT / "configs/further/zh_flat.cfg", "--paths.pipeline", trained]
    command += ["--paths.train", some, "--paths.dev", some]
    assert "train has no entities of ORG, PER" in run(*command)
    assert "unlearns" not in run(*command, "--training.frozen_components", '["flat_ner"]')
    doc._.unannotated_labels = ["ORG"]
    DocBin(docs=[doc], store_user_data=True).to_disk(some)
    assert "train has no entities of PER: " in run(*command)


def test_what_cannot_be_read(
    corpus: Path, mini_project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (corpus / "empty").mkdir()
    (corpus / "bad.spacy").write_bytes(b"bad")
    assert "[F140]" in run(corpus / "empty", code=1)
    assert "[F134]" in run(corpus / "bad.spacy", code=1)
    assert "[F001]" in run(corpus / "none.spacy", code=1)
    assert "[F001]" in run(corpus / "none.cfg", code=1)
    message = run(corpus, "--lexicon", corpus / "none.txt", code=1)
    assert "[F145]" in message
    assert "none.txt" in message
    monkeypatch.chdir(mini_project)
    train = ["--paths.train", "none/x.spacy"]
    dev = ["--paths.dev", "corpus/demo/dev.spacy"]
    assert "[F001] none/x.spacy: no such file" in run("configs/mini.cfg", *train, *dev, code=1)
    assert "[F139]" in run("configs/mini.cfg", code=1)
    assert "paths.dev is empty" in run("configs/mini.cfg", "--paths.train", "x.spacy", code=1)
