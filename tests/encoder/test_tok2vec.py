"""`spacy-flat.Encoder.v1` beneath components, and by itself."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import torch
from ner.conftest import GOLD, TEXTS, TINY, examples_of, found
from similarity.conftest import examples_of as pair_examples
from spacy.language import Language
from spacy.training import Example

from spacy_flat.compaction import Amount, Bits, Compactor
from spacy_flat.encoder.model import build_encoder
from spacy_flat.encoder.options import Objective
from spacy_flat.nn.optimizers import AdamW
from spacy_flat.text.initialise import shim_of, shims_of

from .conftest import OBJECTIVES, Pretrained

LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": 16, "upstream": "*"}
WINDOW = {"max_length": 18, "overlap": 6}


def encoder(path: Path | None, **options: Any) -> dict[str, Any]:
    block = {"@architectures": "spacy-flat.Encoder.v1", "path": path and str(path)}
    return {**block, **WINDOW, **options}


def layer(path: Path, **options: Any) -> Any:
    """The tok2vec by itself, ready."""
    made = build_encoder(path, **{**WINDOW, **options})
    made.initialize()
    return made


def with_flat(tok2vec: dict[str, Any]) -> Language:
    nlp = spacy.blank("zh")
    nlp.add_pipe("flat_ner", config={"model": {**TINY["model"], "tok2vec": tok2vec}})
    return nlp


def train(nlp: Language, steps: int) -> AdamW:
    nlp.config["initialize"]["components"]["flat_ner"] = {"lexicon": {"@misc": "test.lexicon"}}
    examples = examples_of(nlp)
    optimizer = nlp.initialize(lambda: examples, sgd=AdamW(0.02))
    for _ in range(steps):
        nlp.update(examples, sgd=optimizer)
    return optimizer


def weights_of(tok2vec: Any) -> bytes:
    return shim_of(tok2vec).to_bytes()


# Beneath components


@pytest.mark.parametrize("tuned", [True, False], ids=["tuned", "frozen"])
def test_beneath_flat(tuned: bool, pretrained: Pretrained, tmp_path: Path) -> None:
    nlp = with_flat(encoder(pretrained("mlm"), tuned=tuned))
    train(nlp, 0)
    tok2vec = nlp.get_pipe("flat_ner").model.get_ref("tok2vec")  # type: ignore[attr-defined]
    assert weights_of(tok2vec) == weights_of(layer(pretrained("mlm")))
    before = weights_of(tok2vec)
    sgd = AdamW(0.02)
    for _ in range(30):
        nlp.update(examples_of(nlp), sgd=sgd)
    assert (weights_of(tok2vec) != before) is tuned
    assert found(nlp) == GOLD
    nlp.to_disk(tmp_path)
    (tmp_path / "config.cfg").write_text(
        (tmp_path / "config.cfg").read_text("utf-8").replace(str(pretrained("mlm")), "gone"),
        "utf-8",
    )
    loaded = spacy.load(tmp_path)  # the folder of the encoder may be gone
    assert found(loaded) == GOLD
    assert found(pickle.loads(pickle.dumps(nlp))) == GOLD
    assert loaded.to_bytes() == spacy.load(tmp_path).from_bytes(loaded.to_bytes()).to_bytes()


def test_a_shared_encoder(pretrained: Pretrained, tmp_path: Path) -> None:
    nlp = spacy.blank("zh")
    nlp.add_pipe("tok2vec", config={"model": encoder(pretrained("mlm"))})
    nlp.add_pipe("flat_ner", config={"model": {**TINY["model"], "tok2vec": LISTENER}})
    nlp.add_pipe("tener_ner", config={"model": {"tok2vec": LISTENER}, "overwrite": True})
    optimizer = train(nlp, 0)
    tok2vec = nlp.get_pipe("tok2vec").model  # type: ignore[attr-defined]
    before = weights_of(tok2vec)
    for _ in range(25):
        nlp.update(examples_of(nlp), sgd=optimizer)
    assert weights_of(tok2vec) != before
    with nlp.select_pipes(disable="tener_ner"):
        assert found(nlp) == GOLD
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert found(loaded) == found(nlp)
    before_replacing = found(loaded)
    loaded.replace_listeners("tok2vec", "flat_ner", ["model.tok2vec"])
    assert found(loaded) == before_replacing


def test_another_width_than_that_of_what_is_listened_to(pretrained: Pretrained) -> None:
    nlp = spacy.blank("zh")
    nlp.add_pipe("tok2vec", config={"model": encoder(pretrained("mlm"))})
    tok2vec = {**LISTENER, "width": 192}
    nlp.add_pipe("flat_ner", config={"model": {**TINY["model"], "tok2vec": tok2vec}})
    train(nlp, 0)
    with pytest.raises(ValueError, match=r"F369.* 16 wide, not 192\."):
        nlp("上海")


def test_where_it_computes(pretrained: Pretrained) -> None:
    """A component's device is that of its encoder, too."""
    nlp = with_flat(encoder(pretrained("mlm")))
    pipe: Any = nlp.get_pipe("flat_ner")
    pipe.device = "cuda:1"
    assert [shim.placement for shim in shims_of(pipe.model)] == ["cuda:1", "cuda:1"]


