"""`tener_ner`: what spaCy sees of the entity recogniser without a lexicon."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from spacy.language import Language
from spacy.training import Example
from thinc.api import Config

from ...errors import Errors
from ...text.units import Units
from ...vectors import VectorSource, check_sources
from ..component import ASSIGNS, SCORE_WEIGHTS, SETTINGS, CRFEntityRecognizer
from ..model import TaggingModel
from ..spans import OnMisaligned
from .model import initialise
from .vocabulary import build_vocabulary

DEFAULT_CONFIG = """
[model]
@architectures = "spacy-flat.TENER.v1"
tok2vec = null

[model.network]
@misc = "spacy-flat.TENEROptions.v1"

[model.sequence]
@misc = "spacy-flat.SequenceOptions.v1"
"""
DEFAULT_MODEL = Config().from_str(DEFAULT_CONFIG)["model"]


@Language.factory(
    "tener_ner",
    assigns=ASSIGNS,
    default_config={"model": DEFAULT_MODEL, **SETTINGS},
    default_score_weights=SCORE_WEIGHTS,
)
def make_tener_ner(
    nlp: Language,
    name: str,
    model: TaggingModel,
    device: str,
    on_misaligned: OnMisaligned,
    overwrite: bool,
    constrained_decoding: bool,
    unannotated_labels: list[str],
    scorer: Callable[..., dict[str, Any]] | None,
) -> "TenerEntityRecognizer":
    """Build the entity recogniser without a lexicon; the settings are those of
    `CRFEntityRecognizer`."""
    return TenerEntityRecognizer(
        nlp.vocab,
        model,
        name,
        device=device,
        on_misaligned=on_misaligned,
        overwrite=overwrite,
        constrained_decoding=constrained_decoding,
        unannotated_labels=unannotated_labels,
        scorer=scorer,
    )


class TenerEntityRecognizer(CRFEntityRecognizer):
    """Tags characters, whatever the tokens are, or tokens."""

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: Sequence[str] | None = None,
        char_vectors: VectorSource | None = None,
        bigram_vectors: VectorSource | None = None,
        word_vectors: VectorSource | None = None,
    ) -> None:
        """Build the network for the training data.

        labels: entity types; those of the examples where not given.
        char_vectors, bigram_vectors: pretrained vectors of characters and of pairs of neighbouring
            characters (unit = "char").
        word_vectors: pretrained vectors of words (unit = "token").

        Raises TypeError (F040) for vectors of another type, ValueError (F325) for vectors of what
        the component does not read; otherwise as `settle_labels`.
        """
        check_sources(
            char_vectors=char_vectors, bigram_vectors=bigram_vectors, word_vectors=word_vectors
        )
        examples = self.settle_labels(get_examples, labels)
        unit = self.model.attrs["featuriser"].unit
        unused = {"word_vectors": word_vectors}
        if unit == "token":
            unused = {"char_vectors": char_vectors, "bigram_vectors": bigram_vectors}
        for given, vectors in unused.items():
            if vectors is not None:
                words = {"name": self.name, "given": given, "setting": f"unit = {unit!r}"}
                raise ValueError(Errors.F325.format(**words))
        docs = [example.predicted for example in examples]
        vocabulary = build_vocabulary(
            self.model.attrs["featuriser"].options,
            [Units.of(doc, unit) for doc in docs],
            char_vectors=char_vectors,
            bigram_vectors=bigram_vectors,
            word_vectors=word_vectors,
        )
        initialise(self.model, docs, self.cfg["labels"], vocabulary, self.name)
