"""A small pipeline that has learnt six texts by heart, and what it was made of."""

from collections.abc import Callable
from typing import Any

import pytest
import spacy
from blocks import pipe_config, variant
from ner.conftest import blank
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import fix_random_seed

from spacy_flat.generator.component import CharGenerator
from spacy_flat.nn.optimizers import AdamW

Copy = Callable[..., Language]

DROPOUTS = ("embed_dropout", "hidden_dropout", "output_dropout", "key_dropout")
NETWORK = {"width": 32, **dict.fromkeys(DROPOUTS, 0.0)}
TEXT = {"embed_width": 16, "min_freq": 1}

POEMS = [
    "床前明月光，疑是地上霜。举头望明月，低头思故乡。",
    "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。",
    "春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。",
]
TEXTS = [*POEMS, "New York, 3 May", "😀 两  个空格\n", "春"]


def add(
    nlp: Language,
    network: dict[str, Any] | None = None,
    text: dict[str, Any] | None = None,
    name: str = "char_generator",
    **settings: Any,
) -> CharGenerator:
    """Add the component, not initialised, to a pipeline."""
    model = {"network": {**NETWORK, **(network or {})}, "text": {**TEXT, **(text or {})}}
    pipe = nlp.add_pipe(
        "char_generator", name=name, config=pipe_config("char_generator", model, **settings)
    )
    assert isinstance(pipe, CharGenerator)
    return pipe


def generator(nlp: Language, name: str = "char_generator") -> CharGenerator:
    pipe = nlp.get_pipe(name)
    assert isinstance(pipe, CharGenerator)
    return pipe


def examples_of(nlp: Language, texts: list[str] = TEXTS) -> list[Example]:
    return [Example(nlp.make_doc(text), nlp.make_doc(text)) for text in texts]


def train(nlp: Language, steps: int = 60, texts: list[str] = TEXTS) -> list[float]:
    """Initialise and train the pipeline; the losses of all steps of its last component."""
    fix_random_seed(0)
    examples = examples_of(nlp, texts)
    optimizer = nlp.initialize(lambda: examples, sgd=AdamW(0.02))
    name = nlp.pipe_names[-1]
    return [nlp.update(examples, sgd=optimizer, losses={})[name] for _ in range(steps)]


def make(*args: Any, texts: list[str] = TEXTS, steps: int = 0, **kwargs: Any) -> Language:
    """A pipeline with a network; it has learnt nothing where there are no steps."""
    nlp = blank()
    add(nlp, *args, **kwargs)
    train(nlp, steps, texts)
    return nlp


def written(doc: Doc) -> tuple[float, ...]:
    """What the component writes to a Doc; nothing to an empty one."""
    of_text = (doc._.log_prob, doc._.perplexity, doc._.oov_rate)
    assert (None in of_text) == (len(doc) == 0)
    return (*of_text, *doc._.char_surprisal.tolist()) if len(doc) else ()


def found(nlp: Language, texts: list[str], **options: Any) -> list[tuple[float, ...]]:
    """What the pipeline writes to the Docs of texts."""
    return [written(doc) for doc in nlp.pipe(texts, **options)]


@pytest.fixture(scope="session")
def trained() -> Language:
    """Knows the texts. Not to be changed: take `copy_of`."""
    return make(steps=60)


@pytest.fixture
def copy_of() -> Copy:
    """Makes a copy of a pipeline that may be changed, with other options of the text."""

    def copy(nlp: Language, **text: int) -> Language:
        config = nlp.config.copy()
        config["components"]["char_generator"]["model"]["text"] |= variant(
            "spacy-flat.TextOptions.v2", text
        )
        return spacy.util.load_model_from_config(config).from_bytes(nlp.to_bytes())

    return copy
