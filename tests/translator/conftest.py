"""A small pipeline that has learnt a few pairs by heart, and what it was made of."""

import pickle
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import pytest
from blocks import pipe_config
from learning import settle
from ner.conftest import blank
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import fix_random_seed

from spacy_flat.nn.optimizers import AdamW
from spacy_flat.translator.component import Seq2SeqTranslator

Copy = Callable[[Language], Language]

PAIRS = [
    ("我喜欢茶。", "I like tea."),
    ("他住在北京。", "He lives in Beijing."),
    ("王芳喜欢北京。", "Wang Fang likes Beijing."),
    ("你有三本书吗？", "Do you have three books?"),
    ("NBA很有名！", "The NBA is famous!"),
]
TEXTS = [source for source, _ in PAIRS]
NAMES = {"王芳": "Wang Fang", "北京": "Beijing"}
DROPOUTS = ("dropout", "ff_dropout", "label_smoothing")
NETWORK = {
    "width": 32,
    "num_heads": 2,
    "ff_width": 64,
    "encoder_layers": 1,
    "decoder_layers": 1,
    **dict.fromkeys(DROPOUTS, 0.0),
}
TEXT = {"min_freq": 1, "target_pieces": 300, "placeholders": 4}


def add(
    nlp: Language,
    network: dict[str, Any] | None = None,
    text: dict[str, Any] | None = None,
    name: str = "seq2seq_translator",
    **settings: Any,
) -> Seq2SeqTranslator:
    """Add the component, not initialised, to a pipeline."""
    model = {"network": {**NETWORK, **(network or {})}, "text": {**TEXT, **(text or {})}}
    config = pipe_config("seq2seq_translator", model, **settings)
    pipe = nlp.add_pipe("seq2seq_translator", name=name, config=config)
    assert isinstance(pipe, Seq2SeqTranslator)
    return pipe


def translator(nlp: Language) -> Seq2SeqTranslator:
    pipe = nlp.get_pipe("seq2seq_translator")
    assert isinstance(pipe, Seq2SeqTranslator)
    return pipe


def examples_of(nlp: Language, pairs: Sequence[tuple[str, str]] = PAIRS) -> list[Example]:
    examples = []
    for source, translation in pairs:
        example = Example(nlp.make_doc(source), nlp.make_doc(source))
        example.reference._.translation = translation
        examples.append(example)
    return examples


def check_known(nlp: Language, pairs: Iterable[tuple[str | Doc, str]]) -> None:
    """Assert that translations are by far the most probable ones, as other processors round
    otherwise."""
    texts, translations = zip(*pairs, strict=True)
    for found, expected in zip(translator(nlp).translate(texts), translations, strict=True):
        assert found.text == expected
        assert found.score > -0.2, f"{expected}: {found.score} is too near the edge"


def train(nlp: Language, steps: int, pairs: list[tuple[str, str]] = PAIRS) -> list[float]:
    """Initialise and train the pipeline; the losses of all steps of its last component."""
    fix_random_seed(0)
    examples = examples_of(nlp, pairs)
    name = nlp.pipe_names[-1]
    nlp.config["initialize"]["components"][name] = {"names": dict(NAMES)}
    optimizer = nlp.initialize(lambda: examples, sgd=AdamW(0.01, weight_decay=0))
    return [nlp.update(examples, sgd=optimizer, losses={})[name] for _ in range(steps)]


def make(*args: Any, steps: int = 0, **kwargs: Any) -> Language:
    """A pipeline with a network; it has learnt nothing where there are no steps."""
    nlp = blank()
    add(nlp, *args, **kwargs)
    train(nlp, steps)
    return nlp


def with_ents(nlp: Language, text: str, *ents: tuple[str, str]) -> Doc:
    """A Doc with entities, given by their texts and labels."""
    doc = nlp.make_doc(text)
    spans = []
    start = 0
    for ent, label in ents:
        start = text.index(ent, start)
        spans.append(doc.char_span(start, start + len(ent), label))
        start += len(ent)
    doc.set_ents(spans)
    return doc


@cache
def make_trained() -> Language:
    """Knows the pairs. Not to be changed: take `copy_of`."""
    nlp = make()
    settle(nlp, examples_of(nlp), AdamW(0.01, weight_decay=0), 400)
    carried = with_ents(nlp, "李小明喜欢北京。", ("李小明", "PER"), ("北京", "LOC"))
    check_known(nlp, [*PAIRS, (carried, "Li Xiaoming likes Beijing.")])
    return nlp


def with_recogniser() -> Language:
    """The same with a component before it that finds two entities."""
    nlp: Language = pickle.loads(pickle.dumps(make_trained()))
    patterns = [
        {"label": label, "pattern": [{"ORTH": char} for char in name]}
        for name, label in (("王芳", "PER"), ("北京", "LOC"))
    ]
    nlp.add_pipe("entity_ruler", first=True).add_patterns(patterns)  # type: ignore[attr-defined]
    return nlp


@pytest.fixture(scope="session")
def trained() -> Language:
    return make_trained()


@pytest.fixture
def copy_of() -> Copy:
    return lambda nlp: pickle.loads(pickle.dumps(nlp))  # type: ignore[no-any-return]
