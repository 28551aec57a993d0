"""A tiny BERT with random weights, and pipelines that have it beneath."""

import os
from pathlib import Path
from typing import Any

import pytest
import torch
from blocks import pipe_config
from learning import falling
from ner.conftest import NETWORK, TEXTS, blank, examples_of
from spacy.language import Language
from thinc.api import fix_random_seed

from spacy_flat.nn.optimizers import AdamW

pytest.importorskip("spacy_transformers", reason="spacy-transformers is not installed")

WIDTH = 16
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
JOINED = ["2021", "202", "##1", "nba", "in", "##k", "##e", "##a"]
LISTENER = {"@architectures": "spacy-flat.CharacterListener.v1"}
STOCK = {
    "@architectures": "spacy-transformers.TransformerListener.v1",
    "grad_factor": 1.0,
    "upstream": "*",
    "pooling": {"@layers": "reduce_mean.v1"},
}
SEQUENCE = {"embed_width": 8}


def save_encoder(folder: Path, kind: str = "bert", seed: int = 0, **settings: Any) -> Path:
    """An encoder of two layers in Hugging Face's form, with its tokenizer."""
    from transformers import AutoConfig, AutoModel, BertTokenizerFast

    characters = sorted(set("".join(TEXTS).lower()) - {" "} | set("0123456789abcdefghijklmno"))
    folder.mkdir(parents=True)
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join([*SPECIAL, *characters, *JOINED]), "utf-8")
    BertTokenizerFast(str(vocabulary), do_lower_case=True, model_max_length=512).save_pretrained(
        folder
    )
    sizes = {
        "vocab_size": len(SPECIAL) + len(characters) + len(JOINED),
        "hidden_size": WIDTH,
        "embedding_size": WIDTH,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 512,
        "pad_token_id": 0,
    }
    torch.manual_seed(seed)
    config = AutoConfig.for_model(kind, **{**sizes, **settings})
    AutoModel.from_config(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session", autouse=True)
def _alone() -> None:
    """Nothing is downloaded."""
    os.environ["HF_HUB_OFFLINE"] = "1"


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a BERT that knows the characters of the ten sentences."""
    return save_encoder(tmp_path_factory.mktemp("encoders") / "bert")


def add_transformer(nlp: Language, name: str | Path, **network: Any) -> Any:
    """Add the component `transformer`, not initialised, to a pipeline."""
    model = {
        "@architectures": "spacy-flat.CharacterTransformer.v1",
        "name": str(name),
        "network": {"@misc": "spacy-flat.CharacterTransformerOptions.v2", **network},
        "tokenizer_config": {},
        "transformer_config": {},
    }
    return nlp.add_pipe("transformer", config={"model": model})


def add_ner(nlp: Language, factory: str = "flat_ner", tok2vec: Any = LISTENER) -> Any:
    """Add a small recogniser of entities above."""
    flat = factory == "flat_ner"
    only_flat = () if flat else ("lattice_dropout", "word_dropout")
    network = {name: value for name, value in NETWORK.items() if name not in only_flat}
    texts = {"lattice": {**SEQUENCE, "gazetteer_rate": 0.0}} if flat else {"sequence": SEQUENCE}
    model = {"network": network, **texts, "tok2vec": tok2vec}
    return nlp.add_pipe(factory, config=pipe_config(factory, model))


def make(name: str | Path, segmenter: str = "char", **network: Any) -> Language:
    """A pipeline of a transformer and `flat_ner`."""
    nlp = blank(segmenter)
    add_transformer(nlp, name, **network)
    add_ner(nlp)
    return nlp


def start(nlp: Language, **optimizer: Any) -> AdamW:
    """Initialise a pipeline."""
    fix_random_seed(0)
    if "flat_ner" in nlp.pipe_names:
        nlp.config["initialize"]["components"]["flat_ner"] = {"lexicon": {"@misc": "test.lexicon"}}
    sgd = AdamW(**{"learn_rate": 0.02, "multipliers": {"upstream": 0.1}, **optimizer})
    nlp.initialize(lambda: examples_of(nlp), sgd=sgd)
    return sgd


def learn(nlp: Language, sgd: AdamW, steps: int) -> list[float]:
    """Steps as `spacy train` does them; the losses of the entities."""
    losses = []
    for _ in falling(sgd, steps):
        found: dict[str, float] = {}
        nlp.update(examples_of(nlp), sgd=False, losses=found)  # type: ignore[arg-type]
        for _, pipe in nlp.pipeline:
            pipe.finish_update(sgd)  # type: ignore[attr-defined]
        sgd.step_schedules()
        losses.append(sum(value for name, value in found.items() if name.endswith("_ner")))
    return losses
