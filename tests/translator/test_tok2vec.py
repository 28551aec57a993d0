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
from thinc.api import fix_random_seed

from spacy_flat.nn.model import shim_of, tok2vec_of
from spacy_flat.nn.optimizers import AdamW
from spacy_flat.translator.featuriser import Slot, SourceText, TranslationFeaturiser
from spacy_flat.translator.keys import NAMES, UNKNOWN
from spacy_flat.translator.model import SourceVectors, log_probs
from spacy_flat.translator.names import NameTable
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


def with_tok2vec(
    tok2vec: dict[str, Any] = HASH_EMBED, text: dict[str, Any] | None = None, **network: Any
) -> Language:
    nlp = blank()
    model = {"network": {**NETWORK, **network}, "text": {**TEXT, **(text or {})}}
    model["tok2vec"] = tok2vec
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
    nlp.update(examples_of(nlp), sgd=AdamW(0.01, weight_decay=0))
    assert tok2vec_of(translator(nlp).model).to_bytes() != before


def test_losses_in_training_are_those_of_predictions() -> None:
    """Vectors stand at their keys in training, too, also if each pair is read twice."""
    nlp = with_tok2vec(r_drop=1.0)
    train(nlp, 1)
    pipe = translator(nlp)
    pipe.placeholder_rate = 0.0
    found = pipe.update(examples_of(nlp), losses={})["seq2seq_translator"]
    expected = -pipe.score(examples_of(nlp))["translation_log_prob"]
    assert found == pytest.approx(expected, rel=1e-4)


def gradients(batch_size: int) -> tuple[Language, list[Any]]:
    """Those of the tok2vec's arrays, after an update without a step."""
    fix_random_seed(0)
    nlp = with_tok2vec(text={"batch_size": batch_size})
    train(nlp, 1)
    pipe = translator(nlp)
    pipe.placeholder_rate = 0.0
    pipe.update(examples_of(nlp), losses={})
    nodes = [node for node in tok2vec_of(pipe.model).walk() if node.grad_names]
    return nlp, [node.get_grad(name) for node in nodes for name in node.grad_names]


def test_each_batch_passes_its_gradient_on() -> None:
    (_, whole), (_, parts) = gradients(1500), gradients(20)
    assert any(np.abs(each).max() > 1e-3 for each in whole)
    for one, other in zip(whole, parts, strict=True):
        assert np.allclose(one, other, atol=1e-5)


def test_the_gradient_is_that_of_finite_differences() -> None:
    nlp, _ = gradients(1500)
    pipe = translator(nlp)
    node, name = next(
        (node, name)
        for node in tok2vec_of(pipe.model).walk()
        for name in node.grad_names
        if name == "W"
    )
    gradient, array = node.get_grad(name), node.get_param(name)
    place = np.unravel_index(np.abs(gradient).argmax(), gradient.shape)
    expected = float(gradient[place])
    losses = []
    for step in (1e-2, -2e-2):
        array[place] += step
        losses.append(-nlp.evaluate(examples_of(nlp))["translation_log_prob"])
    assert expected == pytest.approx((losses[0] - losses[1]) / 2e-2, rel=0.05)


def test_its_rate_is_that_of_the_network() -> None:
    """The weights that read the vectors aren't in the group of the encoder."""
    nlp = with_tok2vec()
    train(nlp, 1)
    weight = shim_of(translator(nlp).model).module.from_tok2vec.weight
    before = weight.clone()
    nlp.update(examples_of(nlp), sgd=AdamW(0.01, weight_decay=0, multipliers={"upstream": 0.0}))
    assert not torch.equal(weight, before)


def test_what_it_writes_is_the_same_whatever_the_batch(read: Language) -> None:
    texts = [
        *TEXTS,
        "",
        " ",
        "王芳喜欢茶。他住在北京。\n你有三本书吗？",
        "𝄞😀" * 3,
    ]
    alone = [found(read, [text])[0] for text in texts]
    for size in (1, 3, 100):
        assert found(read, texts, batch_size=size) == alone
    pipe = translator(read)
    assert pipe.translate(["我喜欢\ud83d茶"])[0][0].text  # a lone surrogate
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
    ("tok2vec", "text", "reason"),
    [
        (LISTENER, {}, "listens to another component"),
        (HASH_EMBED, {"source": "bpe"}, 'source = "bpe"'),
        ({**HASH_EMBED, "pretrained_vectors": True}, {}, "the pipeline's vectors"),
    ],
    ids=["listener", "bpe", "vectors"],
)
def test_a_tok2vec_that_cannot_read_sentences(
    tok2vec: Any, text: dict[str, Any], reason: str
) -> None:
    nlp = blank()
    model = {"network": NETWORK, "text": {**TEXT, **text}, "tok2vec": tok2vec}
    with pytest.raises(ValueError, match=f"F408.*{reason}"):
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
    named = encode(texts, FEATURISER, NameTable({"王芳": "Wang Fang"}), 1.0, dropout=1.0).source
    assert (named[0] >= NAMES, set(named[1:-1].tolist())) == (True, {UNKNOWN})
    nlp = with_tok2vec()
    train(nlp, 1)
    pipe = translator(nlp)
    pipe.placeholder_rate = 0.0
    expected = pipe.score(examples_of(nlp))["translation_log_prob"]
    pipe.char_dropout = 0.9
    assert pipe.score(examples_of(nlp))["translation_log_prob"] == expected
    losses = [pipe.update(examples_of(nlp), losses={})["seq2seq_translator"] for _ in range(2)]
    assert losses[0] != losses[1]