@pytest.mark.parametrize("bits", [8, 32])
def test_made_compact(bits: Bits, pretrained: Pretrained, tmp_path: Path) -> None:
    nlp = with_flat(encoder(pretrained("lm")))
    train(nlp, 30)
    assert found(nlp) == GOLD
    tok2vec = nlp.get_pipe("flat_ner").model.layers[0]  # type: ignore[attr-defined]
    before = [each.detach().clone() for each in shim_of(tok2vec).module.parameters()]
    compactor = Compactor(nlp)
    compactor.apply(Amount(bits=4))  # of which nothing is left by another amount
    compactor.apply(Amount(bits=bits))
    nlp.to_disk(tmp_path)
    loaded: Any = spacy.load(tmp_path)
    assert found(loaded) == GOLD
    after = shim_of(loaded.get_pipe("flat_ner").model.layers[0]).module.parameters()
    for new, old in zip(after, before, strict=True):
        assert torch.equal(new, old if bits == 32 else old.bfloat16().float())


@pytest.mark.parametrize("factory", ["tener_ner", "re2_similarity"])
def test_beneath_others(factory: str, pretrained: Pretrained) -> None:
    nlp = spacy.blank("zh")
    is_pair = factory == "re2_similarity"
    model = {"tok2vec": encoder(pretrained("lm"))}
    pipe: Any = nlp.add_pipe(factory, config={"model": model})
    examples = pair_examples(nlp) if is_pair else examples_of(nlp)
    sgd = nlp.initialize(lambda: examples, sgd=AdamW(0.01))
    before = weights_of(pipe.model.get_ref("tok2vec"))
    losses = [nlp.update(examples, sgd=sgd)[factory] for _ in range(10)]
    assert losses[-1] < losses[0]
    assert weights_of(pipe.model.get_ref("tok2vec")) != before


def test_a_rate_of_its_own(pretrained: Pretrained) -> None:
    """All parameters of the encoder, its embeddings too, are the group "encoder"."""
    nlp = with_flat(encoder(pretrained("mlm")))
    train(nlp, 0)
    tok2vec = nlp.get_pipe("flat_ner").model.get_ref("tok2vec")  # type: ignore[attr-defined]
    before = weights_of(tok2vec)
    sgd = AdamW(0.02, multipliers={"encoder": 0.0}, weight_decay=0.1)
    for _ in range(3):
        nlp.update(examples_of(nlp), sgd=sgd)
    assert weights_of(tok2vec) == before


# Vectors


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_batches_and_padding_change_nothing(objective: Objective, pretrained: Pretrained) -> None:
    made = layer(pretrained(objective), batch_characters=60)
    nlp = spacy.blank("zh")
    texts = [*TEXTS, "", " ", "长江" * 40, "重庆，" * 9]
    docs = [nlp.make_doc(text) for text in texts]
    together = made.predict(docs)
    for doc, vectors in zip(docs, together, strict=True):
        assert vectors.shape == (len(doc), made.get_dim("nO"))
        (alone,) = made.predict([doc])
        np.testing.assert_allclose(vectors, alone, atol=1e-5)
    assert made.predict([]) == []


@pytest.mark.parametrize("text", ["长江" * 40, "重庆，" * 30, "我在北京。" * 20, "a " * 50])
def test_no_character_is_lost(text: str, pretrained: Pretrained) -> None:
    made = layer(pretrained("mlm"))
    (vectors,) = made.predict([spacy.blank("zh").make_doc(text)])
    assert np.abs(vectors).sum(1).min() > 0


