"""Learning: the loss, its gradient, and what a network is built for."""

import numpy as np
import pytest
import torch
from spacy.language import Language

from spacy_flat.nn.optimizers import AdamW
from spacy_flat.vectors import TextVectors

from .conftest import POEMS, TEXTS, Copy, add, blank, examples_of, found, generator, make


def gradients(nlp: Language, texts: list[str] = TEXTS) -> dict[str, torch.Tensor]:
    generator(nlp).update(examples_of(nlp, texts))
    network = generator(nlp).model.shims[0].module
    found = {name: each.grad.to_dense().clone() for name, each in network.named_parameters()}
    network.zero_grad()
    return found


def test_gradient_is_truncated_between_pieces(copy_of: Copy) -> None:
    """It is that of two texts, the second of which begins with the state of the first."""
    nlp = make()
    text = POEMS[0]
    found = gradients(copy_of(nlp, piece_length=10), [text])
    network = generator(nlp).model.shims[0].module
    encoder = generator(nlp).model.attrs["featuriser"]
    start, end = encoder.marks
    keys = np.array([start, *encoder.keys(text), end])
    network.train()
    network.zero_grad()
    state = None
    for place in range(0, len(keys) - 1, 10):
        part = keys[place : place + 11]
        hidden, state = network.read(part[None, :-1], state)
        state = [tuple(each.detach() for each in layer) for layer in state]
        loss = network.surprisals(network.scores(hidden[0]), part[1:]).sum() / (len(text) + 1)
        loss.backward()
    for name, parameter in network.named_parameters():
        assert torch.allclose(found[name], parameter.grad.to_dense(), atol=1e-6), name
    uncut = gradients(copy_of(nlp), [text])
    assert not torch.allclose(uncut["layers.0.weight_hh_l0"], found["layers.0.weight_hh_l0"])


# Dropouts


@pytest.mark.parametrize(
    "name", ["embed_dropout", "hidden_dropout", "output_dropout", "key_dropout"]
)
def test_dropouts_are_of_training_alone(name: str) -> None:
    nlp = make({name: 0.5, "layers": 2}, steps=1)
    assert found(nlp, TEXTS) == found(nlp, TEXTS)

    def losses(nlp: Language) -> set[float]:
        examples = examples_of(nlp, [POEMS[0]])
        return {generator(nlp).update(examples)["char_generator"] for _ in range(2)}

    assert len(losses(nlp)) == 2
    assert len(losses(make({"layers": 2}, steps=1))) == 1


def test_dropout_is_the_same_for_all_characters() -> None:
    nlp = make({"output_dropout": 0.5})
    encoder = generator(nlp).model.attrs["featuriser"]
    with generator(nlp).model.shims[0].training() as network:
        keys = np.stack([encoder.keys(poem) for poem in POEMS])
        hidden, _ = network.read(keys)
    dropped = hidden == 0  # [B, C, D]
    assert 0.3 < dropped.float().mean() < 0.7
    assert (dropped == dropped[:, :1]).all()
    assert not torch.equal(dropped[0, 0], dropped[1, 0])


# What a network is built for


def test_rare_characters_are_unknown() -> None:
    nlp = make(None, {"min_freq": 2}, texts=["明明月光光", "月"])
    doc = nlp("明月光龘")
    assert doc._.oov_rate == 0.25
    encoder = generator(nlp).model.attrs["featuriser"]
    assert sorted(encoder.strings) == sorted(["", "", "", "明", "月", "光"])


@pytest.mark.parametrize("fine_tune", [True, False])
def test_pretrained_vectors(fine_tune: bool) -> None:
    """They are not changed; offsets are learnt where asked for."""
    nlp = blank()
    pipe = add(nlp, None, {"fine_tune": fine_tune, "normalise_embeddings": False})
    data = np.random.default_rng(0).normal(size=(3, 8)).astype(np.float32)
    examples = examples_of(nlp)
    pipe.initialize(lambda: examples, char_vectors=TextVectors(["月", "，", "未"], data))
    network, encoder = pipe.model.shims[0].module, pipe.model.attrs["featuriser"]
    keys = torch.from_numpy(encoder.keys("月，"))
    assert torch.equal(network.chars(keys), torch.from_numpy(data[:2]))
    losses = [nlp.update(examples, sgd=AdamW(0.02), losses={}) for _ in range(10)]
    assert losses[-1]["char_generator"] < losses[0]["char_generator"]
    assert torch.equal(network.chars.pretrained[keys], torch.from_numpy(data[:2]))
    assert torch.equal(network.chars(keys), torch.from_numpy(data[:2])) is not fine_tune
    assert nlp("未")._.oov_rate == 1
    with pytest.raises(TypeError, match=r"F040.*char_vectors"):
        pipe.initialize(lambda: examples, char_vectors="char.vec")  # type: ignore[arg-type]


def test_the_loss_of_predictions_is_that_of_an_update() -> None:
    nlp = make(text={"piece_length": 10, "batch_size": 50})
    pipe, examples = generator(nlp), examples_of(nlp)
    loss, found = pipe.get_loss(examples, pipe.model.predict([eg.predicted for eg in examples]))
    assert loss == pytest.approx(pipe.update(examples)["char_generator"], rel=1e-5)
    assert sum(each.shape[0] for each in found) == sum(len(text) + 1 for text in TEXTS)
    for each in found:  # softmax less one-hot
        assert each.sum().item() == pytest.approx(0, abs=1e-5)
