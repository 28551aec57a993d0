"""Probabilities of entities, alternatives, thresholds, and temperature."""

import re

import numpy as np
import pytest
from spacy.language import Language
from spacy.tokens import Doc, Span

from spacy_flat.ner import constraints
from spacy_flat.ner.decoding import MIN_PROBABILITY

from .conftest import TEXTS, Copy, char_example, examples_of, flat, found

TEXT = "王小明昨天去了上海。"
UNSURE = ["李小明和上海大学的韩雷去南京药店", "重庆，张北京在上", *TEXTS]
NUMBERS = (0.0, 0.02, 0.2, 0.4, 0.6, 0.9, 1.0)


@pytest.fixture
def nlp(trained: Language, copy_of: Copy) -> Language:
    return copy_of(trained)


def shares(doc: Doc) -> list[float]:
    return [ent._.confidence for ent in doc.ents]


def test_confidence_is_the_probability_of_a_span(nlp: Language) -> None:
    expected = found(nlp, UNSURE)
    flat(nlp).confidence = True
    docs = list(nlp.pipe(UNSURE))
    assert [doc._.char_ents for doc in docs] == expected
    given = flat(nlp).span_probabilities(map(nlp.make_doc, UNSURE), [doc.ents for doc in docs])
    assert given == [pytest.approx(shares(doc)) for doc in docs]
    for doc in docs:  # as alone, and as in a large batch
        assert shares(nlp(doc.text)) == pytest.approx(shares(doc))
        assert all(0 < share <= 1 for share in shares(doc))
    flat(nlp).confidence, flat(nlp).overwrite = False, True
    assert shares(nlp(docs[0])) == [None] * len(docs[0].ents)


def test_confidence_is_that_of_the_segment_that_decides(trained: Language, copy_of: Copy) -> None:
    nlp = copy_of(trained, max_length=20)
    flat(nlp).confidence = True
    text = "王小明昨天去了上海，" * 3
    left, right = shares(nlp(text[:20])), shares(nlp(text[10:]))
    assert left[-1] != pytest.approx(right[1], abs=1e-6)
    assert shares(nlp(text)) == pytest.approx([*left[:3], *right[1:]])
    doc = nlp.make_doc(text)
    spans = [Span(doc, 10, 13, "PER"), Span(doc, 17, 19, "LOC")]
    most = [max(left[2], right[0]), max(left[3], right[1])]
    assert flat(nlp).span_probabilities([doc], [spans]) == [pytest.approx(most)]


def test_any_span_has_a_probability(nlp: Language) -> None:
    doc = nlp.make_doc(TEXT)
    spans = [Span(doc, 0, 3, label) for label in ("PER", "LOC", "NEW")] + [Span(doc, 0, 2, "PER")]
    ((right, wrong, unknown, part),) = flat(nlp).span_probabilities([doc], [spans])
    assert right > 0.6 > wrong + part
    assert flat(nlp).span_probabilities([doc], [[(0, 3, "PER")]]) == [[right]]
    assert unknown == 0
    assert flat(nlp).span_probabilities([nlp.make_doc("")], [[]]) == [[]]
    with pytest.raises(ValueError, match="argument 2 is longer"):
        flat(nlp).span_probabilities([doc], [spans, spans])
    assert flat(nlp).span_probabilities([doc], [[doc[1:1], spans[0]]]) == [[0, right]]
    for start, end in ((-1, 2), (3, 90), (2, 1)):
        with pytest.raises(ValueError, match="F392"):
            flat(nlp).span_probabilities([doc], [[(start, end, "PER")]])


def test_labels_that_become_one_are_summed(nlp: Language) -> None:
    ner, doc = flat(nlp), nlp.make_doc(UNSURE[0])
    spans = [Span(doc, 5, 9, label) for label in ("LOC", "ORG")]
    ((one, other),) = ner.span_probabilities([doc], [spans])
    ner.label_map = {"ORG": "LOC"}
    assert ner.span_probabilities([doc], [spans]) == [[pytest.approx(one + other), 0]]


def test_alternatives(nlp: Language) -> None:
    ner = flat(nlp)
    ner.alternatives, ner.confidence = 4, True
    for doc in nlp.pipe(UNSURE):
        alternatives = doc._.ent_alternatives(4)
        assert alternatives[0][0] == doc._.char_ents
        likely = [share for _, share in alternatives]
        assert likely == sorted(likely, reverse=True)
        assert 0 < sum(likely) <= 1 + 1e-9
        assert len({str(spans) for spans, _ in alternatives}) == 4
        assert doc._.ent_alternatives(2) == alternatives[:2]
        # What is in all of the most probable is surer than any of them.
        assert all(share >= likely[0] - 1e-9 for share in shares(doc))


def test_alternatives_have_the_labels_of_docs(nlp: Language) -> None:
    """Labels are merged before the best are chosen: more alternatives don't change the first."""
    ner = flat(nlp)
    ner.label_map, ner.temperature = {"ORG": "LOC"}, 3.0
    found = []
    for ner.alternatives in (1, 60):
        docs = nlp.pipe(text for text in UNSURE if " " not in text)
        found.append([doc._.ent_alternatives()[0] for doc in docs])
    for (spans, share), (same, likely) in zip(*found, strict=True):
        assert (spans, share) == (same, pytest.approx(likely))


