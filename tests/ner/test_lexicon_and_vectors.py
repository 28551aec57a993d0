"""The lexicon and the pretrained vectors a pipeline is initialised with."""

import pytest
import torch
from spacy.language import Language

from spacy_flat.lexicon import Entry, Lexicon
from spacy_flat.nn.optimizers import AdamW
from spacy_flat.vectors import TextVectors

from .conftest import (
    GOLD,
    NETWORK,
    TEXTS,
    WORDS,
    Copy,
    add_flat,
    blank,
    check_spans,
    examples_of,
    flat,
    found,
    lexicon,
)


def test_lexicon_is_the_pipelines(trained: Language) -> None:
    assert set(flat(trained).lexicon) == {entry.word for entry in WORDS}
    assert isinstance(WORDS[0], Entry)


def test_an_empty_lexicon_is_taken_as_it_is() -> None:
    """And not for none, which is jieba's."""
    nlp = blank()
    ner = add_flat(nlp)
    ner.initialize(lambda: examples_of(nlp), lexicon=Lexicon())
    assert len(ner.lexicon) == 0
    assert nlp("上海").text == "上海"


def test_words_added_to_a_trained_pipeline(trained: Language, copy_of: Copy) -> None:
    nlp = copy_of(trained)
    words = flat(nlp).lexicon
    words.add(["韩梅梅"], type="nr")
    words.add(["新闻茶"], type="drug", frequency=7)
    assert found(nlp)[5] == GOLD[5]
    check_spans(nlp("今天没有新闻茶，韩梅梅。"))
    loaded = copy_of(nlp)
    assert "韩梅梅" in flat(loaded).lexicon
    texts = [*TEXTS, "今天没有新闻茶，韩梅梅。"]
    assert found(loaded, texts) == found(nlp, texts)


def vectors_of(*keys: str, width: int = 6) -> TextVectors:
    rows = torch.randn(len(keys), width, generator=torch.Generator().manual_seed(1))
    return TextVectors(list(keys), rows.numpy())


@pytest.mark.parametrize("fine_tune", [True, False])
def test_pretrained_vectors(fine_tune: bool) -> None:
    nlp = blank()
    lattice = {"embed_width": 16, "fine_tune": fine_tune}
    ner = add_flat(nlp, {"model": {"network": NETWORK, "lattice": lattice}})
    ner.initialize(
        lambda: examples_of(nlp),
        lexicon=lexicon(),
        char_vectors=vectors_of(*"上海津", width=5),
        bigram_vectors=vectors_of("上海", "天津", width=6),
        word_vectors=vectors_of("上海", "北京", "天津", width=7),
    )
    module = ner.model.shims[0].module
    encoder = ner.model.attrs["encoder"]
    key = int(encoder.chars.look_up(torch.tensor([ord("上")]).numpy().astype("uint64"))[0])
    assert (key <= encoder.chars.n_trained) is fine_tune

    def vector() -> torch.Tensor:
        with torch.no_grad():
            return module.chars(torch.tensor(key)).clone()

    before = vector()
    assert float(before.norm()) == pytest.approx(1.0, rel=1e-5)
    sgd = AdamW(0.02)
    for _ in range(40):
        nlp.update(examples_of(nlp), sgd=sgd)
    assert found(nlp) == GOLD
    assert torch.equal(before, vector()) is not fine_tune