def test_windows_share_their_middle(pretrained: Pretrained) -> None:
    """In what two windows share, a character's vector is that of the window whose end is farther
    away."""
    made = layer(pretrained("mlm"), max_length=10, overlap=4)
    nlp = spacy.blank("zh")
    text = "经理昨天在重庆开会药店长"
    vectors, first, second = made.predict([nlp.make_doc(t) for t in (text, text[:10], text[6:])])
    np.testing.assert_allclose(vectors[:8], first[:8], atol=1e-5)
    np.testing.assert_allclose(vectors[8:], second[2:], atol=1e-5)


def test_tokens_have_the_mean_of_their_characters(pretrained: Pretrained) -> None:
    made = layer(pretrained("mlm"))
    words = spacy.blank("zh", config={"nlp": {"tokenizer": {"segmenter": "jieba"}}})
    text = "王经理 昨天在\n重庆开会"
    by_word, by_char = made.predict([words.make_doc(text), spacy.blank("zh").make_doc(text)])
    doc, chars = words.make_doc(text), spacy.blank("zh").make_doc(text)
    places = {token.idx: token.i for token in chars}
    assert len(doc) < len(chars)
    for token in doc:
        rows = [by_char[places[token.idx + i]] for i in range(len(token))]
        np.testing.assert_allclose(by_word[token.i], np.mean(rows, axis=0), atol=1e-5)


def test_several_layers(pretrained: Pretrained) -> None:
    doc = spacy.blank("zh").make_doc("王经理")
    folder = pretrained("mlm")
    (last,) = layer(folder).predict([doc])
    (both,) = layer(folder, layers=2, combine="concat").predict([doc])
    (mean,) = layer(folder, layers=2).predict([doc])
    assert both.shape == (3, 32)
    np.testing.assert_allclose(both[:, 16:], last, atol=1e-6)
    np.testing.assert_allclose(both.reshape(3, 2, 16).mean(1), mean, atol=1e-6)
    assert layer(pretrained("lm")).get_dim("nO") == 32


def test_the_gradient_goes_back(pretrained: Pretrained) -> None:
    """It is that of the vectors by the weights."""
    made = layer(pretrained("mlm"), dropout=0.0)
    docs = [spacy.blank("zh").make_doc(text) for text in ("王经理在重庆。", "", "开会")]
    vectors, backprop = made.begin_update(docs)
    backprop([2 * each for each in vectors])  # of the sum of squares
    network = shim_of(made).module
    bias = network.encoder.encoder.layer[1].output.LayerNorm.bias
    expected = 2 * sum(each.sum(0) for each in vectors)
    np.testing.assert_allclose(bias.grad.numpy(), expected, rtol=1e-4)


@pytest.mark.parametrize("objective", ["mlm", "lm"])
def test_dropout_in_training_only(objective: Objective, pretrained: Pretrained) -> None:
    doc = spacy.blank("zh").make_doc("王经理昨天在重庆开会。")

    def same(is_train: bool, **options: Any) -> bool:
        made = layer(pretrained(objective), layers=2, **options)
        return bool(np.allclose(made([doc], is_train)[0][0], made([doc], is_train)[0][0]))

    assert same(False)
    assert not same(True)
    assert same(True, dropout=0.0)
    assert same(True, tuned=False)


# What is wrong


def refused(code: str, make: Callable[[], object]) -> None:
    with pytest.raises((ValueError, FileNotFoundError), match=code):
        make()


def test_wrong_settings(pretrained: Pretrained, tmp_path: Path) -> None:
    folder = pretrained("mlm")
    refused("F389", lambda: build_encoder(None).initialize())
    refused("F382", lambda: layer(tmp_path))
    refused(r"F305.*layers = 3 .* from 1 to 2", lambda: layer(folder, layers=3))
    refused(r"F305.*max_length = 19 .* to 18", lambda: layer(folder, max_length=19))
    saved = layer(folder).to_bytes()
    refused("F307", lambda: build_encoder(folder, layers=2).from_bytes(saved))
    loaded = build_encoder(None, tuned=False).from_bytes(saved)
    assert loaded.get_dim("nO") == 16
    with pytest.raises(ValueError, match="F200"):
        build_encoder(None).from_bytes(saved[:-1] + b"x")


def test_an_example_of_nothing(pretrained: Pretrained) -> None:
    nlp = with_flat(encoder(pretrained("mlm")))
    optimizer = train(nlp, 1)
    empty = nlp.make_doc("")
    nlp.update([Example(empty, empty.copy()), *examples_of(nlp)], sgd=optimizer)
    network = shim_of(nlp.get_pipe("flat_ner").model).module  # type: ignore[attr-defined]
    assert all(torch.isfinite(parameter).all() for parameter in network.parameters())
