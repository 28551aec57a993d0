"""The registered architecture `spacy-flat.Encoder.v1`: Docs → windows of characters → torch →
vectors of tokens, or of characters.

Shapes: N characters of all texts, U units (tokens, or the characters of tokens), D width.
"""

import warnings
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, cast

import numpy as np
from spacy.tokens import Doc
from thinc.api import torch2xp, xp2torch
from thinc.types import Floats2d

from ..errors import Errors, Warnings
from ..text.tok2vec import Tok2Vec
from .options import Combine, EncoderOptions
from .vocabulary import MARKS, Characters
from .windows import TextsAsWindows

if TYPE_CHECKING:
    from ..nn.encoder_shim import EncoderShim
    from .network import Encoder


def build_encoder(
    path: Optional[Path],  # noqa: UP045  (thinc validates configs by it)
    tuned: bool = True,
    frozen_steps: int = 0,
    warmup_steps: int = 0,
    layers: int = 1,
    combine: Combine = "mean",
    dropout: float = 0.1,
    max_length: int = 126,
    overlap: int = 40,
    batch_characters: int = 8000,
) -> Tok2Vec:
    """Build a tok2vec from an encoder that `python -m spacy flat pretrain` wrote, or from another
    BERT of characters in the same form. It gives one vector a token, the mean of its characters';
    to this package's components whose units are characters, one vector a character.

    path: the encoder's folder. It is read when a pipeline is initialised; the trained pipeline has
        the weights itself.
    The other arguments are those of `EncoderOptions`.

    Warns (W381) where the folder is there and its encoder reads fewer characters at once than
    `max_length`: a training would fail (F305), but only after it has read corpus and lexicon.
    """
    from ..nn.encoder_shim import EncoderShim
    from ..nn.model import CheckedModel
    from .storage import longest_text

    options = EncoderOptions(
        max_length=max_length,
        overlap=overlap,
        tuned=tuned,
        frozen_steps=frozen_steps,
        warmup_steps=warmup_steps,
        layers=layers,
        combine=combine,
        dropout=dropout,
        batch_characters=batch_characters,
    )
    longest = longest_text(path) if path and path != Path() else 0
    if longest and max_length > longest:
        words = {"path": path, "longest": longest, "half": longest // 2, "max_length": max_length}
        warnings.warn(Warnings.W381.format(**words), stacklevel=2)
    shim = EncoderShim(
        partial(from_config, options), frozen_steps=frozen_steps, warmup_steps=warmup_steps
    )
    return CheckedModel(
        "encoder",
        forward,
        init=partial(initialise, path=path),
        dims={"nO": None},
        attrs={"options": options, "featuriser": Characters(MARKS), "unit": "token"},
        shims=[shim],
    )


def from_config(options: EncoderOptions, config: dict[str, Any]) -> "Encoder":
    """Build the network from plain data.

    Raises ValueError (F307) where the options differ from those that it was trained with.
    """
    from .network import Encoder, EncoderSizes

    options.check_fixed(config["options"])
    sizes = EncoderSizes(**config["sizes"])
    return Encoder(sizes, layers=options.layers, combine=options.combine, dropout=options.dropout)


def initialise(
    model: Tok2Vec, X: object = None, Y: object = None, *, path: str | Path | None
) -> None:
    """Read the encoder's folder.

    Raises ValueError where there is no path (F389), or where the encoder can't give what the
    options ask for (F305); otherwise as `read_encoder`.
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
    model.attrs["featuriser"] = stored.characters
    config = {"options": options.fixed(), "sizes": sizes.to_json()}
    model.attrs["packed"] = False
    network = cast("Encoder", _shim(model).initialise(config))
    network.encoder.load_state_dict(stored.weights)
    model.set_dim("nO", network.width, force=True)


def forward(
    model: Tok2Vec, docs: list[Doc], is_train: bool
) -> tuple[list[Floats2d], Callable[[list[Floats2d]], list[Doc]]]:
    """The vectors of each Doc's tokens, or of their characters, and the gradient's way back."""
    from .network import mean_of_units

    options: EncoderOptions = model.attrs["options"]
    shim = _shim(model)
    if is_train:
        shim.settle()
    texts = TextsAsWindows.of(docs, options, model.attrs["unit"])
    learns = is_train and options.tuned and shim.learns
    with shim.training() if learns else shim.predicting() as network:
        batches = texts.batches(model.attrs["featuriser"], options.batch_characters)
        characters = cast("Encoder", network).of_characters(batches, texts.rows)
        vectors = mean_of_units(characters, texts.units, sum(texts.lengths))
    awaits = vectors.requires_grad  # not where all texts are empty
    if awaits:
        shim.await_gradient()

    def backprop(gradients: list[Floats2d]) -> list[Doc]:
        if awaits:
            together = model.ops.xp.concatenate(gradients)
            shim.backward(vectors, xp2torch(together, device=vectors.device))
        return []

    array = cast(Floats2d, torch2xp(vectors.detach(), ops=model.ops))
    bounds = np.cumsum([0, *texts.lengths]).tolist()
    return [array[start:end] for start, end in pairwise(bounds)], backprop


def _shim(model: Tok2Vec) -> "EncoderShim":
    return cast("EncoderShim", model.shims[0])
