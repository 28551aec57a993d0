"""The thinc model around a network."""

from collections.abc import Callable
from typing import Any

from thinc.model import Model
from torch import nn

from .checked_model import CheckedModel
from .shim import TorchShim


def make_model(
    name: str,
    forward: Callable[..., Any],
    options: object,
    featuriser: object,
    build: Callable[[dict[str, Any]], nn.Module],
    tok2vec: Model[Any, Any] | None = None,
) -> Model[Any, Any]:
    """A model without a network as yet.

    featuriser: makes batches of numbers of what the model is given.
    build: the network, from the configuration that `initialise_network` makes.
    tok2vec: its vectors of tokens or characters join those of the featuriser's numbers.
    """
    return CheckedModel(
        name,
        forward,
        layers=[tok2vec] if tok2vec is not None else [],
        # For spaCy: `spacy pretrain` and `replace_listeners` look for it.
        refs={"tok2vec": tok2vec},
        attrs={"options": options, "featuriser": featuriser},
        shims=[TorchShim(build)],
    )
