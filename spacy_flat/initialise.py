"""Building a component's network for the vocabulary of its training texts."""

import warnings
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from spacy.tokens import Doc
from thinc.api import Model

from .errors import Warnings
from .nn.model import shim_of, tok2vec_of
from .text.vocabulary import Column, Vocabulary
from .util.log import logger

if TYPE_CHECKING:
    from .nn.network import EmbeddingNetwork

SAMPLE = 10  # Docs from which a tok2vec infers its shapes
FEW = 0.05  # of the training texts


def report_coverage(name: str, columns: Mapping[str, Column]) -> None:
    """Log the size of each table and its coverage. Warns (W300) of low coverage."""
    for kind, column in columns.items():
        known = f"{name}: {len(column.index):,} {kind}, {column.index.n_trained:,} of them trained"
        if column.coverage is None:
            logger.info(known)
            continue
        logger.info(
            "%s; %.1f %% of the texts have pretrained vectors", known, 100 * column.coverage
        )
        if column.coverage < FEW:
            table = f"{kind.removesuffix('s')}_vectors"
            message = Warnings.W300.format(name=name, share=column.coverage, kind=kind, table=table)
            warnings.warn(message, stacklevel=2)


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

    Warns (W300) if hardly anything in the training texts has a pretrained vector.
    """
    featuriser, columns = vocabulary
    report_coverage(name, columns)
    tok2vec = tok2vec_of(model)
    if tok2vec is not None:
        tok2vec.initialize(X=list(islice((doc for doc in docs if len(doc)), SAMPLE)))
    model.attrs["featuriser"] = featuriser
    model.attrs["packed"] = False  # as a compact network is saved
    tables = {
        name: {
            "keys": len(column.index),
            "trained": column.index.n_trained,
            "width": column.pretrained.vectors.shape[1],
            "float16": featuriser.options.float16_vectors,
            "unknown": column.scale if getattr(featuriser.options, "hash_unknowns", False) else 0.0,
        }
        for name, column in columns.items()
    }
    upstream_width = tok2vec.get_dim("nO") if tok2vec is not None else 0
    config = {
        "options": model.attrs["options"].fixed(),
        "sizes": {**sizes, "upstream_width": upstream_width, **tables},
    }
    network = cast("EmbeddingNetwork", shim_of(model).initialise(config))
    for name, column in columns.items():
        keys = column.index.look_up(column.pretrained.codes)
        network.set_pretrained(name, keys, column.pretrained.vectors)


def extend_labels(model: Model[Any, Any], labels: Sequence[str]) -> None:
    """Extend the network by more labels at the end, keeping its weights."""
    shim = shim_of(model)
    shim.grow({**shim.config, "sizes": {**shim.config["sizes"], "labels": list(labels)}})
