"""`flat_ner`: the component of the entity recogniser with a lexicon."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from thinc.api import Model

from ...errors import Errors
from ...lexicon import Lexicon
from ...lexicon.readers import jieba_lexicon
from ...pipe import Scorer, setting
from ...text.spans import EntitySpan, Units
from ...text.vocabulary import Vocabulary
from ...util.messages import logger
from ...vectors import VectorSource
from ...viz.lattice import MAX_DRAWN, draw
from ...viz.svg import Svg
from ..component import ASSIGNS, SCORE_WEIGHTS, SCORER, CRFEntityRecognizer
from ..decoding import EntityPrediction, Threshold
from ..spans import names_in
from .featuriser import LatticeFeaturiser, build_vocabulary

DEFAULT_MODEL = """
[model]
@architectures = "spacy-flat.FLAT.v1"
tok2vec = null

[model.network]
@misc = "spacy-flat.FLATOptions.v2"

[model.lattice]
@misc = "spacy-flat.LatticeOptions.v2"
"""


class FlatEntityRecognizer(CRFEntityRecognizer):
    """Tags characters, with any tokenizer, and also reads the lexicon words they form.

    trust: how strongly typed words of files count: with 0 the network decides, with 1 they are
        always entities. `Lexicon.add` sets it by word.
    """

    trust: float = setting(0.0, min=0, max=1)

    @property
    def lexicon(self) -> Lexicon:
        """The words of the lattice. Types of new words must be known types or labels.

        Raises ValueError (F308) before `initialize`.
        """
        if not self.is_initialised:
            raise ValueError(Errors.F308.format(name=self.name))
        featuriser: LatticeFeaturiser = self.featuriser
        usual = dict.fromkeys([*self.known_labels, *featuriser.usual_types()])
        featuriser.lexicon.close_types(list(usual), self.known_labels)
        return featuriser.lexicon

    def with_words(
        self, words: Iterable[tuple[str, str]] | Mapping[str, str], trust: float | None = None
    ) -> AbstractContextManager[None]:
        """Temporarily add words with their types; see `Lexicon.with_words`."""
        return self.lexicon.with_words(words, trust)

    def predict(self, docs: Iterable[Doc]) -> list[EntityPrediction]:
        """Find the entities of each Doc, with the lexicon as it is at the call."""
        with self.featuriser.lexicon.pinned():
            return super().predict(docs)

    def span_probabilities(
        self, docs: Iterable[Doc], spans: Iterable[Iterable[Span | tuple[int, int, str]]]
    ) -> list[list[float]]:
        """As of the base class, with the lexicon as it is at the call."""
        with self.featuriser.lexicon.pinned():
            return super().span_probabilities(docs, spans)

    def trusted_words(self, texts: Sequence[Units]) -> dict[int, list[tuple[EntitySpan, float]]]:
        """Words in texts with a trust above 0 or the type "not_entity", with their trust."""
        featuriser: LatticeFeaturiser = self.featuriser
        words: dict[int, list[tuple[EntitySpan, float]]] = {}
        visible = [text.visible for text in texts]
        for text, span, trust in featuriser.trusted_words(visible, self.known_labels, self.trust):
            words.setdefault(text, []).append((span, trust))
        return words

    def render_lattice(self, doc: Doc) -> Svg:
        """Draw the lattice over a Doc as SVG, with the entities and their confidence if it is set.
        Notebooks show the result.

        Raises ValueError (F308) before `initialize` and (F161) for more than 500 characters.
        """
        text, lexicon = doc.text, self.lexicon
        if len(text) > MAX_DRAWN:
            raise ValueError(Errors.F161.format(length=len(text), limit=MAX_DRAWN))
        matches = lexicon.match([text])
        words = zip(matches.starts.tolist(), matches.ends.tolist(), strict=True)
        shares = [ent._.confidence for ent in doc.ents]
        entities = [
            EntitySpan(start, end, label if share is None else f"{label}:{share:.2f}")
            for (start, end, label), share in zip(doc._.char_ents, shares, strict=True)
        ]
        return draw(text, words, entities)

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

        labels: entity types; by default those of the examples.
        lexicon: words of the lattice; by default jieba's dictionary. Replaces the lexicon and added
            words.
        char_vectors, bigram_vectors, word_vectors: pretrained vectors.

        Raises TypeError for vectors (F040) of another type; otherwise as `initialize_with`.
        """
        vectors = {
            "char_vectors": char_vectors,
            "bigram_vectors": bigram_vectors,
            "word_vectors": word_vectors,
        }

        def build(examples: Sequence[Example]) -> Vocabulary:
            words = jieba_lexicon() if lexicon is None else lexicon
            docs = [example.predicted for example in examples]
            texts = [Units.visible_characters(doc.text).visible for doc in docs]
            logger.info("%s: %s words in the lexicon", self.name, f"{len(words):,}")
            names = [name for example in examples for name in names_in(example.reference)]
            options, labels = self.featuriser.options, self.cfg["labels"]
            return build_vocabulary(options, texts, words, labels=labels, mentions=names, **vectors)

        self.initialize_with(get_examples, labels, vectors, build)


@Language.factory(
    "flat_ner",
    assigns=ASSIGNS,
    default_config=FlatEntityRecognizer.default_config(DEFAULT_MODEL, SCORER)
    | {"on_misaligned": "expand"},
    default_score_weights=SCORE_WEIGHTS,
)
def make_flat_ner(
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
    trust: float,
    on_misaligned: Literal["expand"],  # in configs of earlier versions
) -> FlatEntityRecognizer:
    return FlatEntityRecognizer(
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
        trust=trust,
    )
