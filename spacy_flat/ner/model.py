"""Docs → batches → torch → emissions of tags: what the registered architectures share."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc
from thinc.api import Model, torch2xp, xp2torch
from thinc.model import deserialize_attr, serialize_attr
from thinc.types import Floats2d

from ..text.batches import Batch, TextEncoder
from ..text.segments import Segment, split_units
from ..text.units import Ints, Unit, Units, token_ends
from ..text.vocabulary import Column
from .options import NetworkOptions
from .tags import Scheme

if TYPE_CHECKING:
    from torch import Tensor

    from ..nn.crf import CRF
    from ..nn.shim import TorchShim
    from .network import TaggingNetwork

SAMPLE = 10  # Docs from which a tok2vec infers its shapes

Tok2Vec = Model[list[Doc], list[Floats2d]]


@dataclass(frozen=True)
class Emissions:
    """What the network says of one batch of segments of texts: scores [B, C, K].

    segments: of all texts, of which the batch has some.
    """

    texts: Sequence[Units]
    segments: Sequence[Segment]
    batch: Batch
    scores: "Tensor"


Gradients = Iterable[tuple[Emissions, "Tensor"]]
TaggingModel = Model[list[Doc], Iterator[Emissions]]
Initialise = Callable[[TaggingModel, list[Doc] | None, Any], TaggingModel]


def make_model(
    name: str,
    network: NetworkOptions,
    encoder: TextEncoder,
    tok2vec: Tok2Vec | None,
    build: Callable[[dict[str, Any]], "TaggingNetwork"],
    initialise: Initialise,
) -> TaggingModel:
    """A model without a network as yet.

    tok2vec: its vector of a token joins the vectors of the token's characters, or of the token.
    build: the network from the configuration that `initialise_network` makes.
    initialise: called with the training Docs and what else the network is built from.
    """
    from ..nn.shim import TorchShim

    return Model(
        name,
        forward,
        init=initialise,
        layers=[tok2vec] if tok2vec is not None else [],
        refs={"tok2vec": tok2vec},
        attrs={"options": network, "encoder": encoder},
        shims=[TorchShim(build)],
    )


def shim_of(model: TaggingModel) -> "TorchShim":
    return cast("TorchShim", model.shims[0])


def forward(
    model: TaggingModel, docs: list[Doc], is_train: bool
) -> tuple[Iterator[Emissions], Callable[[Gradients], list[Any]]]:
    """A batch is computed when its turn comes, so that no more than one is in memory, in training
    too, if the gradient [B, C, K] of its scores is given to the callback before the next one's
    turn.
    """
    upstream = _Upstream(model, docs, is_train)
    emissions = _emissions(model, docs, upstream, is_train)

    def backprop(gradients: Gradients) -> list[Any]:
        for part, gradient in gradients:
            part.scores.backward(gradient)  # type: ignore[no-untyped-call]
        upstream.backprop()
        return []

    return emissions, backprop


def _emissions(
    model: TaggingModel, docs: list[Doc], upstream: "_Upstream", is_train: bool
) -> Iterator[Emissions]:
    shim = shim_of(model)
    encoder: TextEncoder = model.attrs["encoder"]
    texts = [Units.of(doc, encoder.unit) for doc in docs]
    segments = split_all(encoder, texts)
    for batch in encoder.batches(texts, segments, is_train):
        with shim.training() if is_train else shim.predicting() as network:
            scores = network(batch, upstream.of(batch))
        yield Emissions(texts, segments, batch, scores)


def split_all(encoder: TextEncoder, texts: Sequence[Units]) -> list[Segment]:
    """Texts cut into segments."""
    options = encoder.options
    return [
        segment
        for number, text in enumerate(texts)
        for segment in split_units(number, text, options.max_length, options.overlap)
    ]


class _Upstream:
    """A tok2vec's vectors as vectors of units, and the gradient's way back."""

    def __init__(self, model: TaggingModel, docs: list[Doc], is_train: bool) -> None:
        self.tok2vec: Tok2Vec | None = model.maybe_get_ref("tok2vec")
        if self.tok2vec is None:
            return
        token_vectors, self._backprop = self.tok2vec(docs, is_train)
        xp = self.tok2vec.ops.xp
        width = token_vectors[0].shape[1]
        # The first row is for characters that are in no token: single spaces between words.
        rows = xp.concatenate([xp.zeros((1, width), dtype="f"), *token_vectors])
        self.vectors = xp2torch(rows, requires_grad=is_train)
        self._lengths = [len(doc) for doc in docs]
        starts = np.cumsum([1, *self._lengths])
        unit = model.attrs["encoder"].unit
        self._rows = [
            _token_of_unit(doc, int(start), unit) for doc, start in zip(docs, starts, strict=False)
        ]

    def of(self, batch: Batch) -> "Tensor | None":
        """[B, C, W], or None where there is no tok2vec."""
        if self.tok2vec is None:
            return None
        rows = np.zeros((len(batch.segments), int(batch.n_units.max())), dtype=np.int64)
        for place, segment in enumerate(batch.segments):
            piece = self._rows[segment.text][segment.start : segment.end]
            rows[place, : len(piece)] = piece
        return self.vectors[rows]

    def backprop(self) -> None:
        if self.tok2vec is None:
            return
        if self.vectors.grad is None:  # nothing to learn from
            return
        gradient = torch2xp(self.vectors.grad)[1:]
        ends = np.cumsum(self._lengths).tolist()
        self._backprop(
            [gradient[end - n : end] for end, n in zip(ends, self._lengths, strict=True)]
        )


def _token_of_unit(doc: Doc, first: int, unit: Unit) -> Ints:
    """[units] `first` + the number of each unit's token; 0 where it has none."""
    if unit == "token":
        return first + np.arange(len(doc))
    heads, tails = token_ends(doc)
    places = np.arange(tails.max(initial=0))
    tokens = np.searchsorted(heads, places, "right") - 1
    return np.where(places < tails[tokens], first + tokens, 0)


