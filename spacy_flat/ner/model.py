"""The registered architecture `spacy-flat.FLAT.v1`: Docs → lattice → torch → emissions."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc
from thinc.api import Model, torch2xp, xp2torch
from thinc.model import deserialize_attr, serialize_attr
from thinc.types import Floats2d

from .lattice import N_BANDS, LatticeBatch, LatticeEncoder
from .options import FLATOptions, LatticeOptions
from .segments import split_text
from .spans import token_ends
from .vocabulary import Resources, Vocabulary

if TYPE_CHECKING:
    from torch import Tensor

    from ..nn.crf import CRF
    from ..nn.shim import TorchShim
    from .network import FLAT

N_LENGTHS = 10  # words of this many characters less one, and longer, are one class
SAMPLE = 10  # Docs from which a tok2vec infers its shapes

Tok2Vec = Model[list[Doc], list[Floats2d]]


@dataclass(frozen=True)
class Emissions:
    """What the network says of one batch of segments of texts: scores [B, C, K]."""

    texts: Sequence[str]
    batch: LatticeBatch
    scores: "Tensor"


FlatModel = Model[list[Doc], Iterable[Emissions]]


def build_flat_model(
    network: FLATOptions, lattice: LatticeOptions, tok2vec: Tok2Vec | None = None
) -> FlatModel:
    """Build the flat-lattice Transformer (Li et al., ACL 2020).

    network, lattice: options; see there.
    tok2vec: its vector of a token joins the vectors of the token's characters.
    """
    from ..nn.shim import TorchShim
    from .network import FLAT

    return Model(
        "flat",
        forward,
        init=initialize,
        layers=[tok2vec] if tok2vec is not None else [],
        refs={"tok2vec": tok2vec},
        attrs={"options": network, "encoder": LatticeEncoder.empty(lattice)},
        shims=[TorchShim(FLAT.from_config)],
    )


def shim_of(model: FlatModel) -> "TorchShim":
    return cast("TorchShim", model.shims[0])


def forward(
    model: FlatModel, docs: list[Doc], is_train: bool
) -> tuple[Iterable[Emissions], Callable[[Sequence["Tensor"]], list[Any]]]:
    """Outside of training a batch is computed when its turn comes, so that no more than one is in
    memory. The gradient that the callback takes is that of the scores of each batch.
    """
    upstream = _Upstream(model, docs, is_train)
    emissions = _emissions(model, docs, upstream, is_train)
    if not is_train:
        return emissions, lambda _: []
    parts = list(emissions)

    def backprop(d_scores: Sequence["Tensor"]) -> list[Any]:
        for part, gradient in zip(parts, d_scores, strict=True):
            part.scores.backward(gradient)  # type: ignore[no-untyped-call]
        upstream.backprop()
        return []

    return parts, backprop


def _emissions(
    model: FlatModel, docs: list[Doc], upstream: "_Upstream", is_train: bool
) -> Iterator[Emissions]:
    shim = shim_of(model)
    texts = [doc.text for doc in docs]
    for batch in lattice_batches(model, texts, is_train):
        with shim.training() if is_train else shim.predicting() as network:
            scores = network(batch, upstream.of(batch))
        yield Emissions(texts, batch, scores)


def lattice_batches(
    model: FlatModel, texts: Sequence[str], is_train: bool = False
) -> Iterator[LatticeBatch]:
    """Texts cut into segments, in batches of segments of like length."""
    encoder: LatticeEncoder = model.attrs["encoder"]
    options = encoder.options
    segments = [
        segment
        for number, text in enumerate(texts)
        for segment in split_text(number, text, options.max_length, options.overlap)
    ]
    return encoder.batches(texts, segments, is_train)


class _Upstream:
    """A tok2vec's vectors as vectors of characters, and the gradient's way back."""

    def __init__(self, model: FlatModel, docs: list[Doc], is_train: bool) -> None:
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
        self._rows = [
            _token_of_char(doc, int(start)) for doc, start in zip(docs, starts, strict=False)
        ]

    def of(self, batch: LatticeBatch) -> "Tensor | None":
        """[B, C, W], or None where there is no tok2vec."""
        if self.tok2vec is None:
            return None
        rows = np.zeros(batch.chars.shape, dtype=np.int64)
        for place, segment in enumerate(batch.segments):
            piece = self._rows[segment.text][segment.start : segment.end]
            rows[place, : len(piece)] = piece
        return self.vectors[rows]

    def backprop(self) -> None:
        if self.tok2vec is None:
            return
        assert self.vectors.grad is not None
        gradient = torch2xp(self.vectors.grad)[1:]
        ends = np.cumsum(self._lengths).tolist()
        self._backprop(
            [gradient[end - n : end] for end, n in zip(ends, self._lengths, strict=True)]
        )


def _token_of_char(doc: Doc, first: int) -> NDArray[np.int64]:
    """[characters] `first` + the number of each character's token; 0 where it has none."""
    heads, tails = token_ends(doc)
    places = np.arange(tails.max(initial=0))
    tokens = np.searchsorted(heads, places, "right") - 1
    return np.where(places < tails[tokens], first + tokens, 0)


