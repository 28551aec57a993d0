"""Texts that are written: which characters are chosen, and how."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from spacy.language import Language

from spacy_flat.generator.component import CharGenerator
from spacy_flat.generator.sampling import Sampling

from .conftest import POEMS, TEXTS, Copy, generator, make


def scores_behind(pipe: CharGenerator, text: str) -> np.ndarray:
    """[K] logits of what follows a text, computed anew from its first character."""
    shim, encoder = pipe.model.shims[0], pipe.model.attrs["featuriser"]
    keys = np.array([[encoder.marks[0], *encoder.keys(text)]])
    with shim.predicting() as network:
        hidden, _ = network.read(keys)
        return network.scores(hidden[0, -1]).numpy()


def greedy(pipe: CharGenerator, prompt: str, max_length: int) -> str:
    encoder = pipe.model.attrs["featuriser"]
    text = prompt
    for _ in range(max_length):
        scores = scores_behind(pipe, text)
        scores[0] = -np.inf  # the unknown character
        best = int(scores.argmax())
        if best == encoder.marks[1]:
            break
        text += encoder.strings[best]
    return text


@pytest.fixture(scope="module", params=["lstm", "gru", "two layers"])
def restless(request: pytest.FixtureRequest) -> Language:
    """Has hardly learnt anything, so that many characters are likely."""
    kinds: dict[str, dict[str, Any]] = {"gru": {"cell": "gru"}, "two layers": {"layers": 2}}
    return make(kinds.get(request.param), steps=12)


@pytest.mark.parametrize("prompt", ["", "床前明月光，", "未见\ud800春"])
@pytest.mark.parametrize("piece_length", [2, 100])
def test_greedy_is_the_best_character_each_time(
    restless: Language, copy_of: Copy, prompt: str, piece_length: int
) -> None:
    """With the state that is kept as without."""
    pipe = generator(copy_of(restless, piece_length=piece_length))
    expected = greedy(pipe, prompt, 30)
    assert pipe.generate(prompt, temperature=0, max_length=30) == [expected]
    assert pipe.generate(prompt, temperature=0, max_length=30, n=3) == [expected] * 3


def test_what_was_learnt_is_written(trained: Language) -> None:
    pipe = generator(trained)
    for poem in POEMS:
        assert pipe.generate(poem[:1], temperature=0)[0] in TEXTS
        assert pipe.generate(poem[:2], temperature=0) == [poem]
    assert set(pipe.generate(n=20, seed=0, temperature=0.3)) <= {*TEXTS}


def test_seeds(restless: Language) -> None:
    pipe = generator(restless)
    texts = pipe.generate(n=8, seed=5)
    assert len(set(texts)) > 4
    assert pipe.generate(n=8, seed=5) == texts
    assert pipe.generate(n=3, seed=5) == texts[:3]
    assert pipe.generate(n=8, seed=6) != texts
    assert pipe.generate(n=8) != pipe.generate(n=8)


@pytest.mark.parametrize(
    "arguments",
    [
        *({"n": 0}, {"max_length": -1}, {"seed": "x"}, {"top_k": -1}, {"top_p": 0}),
        {"temperature": float("nan")},
    ],
)
def test_arguments_out_of_range(trained: Language, arguments: dict[str, Any]) -> None:
    pipe = generator(trained)
    with pytest.raises(ValueError, match=f"F341.*{next(iter(arguments))}"):
        pipe.generate(**arguments)
    with pytest.raises(TypeError, match="F028"):
        pipe.generate(3)  # type: ignore[arg-type]


# Sampling

SCORES = np.log(np.array([[0.1, 0.4, 0.2, 0.25, 0.05], [0.05, 0.05, 0.1, 0.2, 0.6]]))
ALL = np.ones(SCORES.shape, dtype=bool)


def shares(sampling: Sampling, allowed: np.ndarray = ALL) -> np.ndarray:
    """How often each key is chosen, for many numbers evenly between 0 and 1."""
    counts = np.zeros(SCORES.shape)
    draws = np.linspace(0, 1, 20_000, endpoint=False)
    for row in range(2):
        arrays = (np.repeat(each[[row]], len(draws), axis=0) for each in (SCORES, allowed))
        counts[row] = np.bincount(sampling.choose(*arrays, draws), minlength=SCORES.shape[1])
    return counts / 20_000


def expected(*rows: list[float]) -> Any:
    return pytest.approx(np.array([np.array(row) / sum(row) for row in rows]), abs=1e-3)


def test_temperature() -> None:
    assert shares(Sampling()) == pytest.approx(np.exp(SCORES), abs=1e-3)
    assert shares(Sampling(temperature=0.5)) == expected(*(np.exp(SCORES) ** 2).tolist())
    for temperature, dtype in product((0, 1e-9, 1e-46, 1e-320), (np.float32, np.float64)):
        sampling = Sampling(temperature=temperature)
        keys = sampling.choose(SCORES.astype(dtype), ALL, np.array([0.99, 0.0]))
        assert keys.tolist() == [1, 4]


def test_top_k() -> None:
    assert shares(Sampling(top_k=2)) == expected([0, 0.4, 0, 0.25, 0], [0, 0, 0, 0.2, 0.6])
    assert shares(Sampling(top_k=9)) == pytest.approx(np.exp(SCORES), abs=1e-3)


def test_top_p() -> None:
    """The smallest set that has it: 0.4 + 0.25 + 0.2, and 0.6 + 0.2."""
    nucleus = expected([0, 0.4, 0.2, 0.25, 0], [0, 0, 0, 0.2, 0.6])
    assert shares(Sampling(top_p=0.7)) == nucleus
    assert shares(Sampling(top_p=0.01)) == expected([0, 1, 0, 0, 0], [0, 0, 0, 0, 1])
    # Of what top_k leaves: 0.4 / 0.65 is above 0.6, 0.6 / 0.8 is not above 0.76.
    assert shares(Sampling(top_p=0.76, top_k=2))[1] == pytest.approx(
        [0, 0, 0, 0.25, 0.75], abs=0.01
    )
    assert shares(Sampling(top_p=0.6, top_k=2))[0] == pytest.approx([0, 1, 0, 0, 0])


def test_only_what_is_allowed() -> None:
    allowed = np.array([[1, 0, 1, 0, 0], [0, 1, 0, 0, 0]], dtype=bool)
    assert shares(Sampling(), allowed=allowed) == expected([0.1, 0, 0.2, 0, 0], [0, 1, 0, 0, 0])