def initialise_network(
    model: TaggingModel,
    docs: list[Doc],
    labels: Sequence[str],
    encoder: TextEncoder,
    columns: Mapping[str, Column],
    sizes: Mapping[str, int],
) -> TaggingModel:
    """Build the network, and the tok2vec with it.

    columns: the tables that it embeds, under the names that it knows them by.
    sizes: others that it needs.
    """
    tok2vec: Tok2Vec | None = model.maybe_get_ref("tok2vec")
    if tok2vec is not None:
        tok2vec.initialize(X=list(islice((doc for doc in docs if len(doc)), SAMPLE)))
    model.attrs["encoder"] = encoder
    tables = {
        name: {
            "keys": len(column.index),
            "trained": column.index.n_trained,
            "width": column.pretrained.vectors.shape[1],
            "float16": encoder.options.float16_vectors,
        }
        for name, column in columns.items()
    }
    upstream_width = tok2vec.get_dim("nO") if tok2vec is not None else 0
    all_sizes = {"labels": list(labels), "upstream_width": upstream_width, **tables, **sizes}
    config = {"options": asdict(model.attrs["options"]), "sizes": all_sizes}
    network = cast("TaggingNetwork", shim_of(model).initialise(config))
    for name, column in columns.items():
        keys = column.index.look_up(column.pretrained.codes)
        network.set_pretrained(name, keys, column.pretrained.vectors)
    return model


def scheme_of(model: TaggingModel) -> Scheme:
    """The scheme of the network's tags, or what it will be."""
    saved = shim_of(model).config.get("options", {})
    scheme: Scheme = saved.get("scheme", model.attrs["options"].scheme)
    return scheme


def best_tags(model: TaggingModel, emissions: Emissions) -> NDArray[np.int64]:
    """[B, C] most probable tags; 0 for padding."""
    import torch

    crf = _crf(model)
    lengths = torch.from_numpy(emissions.batch.n_units).to(emissions.scores.device)
    return crf.decode(emissions.scores, lengths).cpu().numpy()


def loss_and_gradient(
    model: TaggingModel,
    emissions: Emissions,
    tags: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> tuple[float, "Tensor"]:
    """Negative log-likelihood of tags [B, C], summed with a weight for each segment [B], and its
    gradient [B, C, K]. The CRF's own gradients gather in its parameters."""
    import torch

    crf = _crf(model)
    scores = emissions.scores.detach().requires_grad_()
    gold, lengths, shares = (
        torch.from_numpy(array).to(scores.device)
        for array in (tags, emissions.batch.n_units, weights.astype(np.float32))
    )
    with torch.enable_grad():
        allowed = gold[:, :, None] == torch.arange(scores.shape[2], device=scores.device)
        loss = -crf.log_likelihood(scores, allowed, lengths) @ shares
        loss.backward()  # type: ignore[no-untyped-call]
    assert scores.grad is not None
    return loss.item(), scores.grad


def extend_labels(model: TaggingModel, labels: Sequence[str]) -> None:
    """Rebuild the network for more labels at the end; all that it knew stays."""
    shim = shim_of(model)
    old = shim.module.state_dict()
    config = {**shim.config, "sizes": {**shim.config["sizes"], "labels": list(labels)}}
    new = shim.initialise(config).state_dict()
    for name, value in old.items():
        new[name][tuple(slice(size) for size in value.shape)] = value


def _crf(model: TaggingModel) -> "CRF":
    return cast("TaggingNetwork", shim_of(model).module).crf


@serialize_attr.register(TextEncoder)
def _serialize_encoder(_: Any, value: TextEncoder, name: str, model: TaggingModel) -> bytes:
    return value.to_bytes()


@deserialize_attr.register(TextEncoder)
def _deserialize_encoder(
    default: TextEncoder, value: bytes, name: str, model: TaggingModel
) -> TextEncoder:
    return default.from_bytes(value)
