"""A small pipeline that has learnt ten sentences by heart, and what it was made of."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import pytest
import spacy
from blocks import blocks, variant
from learning import settle
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import registry
from thinc.api import fix_random_seed

from spacy_flat.lexicon import Entry, Lexicon
from spacy_flat.ner.component import CRFEntityRecognizer
from spacy_flat.nn.optimizers import AdamW

Span = tuple[int, int, str]
Copy = Callable[..., Language]

DROPOUTS = ("embed", "lattice", "output", "ff", "key", "word")
NETWORK = {"num_heads": 2, "head_dim": 8, **{f"{name}_dropout": 0.0 for name in DROPOUTS}}
TINY = {"model": {"network": NETWORK, "lattice": {"embed_width": 16, "gazetteer_rate": 0.0}}}

HASH_EMBED = {
    "@architectures": "spacy.HashEmbedCNN.v2",
    "pretrained_vectors": None,
    "width": 12,
    "depth": 1,
    "embed_size": 50,
    "window_size": 1,
    "maxout_pieces": 2,
    "subword_features": False,
}
LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": 12, "upstream": "*"}

WORDS = [
    Entry("人和", 120, "nz"),
    Entry("药店", 300, "n"),
    Entry("人和药店", 5, "nt"),
    Entry("重庆", 2000, "ns"),
    Entry("开业", 90, "v"),
    Entry("南京", 1800, "ns"),
    Entry("南京市", 700, "ns"),
    Entry("市长", 600, "n"),
    Entry("长江", 900, "ns"),
    Entry("长江大桥", 200, "ns"),
    Entry("大桥", 250, "n"),
    Entry("上海", 3000, "ns"),
    Entry("北京大学", 400, "nt"),
    Entry("北京", 5000, "ns"),
    Entry("大学", 2500, "n"),
    Entry("王小明"),
    Entry("𠮷公司"),
]

SENTENCES = [
    ("人和药店在重庆开业。", ["ORG 人和药店", "LOC 重庆"]),
    ("王小明昨天去了上海。", ["PER 王小明", "LOC 上海"]),
    ("南京市长江大桥来了。", ["LOC 南京", "PER 江大桥"]),  # jieba: 南京市 长江大桥
    ("他在北京大学读书。", ["ORG 北京大学"]),
    ("今天没有新闻。", []),
    ("李雷和韩梅梅住在北京。", ["PER 李雷", "PER 韩梅梅", "LOC 北京"]),
    ("小店卖 iPhone 和 3 种茶。", []),
    ("𠮷公司 在南京 开会", ["ORG 𠮷公司", "LOC 南京"]),
    ("张三，李四，王五都来了！", ["PER 张三", "PER 李四", "PER 王五"]),
    ("上海", ["LOC 上海"]),
]


def spans_of(text: str, marks: Iterable[str]) -> list[Span]:
    """Where "LABEL surface" is in the text, from left to right."""
    spans = []
    end = 0
    for label, surface in (mark.split(" ", 1) for mark in marks):
        start = text.index(surface, end)
        end = start + len(surface)
        spans.append((start, end, label))
    return spans


TEXTS = [text for text, _ in SENTENCES]
GOLD = [spans_of(text, marks) for text, marks in SENTENCES]


@cache
def characters() -> Language:
    return spacy.blank("zh")


def char_example(nlp: Language, text: str, spans: Iterable[Span]) -> Example:
    """An example whose reference is of characters, whatever the pipeline's tokens are, as a
    converted corpus has it."""
    reference = characters().make_doc(text)
    ents = [reference.char_span(start, end, label) for start, end, label in spans]
    assert None not in ents
    reference.set_ents(ents)
    return Example(nlp.make_doc(text), reference)


def examples_of(nlp: Language) -> list[Example]:
    return [char_example(nlp, text, spans) for text, spans in zip(TEXTS, GOLD, strict=True)]


@registry.misc("test.lexicon")
def lexicon() -> Lexicon:
    return Lexicon(WORDS)


def blank(segmenter: str = "char") -> Language:
    return spacy.blank("zh", config={"nlp": {"tokenizer": {"segmenter": segmenter}}})


def add_flat(nlp: Language, config: dict[str, Any] = TINY, **options: Any) -> CRFEntityRecognizer:
    """Add the component, not initialised, to a pipeline."""
    config = {**config, **options}
    config["model"] = blocks("flat_ner", config.get("model", {}))
    ner = nlp.add_pipe("flat_ner", config=config)
    assert isinstance(ner, CRFEntityRecognizer)
    return ner


def train(nlp: Language, examples: list[Example] | None = None, steps: int = 30) -> list[float]:
    """Initialise and train the pipeline; the losses of all steps."""
    fix_random_seed(0)
    examples = examples_of(nlp) if examples is None else examples
    nlp.config["initialize"]["components"]["flat_ner"] = {"lexicon": {"@misc": "test.lexicon"}}
    optimizer = nlp.initialize(lambda: examples, sgd=AdamW(0.02))
    return settle(nlp, examples, optimizer, steps)


def check_known(
    nlp: Language, name: str = "flat_ner", examples: Sequence[Example] | None = None
) -> None:
    """Assert that a pipeline knows its sentences far better than tests need: the probability of
    each one's tags is above 2/3. Other processors round otherwise."""
    examples = examples_of(nlp) if examples is None else examples
    docs = [example.predicted.copy() for example in examples]
    for before, pipe in nlp.pipeline:
        if before == name:
            break
        docs = list(pipe.pipe(docs))  # type: ignore[attr-defined]
    ner: Any = nlp.get_pipe(name)
    for doc, example in zip(docs, examples, strict=True):
        loss, _ = ner.get_loss([example], ner.model.predict([doc]))
        assert loss < 0.4, f"{doc.text}: a loss of {loss} is too near the edge"


def found(nlp: Language, texts: Iterable[str] = TEXTS) -> list[list[Span]]:
    """The entities found in texts, exact characters."""
    return [doc._.char_ents for doc in nlp.pipe(texts)]


def flat(nlp: Language) -> CRFEntityRecognizer:
    ner = nlp.get_pipe("flat_ner")
    assert isinstance(ner, CRFEntityRecognizer)
    return ner


def entities(doc: Doc) -> list[tuple[str, str]]:
    return [(ent.label_, ent.text) for ent in doc.ents]


def marked(text: str) -> list[tuple[str, str]]:
    """The gold entities of one of the ten sentences."""
    return [tuple(mark.split(" ", 1)) for mark in dict(SENTENCES)[text]]  # type: ignore[misc]


@pytest.fixture(scope="session")
def trained() -> Language:
    """Knows the ten sentences. Not to be changed: take `copy_of`."""
    nlp = blank()
    add_flat(nlp)
    train(nlp)
    check_known(nlp)
    return nlp


@pytest.fixture(scope="session")
def jieba_trained() -> Language:
    """The same on the tokens of jieba."""
    nlp = blank("jieba")
    add_flat(nlp)
    train(nlp)
    check_known(nlp)
    return nlp


@pytest.fixture
def copy_of() -> Copy:
    """Makes a copy of a pipeline that may be changed, with other options of the lattice."""

    def copy(nlp: Language, **lattice: int) -> Language:
        config = nlp.config.copy()
        own = config["components"]["flat_ner"]["model"]["lattice"]
        new = variant("spacy-flat.LatticeOptions.v2", lattice)
        rest = {**(own.get("variant") or {}), **new.pop("variant", {})}
        own |= {**new, "variant": rest or None}
        return spacy.util.load_model_from_config(config).from_bytes(nlp.to_bytes())

    return copy
