"""A small text, and small encoders that are pretrained on it."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from blocks import pipe_config
from ner.conftest import NETWORK, TINY, add_flat, blank, examples_of
from spacy.language import Language
from spacy.training import Example
from thinc.api import fix_random_seed

from spacy_flat.encoder.options import Budget, PretrainOptions
from spacy_flat.encoder.recipes import RECIPES, Objective
from spacy_flat.encoder.training import Report, pretrain
from spacy_flat.lexicon import Entry, Lexicon
from spacy_flat.nn.optimizers import AdamW

SURNAMES, PLACES = "王李张刘陈", ["重庆", "上海", "南京市", "北京", "长江大桥"]
WORDS = Lexicon(Entry(word) for word in [*PLACES, "昨天", "开会", "药店", "今天"])
SIZES = {"width": 16, "layers": 2, "num_heads": 2, "length": 20, "batch": 4, "min_count": 1}
OBJECTIVES: list[Objective] = list(RECIPES)
LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": 16, "upstream": "*"}
WINDOW = {"max_length": 18, "overlap": 6}

Pretrained = Callable[[Objective], Path]


def sentences(n: int) -> list[str]:
    """Sentences of a kind, the same each time."""
    rng = Random(1)
    return [
        f"{rng.choice(SURNAMES)}经理{rng.choice(['昨天', '今天'])}在{rng.choice(PLACES)}开会。"
        for _ in range(n)
    ]


def options(objective: Objective, **other: Any) -> PretrainOptions:
    return PretrainOptions(objective=objective, **{"save_every": 1000, **SIZES, **other})


def run(texts: Path, out: Path, wanted: PretrainOptions, steps: int, **other: Any) -> Report:
    """Pretrain for some steps."""
    words = None if wanted.objective == "lm" else WORDS
    return pretrain([texts], out, wanted, Budget(steps=steps), words=words, **other)


def encoder(path: Path | None, **options: Any) -> dict[str, Any]:
    """The config of a tok2vec."""
    block = {"@architectures": "spacy-flat.Encoder.v2", "path": path and str(path)}
    return {**block, **WINDOW, **options}


def with_flat(tok2vec: dict[str, Any]) -> Language:
    nlp = blank()
    add_flat(nlp, model={**TINY["model"], "tok2vec": tok2vec})
    return nlp


def with_shared(path: Path, segmenter: str = "char", **options: Any) -> Language:
    """Two components that listen to an encoder, without dropout."""
    still = {name: value for name, value in NETWORK.items() if name[:4] not in ("latt", "word")}
    nlp = blank(segmenter)
    nlp.add_pipe("tok2vec", config={"model": encoder(path, dropout=0.0, **options)})
    nlp.add_pipe(
        "tener_ner", config=pipe_config("tener_ner", {"network": still, "tok2vec": LISTENER})
    )
    add_flat(nlp, model={**TINY["model"], "tok2vec": LISTENER}, overwrite=True)
    return nlp


def start(nlp: Language, examples: list[Example] | None = None, **optimizer: Any) -> AdamW:
    """Initialise a pipeline, the same each time."""
    fix_random_seed(0)
    nlp.config["initialize"]["components"]["flat_ner"] = {"lexicon": {"@misc": "test.lexicon"}}
    sgd = AdamW(**{"learn_rate": 0.02, **optimizer})
    nlp.initialize(lambda: examples or examples_of(nlp), sgd=sgd)
    return sgd


@pytest.fixture(scope="session")
def raw_text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("raw") / "text.txt"
    path.write_text("\n".join(sentences(400)), "utf-8")
    return path


@pytest.fixture(scope="session")
def pretrained(raw_text: Path, tmp_path_factory: pytest.TempPathFactory) -> Pretrained:
    """The folder of an encoder of each objective."""
    folder = tmp_path_factory.mktemp("encoders")

    def made(objective: Objective) -> Path:
        out = folder / objective
        if not out.exists():
            run(raw_text, out, options(objective), 8)
        return out

    return made
