"""Corpora whose labels stand for others, and several corpora as one."""

import gzip
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import spacy
from commands import said
from converted import entities, load
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy.util import registry
from spacy.vocab import Vocab

from spacy_flat.corpora import ConvertOptions, convert_file
from spacy_flat.corpora.mixed import mixed_corpus


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.bio"
    path.write_text("王 B-NAME\n在 O\n校 B-EDU\n京 B-ORG\n", "utf-8")
    return path


def test_declarations_are_kept_with_each_doc(file: Path, tmp_path: Path) -> None:
    options = ("--coarse", "NAME = PER", "--coarse", "EDU=", "--coarse", "ORG=ORG, COMPANY")
    said("convert", file, tmp_path / "x.spacy", *options, "--unannotated", "GPE, LOC")
    (doc,) = load(tmp_path / "x.spacy")
    assert entities(doc) == [("王", "NAME"), ("京", "ORG")]
    assert [token.ent_iob_ for token in doc] == ["B", "O", "O", "B"]
    assert {label: list(fine) for label, fine in doc._.coarse_labels.items()} == {
        "NAME": ["PER"],
        "ORG": ["ORG", "COMPANY"],
    }
    assert list(doc._.unannotated_labels) == ["GPE", "LOC"]


def test_wrong_declarations(file: Path, tmp_path: Path) -> None:
    for wrong in (["ORG"], ["=ORG"], ["ORG=A", "ORG=B"]):
        with pytest.raises(ValueError, match="F163"):
            convert_file(file, tmp_path / "x.spacy", ConvertOptions(coarse=wrong))
    known = ["Org=ORG", "EDU=", "ORG=ORG"]
    with pytest.warns(UserWarning, match="W160.*has the labels Org, which"):
        convert_file(file, tmp_path / "x.spacy", ConvertOptions(coarse=known))


# The reader


@pytest.fixture
def paths(tmp_path: Path) -> dict[str, Path | None]:
    found: dict[str, Path | None] = {"none": None}
    for name, n in (("a", 6), ("b", 4)):
        docs = [Doc(Vocab(), [f"{name}{i}"], [False]) for i in range(n)]
        found[name] = tmp_path / f"{name}.spacy"
        DocBin(docs=docs).to_disk(tmp_path / f"{name}.spacy")
    return found


def texts(paths: dict[str, Path | None], **given: Any) -> list[str]:
    reader = registry.readers.get("spacy-flat.MixedCorpus.v1")(paths, **given)
    nlp = spacy.blank("zh")
    found = [example.reference.text for example in reader(nlp)]
    assert found == [example.reference.text for example in reader(nlp)]
    return found


def test_each_doc_once(paths: dict[str, Path | None]) -> None:
    found = texts(paths)
    assert sorted(found) == [f"a{i}" for i in range(6)] + [f"b{i}" for i in range(4)]
    assert found != sorted(found)
    assert found == texts(paths, seed=0) != texts(paths, seed=1)


def test_raw_texts_and_labels_that_a_corpus_lacks(
    paths: dict[str, Path | None], tmp_path: Path
) -> None:
    paths["raw"] = tmp_path / "raw.txt"
    paths["raw"].write_text("".join(f"c{n}\n" for n in range(30)), "utf-8")
    assert Counter(text[0] for text in texts(paths)) == {"a": 18, "b": 12, "c": 30}
    half = Counter(text[0] for text in texts(paths, weights={"raw": 0.5}))
    assert half == {"a": 9, "b": 6, "c": 15}
    few = Counter(text[0] for text in texts(paths, weights={"raw": 0.1}))
    assert few == {"a": 6, "b": 4, "c": 3}  # all that is annotated
    nlp = spacy.blank("zh")
    nlp.add_pipe("tener_ner", config={"label_map": {"PER": ""}}).add_label("PER")  # type: ignore[attr-defined]
    doc = Doc(Vocab(), ["a9"])
    doc.ents = [Span(doc, 0, 1, "DRUG")]
    doc._.unannotated_labels = ["LOC"]
    DocBin(docs=[doc], store_user_data=True).to_disk(tmp_path / "a.spacy")
    for example in mixed_corpus(paths, partial=True)(nlp):
        raw = example.reference.text[0] == "c"
        lacking = ["LOC", "PER"] if example.reference.text[0] == "a" else ["DRUG", "PER"]
        assert example.reference._.unannotated_labels == (None if raw else lacking)


def test_what_a_corpus_lacks_is_not_scored(tmp_path: Path) -> None:
    nlp = spacy.blank("zh")
    nlp.add_pipe("tener_ner").add_label("PER")  # type: ignore[attr-defined]
    doc = nlp.make_doc("王芳吃阿莫西林")
    doc.ents = [Span(doc, 3, 7, "DRUG")]
    DocBin(docs=[doc]).to_disk(tmp_path / "a.spacy")
    for partial, precision in ((False, 0.5), (True, 1.0)):
        (example,) = mixed_corpus({"a": tmp_path / "a.spacy"}, partial=partial)(nlp)
        predicted = example.predicted
        predicted.ents = [Span(predicted, 0, 2, "PER"), Span(predicted, 3, 7, "DRUG")]
        scores = nlp.get_pipe("tener_ner").score([example])  # type: ignore[attr-defined]
        assert (scores["ents_p"], scores["chars_p"]) == (precision, precision)