def test_alternatives_of_empty_and_long_texts(trained: Language, copy_of: Copy) -> None:
    nlp = copy_of(trained, max_length=12)
    flat(nlp).alternatives = 3
    for text in ("", " "):
        assert nlp(text)._.ent_alternatives() == [([], 1.0)]
    doc = nlp("".join(UNSURE))
    assert len(doc._.ent_alternatives()) == 3
    assert doc._.ent_alternatives()[0][0] == doc._.char_ents
    nlp = copy_of(trained, max_length=2)  # what segments don't agree on may come to the same
    flat(nlp).alternatives, flat(nlp).temperature = 400, 2.0
    assert sum(share for _, share in nlp("上海北")._.ent_alternatives()) == pytest.approx(1)


def test_constraints_are_in_every_alternative(nlp: Language) -> None:
    flat(nlp).alternatives = 5
    doc = nlp.make_doc(TEXT)
    doc.set_ents([Span(doc, 3, 5, "DATE")], blocked=[doc[7:9]], default="missing")
    for spans, _ in nlp(doc)._.ent_alternatives():
        assert (3, 5, "DATE") in spans
        assert (7, 9, "LOC") not in spans
        assert spans == sorted(spans)


def test_alternatives_do_not_repeat_what_the_doc_has(nlp: Language) -> None:
    flat(nlp).alternatives = 2
    doc = nlp.make_doc("\u200b王小明昨天去了上海")
    doc.ents = [Span(doc, 0, 4, "PER")]  # type: ignore[assignment]
    for spans, _ in nlp(doc)._.ent_alternatives():
        assert [span for span in spans if span[1] <= 4] == [(0, 4, "PER")]
    flat(nlp).alternatives = 0
    assert nlp(nlp(doc))._.ent_alternatives() == []


def test_thresholds(nlp: Language) -> None:
    ner = flat(nlp)
    ner.confidence = True
    before = found(nlp, UNSURE)
    sizes = []
    for threshold in NUMBERS:
        ner.threshold = threshold
        docs = list(nlp.pipe(UNSURE))
        assert all(
            share >= max(threshold, MIN_PROBABILITY) for doc in docs for share in shares(doc)
        )
        sizes.append(sum(len(doc.ents) for doc in docs))
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] >= sum(map(len, before)) > sizes[-1] == 0
    ner.threshold = {"PER": 1.0}
    entities = [ent for doc in nlp.pipe(UNSURE) for ent in doc.ents]
    assert {ent.label_ for ent in entities} == {"LOC", "ORG"}
    assert all(ent._.confidence >= 0.5 for ent in entities)
    for wrong in ("high", 1.5, {"PER": -1}):
        with pytest.raises(ValueError, match="F310"):
            ner.threshold = wrong  # type: ignore[assignment]


def test_settings_for_unknown_labels(nlp: Language) -> None:
    """Labels may be added, and a map may rename them: they are checked when they are used."""
    ner = flat(nlp)
    ner.threshold = {"PER": 0.5, "COMPANY": 0.3}
    ner.label_map = {"ORG": "COMPANY", "PER": "", "GPE": "LOC"}
    with pytest.warns(UserWarning, match=r"W305.*flat_ner") as warned:
        list(nlp.pipe(UNSURE, batch_size=1))
    assert len(warned) == 2
    for warning, label in zip(warned, ("PER", "GPE"), strict=True):
        assert f"have: {label}." in str(warning.message)


def test_calibrate(nlp: Language) -> None:
    ner = flat(nlp)
    before = found(nlp, UNSURE)
    examples = examples_of(nlp)
    for example in examples[::3]:
        example.reference.set_ents([])  # so that some of what is found is wrong
    report = ner.calibrate(examples)
    assert ner.temperature == report.temperature_after > 1
    assert report.nll_after < report.nll_before
    assert found(nlp, UNSURE) == before
    for _ in range(5):  # each time, the one before counts less
        again = ner.calibrate(examples)
    assert again.temperature_after == pytest.approx(again.temperature_before, rel=0.05)
    with pytest.raises(ValueError, match="F348"):
        ner.calibrate(examples_of(nlp)[4:5])
    for each in examples:
        each.reference.set_ents([ent for ent in each.reference.ents if ent.label_ != "PER"])
    n_persons = sum(span.label == "PER" for spans in found(nlp) for span in spans)
    assert ner.calibrate(examples).entities == report.entities - n_persons  # not annotated
    nlp.initialize(lambda: examples)
    assert ner.temperature == 1.0  # it was fitted to another network


def test_a_few_entities_that_are_right_change_little(nlp: Language) -> None:
    """The best for them alone would be probabilities of 1."""
    ner = flat(nlp)
    ner.temperature, ner.confidence = 3.0, True
    before = np.mean([share for doc in nlp.pipe(TEXTS) for share in shares(doc)])
    report = ner.calibrate([char_example(nlp, text, nlp(text)._.char_ents) for text in TEXTS])
    after = np.mean([share for doc in nlp.pipe(TEXTS) for share in shares(doc)])
    n = report.entities
    assert after == pytest.approx((n + 20 * before) / (n + 20), abs=0.03)


def test_calibration_counts_what_is_found(
    trained: Language, copy_of: Copy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In segments that overlap each entity once; and none that the constraints exclude."""
    nlp = copy_of(trained, max_length=20)
    text = "王小明昨天去了上海，" * 3
    example = char_example(nlp, text, nlp(text)._.char_ents)
    report = flat(nlp).calibrate([example])
    assert report.entities == len(example.reference.ents) == 6
    monkeypatch.setattr(constraints, "BARRED", re.compile("[上海]"))
    assert flat(nlp).calibrate([example]).entities == len(nlp(text).ents) == 3
