"""`tener_ner`: the component of the entity recogniser without a lexicon."""

from collections.abc import Callable, Iterable, Sequence

from spacy.language import Language
from spacy.training import Example

from ...errors import Errors
from ...nn.model import tok2vec_of
from ...text.units import Units
from ...text.vocabulary import Vocabulary
from ...vectors import VectorSource, check_unused
from ..component import CRFEntityRecognizer, ner_factory
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


make_tener_ner = ner_factory("tener_ner", DEFAULT_MODEL, TenerEntityRecognizer)
