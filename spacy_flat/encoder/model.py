"""The registered architecture `spacy-flat.Encoder.v1`: Docs → windows of characters → torch →
vectors of tokens, or of characters.

Shapes: B windows, C characters with marks, N characters of all texts, U units (tokens, or the
characters of tokens), D width.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, cast

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc
from thinc.api import torch2xp, xp2torch
from thinc.types import Floats2d

from ..errors import Errors
from ..text.segments import Segment, split_texts
from ..text.units import Ints, Unit, Units
from ..text.upstream import Tok2Vec, character_of_unit, token_of_unit
from .options import Combine, EncoderOptions
from .vocabulary import END, MARKS, PAD, START, Characters

if TYPE_CHECKING:
    from torch import Tensor

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
    """
    from ..nn.checked_model import CheckedModel
    from ..nn.encoder_shim import EncoderShim

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
    shim = EncoderShim(
        partial(from_config, options), frozen_steps=frozen_steps, warmup_steps=warmup_steps
    )
    return CheckedModel(
        "encoder",
        forward,
        init=partial(initialise, path=path),
        dims={"nO": None},
        attrs={"options": options, "encoder": Characters(MARKS), "unit": "token"},
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
    model.attrs["encoder"] = stored.characters
    config = {"options": options.fixed(), "sizes": sizes.to_json()}
    shim = _shim(model)
    shim.steps = 0
    network = cast("Encoder", shim.initialise(config))
    network.encoder.load_state_dict(stored.weights)
    model.set_dim("nO", network.width, force=True)


def forward(
    model: Tok2Vec, docs: list[Doc], is_train: bool
) -> tuple[list[Floats2d], Callable[[list[Floats2d]], list[Doc]]]:
    """The vectors of each Doc's tokens, or of their characters, and the gradient's way back."""
    options: EncoderOptions = model.attrs["options"]
    shim = _shim(model)
    if is_train:
        shim.settle()
    texts = TextsAsWindows.of(docs, options, model.attrs["unit"])
    learns = is_train and options.tuned and shim.learns
    with shim.training() if learns else shim.predicting() as network:
        characters = texts.of_characters(cast("Encoder", network), model.attrs["encoder"], options)
        vectors = texts.of_units(characters)
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


@dataclass(frozen=True)
class TextsAsWindows:
    """The texts of some Docs in windows.

    rows: [N] of each character, its place among those of all windows, from 1; 0 where it is in
        none, as what lies in a window of white space alone.
    units: [N] the number of each character's unit, from 1; 0 where it is in none, as a single space
        between words.
    lengths: units of each Doc.
    """

    texts: list[str]
    windows: Sequence[Segment]
    rows: Ints
    units: Ints
    lengths: list[int]

    @classmethod
    def of(cls, docs: Sequence[Doc], options: EncoderOptions, unit: Unit) -> "TextsAsWindows":
        characters = [Units.of(doc, "char") for doc in docs]
        windows = sorted(split_texts(characters, options), key=lambda each: each.start - each.end)
        texts = [each.text for each in characters]
        number = token_of_unit if unit == "token" else character_of_unit
        numbers = [number(doc, 1, "char") for doc in docs]
        lengths = [
            len(doc) if unit == "token" else int(np.count_nonzero(each))
            for doc, each in zip(docs, numbers, strict=True)
        ]
        firsts = np.cumsum([0, *lengths])
        units = [
            np.where(each, first + each, 0) for first, each in zip(firsts, numbers, strict=False)
        ]
        together = np.concatenate([*units, np.zeros(0, dtype=np.int64)])
        return cls(texts, windows, _rows(texts, windows), together, lengths)

    def of_characters(
        self, network: "Encoder", characters: Characters, options: EncoderOptions
    ) -> "Tensor":
        """[N, D]; zeros for those in no window."""
        import torch

        device = next(network.parameters()).device
        found = [torch.zeros(1, network.width, device=device)]
        for windows in self._batches(options.batch_characters):
            keys, present = self._arrays(windows, characters)
            vectors = network(*(torch.from_numpy(each).to(device) for each in (keys, present)))
            # Neither the marks nor the padding.
            inner = present.copy()
            inner[:, 0] = False
            inner[np.arange(len(windows)), present.sum(1) - 1] = False
            found.append(vectors[torch.from_numpy(inner).to(device)])
        return torch.cat(found)[torch.from_numpy(self.rows).to(device)]

    def of_units(self, vectors: "Tensor") -> "Tensor":
        """[N, D] → [U, D] the mean of each unit's characters."""
        import torch

        units = torch.from_numpy(self.units).to(vectors.device)
        n_units = sum(self.lengths)
        sums = vectors.new_zeros(n_units + 1, vectors.shape[1])
        counts = torch.bincount(units, minlength=n_units + 1).clamp(min=1)
        return (sums.index_add(0, units, vectors) / counts[:, None])[1:]

    def _batches(self, most: int) -> Iterator[Sequence[Segment]]:
        """Windows of like length, the longest first, of at most so many characters."""
        start = 0
        while start < len(self.windows):
            first = self.windows[start]
            n = max(1, most // (first.end - first.start))
            yield self.windows[start : start + n]
            start += n

    def _arrays(
        self, windows: Sequence[Segment], characters: Characters
    ) -> tuple[Ints, NDArray[np.bool_]]:
        """[B, C] keys with marks, and [B, C] what is not padding."""
        longest = windows[0].end - windows[0].start + 2
        keys = np.full((len(windows), longest), characters.mark(PAD), dtype=np.int64)
        keys[:, 0] = characters.mark(START)
        for row, window in enumerate(windows):
            text = self.texts[window.text][window.start : window.end]
            keys[row, 1 : len(text) + 1] = characters.keys(text)
            keys[row, len(text) + 1] = characters.mark(END)
        lengths = np.array([window.end - window.start + 2 for window in windows])
        return keys, np.arange(longest) < lengths[:, None]


def _rows(texts: Sequence[str], windows: Sequence[Segment]) -> Ints:
    """[N] as in `TextsAsWindows`. Where two windows share characters, each has the half that is
    farther from its end."""
    firsts = np.cumsum([0, *map(len, texts)])
    rows = np.zeros(int(firsts[-1]), dtype=np.int64)
    places = np.cumsum([1, *(window.end - window.start for window in windows)])
    reached = dict.fromkeys(range(len(texts)), 0)  # up to where windows of a text have come
    order = sorted(range(len(windows)), key=lambda n: (windows[n].text, windows[n].start))
    for number in order:
        window = windows[number]
        start = (window.start + max(window.start, reached[window.text])) // 2
        offset = int(firsts[window.text])
        rows[offset + start : offset + window.end] = np.arange(
            places[number] + start - window.start,
            places[number] + window.end - window.start,
        )
        reached[window.text] = window.end
    return rows
