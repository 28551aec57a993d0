"""`python -m spacy flat evaluate`."""

from __future__ import annotations

import json
import shutil
import zlib
from collections import Counter
from functools import partial
from pathlib import Path

import commands
import pytest
import spacy
import thinc.api
from commands import printed, said
from converted import doc_of
from spacy.cli.evaluate import evaluate as spacy_evaluate
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from spacy_flat.viz.entity_errors import MOST, entities_of, errors_page, find_errors

run = partial(said, "evaluate")
failure = partial(commands.failure, "evaluate")

MODEL = "training/zh_flat_demo/model-best"


def test_dev_is_scored_where_there_is_no_test_part(mini_project: Path, tmp_path: Path) -> None:
    shutil.copy(mini_project / "corpus/demo/dev.spacy", tmp_path)
    output = run(mini_project / MODEL, tmp_path, "--output", tmp_path / "scores/metrics.json")
    assert "F1 of entities on dev: 0." in output
    assert "the score is a little too high" in output
    assert "the score is uncertain" in output  # ten sentences
    metrics = json.loads((tmp_path / "scores/metrics.json").read_text("utf-8"))
    assert (metrics["part"], metrics["sentences"]) == ("dev", 10)
    assert metrics["entities"] > 0
    assert {"ents_f", "ents_per_type", "chars_f"} <= metrics.keys()


def test_a_file_is_scored(mini_project: Path, tmp_path: Path) -> None:
    path = shutil.copy(mini_project / "corpus/demo/train.spacy", tmp_path / "mine.spacy")
    output = run(mini_project / MODEL, path)
    assert "mine.spacy: 40 sentences" in output
    assert "F1 of entities on mine: " in output
    assert "too high" not in output


def test_the_scores_are_those_of_spacy(mini_project: Path, tmp_path: Path) -> None:
    path = mini_project / "corpus/demo/train.spacy"
    run(mini_project / MODEL, path, "--output", tmp_path / "metrics.json")
    measured = json.loads((tmp_path / "metrics.json").read_text("utf-8"))
    expected = spacy_evaluate(str(mini_project / MODEL), path)
    del measured["speed"], expected["speed"]
    assert measured.items() >= expected.items()
    gold = list(DocBin().from_disk(path).get_docs(Vocab()))
    assert measured["sentences"] == len(gold)
    assert measured["entities"] == sum(len(doc.ents) for doc in gold)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "F134"),
        (b"no docs", "F134"),
        (zlib.compress(b"x"), "F134"),
        (DocBin().to_bytes(), "F010"),
    ],
)
def test_a_file_that_is_no_docbin(
    mini_project: Path, tmp_path: Path, content: bytes, code: str
) -> None:
    path = tmp_path / "test.spacy"
    path.write_bytes(content)
    message = failure(mini_project / MODEL, path)
    assert f"[{code}]" in message
    assert "spacy convert" not in message  # spaCy's advice for files of its version 2


def test_entities_that_training_has_seen(mini_project: Path, tmp_path: Path) -> None:
    """Beside train.spacy they are scored apart; the parts have all entities together."""
    shutil.copy(mini_project / "corpus/demo/test.spacy", tmp_path)
    run(mini_project / MODEL, tmp_path, "--output", tmp_path / "without.json")
    gold = list(DocBin().from_disk(tmp_path / "test.spacy").get_docs(Vocab()))
    (name, _), *_ = Counter(ent.text for doc in gold for ent in doc.ents).most_common()
    known = doc_of(f"在{name}", (1, 1 + len(name), "PER"))
    DocBin(docs=[known]).to_disk(tmp_path / "train.spacy")
    with_texts = ("--output", tmp_path / "with.json")
    output = printed("evaluate", mini_project / MODEL, tmp_path, *with_texts)
    without, scores = (
        json.loads((tmp_path / f"{name}.json").read_text("utf-8")) for name in ("without", "with")
    )
    assert "seen_f" not in without
    n_seen = sum(ent.text == name for doc in gold for ent in doc.ents)
    assert scores["seen_entities"] == n_seen
    assert scores["unseen_entities"] == scores["entities"] - n_seen
    right = (scores[f"{part}_r"] * scores[f"{part}_entities"] for part in ("seen", "unseen"))
    assert sum(right) == pytest.approx(scores["chars_r"] * scores["entities"])
    rows = [line.split() for line in output.splitlines()]
    unseen = [f"{100 * scores[f'unseen_{score}']:.2f}" for score in "prf"]
    assert ["unseen", str(scores["unseen_entities"]), *unseen] in rows