def test_raw_texts_in_any_text_file(paths: dict[str, Path | None], tmp_path: Path) -> None:
    raw = tmp_path / "raw.TXT.gz"
    raw.write_bytes(gzip.compress(b"c0 \n \nc1\nc 2 3 4\n"))
    nlp = spacy.blank("xx")
    reader = mixed_corpus({"a": paths["a"], "raw": raw}, {"raw": 3.0}, max_length=4, join=0.9)
    found = [example.reference for example in reader(nlp)]
    of_raw = [doc for doc in found if "c" in doc.text]
    assert Counter("".join(doc.text for doc in of_raw))["c"] == 6  # without the long one
    assert not any(doc.has_annotation("ENT_IOB") for doc in of_raw)
    assert len(of_raw) < 6
    assert not any(doc.text[-1].isspace() for doc in of_raw)
    (tmp_path / "folder").mkdir()
    for name, code in (("empty.txt", "F010"), ("raw.csv", "F169"), ("folder", "F169")):
        if not (tmp_path / name).exists():
            (tmp_path / name).write_text("\n \n", "utf-8")
        with pytest.raises(ValueError, match=code):
            list(mixed_corpus({"raw": tmp_path / name})(nlp))
    for given in (None, raw):
        with pytest.raises(ValueError, match=r"F171.*mine = None, raw = "):
            list(mixed_corpus({"mine": None, "raw": given})(nlp))


def test_weights_repeat_and_draw(paths: dict[str, Path | None]) -> None:
    counts = Counter(texts(paths, weights={"a": 2.5, "b": 0.25, "none": 3}))
    assert sorted(n for text, n in counts.items() if text[0] == "a") == [2, 2, 2, 3, 3, 3]
    assert [n for text, n in counts.items() if text[0] == "b"] == [1]
    assert not any(text[0] == "b" for text in texts(paths, weights={"b": 0}))
    for weight, n in ((0.4, 2), (0.3, 1)):  # of 4, rounded
        assert sum(text[0] == "b" for text in texts(paths, weights={"b": weight})) == n
    # A part is a random one.
    found = {tuple(sorted(texts(paths, weights={"a": 0.5, "b": 0}, seed=n))) for n in range(30)}
    assert {text for each in found for text in each} == {f"a{i}" for i in range(6)}


def test_each_occurrence_is_augmented_by_itself(paths: dict[str, Path | None]) -> None:
    seen: list[str] = []

    def augment(nlp: Language, example: Example) -> Iterator[Example]:
        seen.append(example.reference.text)
        yield example

    reader = mixed_corpus(paths, {"a": 2}, augmenter=augment)
    assert sorted(eg.reference.text for eg in reader(spacy.blank("zh"))) == sorted(seen)


@pytest.mark.parametrize("weights", [{"c": 1}, {"a": -1}, {"a": float("nan")}])
def test_wrong_weights(paths: dict[str, Path | None], weights: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="F165"):
        mixed_corpus(paths, weights)


def test_some_are_joined(paths: dict[str, Path | None]) -> None:
    found = texts(paths, join=0.5)
    singles = [part for text in found for part in re.findall(r"[ab]\d", text)]
    assert Counter(singles) == Counter(texts(paths))
    assert {len(set(re.findall("[ab]", text))) for text in found} == {1}  # of one corpus
    assert max(map(len, texts(paths, join=1.0))) > 4
    with pytest.raises(ValueError, match=r"F341.*join"):
        mixed_corpus(paths, join=1.5)


def test_joined_annotation(tmp_path: Path) -> None:
    doc = Doc(Vocab(), ["老", "王", "在", "?"], [False] * 4)
    doc.set_ents([Span(doc, 0, 2, "PER")], missing=[doc[3:]])
    doc._.coarse_labels = {"PER": ("PER", "NICK")}
    DocBin(docs=[doc] * 4, store_user_data=True).to_disk(tmp_path / "x.spacy")
    (example, *_) = mixed_corpus({"x": tmp_path / "x.spacy"}, join=1.0)(spacy.blank("zh"))
    joined = example.reference
    n = joined.text.count("老王在?")
    assert n > 1
    assert entities(joined) == [("老王", "PER")] * n
    tags = "".join(token.ent_iob_ or "?" for token in joined)
    assert tags.replace("O", "") == "BI?" * n
    assert joined._.coarse_labels == doc._.coarse_labels
    other = doc.copy()
    other._.coarse_labels = None
    DocBin(docs=[doc, other], store_user_data=True).to_disk(tmp_path / "x.spacy")
    assert len([*mixed_corpus({"x": tmp_path / "x.spacy"}, join=1.0)(spacy.blank("zh"))]) == 2