def initialize(
    model: FlatModel, X: list[Doc] | None = None, Y: Resources | None = None
) -> FlatModel:
    """Build the network for training texts X and resources Y; nothing to do without them."""
    if X is None or Y is None:
        return model
    tok2vec: Tok2Vec | None = model.maybe_get_ref("tok2vec")
    if tok2vec is not None:
        tok2vec.initialize(X=list(islice((doc for doc in X if len(doc)), SAMPLE)))
    options = model.attrs["encoder"].options
    vocabulary = Vocabulary.build(options, Y, [doc.text for doc in X])
    model.attrs["encoder"] = vocabulary.encoder
    upstream_width = tok2vec.get_dim("nO") if tok2vec is not None else 0
    sizes = _sizes(vocabulary, Y.labels, upstream_width)
    config = {"options": asdict(model.attrs["options"]), "sizes": sizes}
    network = cast("FLAT", shim_of(model).initialise(config))
    for name, index, pretrained in vocabulary.columns():
        network.set_pretrained(name, index.look_up(pretrained.codes), pretrained.vectors)
    return model


def _sizes(vocabulary: Vocabulary, labels: Sequence[str], upstream_width: int) -> dict[str, Any]:
    """As `FLATSizes`, in plain data."""
    tables = {
        name: {
            "keys": len(index),
            "trained": index.n_trained,
            "width": pretrained.vectors.shape[1],
            "float16": vocabulary.encoder.options.float16_vectors,
        }
        for name, index, pretrained in vocabulary.columns()
    }
    return {
        "labels": list(labels),
        "n_types": max(1, vocabulary.encoder.n_types),
        "n_lengths": N_LENGTHS,
        "n_bands": N_BANDS,
        "upstream_width": upstream_width,
        **tables,
    }


def best_tags(model: FlatModel, emissions: Emissions) -> NDArray[np.int64]:
    """[B, C] most probable tags; 0 for padding."""
    import torch

    crf = _crf(model)
    lengths = torch.from_numpy(emissions.batch.n_chars).to(emissions.scores.device)
    return crf.decode(emissions.scores, lengths).cpu().numpy()


def loss_and_gradient(
    model: FlatModel,
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
        for array in (tags, emissions.batch.n_chars, weights.astype(np.float32))
    )
    with torch.enable_grad():
        loss = -crf.log_likelihood(scores, gold, lengths) @ shares
        loss.backward()  # type: ignore[no-untyped-call]
    assert scores.grad is not None
    return loss.item(), scores.grad


def extend_labels(model: FlatModel, labels: Sequence[str]) -> None:
    """Rebuild the network for more labels at the end; all that it knew stays."""
    shim = shim_of(model)
    old = shim.module.state_dict()
    config = {**shim.config, "sizes": {**shim.config["sizes"], "labels": list(labels)}}
    new = shim.initialise(config).state_dict()
    for name, value in old.items():
        new[name][tuple(slice(size) for size in value.shape)] = value


def _crf(model: FlatModel) -> "CRF":
    return cast("FLAT", shim_of(model).module).crf


@serialize_attr.register(LatticeEncoder)
def _serialize_encoder(_: Any, value: LatticeEncoder, name: str, model: FlatModel) -> bytes:
    return value.to_bytes()


@deserialize_attr.register(LatticeEncoder)
def _deserialize_encoder(
    default: LatticeEncoder, value: bytes, name: str, model: FlatModel
) -> LatticeEncoder:
    return default.from_bytes(value)
