"""Building a component's network for the vocabulary of its training texts."""

from collections.abc import Mapping
from itertools import islice
from typing import Any, cast

from spacy.tokens import Doc
from thinc.api import Model

from .nn.embeddings import EmbeddingNetwork
from .nn.shim import shim_of, tok2vec_of
from .text.vocabulary import Vocabulary
from .util.messages import logger

SAMPLE = 10  # Docs from which a tok2vec infers its shapes


def initialise_network(
    model: Model[Any, Any],
    docs: list[Doc],
    vocabulary: Vocabulary,
    sizes: Mapping[str, Any],
    name: str,
) -> None:
    """Build a model's network, and its tok2vec if it has one.

    docs: of the training corpus.
    sizes: further arguments to build it; `upstream_width` is that of the tok2vec.
    name: of the component, for log messages.
    """
    featuriser, tables = vocabulary
    for kind, table in tables.items():
        entries = f"{len(table.vocab):,} {kind}, {table.vocab.n_trained:,} of them trained"
        share = f"{table.coverage:.1%} of the texts have pretrained vectors"
        logger.info("%s: %s; %s", name, entries, share)
    tok2vec = tok2vec_of(model)
    if tok2vec is not None:
        tok2vec.initialize(X=list(islice((doc for doc in docs if len(doc)), SAMPLE)))
    model.attrs["featuriser"] = featuriser
    model.attrs["packed"] = False  # as a compact network is saved
    table_sizes = {
        name: {
            "keys": len(table.vocab),
            "trained": table.vocab.n_trained,
            "width": table.pretrained.vectors.shape[1],
            "unknown": table.scale if getattr(featuriser, "hashes_unknowns", False) else 0.0,
        }
        for name, table in tables.items()
    }
    upstream_width = tok2vec.get_dim("nO") if tok2vec is not None else 0
    config = {
        "options": model.attrs["options"].fixed(),
        "sizes": {**sizes, "upstream_width": upstream_width, **table_sizes},
    }
    network = cast(EmbeddingNetwork, shim_of(model).initialise(config))
    for name, table in tables.items():
        hashes, vectors = table.pretrained
        network.set_pretrained(name, table.vocab.look_up(hashes), vectors)


def extend(model: Model[Any, Any], **sizes: Any) -> None:
    """Extend the network, for example by more `labels` at the end, keeping its weights."""
    shim = shim_of(model)
    shim.grow({**shim.config, "sizes": {**shim.config["sizes"], **sizes}})
