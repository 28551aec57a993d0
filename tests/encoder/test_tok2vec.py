"""`spacy-flat.Encoder.v2` beneath components, and by itself."""

import pickle
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import torch
from blocks import pipe_config
from learning import settle
from ner.conftest import GOLD, TEXTS, blank, check_known, examples_of, found
from similarity.conftest import examples_of as pair_examples
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from translator.conftest import TEXTS as SENTENCES
from translator.conftest import found as translations
from translator.conftest import train as train_translator
from translator.test_tok2vec import with_tok2vec

from spacy_flat.compress.compactor import Bits, Compactor, CompressConfig
from spacy_flat.encoder.model import build_encoder
from spacy_flat.encoder.recipes import Objective
from spacy_flat.nn.model import shim_of, shims_of
from spacy_flat.nn.optimizers import AdamW
from spacy_flat.text.segments import Segment
from spacy_flat.text.tok2vec import Tok2VecFeatures, ask_for
from spacy_flat.text.units import Unit
from spacy_flat.training.parameters import save_encoders

from .conftest import (
    LISTENER,
    OBJECTIVES,
    WINDOW,
    Pretrained,
    encoder,
    start,
    with_flat,
    with_shared,
)


def layer(path: Path, **options: Any) -> Any:
    """The tok2vec by itself, ready."""
    made = build_encoder(path, **{**WINDOW, **options})
    made.initialize()
    return made


def below(nlp: Language, name: str = "flat_ner") -> Any:
    """What a component has beneath it."""
    return nlp.get_pipe(name).model.layers[0]  # type: ignore[attr-defined]


def shared(nlp: Language) -> Any:
    """The encoder that components listen to."""
    return nlp.get_pipe("tok2vec").model  # type: ignore[attr-defined]


def weights_of(tok2vec: Any) -> bytes:
    return shim_of(tok2vec).to_bytes()


# Beneath components


@pytest.mark.parametrize("fine_tune", [True, False], ids=["fine_tune", "frozen"])
def test_beneath_flat(fine_tune: bool, pretrained: Pretrained, tmp_path: Path) -> None:
    nlp = with_flat(encoder(pretrained("mlm"), fine_tune=fine_tune))
    sgd = start(nlp)
    before = weights_of(below(nlp))
    assert before == weights_of(layer(pretrained("mlm")))
    settle(nlp, examples_of(nlp), sgd, 30)
    check_known(nlp)
    assert (weights_of(below(nlp)) != before) is fine_tune
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


def test_another_width_than_that_of_what_is_listened_to(pretrained: Pretrained) -> None:
    nlp = with_flat({**LISTENER, "width": 192})
    nlp.add_pipe("tok2vec", config={"model": encoder(pretrained("mlm"))}, first=True)
    start(nlp)
    with pytest.raises(ValueError, match=r"F369.* width 16, not 192\."):
        nlp("上海")


def test_nothing_to_listen_to(pretrained: Pretrained) -> None:
    nlp = with_shared(pretrained("mlm"))
    start(nlp)
    alone = blank()
    alone.add_pipe("flat_ner", source=nlp)
    with pytest.raises(ValueError, match=r"F366.*上海"):
        alone("上海")
    alone.add_pipe("tok2vec", source=nlp, first=True)
    list(alone.pipe(["", "上海"]))


def test_where_it_computes(pretrained: Pretrained) -> None:
    """A component's device is that of its encoder, too."""
    nlp = with_flat(encoder(pretrained("mlm")))
    pipe: Any = nlp.get_pipe("flat_ner")
    pipe.device = "cuda:1"
    for each in (pipe, deepcopy(pipe), pickle.loads(pickle.dumps(pipe))):
        assert [shim.placement for shim in shims_of(each.model)] == ["cuda:1", "cuda:1"]


@pytest.mark.parametrize("bits", [8, 32])
def test_made_compact(bits: Bits, pretrained: Pretrained, tmp_path: Path) -> None:
    nlp = with_flat(encoder(pretrained("lm")))
    settle(nlp, examples_of(nlp), start(nlp), 30)
    check_known(nlp)
    before = [each.detach().clone() for each in shim_of(below(nlp)).module.parameters()]
    compactor = Compactor(nlp)
    compactor.apply(CompressConfig(bits=4))  # of which nothing is left by another amount
    compactor.apply(CompressConfig(bits=bits))
    nlp.to_disk(tmp_path)
    loaded: Any = spacy.load(tmp_path)
    assert found(loaded) == GOLD
    after = shim_of(below(loaded)).module.parameters()
    for new, old in zip(after, before, strict=True):
        step = 0.0 if bits == 32 else float(old.abs().max()) / 100
        torch.testing.assert_close(new, old, atol=step, rtol=0)


