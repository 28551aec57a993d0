"""`tener_ner`: the component of the entity recogniser without a lexicon."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from spacy.language import Language
from spacy.training import Example
from thinc.api import Model

from ...errors import Errors
from ...nn.shim import tok2vec_of
from ...pipe import Scorer
from ...text.spans import Units
from ...text.vocabulary import Vocabulary
from ...vectors import VectorSource, check_unused
from ..component import ASSIGNS, SCORE_WEIGHTS, SCORER, CRFEntityRecognizer
from ..decoding import Threshold
from .featuriser import build_vocabulary

DEFAULT_MODEL = """
[model]
@architectures = "spacy-flat.TENER.v1"
tok2vec = null

[model.network]
@misc = "spacy-flat.TENEROptions.v2"

[model.sequence]
@misc = "spacy-flat.SequenceOptions.v2"
"""


class TenerEntityRecognizer(CRFEntityRecognizer):
    """Tags characters, with any tokenizer, or tokens."""

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

        labels: entity types; by default those of the examples.
        char_vectors, bigram_vectors: pretrained vectors, for unit = "char".
        word_vectors: pretrained vectors, for unit = "token".

        Raises TypeError (F040) for vectors of another type, ValueError (F325) for vectors that the
        component doesn't use; otherwise as `initialize_with`.
        """
        vectors = {
            "char_vectors": char_vectors,
            "bigram_vectors": bigram_vectors,
            "word_vectors": word_vectors,
        }
        options, unit = self.featuriser.options, self.featuriser.unit

        def build(examples: Sequence[Example]) -> Vocabulary:
            unused = ["word_vectors"] if unit == "char" else ["char_vectors", "bigram_vectors"]
            check_unused(self.name, f"unit = {unit!r}", vectors, unused)
            texts = [Units.as_read(example.predicted, unit) for example in examples]
            vocabulary = build_vocabulary(options, texts, **vectors)
            if not vocabulary.tables and tok2vec_of(self.model) is None:
                raise ValueError(Errors.F368.format(name=self.name))
            return vocabulary

        self.initialize_with(get_examples, labels, vectors, build)


@Language.factory(
    "tener_ner",
    assigns=ASSIGNS,
    default_config=TenerEntityRecognizer.default_config(DEFAULT_MODEL, SCORER)
    | {"on_misaligned": "expand"},
    default_score_weights=SCORE_WEIGHTS,
)
def make_tener_ner(
    nlp: Language,
    name: str,
    model: Model[Any, Any],
    scorer: Scorer | None,
    device: str,
    overwrite: bool,
    constrained_decoding: bool,
    unannotated_labels: Sequence[str],
    label_map: dict[str, str] | None,
    confidence: bool,
    alternatives: int,
    threshold: Threshold,
    temperature: float,
    on_misaligned: Literal["expand"],  # in configs of earlier versions
) -> TenerEntityRecognizer:
    return TenerEntityRecognizer(
        nlp.vocab,
        model,
        name,
        scorer=scorer,
        device=device,
        overwrite=overwrite,
        constrained_decoding=constrained_decoding,
        unannotated_labels=unannotated_labels,
        label_map=label_map,
        confidence=confidence,
        alternatives=alternatives,
        threshold=threshold,
        temperature=temperature,
    )
