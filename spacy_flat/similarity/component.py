"""`re2_similarity`: a spaCy component that compares two texts."""

from collections.abc import Callable, Iterable, Sequence
from itertools import compress, takewhile
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from spacy.language import Language
from spacy.tokens import Doc, Span, Token
from spacy.training import Example, validate_examples
from spacy.util import minibatch
from thinc.api import Model, set_dropout_rate
from torch import Tensor

from ..errors import Errors
from ..initialise import initialise_network
from ..nn.shim import tok2vec_of
from ..pipe import LabelledPipe, Scorer, setting
from ..text import jieba_tokenizer  # noqa: F401 (can be pickled)
from ..text.tok2vec import backprop_zeros, keep_vectors
from ..util.arrays import Bools, Float32s
from ..util.probabilities import log_softmax, with_before
from ..vectors import VectorSource, check_sources, check_unused
from ..viz.alignment import Alignment
from .calibration import PairCalibration, best_threshold, errors_of, fit_calibration
from .equality import normal_form
from .featuriser import PairTexts, build_vocabulary
from .index import Question, TextIndex, read_questions
from .model import BatchOutputs, align, batches_of, cosines_of, network_of, read_pairs
from .pairs import Pair, Text, mark_pair, pair_of, string_of, two_texts
from .scores import gold_of, labelled, score_pairs
from .upstream import receiving, separate

DEFAULT_MODEL = """
[model]
@architectures = "spacy-flat.RE2.v1"
tok2vec = null

[model.network]
@misc = "spacy-flat.RE2Options.v2"

[model.text]
@misc = "spacy-flat.PairTextOptions.v3"
"""
PAIRS_AT_ONCE = 1000
MAX_ALIGNED = 5000  # characters of a text; memory grows with their square
FITTED = ("temperature", "cosine", "bias", "min_similarity")  # to a network
Probabilities = Float32s


class SimilarityHook:
    """The `similarity` hook of Docs and spans. Pickling a Doc drops the component."""

    def __init__(self, compare: Callable[[Any, Any], float] | None = None) -> None:
        self.compare = compare

    def __call__(self, left: Any, right: Any) -> float:
        """Raises ValueError (F326) for a pickled Doc."""
        if self.compare is None:
            raise ValueError(Errors.F326)
        return self.compare(left, right)

    def __reduce__(self) -> tuple[Any, ...]:
        return SimilarityHook, ()


