"""Corpora whose labels stand for several, or that leave labels out: likelihood, training, scores,
and what a component makes of its labels for Docs."""

import itertools
from typing import Any

import pytest
import spacy
import torch
from learning import settle
from spacy.language import Language
from spacy.training import Example

from spacy_flat.ner.scores import score_entities
from spacy_flat.ner.spans import names_in
from spacy_flat.nn.optimizers import AdamW

from .conftest import (
    GOLD,
    TEXTS,
    Copy,
    Span,
    add_flat,
    blank,
    char_example,
    entities,
    examples_of,
    flat,
    train,
)

COARSE = {"NAME": ["PER", "ORG"], "PLACE": ["LOC"]}


def declared(
    nlp: Language,
    text: str,
    spans: list[Span],
    coarse: dict[str, list[str]] | None = None,
    unannotated: list[str] | None = None,
) -> Example:
    """An example with what its corpus declares."""
    example = char_example(nlp, text, spans)
    example.reference._.coarse_labels = coarse
    example.reference._.unannotated_labels = unannotated
    return example


def coarse_examples(nlp: Language) -> list[Example]:
    """The ten sentences by a corpus that has persons and organisations as NAME, and no places."""
    return [
        declared(
            nlp,
            text,
            [(start, end, "NAME") for start, end, label in gold if label != "LOC"],
            COARSE,
            ["LOC"],
        )
        for text, gold in zip(TEXTS, GOLD, strict=True)
    ]


def loss_of(nlp: Language, examples: list[Example]) -> tuple[float, list[torch.Tensor]]:
    ner = flat(nlp)
    return ner.get_loss(examples, ner.model.predict([eg.predicted for eg in examples]))


@pytest.mark.parametrize(
    ("spans", "unannotated"),
    [([(0, 3, "NAME")], []), ([(0, 3, "NAME")], ["LOC"]), ([], ["LOC", "PER"])],
)
def test_loss_is_that_of_all_sequences_that_agree(
    trained: Language, spans: list[Span], unannotated: list[str]
) -> None:
    """Enumerated: the gold of each way to read the annotation, by itself."""
    text = "王小明去"
    example = declared(trained, text, spans, COARSE, unannotated)
    taken = {place for start, end, _ in spans for place in range(start, end)}

    def ways(start: int) -> list[list[Span]]:
        if start >= len(text):
            return [[]]
        found = ways(start + 1)
        for end, label in itertools.product(range(start + 1, len(text) + 1), unannotated):
            if taken.isdisjoint(range(start, end)):
                found = found + [[(start, end, label), *more] for more in ways(end)]
        return found

    labels = [COARSE[label] for _, _, label in spans]
    readings = [
        sorted([*own, *((*span[:2], label) for span, label in zip(spans, chosen, strict=True))])
        for own in ways(0)
        for chosen in itertools.product(*labels)
    ]
    losses = [loss_of(trained, [char_example(trained, text, each)])[0] for each in readings]
    expected = -torch.tensor(losses).neg().logsumexp(0).item()
    assert len(readings) > 1
    assert loss_of(trained, [example])[0] == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_two_corpora_teach_one_tag_set() -> None:
    """Labels that one has coarse or not at all come from the other."""
    nlp = blank()
    add_flat(nlp)
    fine = examples_of(nlp)
    coarse = coarse_examples(nlp)
    train(nlp, [*coarse[:4], *fine], steps=0)
    ner = flat(nlp)
    assert ner.labels == ("LOC", "ORG", "PER")
    settle(nlp, [*coarse, *fine], AdamW(0.02), 40)
    docs = list(nlp.pipe(TEXTS))
    assert [doc._.char_ents for doc in docs] == GOLD
    scores = ner.score([Example(doc, eg.reference) for doc, eg in zip(docs, coarse, strict=True)])
    assert scores["ents_f"] == scores["chars_f"] == 1.0
    assert list(scores["ents_per_type"]) == ["NAME"]


# Scores


def scored(text: str, gold: list[Span], predicted: list[Span], **given: Any) -> Example:
    nlp = spacy.blank("zh")
    example = declared(nlp, text, gold, given.get("coarse"), given.get("unannotated"))
    doc = char_example(nlp, text, predicted).reference
    return Example(doc, example.reference)


def test_names_of_several_labels_are_not_in_the_gazetteer() -> None:
    example = declared(blank(), "王小明在上海", [(0, 3, "NAME"), (4, 6, "LOC")], COARSE)
    assert names_in(example.reference) == [("上海", "LOC")]


def test_predictions_count_with_the_labels_of_the_corpus() -> None:
    example = scored(
        "王小明在上海大学和北京",
        [(0, 3, "NAME"), (4, 8, "NAME")],
        [(0, 3, "PER"), (4, 8, "LOC"), (8, 9, "ORG"), (9, 11, "DATE")],
        coarse=COARSE,
        unannotated=["DATE"],
    )
    scores = score_entities([example])
    assert scores["ents_per_type"] == {
        "NAME": {"p": 0.5, "r": 0.5, "f": 0.5},
        "PLACE": {"p": 0.0, "r": 0.0, "f": 0.0},
    }
    assert scores["chars_p"] == scores["ents_p"] == pytest.approx(1 / 3)


# label_map


@pytest.fixture
def mapped(trained: Language, copy_of: Copy) -> Language:
    nlp = copy_of(trained)
    flat(nlp).label_map = {"PER": "NAME", "ORG": "NAME", "LOC": ""}
    return nlp


def test_docs_get_the_mapped_labels(mapped: Language) -> None:
    assert entities(mapped("王小明昨天去了上海。")) == [("NAME", "王小明")]
    assert list(flat(mapped).labels) == mapped.pipe_labels["flat_ner"] == ["NAME"]
    assert flat(mapped).label_data == flat(mapped).known_labels == ("LOC", "ORG", "PER")


@pytest.mark.parametrize("value", ["LOC", ["LOC"], {"GPE": 1}, {"LOC": "not_entity"}])
def test_wrong_maps_are_refused(trained: Language, copy_of: Copy, value: Any) -> None:
    with pytest.raises(ValueError, match=r"F310.*label_map"):
        flat(copy_of(trained)).label_map = value