def test_damaged_training_part(mini_project: Path, tmp_path: Path) -> None:
    shutil.copy(mini_project / "corpus/demo/dev.spacy", tmp_path)
    (tmp_path / "train.spacy").write_bytes(b"no docs")
    assert "[F134]" in failure(mini_project / MODEL, tmp_path)


def test_nothing_to_score(mini_project: Path, tmp_path: Path) -> None:
    DocBin(docs=[doc_of("重庆")]).to_disk(tmp_path / "test.spacy")
    message = failure(mini_project / MODEL, tmp_path, "--output", tmp_path / "metrics.json")
    assert "[F127]" in message
    assert "0.0" not in message
    spacy.blank("zh").to_disk(tmp_path / "blank")
    assert "[F126]" in failure(tmp_path / "blank", tmp_path)
    assert not (tmp_path / "metrics.json").exists()


def test_labels_that_only_one_side_has(mini_project: Path, tmp_path: Path) -> None:
    docs = [doc_of("重庆市长张三", (0, 2, "LOC"), (4, 6, "person"))]
    DocBin(docs=docs).to_disk(tmp_path / "mine.spacy")
    nlp = spacy.load(mini_project / MODEL)
    ruler = nlp.add_pipe("entity_ruler", before="flat_ner")
    ruler.add_patterns([{"label": "TITLE", "pattern": "市长"}])  # type: ignore[attr-defined]
    nlp.to_disk(tmp_path / "strange")
    output = run(tmp_path / "strange", tmp_path / "mine.spacy")
    assert "the pipeline doesn't know; all count as missed: person" in output
    assert "the gold data doesn't have; all count as wrong: TITLE" in output
    nlp.get_pipe("flat_ner").label_map = {"PER": "person"}  # type: ignore[attr-defined]
    ruler.clear()  # type: ignore[attr-defined]
    nlp.to_disk(tmp_path / "mapped")
    assert "all count as missed" not in run(tmp_path / "mapped", tmp_path / "mine.spacy")


def test_a_gpu_that_cannot_be_used(mini_project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def require_gpu(number: int) -> None:
        raise ValueError("Cannot use GPU, CuPy is not installed")

    monkeypatch.setattr(thinc.api, "require_gpu", require_gpu)
    message = failure(mini_project / MODEL, mini_project / "corpus/demo", "--gpu-id", 0)
    assert "[F135] Can't use GPU 0: Cannot use GPU, CuPy is not installed." in message


def test_the_page_of_errors(mini_project: Path, tmp_path: Path) -> None:
    corpus = mini_project / "corpus/demo/train.spacy"
    output = run(mini_project / MODEL, corpus, "--errors", tmp_path / "new/errors.html")
    page = (tmp_path / "new/errors.html").read_text("utf-8")
    gold = list(DocBin().from_disk(corpus).get_docs(Vocab()))
    nlp = spacy.load(mini_project / MODEL)
    predicted = list(nlp.pipe(doc.text for doc in gold))
    wrong = [g for g, p in zip(gold, predicted, strict=True) if entities_of(g) != entities_of(p)]
    assert wrong
    assert page.count('<div class="entities"') == 2 * len(wrong)
    assert f"{len(wrong)} sentence" in page
    assert f"{len(wrong)} sentence" in output
    assert "[F146]" in failure(mini_project / MODEL, corpus, "--errors", tmp_path / "errors.txt")


def test_errors_are_told_from_what_is_right_and_what_is_unknown() -> None:
    text = "重庆<b>"
    gold = doc_of(text, (0, 2, "LOC"))
    unknown = Doc(Vocab(), words=list(text), spaces=[False] * len(text))
    pairs = [
        (gold, gold),
        (unknown, gold),
        (gold, doc_of(text, (0, 1, "LOC"))),
        (gold, doc_of(text, (0, 2, "ORG"), (2, 5, "PER"))),
    ]
    found = find_errors(pairs)
    assert [errors.number for errors in found] == [3, 4]
    page = errors_page("a & b", found)
    assert "2 sentences with errors: 2 gold entities were not predicted, 3 predicted ones" in page
    assert "4: missed 重庆 (LOC), wrong 重庆 (ORG), wrong &lt;b&gt; (PER)" in page
    assert "<title>a &amp; b</title>" in page
    assert "<b>" not in page


def test_a_long_page_is_cut() -> None:
    errors = find_errors([(doc_of("重庆", (0, 2, "LOC")), doc_of("重庆"))]) * (MOST + 1)
    page = errors_page("errors", errors)
    assert f"The first {MOST} sentences are shown." in page
    assert page.count('<div class="entities"') == 2 * MOST