@pytest.mark.parametrize("factory", ["tener_ner", "re2_similarity"])
def test_beneath_others(factory: str, pretrained: Pretrained) -> None:
    nlp = spacy.blank("zh")
    is_pair = factory == "re2_similarity"
    model = {"tok2vec": encoder(pretrained("lm"))}
    pipe: Any = nlp.add_pipe(factory, config=pipe_config(factory, model))
    examples = pair_examples(nlp) if is_pair else examples_of(nlp)
    sgd = nlp.initialize(lambda: examples, sgd=AdamW(0.002))
    before = weights_of(pipe.model.get_ref("tok2vec"))
    losses = [nlp.update(examples, sgd=sgd)[factory] for _ in range(10)]
    assert losses[-1] < losses[0]
    assert weights_of(pipe.model.get_ref("tok2vec")) != before


@pytest.mark.parametrize("is_shared", [False, True], ids=["own", "shared"])
def test_a_rate_of_its_own(is_shared: bool, pretrained: Pretrained) -> None:
    """All parameters of the encoder, its embeddings too, are the group "upstream", as a BERT's."""
    nlp = with_shared(pretrained("mlm")) if is_shared else with_flat(encoder(pretrained("mlm")))
    sgd = start(nlp, multipliers={"upstream": 0.0, "embeddings": 0.5}, weight_decay=0.1)
    tok2vec = shared(nlp) if is_shared else below(nlp)
    before = weights_of(tok2vec)
    for _ in range(3):
        nlp.update(examples_of(nlp), sgd=sgd)
    assert weights_of(tok2vec) == before


def test_rest_and_warm_up(pretrained: Pretrained) -> None:
    """The encoder learns nothing for two steps; over the next four its rate rises to the full.
    Adam's first step moves a weight by its rate."""
    tok2vec = encoder(pretrained("mlm"), frozen_steps=2, warmup_steps=4)
    nlp = with_flat(tok2vec)
    sgd = start(nlp, eps=1e-12, weight_decay=0.0, multipliers={"upstream": 0.1})
    module = shim_of(below(nlp)).module
    before = weights_of(below(nlp))
    for _ in range(2):
        nlp.update(examples_of(nlp), sgd=sgd)
    assert weights_of(below(nlp)) == before
    assert not module.training
    first = [each.detach().clone() for each in module.parameters()]
    nlp.update(examples_of(nlp), sgd=sgd)
    moves = zip(module.parameters(), first, strict=True)
    moved = max(float((new - old).abs().max().detach()) for new, old in moves)
    assert moved == pytest.approx(0.02 * 0.1 / 4, rel=0.05)
    assert list(save_encoders(nlp).values()) == [3]
    start(nlp)
    assert list(save_encoders(nlp).values()) == [0]


# Steps


def test_each_text_has_its_own_gradient(pretrained: Pretrained) -> None:
    made, nlp = layer(pretrained("mlm"), dropout=0.0), blank()
    vectors, backprop = made([nlp.make_doc("上海"), nlp.make_doc("重庆")], is_train=True)
    backprop([np.ones_like(vectors[0]), np.zeros_like(vectors[1])])
    gradient = shim_of(made).module.encoder.embeddings.word_embeddings.weight.grad
    keys = made.attrs["featuriser"].keys("上海重庆")
    assert gradient[keys].any(dim=1).tolist() == [True, True, False, False]


@pytest.mark.parametrize("is_shared", [False, True], ids=["own", "shared"])
def test_a_step_uses_its_own_gradient(is_shared: bool, pretrained: Pretrained) -> None:
    """`nlp.update` with an optimizer asks a shared encoder for its step before the gradient is
    there, and yet does what `spacy train` does, and what thinc's optimizers do."""
    ways = []
    for at_once in (True, False):
        path = pretrained("mlm")
        own = with_flat(encoder(path, dropout=0.0))
        nlp = with_shared(path) if is_shared else own
        sgd = start(nlp)
        for _ in range(3):
            nlp.update(examples_of(nlp), sgd=sgd if at_once else False)  # type: ignore[arg-type]
            for _, pipe in nlp.pipeline if not at_once else []:
                pipe.finish_update(sgd)  # type: ignore[attr-defined]
        ways.append(weights_of(shared(nlp) if is_shared else below(nlp)))
    assert ways[0] == ways[1]


