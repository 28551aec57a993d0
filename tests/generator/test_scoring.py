"""What is written to Docs, beside a slow reference that goes step by step."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from spacy.language import Language
from spacy.training import Example

from spacy_flat.generator.scores import score_perplexity

from .conftest import TEXTS, Copy, generator, make

KINDS: dict[str, dict[str, Any]] = {
    "lstm": {},
    "gru": {"cell": "gru"},
    "two layers": {"layers": 2},
    "two layers of gru": {"layers": 2, "cell": "gru"},
    "tied without a map": {"width": 16},
}

Array = NDArray[np.float64]


def reference(nlp: Language, text: str) -> list[float]:
    """−ln P of each character of a text and of its end, one step of the equations after the other
    (Hochreiter & Schmidhuber, 1997; Cho et al., 2014)."""
    pipe = generator(nlp)
    network, encoder = pipe.model.shims[0].module, pipe.model.attrs["featuriser"]
    options = pipe.model.attrs["options"]
    weights = {name: value.double().numpy() for name, value in network.state_dict().items()}
    table = weights["chars.offsets.weight"][:-1] + weights["chars.pretrained"]
    start, end = encoder.marks
    key = {string: key for key, string in enumerate(encoder.strings) if string}
    keys = [start, *(key.get(character, 0) for character in text), end]
    state = [(np.zeros(options.width), np.zeros(options.width)) for _ in range(options.layers)]
    surprisals = []
    for current, following in pairwise(keys):
        x = table[current]
        for number in range(options.layers):
            state[number] = cell(options.cell, weights, number, x, *state[number])
            x = state[number][0]
        if "project.weight" in weights:
            x = weights["project.weight"] @ x + weights["project.bias"]
        scores = table @ x + weights["bias"]
        scores[start] = -np.inf
        surprisals.append(math.log(np.exp(scores).sum()) - scores[following])
    return surprisals


def cell(
    kind: str, weights: dict[str, Array], number: int, x: Array, hidden: Array, memory: Array
) -> tuple[Array, Array]:
    def part(name: str) -> Array:
        return weights[f"layers.{number}.{name}_l0"]

    def sigmoid(values: Array) -> Array:
        return 1 / (1 + np.exp(-values))

    own = part("weight_ih") @ x + part("bias_ih")
    before = part("weight_hh") @ hidden + part("bias_hh")
    if kind == "lstm":
        let_in, forget, new, let_out = np.split(own + before, 4)
        memory = sigmoid(forget) * memory + sigmoid(let_in) * np.tanh(new)
        return sigmoid(let_out) * np.tanh(memory), memory
    (reset, update, new), (old_reset, old_update, old) = np.split(own, 3), np.split(before, 3)
    kept = sigmoid(update + old_update)
    new = np.tanh(new + sigmoid(reset + old_reset) * old)
    return (1 - kept) * new + kept * hidden, memory


@pytest.fixture(scope="module", params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> Language:
    return make(KINDS[request.param], steps=15)


@pytest.mark.parametrize(("piece_length", "batch_size"), [(1, 3), (7, 300), (1000, 1)])
def test_surprisals_are_those_of_the_equations(
    kind: Language, copy_of: Copy, piece_length: int, batch_size: int
) -> None:
    """Whatever the pieces and batches in which texts are computed."""
    nlp = copy_of(kind, piece_length=piece_length, batch_size=batch_size)
    texts = [*TEXTS, "未见之字，明月xyz", "👨\u200d👩é e\u0301\0", "".join(TEXTS)]
    for doc in nlp.pipe(texts):
        expected = reference(nlp, doc.text)
        assert doc._.log_prob == pytest.approx(-sum(expected), rel=1e-4)
        assert doc._.perplexity == pytest.approx(math.exp(np.mean(expected)), rel=1e-4)
        bits = [surprisal / math.log(2) for surprisal in expected[:-1]]
        assert doc._.char_surprisal.tolist() == pytest.approx(bits, rel=1e-3, abs=1e-4)


def test_unknown_characters_are_reported(trained: Language) -> None:
    assert trained("明月")._.oov_rate == 0
    doc = trained("明月龘x")
    assert doc._.oov_rate == 0.5
    # An unknown one is as likely as any other.
    assert doc._.log_prob == pytest.approx(trained("明月饕z")._.log_prob)


def test_empty_texts(trained: Language) -> None:
    assert score_perplexity([])["perplexity"] is None
    for doc in [trained(""), *list(trained.pipe(["", "春", ""]))[::2]]:
        assert doc._.log_prob is doc._.perplexity is doc._.oov_rate is None
        assert doc._.char_surprisal is None


# Scores of a corpus


def scored(nlp: Language, texts: list[str]) -> list[Example]:
    return [Example(doc, nlp.make_doc(doc.text)) for doc in nlp.pipe(texts)]


def test_perplexity_is_that_of_all_characters(trained: Language) -> None:
    texts = [*TEXTS, "", "龘月"]
    surprisals = [each for text in texts if text for each in reference(trained, text)]
    scores = trained.evaluate(scored(trained, texts))
    assert scores["char_log_prob"] == pytest.approx(-np.mean(surprisals), rel=1e-4)
    assert scores["perplexity"] == pytest.approx(math.exp(np.mean(surprisals)), rel=1e-4)
    assert scores["oov_rate"] == pytest.approx(1 / sum(map(len, texts)))
