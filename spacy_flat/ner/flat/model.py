"""The registered architecture `spacy-flat.FLAT.v1`: Docs → lattice → torch → emissions."""

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from spacy.tokens import Doc

from ...text.tok2vec import Tok2Vec
from ..batch import LatticeBatch
from ..model import TaggingModel, network_of, predict
from .featuriser import LatticeFeaturiser
from .options import FLATOptions, LatticeOptions

if TYPE_CHECKING:
    from torch import Tensor


def build_flat_model(
    network: FLATOptions, lattice: LatticeOptions, tok2vec: Tok2Vec | None = None
) -> TaggingModel:
    """Build the flat-lattice Transformer (Li et al., ACL 2020). `initialize` adds the network.

    network, lattice: see the options.
    tok2vec: its vector of a character, or of the token around it, is concatenated with the
        character's embedding.
    """
    from ...nn.model import make_model
    from .network import FLAT

    featuriser = LatticeFeaturiser.empty(lattice)
    build = partial(FLAT.from_config, network)
    return make_model("flat", predict, network, featuriser, build, tok2vec)


def attention_of(model: TaggingModel, doc: Doc, place: int) -> dict[tuple[int, int], float]:
    """How much a character attends to each node of the lattice, characters and words, in the last
    layer: the mean over the heads, by [start, end) of the node."""
    weights: list[Tensor] = []

    def keep(module: Any, given: "tuple[Tensor]", result: "Tensor") -> None:
        weights.append(given[0])  # [H, B, Q, L]

    attention = cast("Any", network_of(model)).layers[-1].attention
    hook = attention.dropout.register_forward_hook(keep)
    try:
        for batch, _ in predict(model, [doc]).batches:
            found = weights.pop()
            assert isinstance(batch, LatticeBatch)
            for row, segment in enumerate(batch.segments):
                if segment.start <= place < segment.end:
                    shares = found[:, row, place - segment.start].mean(0).tolist()
                    starts = (segment.start + batch.heads[row]).tolist()
                    ends = (segment.start + batch.tails[row] + 1).tolist()
                    nodes = zip(starts, ends, shares, batch.present[row].tolist(), strict=True)
                    return {(start, end): share for start, end, share, there in nodes if there}
    finally:
        hook.remove()
    return {}
