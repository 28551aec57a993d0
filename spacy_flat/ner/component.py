"""The component that `flat_ner` and `tener_ner` share."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from spacy.tokens import Doc, Span
from spacy.training import Example, validate_examples
from thinc.api import Optimizer, set_dropout_rate
from torch import Tensor

from ..errors import Errors, Warnings
from ..initialise import initialise_network
from ..lexicon import NOT_ENTITY
from ..nn.shim import tok2vec_of
from ..pipe import FEW_TOKENS, LabelledPipe, Scorer, setting
from ..text.scripts import HAN
from ..text.spans import EntitySpan, Units
from ..text.tok2vec import backprop_zeros, keep_vectors, listeners
from ..text.vocabulary import Vocabulary
from ..util.options import Check, check_of
from ..util.probabilities import MAX_TEMPERATURE, MIN_TEMPERATURE
from ..vectors import VectorSource, check_sources
from .calibration import EntityCalibration, fit
from .constraints import Labels, SpanConstraints, constraints_of
from .decoding import Decoding, EntityPrediction, Threshold, find_entities, span_probabilities
from .emissions import Emissions, Gold, network_of, teacher_scores, upstream_features
from .rehearsal import FurtherTraining
from .scores import score_entities
from .spans import (
    Annotation,
    gold_annotation,
    in_characters,
    labels_in,
    set_alternatives,
    set_entities,
    unscored_labels,
)


def _is_label_map(value: object) -> bool:
    if not isinstance(value, dict):
        return value is None
    names = [*value, *value.values()]
    is_text = all(isinstance(name, str) for name in names)
    return is_text and all(name == name.strip() != NOT_ENTITY for name in names)


def _is_threshold(value: object) -> bool:
    numbers = value.values() if isinstance(value, dict) else [value]
    return value is None or all(map(check_of(float, 0, 1).accepts, numbers))


SCORER = "spacy-flat.entity_scorer.v1"
ASSIGNS = [
    *("doc.ents", "token.ent_iob", "token.ent_type", "doc._.char_ents"),
    *("span._.confidence", "doc._.ent_alternatives"),
]
SCORE_WEIGHTS = {
    "ents_f": 1.0,
    "ents_p": 0.0,
    "ents_r": 0.0,
    "ents_per_type": None,
} | dict.fromkeys(("chars_f", "chars_p", "chars_r"), 0.0)
LONG_WORDS = 4  # mean characters of Chinese tokens that are longer than words


class CRFEntityRecognizer(LabelledPipe):
    """Finds entities by tagging the units of a text (characters or tokens) with a CRF.

    An entity that crosses token boundaries gets all tokens that it touches in `doc.ents`;
    `doc._.char_ents` has its exact characters.

    unannotated_labels: labels that the training corpus doesn't annotate.
    label_map: maps the network's labels to those of Docs; "" drops entities, missing labels stay.
    overwrite: replace the Doc's entities; otherwise drop new entities that share a token with them.
    constrained_decoding: exclude entities with a line break, TAB, "|", markup tag or unmatched
        bracket, without letters or digits, or within an e-mail address, URL, path or account name.
    confidence: compute the probability of each entity, `span._.confidence`.
    alternatives: number of most probable annotations to compute for `doc._.ent_alternatives(k)`.
    threshold: predict entities with at least this probability instead of the most probable tags; if
        they overlap, the most probable. A map sets it by label, 0.5 for others.
    temperature: divides scores before probabilities are computed; see `calibrate`.
    """

    overwrite: bool = setting(False)
    constrained_decoding: bool = setting(True)
    unannotated_labels: Sequence[str] = setting(())
    label_map: dict[str, str] | None = setting(
        None,
        Check(
            "null or a map from labels to labels, without white space around them", _is_label_map
        ),
    )
    confidence: bool = setting(False)
    alternatives: int = setting(0, min=0)
    threshold: Threshold = setting(
        None, Check("null, a number from 0 to 1, or a map of them", _is_threshold)
    )
    temperature: float = setting(1.0, min=MIN_TEMPERATURE, max=MAX_TEMPERATURE)

    def __init__(self, *args: Any, scorer: Scorer | None = score_entities, **settings: Any) -> None:
        super().__init__(*args, scorer=scorer, **settings)
        self._warned: dict[str, list[str]] = {}  # labels of settings

    def _apply_settings(self) -> None:
        super()._apply_settings()
        self._further = FurtherTraining(self)

    @property
    def _rehearsal_model(self) -> Any:
        """What `nlp.resume_training` sets."""
        return self._further.teacher

    @_rehearsal_model.setter
    def _rehearsal_model(self, model: Any) -> None:
        self._further.begin(model)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that Docs get: those that the network knows, through `label_map`."""
        return tuple(self.fine_labels)

    @property
    def fine_labels(self) -> dict[str, list[str]]:
        """The network's labels for each label of Docs."""
        found: dict[str, list[str]] = {}
        names = self.label_map or {}
        for label in self.known_labels:
            if name := names.get(label, label):
                found.setdefault(name, []).append(label)
        return found

    def _checked(self, label: str) -> str:
        """Raises ValueError (F386) if a label is "not_entity"."""
        if label == NOT_ENTITY:
            raise ValueError(Errors.F386.format(label=label))
        return super()._checked(label)

    def predict(self, docs: Iterable[Doc]) -> list[EntityPrediction]:
        """Find the entities of each Doc, as characters of its text."""
        docs = list(docs)
        self.require_initialised()
        self.check_tokens(docs)
        self._check_labels()
        emissions, network = self.model.predict(docs), network_of(self.model)
        decoding = self._decoding()
        constraints = self._constraints(docs, emissions.texts, decoding.labels)
        return find_entities(emissions, network, decoding, constraints)

    def _check_labels(self) -> None:
        """Warn (W305) once of settings for labels that no entity can have."""
        for name, known in (("threshold", self.labels), ("label_map", self.known_labels)):
            given = getattr(self, name)
            labels = given if isinstance(given, dict) else ()
            unknown = [label for label in labels if label not in known]
            if unknown and unknown != self._warned.get(name):
                words = {"unknown": ", ".join(unknown), "known": ", ".join(known)}
                message = Warnings.W305.format(name=self.name, setting=name, **words)
                warnings.warn(message, stacklevel=3)
            self._warned[name] = unknown

    def check_tokens(self, docs: Iterable[Doc]) -> None:
        """Also warn (W304) once if tokens are longer than Chinese words, as of a tokenizer of other
        languages: an entity is expanded to its whole tokens."""
        if self.featuriser.unit == "token":
            super().check_tokens(docs)
        elif self._tokens_seen[1] < FEW_TOKENS:
            foreign = (doc for doc in docs if doc.vocab.lang not in ("zh", "ja"))
            lengths = [len(token) for doc in foreign for token in doc if HAN.search(token.text)]
            self._tokens_seen += sum(lengths), len(lengths)
            characters, tokens = self._tokens_seen.tolist()
            if characters > LONG_WORDS * tokens:
                self._warn_of_tokens(characters / tokens, "more than words in Chinese")
                self._tokens_seen += 0, FEW_TOKENS

    def span_probabilities(
        self, docs: Iterable[Doc], spans: Iterable[Iterable[Span | tuple[int, int, str]]]
    ) -> list[list[float]]:
        """The probability that each span is an entity with its label.

        spans: any spans of each Doc, or (start, end, label) in characters; they may overlap.
            Existing entities of the Docs count as in `nlp.pipe`.

        Raises ValueError (F392) for a span that is not in its text.
        """
        docs = list(docs)
        self.require_initialised()
        places = [
            [in_characters(s) if isinstance(s, Span) else EntitySpan(*s) for s in of_doc]
            for of_doc in spans
        ]
        for doc, own in zip(docs, places, strict=True):
            for span in own:
                if not 0 <= span.start <= span.end <= len(doc.text):
                    raise ValueError(Errors.F392.format(span=tuple(span), length=len(doc.text)))
        emissions = self.model.predict(docs)
        decoding, network = self._decoding(), network_of(self.model)
        constraints = self._constraints(docs, emissions.texts, decoding.labels)
        return span_probabilities(emissions, network, decoding, constraints, places)

    def _decoding(self) -> Decoding:
        wanted = self.confidence, self.alternatives, self.threshold, self.temperature
        return Decoding(self.fine_labels, self.constrained_decoding, *wanted)

    def calibrate(self, examples: Iterable[Example]) -> EntityCalibration:
        """Fit the temperature to held-out examples (Guo et al., 2017). The probability of an entity
        then shows how often such entities are right. Entities stay the same unless there is a
        `threshold`. `initialize` resets the temperature. Labels without an example are unannotated.

        Raises ValueError if no entities are found (F348).
        """
        self.require_initialised()
        examples = list(examples)
        validate_examples(examples, f"{type(self).__name__}.calibrate")
        absent = set(self.known_labels) - labels_in(example.reference for example in examples)
        gold = [each.mapped(self.label_map) for each in self._gold(examples, sorted(absent))]
        emissions = self.model.predict([example.predicted for example in examples])
        report = fit(emissions, network_of(self.model), self._decoding(), gold, self.name)
        self.temperature = report.temperature_after
        return report

    def _constraints(
        self, docs: Sequence[Doc], texts: Sequence[Units], labels: Labels
    ) -> dict[int, SpanConstraints]:
        """Those of the Docs' annotation and of lexicon words, by the number of the Doc."""
        overwrite, pairs = self.overwrite, enumerate(zip(docs, texts, strict=True))
        found = {n: constraints_of(doc, text, labels, overwrite) for n, (doc, text) in pairs}
        for number, words in self.trusted_words(texts).items():
            found[number].add_words(words, labels)
        return {number: constraints for number, constraints in found.items() if constraints}

    def trusted_words(self, texts: Sequence[Units]) -> dict[int, list[tuple[EntitySpan, float]]]:
        """Lexicon words with a trust in texts, by the number of the text."""
        return {}

    def set_annotations(self, docs: Iterable[Doc], scores: Sequence[EntityPrediction]) -> None:
        """Set `doc.ents`, `doc._.char_ents`, and the requested confidence and alternatives."""
        docs, overwrite = list(docs), self.overwrite
        keep_vectors(tok2vec_of(self.model), docs)
        for doc, found in zip(docs, scores, strict=True):
            set_alternatives(doc, found.alternatives, () if overwrite else doc.ents)
            if len(doc):
                set_entities(doc, found.entities, overwrite, found.confidence)

    def _add_gradients(
        self, examples: list[Example], drop: float, losses: dict[str, float]
    ) -> bool:
        """Adds new labels, like spaCy's `ner`."""
        self._check_unannotated(self.known_labels)
        self.register_labels(examples)
        docs = [example.predicted for example in examples]
        return self._learn(docs, self._gold(examples), drop, losses)

    def rehearse(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Any = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn to predict for the examples' texts what the component predicted at
        `nlp.resume_training`; of labels that were added since, that the texts have none. Does
        nothing without that call. Raises ValueError (F241) if the component listens to another one.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, f"{type(self).__name__}.rehearse")
        if self._further.teacher is None:
            return losses
        self.require_initialised()
        if (tok2vec := tok2vec_of(self.model)) and listeners(tok2vec):
            raise ValueError(Errors.F241.format(name=self.name))
        docs = [example.predicted for example in examples]
        unknown = [Annotation([], [EntitySpan(0, len(doc.text), "")]) for doc in docs]
        if self._learn(docs, unknown, drop, losses) and sgd is not None:
            if not isinstance(sgd, Optimizer):  # `nlp.rehearse` gives a function with this rate
                self._further.optimizer.learn_rate, sgd = sgd.learn_rate, self._further.optimizer
            self.finish_update(sgd)
        return losses

    def _learn(
        self, docs: list[Doc], known: list[Annotation], drop: float, losses: dict[str, float]
    ) -> bool:
        """Learn what is known, and the rest from the teacher if there is one; or added labels
        alone, which raw texts don't have. Returns False if there is nothing to learn from."""
        featuriser, network, further = self.featuriser, network_of(self.model), self._further
        n_raw = sum(each.is_of_raw_text(doc.text) for each, doc in zip(known, docs, strict=True))
        is_new, teacher = further.learns_alone(), further.teacher_of(docs, n_raw)
        if is_new:
            teacher, known = None, list(map(further.known_of, docs, known))
        texts, segments = featuriser.read(docs)
        gold = Gold.of(known, texts, segments, network.tags, teacher is not None)
        further.count_update(known, keeps_old=bool(n_raw and (is_new or teacher)))
        if not gold.n_known:
            backprop_zeros(tok2vec_of(self.model), docs)
            return False
        set_dropout_rate(self.model, drop)
        scale = self.loss_scale(gold.n_known)
        upstream = upstream_features(self.model, docs, texts, True)
        heard = upstream  # by the teacher, which shares a component that both listen to
        if teacher and (tok2vec := tok2vec_of(teacher)) and not listeners(tok2vec):
            heard = upstream_features(teacher, docs, texts, False)
        with self.shim.training():
            for batch in featuriser.batches(texts, segments, is_train=True):
                vectors = upstream.of(batch.segments) if upstream else None
                target = gold.target(batch)
                scores = network.training_scores(batch, vectors)
                given = teacher_scores(batch, target, teacher, heard) if teacher else None
                loss = network.loss(scores, target, given)
                self.backward(loss * scale, losses)
        if is_new:
            backprop_zeros(tok2vec_of(self.model), docs)
        elif upstream is not None:
            upstream.backprop()
        return True

    def finish_update(self, sgd: Optimizer) -> None:
        """Make a step; of the network alone where added labels alone are learnt, since thinc would
        let the weights of a tok2vec decay without gradients, too."""
        if self.is_initialised and self._further.learns_alone():
            self.shim.finish_update(sgd)
        else:
            super().finish_update(sgd)

    def register_labels(self, examples: Iterable[Example]) -> None:
        labels = labels_in(each.reference for each in examples)
        self.add_labels(sorted(labels - set(self.known_labels)))
        self._further.count_labels(labels)

    def _extend(self, labels: Sequence[str]) -> None:
        self._further.extend(labels)

    def rehearse_with(self, model: Any) -> None:
        """Make a model the teacher of updates and rehearsals, as `nlp.resume_training` does. From
        then on it belongs to the component, whose other labels were added since and are learnt
        alone, those of a branch all together. Raises ValueError (F243) unless its labels are the
        component's first ones, and its tables as large."""
        self._further.teach_with(model)

    def get_loss(
        self, examples: Iterable[Example], scores: Emissions
    ) -> tuple[float, list[Tensor]]:
        """The mean negative log-likelihood of the gold tags of annotated segments, and its gradient
        for the scores of each batch. Doesn't change the component.

        Raises ValueError (F233) for a label that the component doesn't have.
        """
        network, annotations = network_of(self.model), self._gold(list(examples))
        gold = Gold.of(annotations, scores.texts, scores.segments, network.tags)
        found = [
            network.loss_gradient(part.scores, gold.target(part.batch)) for part in scores.batches
        ]
        return sum(loss for loss, _ in found), [gradient for _, gradient in found]

    def _gold(self, examples: Iterable[Example], absent: Sequence[str] = ()) -> list[Annotation]:
        unannotated = [*self.unannotated_labels, *absent]
        return [gold_annotation(example, unannotated) for example in examples]

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Call the scorer. Unannotated labels count if the examples have entities of them."""
        examples = list(examples)
        kwargs["unannotated_labels"] = unscored_labels(self.unannotated_labels, examples)
        scores: dict[str, Any] = super().score(examples, label_map=self.label_map, **kwargs)
        return scores

    def initialize_with(
        self,
        get_examples: Callable[[], Iterable[Example]],
        labels: Sequence[str] | None,
        vectors: Mapping[str, VectorSource | None],
        build: Callable[[list[Example]], Vocabulary],
    ) -> None:
        """Build the network for the labels (by default, those of the examples), those added before,
        and the vocabulary that `build` makes. Does nothing without examples and labels.

        Raises ValueError without labels (F301), for an invalid label (F302) and for an unknown
        unannotated label (F242); TypeError for labels in a single string (F026) and for vectors
        of another type (F040).
        """
        if self.lacks_examples(get_examples) and not (labels or self.known_labels):
            return
        check_sources(**vectors)
        examples = list(get_examples())
        labels = self.merged_labels(sorted(labels_in(each.reference for each in examples)), labels)
        if not labels:
            raise ValueError(Errors.F301.format(name=self.name))
        self._check_unannotated(labels)
        self.cfg["labels"] = labels
        vocabulary = build(examples)
        self.temperature = self.given["temperature"]  # it was fitted to another network
        self._further = FurtherTraining(self)
        docs = [example.predicted for example in examples]
        if vocabulary.featuriser.unit == "token":
            self.learn_tokens(docs)
        sizes = {"labels": labels, **vocabulary.featuriser.sizes}
        initialise_network(self.model, docs, vocabulary, sizes, self.name)

    def _check_unannotated(self, labels: Sequence[str]) -> None:
        """Raises ValueError (F242) for an unannotated label that is not one of the labels."""
        for label in self.unannotated_labels:
            if label not in labels:
                raise ValueError(Errors.F242.format(name=self.name, label=label, labels=labels))
