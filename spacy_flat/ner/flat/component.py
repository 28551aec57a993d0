"""`flat_ner`: what spaCy sees of the entity recogniser with a lexicon."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from spacy.language import Language
from spacy.training import Example
from thinc.api import Config

from ...errors import Errors, Warnings
from ...lexicon import Lexicon, check_lexicon
from ...lexicon.coverage import character_coverage
from ...lexicon.readers import jieba_lexicon
from ...text.initialise import FEW
from ...util.log import logger
from ...vectors import VectorSource, check_sources
from ..component import ASSIGNS, SCORE_WEIGHTS, SETTINGS, CRFEntityRecognizer
from ..model import TaggingModel
from ..spans import OnMisaligned
from .lattice import LatticeFeaturiser
from .model import initialise
from .vocabulary import build_vocabulary

DEFAULT_CONFIG = """
[model]
@architectures = "spacy-flat.FLAT.v1"
tok2vec = null

[model.network]
@misc = "spacy-flat.FLATOptions.v1"

[model.lattice]
@misc = "spacy-flat.LatticeOptions.v1"
"""
DEFAULT_MODEL = Config().from_str(DEFAULT_CONFIG)["model"]


@Language.factory(
    "flat_ner",
    assigns=ASSIGNS,
    default_config={"model": DEFAULT_MODEL, **SETTINGS},
    default_score_weights=SCORE_WEIGHTS,
)
def make_flat_ner(
    nlp: Language,
    name: str,
    model: TaggingModel,
    device: str,
    on_misaligned: OnMisaligned,
    overwrite: bool,
    constrained_decoding: bool,
    unannotated_labels: list[str],
    scorer: Callable[..., dict[str, Any]] | None,
) -> "FlatEntityRecognizer":
    """Build the entity recogniser with a lexicon; the settings are those of
    `CRFEntityRecognizer`."""
    return FlatEntityRecognizer(
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


class FlatEntityRecognizer(CRFEntityRecognizer):
    """Tags characters, whatever the tokens are, with the words of a lexicon beside them."""

    @property
    def lexicon(self) -> Lexicon:
        """The words that the lattice is made of. It takes new words of known types alone.

        Raises ValueError (F308) before `initialize` has made it.
        """
        if not self.is_initialised:
            raise ValueError(Errors.F308.format(name=self.name))
        featuriser: LatticeFeaturiser = self.model.attrs["featuriser"]
        featuriser.lexicon.close_types(featuriser.advised_types())
        return featuriser.lexicon

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: Sequence[str] | None = None,
        lexicon: Lexicon | None = None,
        char_vectors: VectorSource | None = None,
        bigram_vectors: VectorSource | None = None,
        word_vectors: VectorSource | None = None,
    ) -> None:
        """Build the network for the training data.

        labels: entity types; those of the examples where not given.
        lexicon: words of the lattice; jieba's dictionary where not given. It takes the place of an
            earlier one, whatever was added there.
        char_vectors, bigram_vectors, word_vectors: pretrained vectors of characters, of pairs of
            neighbouring characters and of words.

        Raises TypeError for vectors (F040) or a lexicon (F041) of another type; otherwise as
        `settle_labels`.
        """
        check_lexicon(lexicon)
        check_sources(
            char_vectors=char_vectors, bigram_vectors=bigram_vectors, word_vectors=word_vectors
        )
        examples = self.settle_labels(get_examples, labels)
        lexicon = jieba_lexicon() if lexicon is None else lexicon
        mentions = [
            (ent.text, ent.label_) for example in examples for ent in example.reference.ents
        ]
        docs = [example.predicted for example in examples]
        self._report(lexicon, [doc.text for doc in docs])
        vocabulary = build_vocabulary(
            self.model.attrs["featuriser"].options,
            [doc.text for doc in docs],
            lexicon,
            labels=self.cfg["labels"],
            mentions=mentions,
            char_vectors=char_vectors,
            bigram_vectors=bigram_vectors,
            word_vectors=word_vectors,
        )
        initialise(self.model, docs, self.cfg["labels"], vocabulary, self.name)

    def _report(self, lexicon: Lexicon, texts: Sequence[str]) -> None:
        """Log how much of the texts the lexicon knows; warn (W301) where it is next to nothing."""
        share = character_coverage(lexicon, texts)
        logger.info(
            "%s: %s words; %.1f %% of the texts' characters are in one",
            self.name,
            f"{len(lexicon):,}",
            100 * share,
        )
        if share < FEW:
            warnings.warn(Warnings.W301.format(name=self.name, share=share), stacklevel=2)
