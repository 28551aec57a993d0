"""What is counted of a training corpus."""

from __future__ import annotations

import spacy
from spacy.training import Example

from spacy_flat.corpora.statistics import compare, describe
from spacy_flat.lexicon import Entry, Lexicon

NLP = spacy.blank("zh")


def example(text: str, *spans: tuple[int, int, str], words: list[str] | None = None) -> Example:
    """Gold characters, beside a Doc of these words."""
    gold = NLP.make_doc(text)
    gold.set_ents([gold.char_span(*span) for span in spans])
    predicted = NLP.make_doc(text)
    if words:
        predicted = spacy.tokens.Doc(NLP.vocab, words=words, spaces=[False] * len(words))
    return Example(predicted, gold)


def test_sizes_labels_and_lengths() -> None:
    examples = [
        example("重庆开业", (0, 2, "LOC")),
        example("王芳在重庆", (0, 2, "PER"), (3, 5, "LOC")),
        example("好"),
        example("好"),
    ]
    part = describe(examples, max_length=4)
    assert (part.docs, part.characters, part.tokens) == (4, 11, 11)
    assert part.labels == {"LOC": 2, "PER": 1}
    assert part.lengths == (1, 2.5, 5)
    assert (part.longer, part.duplicates) == (1, 1)
    assert (part.unannotated, part.missing, part.misaligned) == (0, 0, 0)
    assert part.coverage is None


def test_missing_annotation_is_told_from_none() -> None:
    silent = Example(NLP.make_doc("重庆"), NLP.make_doc("重庆"))
    partly = Example.from_dict(NLP.make_doc("重庆开业"), {"entities": ["B-LOC", "L-LOC", "-", "O"]})
    part = describe([silent, partly, example("好")], max_length=200)
    assert (part.unannotated, part.missing) == (1, 1)


def test_entities_cut_by_tokens() -> None:
    cut = example("在重庆市", (1, 3, "LOC"), words=["在", "重庆市"])
    whole = example("在重庆市", (1, 4, "LOC"), words=["在", "重庆市"])
    part = describe([cut, whole] + [cut] * 9, max_length=200)
    assert part.misaligned == 10
    assert part.misaligned_examples == ["重庆 (LOC) in 重庆市"] * 5


def test_coverage_by_a_lexicon() -> None:
    examples = [
        example("重庆开业", (0, 2, "LOC")),
        example("重庆好", (0, 2, "LOC")),
        example("人和药店在", (0, 4, "ORG"), (4, 5, "X")),
    ]
    lexicon = Lexicon([Entry("重庆"), Entry("药店"), Entry("北京")])
    coverage = describe(examples, 200, lexicon).coverage
    assert coverage is not None
    assert (coverage.mentions, coverage.whole, coverage.touched) == (4, 2, 3)
    assert (coverage.texts, coverage.whole_texts) == (3, 1)
    assert coverage.words_per_100 == 100 * 3 / 12


def test_coverage_of_nothing() -> None:
    coverage = describe([], 200, Lexicon([Entry("重庆")])).coverage
    assert coverage is not None
    assert (coverage.mentions, coverage.words_per_100) == (0, 0.0)


def test_what_two_parts_share() -> None:
    train = [example("重庆开业", (0, 2, "LOC")), example("好")]
    dev = [
        example("好"),
        example("重庆好", (0, 2, "LOC")),
        example("重庆", (0, 2, "ORG")),
        example("王芳", (0, 2, "PER")),
    ]
    shared = compare(train, dev)
    assert (shared.texts, shared.new_entities, shared.entities) == (1, 2, 3)
    assert shared.new_labels == ["ORG", "PER"]