class PairClassifier(LabelledPipe):
    """Compares two texts: predicts a class, such as "same" or "different", or a score.

    A pair is a Doc with two spans in `doc.spans["pair"]`, or with two texts joined by U+001F. Other
    Docs stay unchanged.

    positive_label: the class whose probability is the similarity; by default the last of two.
    threshold: the probability from which an evaluation counts a pair as positive.
    temperature: divides the logits before probabilities are computed; see `calibrate`.
    cosine: weight of the cosine of both texts' summed embeddings, which is then added to the
        positive class's logit, with two classes.
    bias: added to the same logit.
    fit_threshold: let each evaluation in training set the most accurate threshold.
    min_similarity: lowest similarity of a match in `index.search`.
    similarity_hooks: use the network for `doc.similarity` and `span.similarity`.
    """

    positive_label: str | None = setting(None)
    threshold: float = setting(0.5, min=0, max=1)
    temperature: float = setting(1.0, min=1e-6)
    cosine: float = setting(0.0, min=0, max=1000)
    bias: float = setting(0.0, min=-1000, max=1000)
    fit_threshold: bool = setting(False)
    min_similarity: float = setting(0.0, min=0, max=1)
    similarity_hooks: bool = setting(True)

    def __init__(
        self, *args: Any, nlp: Language, scorer: Scorer | None = score_pairs, **settings: Any
    ) -> None:
        super().__init__(*args, scorer=scorer, **settings)
        self.nlp = nlp
        self._is_learning = False  # whether evaluations are those of a training

    @property
    def positive(self) -> str:
        """The label whose probability, or score, is the similarity of two texts.

        Raises ValueError (F322) if `positive_label` isn't a label, or is needed and missing.
        """
        label = self.positive_label
        if label in self.labels:
            return str(label)
        if label is not None or len(self.labels) > 2:
            words = {"name": self.name, "labels": self.labels, "given": label}
            raise ValueError(Errors.F322.format(**words))
        return self.labels[-1]

    @property
    def knows_equals(self) -> bool:
        """Whether equal texts are the same, whatever the network says."""
        has_positive = len(self.labels) == 2 or self.positive_label in self.labels
        return self.featuriser.options.equal and has_positive and not self.is_regression

    @property
    def is_regression(self) -> bool:
        """Whether the network predicts a score."""
        return bool(self.model.attrs["options"].objective == "score")

    def predict(self, docs: Iterable[Doc]) -> list[Probabilities | None]:
        """[K] probabilities of the classes, or [1] the score, for each Doc that is a pair."""
        docs = list(docs)
        self.require_initialised()
        pairs = [pair_of(doc) for doc in docs]
        found = iter(self.compare([pair for pair in pairs if pair is not None]))
        return [next(found) if pair is not None else None for pair in pairs]

    def set_annotations(self, docs: Iterable[Doc], scores: Sequence[Probabilities | None]) -> None:
        """Set `doc.cats` and `doc.spans["pair"]`."""
        docs = list(docs)
        keep_vectors(tok2vec_of(self.model), docs)
        hook = SimilarityHook(self.similarity)
        for doc, found in zip(docs, scores, strict=True):
            if self.similarity_hooks:
                doc.user_hooks["similarity"] = doc.user_span_hooks["similarity"] = hook
            if found is not None and (pair := pair_of(doc)) is not None:
                mark_pair(doc, pair)
                doc.cats.update(zip(self.labels, found.tolist(), strict=True))

    def align(self, left: Text, right: Text) -> Alignment:
        """Align two texts, Docs or spans. Raises ValueError (F161) for very long ones."""
        self.require_initialised()
        pair = two_texts(0, (left, right))
        if (length := max(len(string_of(text)) for text in pair)) > MAX_ALIGNED:
            raise ValueError(Errors.F161.format(length=length, limit=MAX_ALIGNED))
        return align(self.model, self.read([pair]))

    def predict_pairs(self, pairs: Iterable[tuple[Text, Text]]) -> Probabilities:
        """Compare pairs of texts, Docs or spans.

        Returns [N, K] probabilities of the classes, or [N, 1] scores.

        Raises TypeError (F312) for anything but pairs of texts.
        """
        self.require_initialised()
        checked = (two_texts(number, pair) for number, pair in enumerate(pairs))
        found = map(self.compare, minibatch(checked, PAIRS_AT_ONCE))  # type: ignore[no-untyped-call]
        return np.concatenate([np.zeros((0, len(self.labels)), dtype=np.float32), *found])

    def similarity(self, left: Text, right: Text) -> float:
        """The probability of the positive label, or the score, of two texts."""
        (found,) = self.predict_pairs([(left, right)])
        return float(found[self.labels.index(self.positive)])

    def index(
        self, questions: Iterable[Question], answers: Iterable[str] | None = None
    ) -> TextIndex:
        """Build an index to `search` for the most similar questions.

        questions: at least one; give several phrasings of a question as a list.
        answers: the answer to each question.

        Raises TypeError for a single string (F026) and for anything but strings (F028), ValueError
        without texts (F330) and for a different number of answers (F335).
        """
        self.require_initialised()
        return TextIndex(self, read_questions(questions, answers))

    def load_index(self, path: str | Path) -> TextIndex:
        """Load an index saved by `TextIndex.save`.

        Raises FileNotFoundError (F331), and ValueError for damaged data or another version's format
        (F332) or another component's weights (F334).
        """
        return TextIndex.load(self, Path(path))

    def read(self, pairs: Sequence[tuple[Text, Text]]) -> PairTexts:
        """Pairs as the model reads them: equal strings once; with a tok2vec each text as a Doc."""
        texts: list[Text] = [text for pair in pairs for text in pair]
        if tok2vec_of(self.model) is not None:  # a `doc_cleaner` may have removed the vectors
            is_read = [isinstance(t, str) or span_of(t).doc.tensor is not None for t in texts]
            texts = [t if r else string_of(t) for t, r in zip(texts, is_read, strict=True)]
        strings = list(dict.fromkeys(text for text in texts if isinstance(text, str)))
        # Tokenizers know few words in traditional characters.
        simplified = map(self.featuriser.simplifier, strings)
        docs = dict(zip(strings, self._prepared(map(self.nlp.make_doc, simplified)), strict=True))
        spans = [span_of(docs[text] if isinstance(text, str) else text) for text in texts]
        self.check_tokens({id(span.doc): span.doc for span in spans}.values())
        if tok2vec_of(self.model) is not None:
            spans = separate(spans, self._prepared)
        return read_pairs(self.model, list(zip(spans[::2], spans[1::2], strict=True)))

    def _prepared(self, docs: Iterable[Doc]) -> list[Doc]:
        """Docs after the components before this one, if there is a tok2vec."""
        if tok2vec_of(self.model) is not None:
            for before in self.components_before():
                docs = before.pipe(docs) if hasattr(before, "pipe") else map(before, docs)
        return list(docs)

    def components_before(self) -> list[Any]:
        """The enabled components before this one in its pipeline."""
        known = takewhile(lambda named: named[1] is not self, self.nlp.components)
        return [component for name, component in known if name in self.nlp.pipe_names]

    def probabilities(self, logits: Float32s, cosines: Float32s) -> Probabilities:
        """[N, K] probabilities of the classes, or the scores unchanged. cosines: [N]"""
        if self.is_regression:
            return logits
        biases = np.float32(self.bias) + np.float32(self.cosine) * cosines
        logits = logits / np.float32(self.temperature) + biases[:, None] * self._positives
        found: Probabilities = np.exp(log_softmax(logits))
        return found

    @property
    def _positives(self) -> Float32s:
        """[K] 1 for the positive one of two classes; zeros for more."""
        positives = np.zeros(len(self.labels), dtype=np.float32)
        if len(self.labels) == 2:
            positives[self.labels.index(self.positive)] = 1
        return positives

    def compare(self, pairs: Sequence[tuple[Text, Text]]) -> Probabilities:
        """[N, K] probabilities; 0 and 1 for equal texts."""
        is_equal = self._are_equal(pairs)
        logits, cosines = self._outputs(pairs, ~is_equal, bool(self.cosine))
        return self._with_equals(is_equal, self.probabilities(logits, cosines))

    def _outputs(
        self, pairs: Sequence[tuple[Text, Text]], chosen: Bools, has_cosines: bool
    ) -> tuple[Float32s, Float32s]:
        """[N, K] the network's outputs for the chosen pairs, and [N] the cosines, or zeros."""
        if not chosen.any():
            return np.zeros((0, len(self.labels)), np.float32), np.zeros(0, np.float32)
        texts = self.read([*compress(pairs, chosen)])
        none = np.zeros(len(texts.left), dtype=np.float32)
        return self.logits(texts), cosines_of(self.model, texts) if has_cosines else none

    def _with_equals(self, is_equal: Bools, others: Probabilities) -> Probabilities:
        """[N, K]: 0 and 1 for texts that are known to be equal, and those of the other pairs."""
        found = np.zeros((len(is_equal), len(self.labels)), dtype=np.float32)
        found[~is_equal] = others
        if is_equal.any():
            found[is_equal, self.labels.index(self.positive)] = 1
        return found

    def _are_equal(self, pairs: Sequence[tuple[Text, Text]]) -> Bools:
        """[N] whether the texts of each pair are known to be equal."""
        if not self.knows_equals:
            return np.zeros(len(pairs), dtype=np.bool_)
        forms = [[normal_form(string_of(text)) for text in pair] for pair in pairs]
        return np.array([left == right for left, right in forms], dtype=np.bool_)

    def logits(self, texts: PairTexts) -> Float32s:
        """[N, K] the network's outputs, before any softmax."""
        logits = np.zeros((len(texts.left), len(self.labels)), dtype=np.float32)
        for numbers, outputs in self.model.predict(texts):
            logits[numbers] = outputs.cpu().numpy()
        return logits

    def calibrate(self, examples: Iterable[Example]) -> PairCalibration:
        """Fit the temperature on held-out examples (Guo et al., 2017) and, with two classes, the
        weight of the cosine, the bias and the threshold, and report their effect. `initialize`
        resets all but the threshold. Searches give these probabilities, too: set `min_similarity`.

        Raises ValueError for a network that predicts a score (F328), and unless examples are pairs
        with different gold classes (F329).
        """
        self.require_initialised()
        if self.is_regression:
            raise ValueError(Errors.F328.format(name=self.name))
        examples = list(examples)
        validate_examples(examples, "PairClassifier.calibrate")
        pairs, gold = self._gold(examples)
        is_equal = self._are_equal(pairs)
        open_gold = gold[~is_equal]
        if len(set(open_gold.tolist())) < 2:
            raise ValueError(Errors.F329.format(name=self.name, labels=self.labels))
        logits, cosines = self._outputs(pairs, ~is_equal, True)
        said = self._with_equals(is_equal, self.probabilities(logits, cosines))
        before = self.temperature, *errors_of(said, gold)
        fitted = self.temperature, self.cosine, self.bias
        fitted = fit_calibration(logits, cosines, self._positives, open_gold, fitted)
        self.temperature, self.cosine, self.bias = fitted
        found = self._with_equals(is_equal, self.probabilities(logits, cosines))
        after = self.temperature, *errors_of(found, gold)
        if len(self.labels) == 2:
            number = self.labels.index(self.positive)
            is_same = with_before(gold == number, said[:, number] >= self.threshold)
            self.threshold = best_threshold(found[:, number], is_same, self.threshold)
        temperatures, errors, losses = zip(before, after, strict=True)
        threshold = self.threshold if len(self.labels) == 2 else None
        given = *temperatures, *errors, *losses, len(gold), self.cosine, self.bias, threshold
        return PairCalibration(*given)

    def _add_gradients(
        self, examples: list[Example], drop: float, losses: dict[str, float]
    ) -> bool:
        self._is_learning = True
        pairs, gold = self._gold(examples)
        tok2vec, joint = tok2vec_of(self.model), [example.predicted for example in examples]
        if not len(gold):
            backprop_zeros(tok2vec, joint)
            return False
        if tok2vec is None:
            self._backprop(read_pairs(self.model, pairs, is_train=True), gold, losses)
            return True
        set_dropout_rate(self.model, drop)
        spans = separate([span for pair in pairs for span in pair])
        docs = list({id(span.doc): span.doc for span in spans}.values())
        with receiving(tok2vec, self.components_before(), joint, docs):
            pairs = list(zip(spans[::2], spans[1::2], strict=True))
            self._backprop(read_pairs(self.model, pairs, is_train=True), gold, losses)
        return True

    def _backprop(self, texts: PairTexts, gold: NDArray[Any], losses: dict[str, float]) -> None:
        scale = self.loss_scale(len(gold)) / len(gold)
        network = network_of(self.model)
        with self.shim.training():
            for pairs, batch in batches_of(self.model, texts):
                self.backward(network.loss(network(batch), gold[pairs]) * scale, losses)
        texts.backprop()

    def get_loss(
        self, examples: Iterable[Example], scores: Iterable[BatchOutputs]
    ) -> tuple[float, list[Tensor]]:
        """The mean loss over pairs, and its gradient for the outputs of each batch. Doesn't
        change the component.

        scores: the outputs for the examples that are pairs with gold labels.
        """
        _, gold = self._gold(list(examples))
        network = network_of(self.model)
        found = [network.loss_gradient(outputs, gold[numbers]) for numbers, outputs in scores]
        mean = sum(loss for loss, _ in found) / max(1, len(gold))
        return mean, [gradient / len(gold) for _, gradient in found]

    def _gold(self, examples: Iterable[Example]) -> tuple[list[Pair], NDArray[Any]]:
        """The pairs with gold labels, and their numbers of classes, or their scores."""
        found = [(pair_of(each.predicted), gold_of(each, self.labels)) for each in examples]
        known = [(pair, value) for pair, value in found if pair is not None and value is not None]
        kind = np.float32 if self.is_regression else np.int64
        return [pair for pair, _ in known], np.array([value for _, value in known], dtype=kind)

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

        labels: classes, or the single label of a score; by default those of the pairs.
        char_vectors, bigram_vectors: pretrained vectors, for inputs = "chars".
        word_vectors: pretrained vectors, for inputs = "tokens".

        Raises ValueError without pairs (F323), for too few or too many labels (F324), for vectors
        that the component doesn't read (F325) and without any (F327); TypeError for vectors of
        another type (F040) and for labels in one string (F026).
        """
        vectors = {
            "char_vectors": char_vectors,
            "bigram_vectors": bigram_vectors,
            "word_vectors": word_vectors,
        }
        check_sources(**vectors)
        inputs = self.featuriser.options.inputs
        unused = {"chars": ["word_vectors"], "tokens": ["char_vectors", "bigram_vectors"]}
        check_unused(self.name, f"inputs = {inputs!r}", vectors, unused[inputs])
        if self.lacks_examples(get_examples):
            return
        examples = list(get_examples())
        found = [(pair, each) for each in examples if (pair := pair_of(each.predicted)) is not None]
        pairs = [pair for pair, _ in found]
        if not pairs:
            raise ValueError(Errors.F323.format(name=self.name))
        of_pairs = {label for _, example in found for label in example.reference.cats}
        labels = self.merged_labels(sorted(of_pairs), labels)
        if (len(labels) == 1) != self.is_regression:
            wanted = "one label" if self.is_regression else "two labels or more"
            raise ValueError(Errors.F324.format(name=self.name, wanted=wanted, labels=labels))
        self.cfg["labels"] = labels
        for name in FITTED:
            setattr(self, name, self.given[name])
        vocabulary = build_vocabulary(self.featuriser, pairs, **vectors)
        if not vocabulary.tables and tok2vec_of(self.model) is None:
            raise ValueError(Errors.F327.format(name=self.name))
        docs = list({id(span.doc): span.doc for pair in pairs for span in pair}.values())
        if self.featuriser.unit == "token":
            self.learn_tokens(docs)
        initialise_network(self.model, docs, vocabulary, {"labels": labels}, self.name)

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Call the scorer. `cats_score` is `pairs_score`. In training, `fit_threshold` sets the
        threshold first."""
        examples = list(examples)
        positive = self.positive if len(self.labels) == 2 else None
        if positive is not None and self.fit_threshold and self._is_learning:
            gold, found = labelled(examples, self.labels)
            if len(gold):
                number = self.labels.index(positive)
                self.threshold = best_threshold(found[:, number], gold == number)
                self._is_learning = False
        settings = {
            "positive": positive,
            "threshold": self.cfg.get("threshold", self.threshold),
            **kwargs,
        }
        scores: dict[str, Any] = super().score(examples, **settings)
        # `spacy evaluate` prints this score of components that set `doc.cats`.
        described = {"cats_score_desc": "pairs", "cats_score": scores.get("pairs_score")}
        return {**described, **scores} if "pairs_score" in scores else scores


