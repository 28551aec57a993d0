"""A tok2vec below the translator."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from ner.conftest import HASH_EMBED, LISTENER
from spacy.language import Language
from spacy.tokens import Doc

from spacy_flat.nn.model import shim_of, tok2vec_of
from spacy_flat.nn.optimizers import AdamW
from spacy_flat.translator.featuriser import Slot, SourceText, TranslationFeaturiser
from spacy_flat.translator.model import SourceVectors, log_probs
from spacy_flat.translator.options import TranslationOptions
from spacy_flat.translator.training import Texts, encode

from .conftest import (
    NETWORK,
    PAIRS,
    TEXT,
    TEXTS,
    blank,
    examples_of,
    found,
    pipe_config,
    train,
    translator,
    with_ents,
)

FEATURISER = TranslationFeaturiser.build(TranslationOptions(), ["王芳住在北京。"], ["Wang Fang."])


def with_tok2vec(tok2vec: dict[str, Any] = HASH_EMBED, **network: Any) -> Language:
    nlp = blank()
    model = {"network": {**NETWORK, **network}, "text": TEXT, "tok2vec": tok2vec}
    nlp.add_pipe("seq2seq_translator", config=pipe_config("seq2seq_translator", model))
    return nlp


@pytest.fixture(scope="module")
def read() -> Language:
    nlp = with_tok2vec()
    train(nlp, 150)
    return nlp


def test_it_learns_with_the_tok2vec_below(read: Language) -> None:
    assert [doc._.translation for doc in read.pipe(TEXTS)] == [pair[1] for pair in PAIRS]


def test_the_tok2vec_learns_too() -> None:
    nlp = with_tok2vec()
    train(nlp, 1)
    before = tok2vec_of(translator(nlp).model).to_bytes()
    nlp.update(examples_of(nlp), sgd=AdamW(0.01))
    assert tok2vec_of(translator(nlp).model).to_bytes() != before


@pytest.mark.parametrize("r_drop", [0.0, 1.0])
def test_gradients_are_those_of_finite_differences(r_drop: float) -> None:
    """Of the weights that read the tok2vec's vectors, and of these vectors."""
    nlp = with_tok2vec(r_drop=r_drop)
    train(nlp, 1)
    pipe = translator(nlp)
    pipe.placeholder_rate = 0.0
    weight = shim_of(pipe.model).module.upstream.weight

    def loss() -> float:
        found = pipe.update(examples_of(nlp), losses={})["seq2seq_translator"]
        return float(found)

    loss()
    gradient = weight.grad[3, 5].item()
    shim_of(pipe.model).module.zero_grad()
    with torch.no_grad():
        losses = []
        for step in (1e-2, -2e-2):
            weight[3, 5] += step
            losses.append(loss())
    assert gradient == pytest.approx((losses[0] - losses[1]) / 2e-2, rel=0.05, abs=1e-4)


def test_what_it_writes_is_the_same_whatever_the_batch(read: Language) -> None:
    texts = [*TEXTS, "", " ", "王芳喜欢茶。他住在北京。\n你有三本书吗？", "𝄞😀" * 3]
    alone = [found(read, [text])[0] for text in texts]
    for size in (1, 3, 100):
        assert found(read, texts, batch_size=size) == alone
    pipe = translator(read)
    pairs = [encode(Texts(*pair), pipe.featuriser) for pair in PAIRS]
    one_by_one = [log_probs(pipe.model, [pair])[0] for pair in pairs]
    assert log_probs(pipe.model, pairs) == pytest.approx(one_by_one, rel=1e-4)


def test_saved_and_copied(
    read: Language, copy_of: Callable[[Language], Language], tmp_path: Path
) -> None:
    expected = found(read, TEXTS)
    read.to_disk(tmp_path / "saved")
    again = with_tok2vec()
    assert found(again.from_disk(tmp_path / "saved"), TEXTS) == expected
    assert found(with_tok2vec().from_bytes(read.to_bytes()), TEXTS) == expected
    assert found(copy_of(read), TEXTS) == expected


def test_names_that_are_carried_are_read(read: Language) -> None:
    """Sentences that differ in carried names alone have the same keys, but other vectors."""
    pipe = translator(read)
    docs = [with_ents(read, f"他住在{name}。", (name, "LOC")) for name in ("北京", "重庆")]
    both = [own[0].score for own in pipe.translate(docs)]
    alone = [pipe.translate([doc])[0][0].score for doc in docs]
    assert both == pytest.approx(alone, abs=1e-6)
    assert both[0] != pytest.approx(both[1], abs=1e-5)


@given(st.text(alphabet="王芳住在北京。 a1", min_size=1, max_size=30), st.randoms())
def test_each_key_has_its_character(text: str, rng: random.Random) -> None:
    borders = sorted(rng.sample(range(len(text) + 1), min(4, len(text) + 1)))
    slots = [
        Slot(start, end, number)
        for number, (start, end) in enumerate(zip(borders[::2], borders[1::2], strict=False))
    ]
    expected = []
    for place in range(len(text)):
        if not any(slot.start < place < slot.end for slot in slots):
            expected.append(place)
    source = FEATURISER.source_text(text, slots)
    assert (source.text, source.places.tolist()) == (text, [*expected, -1])
    assert len(source.places) == len(FEATURISER.source_keys(text, slots))


def test_vectors_stand_at_their_keys(read: Language) -> None:
    """Those of characters at their keys, zeros at end marks and padding."""
    model = translator(read).model
    sources = {"北京": [0, 1, -1], "他住在北京。": [3, -1]}
    texts = [SourceText(text, np.array(places)) for text, places in sources.items()]
    vectors = SourceVectors(model, texts).vectors
    tok2vec = tok2vec_of(model)
    docs = [Doc(read.vocab, list(text), [False] * len(text)) for text in sources]
    first, second = (torch.from_numpy(each) for each in tok2vec.predict(docs))
    assert torch.allclose(vectors[0, :2], first)
    assert torch.allclose(vectors[1, 0], second[3])
    assert not vectors[0, 2].any()
    assert not vectors[1, 1:].any()


@pytest.mark.parametrize(
    ("tok2vec", "text"), [(LISTENER, {}), (HASH_EMBED, {"source": "bpe"})], ids=["listener", "bpe"]
)
def test_a_tok2vec_that_cannot_read_sentences(tok2vec: Any, text: dict[str, Any]) -> None:
    nlp = blank()
    model = {"network": NETWORK, "text": {**TEXT, **text}, "tok2vec": tok2vec}
    with pytest.raises(ValueError, match="F408"):
        nlp.add_pipe("seq2seq_translator", config=pipe_config("seq2seq_translator", model))


def test_characters_are_dropped_in_training_only() -> None:
    texts = Texts("王芳住在北京。", "Wang Fang.")
    random.seed(0)
    dropped = [encode(texts, FEATURISER, dropout=0.5).source for _ in range(400)]
    whole = encode(texts, FEATURISER).source
    stays = np.mean([own == whole for own in dropped], axis=0)
    assert stays[:-1] == pytest.approx(0.5, abs=0.1)
    assert stays[-1] == 1.0  # the end mark
    assert all(((own == whole) | (own == 0)).all() for own in dropped)
    nlp = with_tok2vec()
    train(nlp, 1)
    pipe = translator(nlp)
    expected = pipe.score(examples_of(nlp))["translation_log_prob"]
    pipe.char_dropout = 0.9
    assert pipe.score(examples_of(nlp))["translation_log_prob"] == expected
    losses = [pipe.update(examples_of(nlp), losses={})["seq2seq_translator"] for _ in range(2)]
    assert losses[0] != losses[1]
