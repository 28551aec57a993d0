"""`flat_ner` as a component: its options, texts of every kind, and the memory of long ones."""

from typing import Any

import pytest
from learning import peak_megabytes
from spacy.language import Language

from spacy_flat.nn.optimizers import AdamW

from .conftest import GOLD, TEXTS, Copy, add_flat, blank, char_example, entities, found, marked


def test_without_a_network_there_is_no_lexicon() -> None:
    with pytest.raises(ValueError, match=r"F308.*'flat_ner'"):
        _ = add_flat(blank()).lexicon  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("block", "options", "message"),
    [
        ("network", {"word_features": ["type", "type"]}, "F305.*word_features.*repetitions"),
        ("network", {"no_such_option": 1}, "no_such_option"),
        ("lattice", {"batch_size": 0}, "F305.*flat_ner, model.lattice: batch_size = 0 .*1 or more"),
        ("", {"on_misaligned": "keep"}, "on_misaligned"),
        ("", {"constrained_decoding": "often"}, "constrained_decoding"),
    ],
)
def test_impossible_options(block: str, options: dict[str, Any], message: str) -> None:
    config = {"model": {block: options}} if block else options
    with pytest.raises(ValueError, match=message):
        add_flat(blank(), config)


def test_learns_ten_sentences_by_heart(trained: Language) -> None:
    assert found(trained) == GOLD
    assert [entities(doc) for doc in trained.pipe(TEXTS)] == [marked(text) for text in TEXTS]


def test_long_texts_are_cut_and_put_together(trained: Language, copy_of: Copy) -> None:
    """No two of the sentences fit into a segment: their entities are found as one by one."""
    nlp = copy_of(trained, max_length=12)
    sentences = [text for text in TEXTS if text[-1] in "。！"] * 20
    doc = nlp("".join(sentences))
    assert entities(doc) == [entity for text in sentences for entity in marked(text)]


@pytest.mark.parametrize("batch_size", [1, 30, 300])
def test_batches_of_segments_change_nothing(
    trained: Language, copy_of: Copy, batch_size: int
) -> None:
    texts = [*TEXTS, "", " ", "😀", "".join(TEXTS[:4])]
    assert found(copy_of(trained, batch_size=batch_size), texts) == found(trained, texts)


def test_memory_of_training_does_not_grow_with_the_text(trained: Language, copy_of: Copy) -> None:
    nlp = copy_of(trained)
    sentence = "王小明昨天去了上海。"
    text = sentence * 5000
    spans = [
        (start + 10 * number, end + 10 * number, label)
        for number in range(5000)
        for start, end, label in [(0, 3, "PER"), (7, 9, "LOC")]
    ]
    example = char_example(nlp, text, spans)
    nlp.update([char_example(nlp, sentence, spans[:2])], sgd=AdamW(0.001))
    before = peak_megabytes()
    losses = nlp.update([example], sgd=AdamW(0.001), losses={})
    assert losses["flat_ner"] < 20  # an untrained network has 400
    assert peak_megabytes() - before < 300
