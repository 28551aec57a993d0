"""The registered architecture `spacy-flat.Encoder.v2`: Docs → windows of characters, or of pieces →
torch → vectors of tokens, or of characters.

Shapes: N characters of all texts, U units (tokens, or the characters of tokens), D width.
"""

import warnings
from collections.abc import Callable
from functools import partial
from inspect import Parameter, Signature, signature
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, cast

import numpy as np
from spacy.tokens import Doc
from thinc.api import torch2xp, xp2torch
from thinc.types import Floats2d

from ..errors import Errors, Warnings
from ..text.tok2vec import Tok2Vec, character_of_unit, token_of_unit
from ..text.units import Unit
from ..util.arrays import Ints
from .featuriser import MARKS, CharacterFeaturiser, EncoderFeaturiser
from .options import EncoderOptions

if TYPE_CHECKING:
    from torch import Tensor

    from ..nn.encoder_shim import EncoderShim
    from .network import Encoder

MEGABYTE = 1_000_000


def build_encoder(path: Path | None, **settings: Any) -> Tok2Vec:
    """Build a tok2vec from an encoder of `python -m spacy flat pretrain`, or from another BERT in
    the same format: of characters, or of the pieces of a subword tokenizer. It returns the mean of
    each token's characters, or one vector per character for this package's components with
    characters as units. The characters of a piece have its vector.

    path: the encoder's folder, read by `initialize`; trained pipelines contain the weights.
    settings: of `EncoderOptions`.

    Warns (W381) if the encoder reads less than `max_length` at once: training would fail (F305),
    but only after reading corpus and lexicon.
    """
    from ..nn.encoder_shim import EncoderShim
    from ..nn.model import CheckedModel
    from .storage import longest_text

    options = EncoderOptions(**settings)
    longest = longest_text(path) if path and path != Path() else 0
    if longest and options.max_length > longest:
        words = {"path": path, "longest": longest, "max_length": options.max_length}
        warnings.warn(Warnings.W381.format(**words), stacklevel=2)
    shim = EncoderShim(
        partial(from_config, options),
        frozen_steps=options.frozen_steps,
        warmup_steps=options.warmup_steps,
    )
    return CheckedModel(
        "encoder",
        forward,
        init=partial(initialise, path=path),
        dims={"nO": None},
        attrs={"options": options, "featuriser": CharacterFeaturiser(MARKS), "unit": "token"},
        shims=[shim],
    )


# thinc validates configs by these.
build_encoder.__signature__ = Signature(  # type: ignore[attr-defined]
    [
        Parameter("path", Parameter.POSITIONAL_OR_KEYWORD, annotation=Optional[Path]),  # noqa: UP045
        *signature(EncoderOptions).parameters.values(),
    ]
)


def from_config(options: EncoderOptions, config: dict[str, Any]) -> "Encoder":
    """Build the network. Raises ValueError (F307) if the options differ from the trained ones."""
    from .network import Encoder, EncoderSizes

    options.check_fixed(config["options"])
    sizes = EncoderSizes(**config["sizes"])
    return Encoder(sizes, layers=options.layers, combine=options.combine, dropout=options.dropout)


def initialise(
    model: Tok2Vec, X: object = None, Y: object = None, *, path: str | Path | None
) -> None:
    """Read the encoder's folder.

    Raises ValueError without a path (F389), or if the encoder doesn't fit the options (F305);
    otherwise as `read_encoder`.
    """
    from .storage import read_encoder

    options: EncoderOptions = model.attrs["options"]
    if not path or path == Path():
        raise ValueError(Errors.F389)
    stored = read_encoder(path)
    sizes = stored.sizes
    options.require("layers", options.layers <= sizes.layers, f"from 1 to {sizes.layers}")
    longest = sizes.positions - 2
    places = f"from 1 to {longest}, as many as the encoder in {path} reads at once"
    options.require("max_length", options.max_length <= longest, places)
    model.attrs["featuriser"] = stored.featuriser
    config = {"options": options.fixed(), "sizes": sizes.to_json()}
    model.attrs["packed"] = False
    network = cast("Encoder", cast("EncoderShim", model.shims[0]).initialise(config))
    network.encoder.load_state_dict(stored.weights)
    model.set_dim("nO", network.width, force=True)


def forward(
    model: Tok2Vec, docs: list[Doc], is_train: bool
) -> tuple[list[Floats2d], Callable[[list[Floats2d]], list[Doc]]]:
    """The vectors of each Doc's tokens, or of their characters."""
    options: EncoderOptions = model.attrs["options"]
    shim = cast("EncoderShim", model.shims[0])
    if is_train and options.remember and not (options.fine_tune and shim.learns):
        return recall(model, docs), lambda gradients: []
    if is_train:
        shim.memory.clear()
    return read(model, docs, is_train)


def recall(model: Tok2Vec, docs: list[Doc]) -> list[Floats2d]:
    """The vectors of Docs from a frozen encoder, which keeps them for the next epoch."""
    memory = cast("EncoderShim", model.shims[0]).memory
    keys = [(doc.text, doc.to_array(["LENGTH", "SPACY"]).tobytes()) for doc in docs]
    new = {key: doc for key, doc in zip(keys, docs, strict=True) if key not in memory.vectors}
    found = dict(zip(new, read(model, [*new.values()], True)[0], strict=True))
    for key, vectors in found.items():
        memory.keep(key, vectors, MEGABYTE * model.attrs["options"].remember)
    return [found[key] if key in found else memory.vectors[key] for key in keys]


def read(
    model: Tok2Vec, docs: list[Doc], is_train: bool
) -> tuple[list[Floats2d], Callable[[list[Floats2d]], list[Doc]]]:
    """As `forward`, from the network."""
    from .network import mean_of_units

    options: EncoderOptions = model.attrs["options"]
    featuriser: EncoderFeaturiser = model.attrs["featuriser"]
    keys, windows, pieces = featuriser.read([doc.text for doc in docs], options)
    batches = featuriser.batches(keys, windows, options.batch_size)
    units, lengths = number_units(docs, model.attrs["unit"])

    def compute(network: "Encoder") -> "Tensor":
        vectors = network.of_characters(batches, len(keys), pieces)
        return mean_of_units(vectors, units, sum(lengths))

    shim = cast("EncoderShim", model.shims[0])
    vectors, passed_back = shim.compute(compute, trains=is_train, fine_tune=options.fine_tune)

    def backprop(gradients: list[Floats2d]) -> list[Doc]:
        if gradients:
            passed_back(xp2torch(model.ops.xp.concatenate(gradients)))
        return []

    array = cast(Floats2d, torch2xp(vectors, ops=model.ops))
    bounds = np.cumsum([0, *lengths]).tolist()
    return [array[start:end] for start, end in pairwise(bounds)], backprop


def number_units(docs: list[Doc], unit: Unit) -> tuple[Ints, list[int]]:
    """[N] the number of each character's unit among those of all Docs, from 1; 0 for none, such as
    single spaces between words. And how many units each Doc has."""
    number = token_of_unit if unit == "token" else character_of_unit
    numbers = [number(doc, 1, "char") for doc in docs]
    lengths = [
        len(doc) if unit == "token" else int(np.count_nonzero(each))
        for doc, each in zip(docs, numbers, strict=True)
    ]
    firsts = np.cumsum([0, *lengths])
    units = [np.where(each, first + each, 0) for first, each in zip(firsts, numbers, strict=False)]
    return np.concatenate([*units, np.zeros(0, dtype=np.int64)]), lengths