def test_a_frozen_encoder_that_is_listened_to(pretrained: Pretrained) -> None:
    nlp = with_shared(pretrained("mlm"))
    sgd = start(nlp)
    before = weights_of(shared(nlp))
    settle(nlp, examples_of(nlp), sgd, 30, exclude=["tok2vec"], annotates=["tok2vec"])
    check_known(nlp)
    assert weights_of(shared(nlp)) == before
    assert found(nlp) == GOLD


def test_averages(pretrained: Pretrained) -> None:
    nlp = with_shared(pretrained("mlm"))
    sgd = start(nlp, use_averages=True)
    doc = nlp.make_doc(TEXTS[0])
    (first,) = shared(nlp).predict([doc])
    for _ in range(3):
        nlp.update(examples_of(nlp), sgd=sgd)
    (last,) = shared(nlp).predict([doc])
    with nlp.use_params(sgd.averages):  # type: ignore[arg-type]
        (averaged,) = shared(nlp).predict([doc])
    assert not np.allclose(averaged, last)
    assert not np.allclose(averaged, first)
    assert np.array_equal(shared(nlp).predict([doc])[0], last)


def test_sourced_and_trained_further(pretrained: Pretrained, tmp_path: Path) -> None:
    nlp = with_shared(pretrained("mlm"))
    sgd = start(nlp)
    settle(nlp, examples_of(nlp), sgd, 30)
    check_known(nlp)
    assert found(nlp) == GOLD
    nlp.to_disk(tmp_path)
    again = blank()
    again.add_pipe("tok2vec", source=spacy.load(tmp_path))
    again.add_pipe("flat_ner", source=spacy.load(tmp_path))
    assert found(again) == GOLD
    assert found(pickle.loads(pickle.dumps(again))) == GOLD
    again.replace_listeners("tok2vec", "flat_ner", ["model.tok2vec"])
    before = weights_of(below(again))
    assert before == weights_of(shared(again))
    again.remove_pipe("tok2vec")
    for _ in range(2):
        again.update(examples_of(again), sgd=AdamW(0.001))
    assert weights_of(below(again)) != before
    assert found(again) == GOLD


# A vector a character


TEXT = "南京市长江大桥来了"


def read_by(pipe: Any, segmenter: str, text: str) -> torch.Tensor:
    """The vectors that a component's network reads for the characters of a text."""
    doc = blank(segmenter).make_doc(text)
    unit = pipe.model.attrs["featuriser"].unit
    upstream = Tok2VecFeatures(pipe.model.layers[0], unit, [doc], False, torch.device("cpu"))
    vectors = upstream.of_texts([Segment(0, 0, len(text) if unit == "char" else len(doc))])
    assert vectors is not None
    return vectors


@pytest.mark.parametrize("factory", ["flat_ner", "tener_ner", "re2_similarity"])
def test_a_character_has_its_own_vector(factory: str, pretrained: Pretrained) -> None:
    """Also where jieba makes words of the text."""
    pipe: Any = blank("jieba").add_pipe(
        factory, config=pipe_config(factory, {"tok2vec": encoder(pretrained("mlm"))})
    )
    pipe.model.layers[0].initialize()
    assert len(blank("jieba").make_doc(TEXT)) < len(TEXT) == 9
    assert len(read_by(pipe, "jieba", TEXT).unique(dim=0)) == 9
    spaced = f"\n{TEXT} 王经理  NBA"
    vectors = read_by(pipe, "jieba", spaced)
    torch.testing.assert_close(vectors, read_by(pipe, "char", spaced))
    assert not vectors[spaced.index(" ")].any()


def test_a_component_that_tags_words_reads_vectors_of_words(pretrained: Pretrained) -> None:
    model = {"sequence": {"unit": "token"}, "tok2vec": encoder(pretrained("mlm"))}
    pipe: Any = blank("jieba").add_pipe("tener_ner", config=pipe_config("tener_ner", model))
    pipe.model.layers[0].initialize()
    words = read_by(pipe, "jieba", TEXT)
    chars = torch.tensor(layer(pretrained("mlm")).predict([blank().make_doc(TEXT)])[0])
    torch.testing.assert_close(words[0], chars[:3].mean(0))
    assert len(words) == len(blank("jieba").make_doc(TEXT))