@Language.factory(
    "re2_similarity",
    assigns=["doc.cats", "doc.spans"],
    default_config=PairClassifier.default_config(DEFAULT_MODEL, "spacy-flat.pair_scorer.v1")
    | {"keep_alignment": False, "search_weights": None},
    default_score_weights={
        "pairs_score": 1.0,
        "pairs_acc": 0.0,
        "pairs_f": 0.0,
        "pairs_p": 0.0,
        "pairs_r": 0.0,
        "pairs_auc": 0.0,
    },
)
def make_re2_similarity(
    nlp: Language,
    name: str,
    model: Model[Any, Any],
    scorer: Scorer | None,
    device: str,
    positive_label: str | None,
    threshold: float,
    temperature: float,
    cosine: float,
    bias: float,
    fit_threshold: bool,
    min_similarity: float,
    similarity_hooks: bool,
    keep_alignment: Literal[False],  # in configs of earlier versions
    search_weights: Sequence[float] | None,  # in configs of earlier versions
) -> PairClassifier:
    return PairClassifier(
        nlp.vocab,
        model,
        name,
        nlp=nlp,
        scorer=scorer,
        device=device,
        positive_label=positive_label,
        threshold=threshold,
        temperature=temperature,
        cosine=cosine,
        bias=bias,
        fit_threshold=fit_threshold,
        min_similarity=min_similarity,
        similarity_hooks=similarity_hooks,
    )


def span_of(text: Doc | Span | Token) -> Span:
    if isinstance(text, Token):
        return text.doc[text.i : text.i + 1]
    return text[:] if isinstance(text, Doc) else text
