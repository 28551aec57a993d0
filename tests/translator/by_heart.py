"""Small translators that know a few pairs by heart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import spacy
from blocks import pipe_config
from learning import settle
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed

DEMO = Path(__file__).parents[2] / "assets" / "demo_parallel"
NETWORK = {
    "@misc": "spacy-flat.Seq2SeqOptions.v2",
    "encoder_layers": 1,
    "decoder_layers": 1,
    "width": 64,
    "num_heads": 4,
    "ff_width": 128,
    "dropout": 0.0,
    "label_smoothing": 0.0,
}
TEXT = {"@misc": "spacy-flat.TranslationOptions.v2", "char_min_freq": 1, "placeholders": 4}
FEW = (
    ("王小明住在上海。", "Wang Xiaoming lives in Shanghai."),
    ("李华住在北京。", "Li Hua lives in Beijing."),
    ("王小明在亚马逊工作。", "Wang Xiaoming works at Amazon."),
    ("李华在海燕银行工作。", "Li Hua works at Haiyan Bank."),
)
ENTITIES = {"PER": ("王小明", "李华"), "LOC": ("上海", "北京"), "ORG": ("亚马逊", "海燕银行")}


def examples_of(nlp: Language, pairs: Sequence[tuple[str, str]]) -> list[Example]:
    examples = []
    for source, translation in pairs:
        example = Example(nlp.make_doc(source), nlp.make_doc(source))
        example.reference._.translation = translation
        examples.append(example)
    return examples


def check_known(nlp: Language, pairs: Iterable[tuple[str | Doc, str]]) -> None:
    """Assert that translations are by far the most probable ones, as other processors round
    otherwise."""
    pipe: Any = nlp.get_pipe("seq2seq_translator")
    texts, translations = zip(*pairs, strict=True)
    for (found, *_), expected in zip(pipe.translate(texts), translations, strict=True):
        assert found.text == expected
        assert found.score > -0.2, f"{expected}: {found.score} is too near the edge"


def by_heart(pairs: Sequence[tuple[str, str]], steps: int = 120) -> Language:
    """A Chinese pipeline that has learnt pairs by heart, and the demo corpus's names."""
    fix_random_seed(1)
    nlp = spacy.blank("zh")
    nlp.add_pipe(
        "seq2seq_translator",
        config=pipe_config("seq2seq_translator", {"network": NETWORK, "text": TEXT}),
    )
    names = {"@readers": "spacy-flat.NameList.v1", "path": str(DEMO / "names.tsv")}
    nlp.config["initialize"]["components"]["seq2seq_translator"] = {"names": names}
    examples = examples_of(nlp, pairs)
    optimizer = nlp.initialize(lambda: examples)
    optimizer.learn_rate = 0.01
    settle(nlp, examples, optimizer, steps)
    check_known(nlp, pairs)
    return nlp


def with_entities() -> Language:
    """One that knows `FEW`, with a component before it that finds their entities."""
    nlp = by_heart(FEW)
    ruler = nlp.add_pipe("entity_ruler", first=True)
    patterns = [
        {"label": label, "pattern": [{"ORTH": char} for char in name]}
        for label, names in ENTITIES.items()
        for name in names
    ]
    ruler.add_patterns(patterns)  # type: ignore[attr-defined]
    check_known(nlp, [(nlp(text), translation) for text, translation in FEW])
    return nlp


def english() -> Language:
    """A pipeline that finds two entities of translations."""
    nlp = spacy.blank("en")
    patterns = [{"label": "LOC", "pattern": "Shanghai"}, {"label": "LOC", "pattern": "Beijing"}]
    nlp.add_pipe("entity_ruler").add_patterns(patterns)  # type: ignore[attr-defined]
    return nlp