def test_listeners_read_vectors_of_words(pretrained: Pretrained, tmp_path: Path) -> None:
    """As spaCy's components do; with the listener replaced, and saved, they stay the same."""
    nlp = with_shared(pretrained("mlm"), "jieba")
    nlp.add_pipe("tagger", config={"model": {"tok2vec": LISTENER}})
    doc = nlp.make_doc(TEXT)
    doc[0].tag_ = "word"
    examples = [*examples_of(nlp), Example(nlp.make_doc(TEXT), doc)]
    nlp.update(examples, sgd=start(nlp, examples))
    doc = nlp(TEXT)
    expected = doc.tensor
    assert len(expected) == len(doc) < len(TEXT)
    nlp.replace_listeners("tok2vec", "flat_ner", ["model.tok2vec"])
    np.testing.assert_array_equal(below(nlp).predict([doc])[0], expected)
    nlp.to_disk(tmp_path)
    np.testing.assert_array_equal(below(spacy.load(tmp_path)).predict([doc])[0], expected)


# Vectors


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_batches_and_padding_change_nothing(objective: Objective, pretrained: Pretrained) -> None:
    made = layer(pretrained(objective), batch_size=60)
    nlp = spacy.blank("zh")
    texts = [*TEXTS, "", " ", "长江" * 40, "重庆，" * 9]
    docs = [nlp.make_doc(text) for text in texts]
    together = made.predict(docs)
    for doc, vectors in zip(docs, together, strict=True):
        assert vectors.shape == (len(doc), made.get_dim("nO"))
        (alone,) = made.predict([doc])
        np.testing.assert_allclose(vectors, alone, atol=1e-5)
    assert made.predict([]) == []


@pytest.mark.parametrize("most", [1, 40, 1000])
def test_batches_are_as_large_as_asked_for(most: int, pretrained: Pretrained) -> None:
    """But for the two marks of each window, and a window that is larger alone."""
    made = layer(pretrained("mlm"), batch_size=most)
    sizes = []
    network = made.shims[0].module
    network.register_forward_hook(lambda _, given, __: sizes.append(given[0].shape))
    made.predict([spacy.blank("zh").make_doc(text) for text in [*TEXTS, "长江" * 40, "", " "]])
    assert all(rows == 1 or rows * (length - 2) <= most for rows, length in sizes)
    lengths = [length for _, length in sizes]
    assert lengths == sorted(lengths, reverse=True)
    n_windows = sum(rows for rows, _ in sizes)
    assert len(sizes) == n_windows if most == 1 else len(sizes) < n_windows


@pytest.mark.parametrize("text", ["长江" * 40, "重庆，" * 30, "我在北京。" * 20, "a " * 50])
def test_no_character_is_lost(text: str, pretrained: Pretrained) -> None:
    """Only texts of white space have vectors of zeros."""
    docs = [spacy.blank("zh").make_doc(each) for each in (text, "  ")]
    vectors, blank = layer(pretrained("mlm")).predict(docs)
    assert np.abs(vectors).sum(1).min() > 0
    assert len(blank)
    assert not blank.any()


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
    words = blank("jieba")
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


@pytest.mark.parametrize("unit", ["token", "char"])
def test_the_gradient_goes_back(unit: Unit, pretrained: Pretrained) -> None:
    """It is that of the vectors by the weights."""
    made = layer(pretrained("mlm"), dropout=0.0)
    ask_for(unit, made)
    docs = [blank("jieba").make_doc(text) for text in ("王经理在 重庆。", "", "开会", "去 重庆")]
    vectors, backprop = made.begin_update(docs)
    lengths = [sum(map(len, doc)) if unit == "char" else len(doc) for doc in docs]
    assert list(map(len, vectors)) == lengths
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
    assert same(True, fine_tune=False)


def test_frozen_below_a_translator(pretrained: Pretrained) -> None:
    """Trained, saved and made compact; one sentence is longer than the encoder's windows."""
    nlp = with_tok2vec(encoder(pretrained("mlm"), fine_tune=False, remember=1))
    train_translator(nlp, 1)
    tok2vec = shim_of(below(nlp, "seq2seq_translator"))
    before = tok2vec.to_bytes()
    train_translator(nlp, 60)
    assert tok2vec.to_bytes() == before
    assert set(tok2vec.memory.vectors) != set()
    texts = [*SENTENCES, "王芳喜欢" * 6]
    written = translations(nlp, texts)
    assert written[0][0] == "I like tea."
    again = with_tok2vec(encoder(None)).from_bytes(nlp.to_bytes())
    assert translations(again, texts) == written
    Compactor(nlp).apply(CompressConfig(bits=8))
    assert translations(nlp, SENTENCES) == translations(again, SENTENCES)
    assert len(nlp.to_bytes()) < 0.5 * len(again.to_bytes())


@pytest.mark.parametrize("frozen", [{"fine_tune": False}, {"frozen_steps": 1}], ids=str)
def test_a_frozen_encoder_remembers_texts(
    frozen: dict[str, Any], pretrained: Pretrained, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = layer(pretrained("mlm"), dropout=0.0, remember=1, **frozen)
    shim = shim_of(made)
    nlp = spacy.blank("zh")
    first, second, third = map(nlp.make_doc, ["王经理在重庆。", "王经理开会。", "李经理在重庆。"])

    def vectors(docs: list[Any], is_train: bool = True) -> list[Any]:
        return [each.copy() for each in made(docs, is_train)[0]]

    expected = vectors([first, second], is_train=False)
    assert all(map(np.array_equal, vectors([second, first])[::-1], expected))
    with torch.no_grad():
        for parameter in shim.module.parameters():
            parameter *= 1.5
    changed = vectors([first, second, third], is_train=False)
    assert not np.allclose(changed[0], expected[0])
    found = vectors([first, third, second, third])
    assert all(map(np.array_equal, found, [expected[0], changed[2], expected[1], changed[2]]))
    kept = shim.memory.vectors.values()
    assert all(each.base is None for each in kept)  # no part of the vectors of a batch
    assert shim.memory.n_bytes == sum(each.nbytes for each in kept)
    # What is full stays full, and what learns forgets.
    monkeypatch.setattr("spacy_flat.encoder.model.MEGABYTE", shim.memory.n_bytes + 200)
    longer, shorter = map(nlp.make_doc, ["王经理昨天在重庆开会。", "王。"])
    vectors([longer, shorter])
    assert len(kept) == 4
    assert pickle.loads(pickle.dumps(shim)).memory.vectors == {}
    if "frozen_steps" in frozen:
        shim.finish_update(AdamW(0.001))
        assert np.array_equal(vectors([first])[0], changed[0])
        assert (shim.memory.vectors, shim.memory.n_bytes) == ({}, 0)
    else:
        shim.from_bytes(shim.to_bytes())
        assert np.array_equal(vectors([first])[0], changed[0])


@pytest.mark.parametrize("unit", ["token", "char"])
def test_remembered_vectors_are_those_of_the_units(unit: Unit, pretrained: Pretrained) -> None:
    made = layer(pretrained("mlm"), fine_tune=False, remember=1)
    ask_for(unit, made)
    vocab = spacy.blank("zh").vocab
    docs = [
        Doc(vocab, ["重庆", "市"], [False, False]),
        Doc(vocab, ["重", "庆市"], [False, False]),
        Doc(vocab, ["重庆", "市"], [True, False]),
        Doc(vocab, ["重庆", " ", "市"], [False] * 3),
    ]
    for _ in range(2):
        found, expected = made(docs, True)[0], made.predict(docs)
        assert all(map(np.array_equal, found, expected))


# What is wrong


def refused(code: str, make: Callable[[], object]) -> None:
    with pytest.raises((ValueError, FileNotFoundError), match=code):
        make()


def test_wrong_settings(pretrained: Pretrained, tmp_path: Path) -> None:
    folder = pretrained("mlm")
    refused("F389", lambda: build_encoder(None).initialize())
    refused("F382", lambda: layer(tmp_path))
    refused(r"F305.*Encoder.v2: layers = 3 .* from 1 to 2", lambda: layer(folder, layers=3))
    with pytest.warns(UserWarning, match=r"W381.* max_length = 18\."):
        refused(r"F305.*max_length = 19 .* to 18", lambda: layer(folder, max_length=19))
    saved = layer(folder).to_bytes()
    refused("F307", lambda: build_encoder(folder, layers=2).from_bytes(saved))
    loaded = build_encoder(None, fine_tune=False).from_bytes(saved)
    assert loaded.get_dim("nO") == 16
    with pytest.raises(ValueError, match="F200"):
        build_encoder(None).from_bytes(saved[:-1] + b"x")
