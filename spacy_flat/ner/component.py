"""What spaCy sees of an entity recogniser: what `flat_ner` and `tener_ner` share."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from spacy.pipeline import TrainablePipe
from spacy.scorer import PRFScore, get_ner_prf
from spacy.tokens import Doc
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Optimizer, set_dropout_rate

from ..errors import Errors
from ..text.batches import Batch
from ..text.segments import Segment, join_segments, spans_within
from ..text.units import EntitySpan, Units
from .model import (
    Emissions,
    TaggingModel,
    best_tags,
    extend_labels,
    loss_and_gradient,
    scheme_of,
    shim_of,
)
from .spans import OnMisaligned, gold_spans, has_gold, set_entities
from .tags import IntArray, TagSet, tag_set

if TYPE_CHECKING:
    from torch import Tensor

CHAR_ENTS = "char_ents"
CHAR_ENTS_KEY = f"spacy_flat.{CHAR_ENTS}"  # in Doc.user_data


def get_char_ents(doc: Doc) -> list[EntitySpan]:
    """`doc._.char_ents`: the entities that were found, as (start, end, label) in `doc.text`; also
    those that gave way to others in `doc.ents`."""
    # A DocBin and a worker process make other sequences of named tuples.
    return [EntitySpan(*span) for span in doc.user_data.get(CHAR_ENTS_KEY, ())]


def set_char_ents(doc: Doc, spans: Sequence[EntitySpan]) -> None:
    doc.user_data[CHAR_ENTS_KEY] = spans


if not Doc.has_extension(CHAR_ENTS):
    Doc.set_extension(CHAR_ENTS, getter=get_char_ents, setter=set_char_ents)


def score_entities(examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
    """spaCy's scores of entities as tokens, and `chars_p`, `chars_r`, `chars_f`: of their exact
    characters, which differ where an entity cuts tokens. None where there is nothing to score."""
    examples = list(examples)
    counts = PRFScore()
    for example in examples:
        gold = gold_spans(example)
        if gold is not None:
            counts.score_set(set(get_char_ents(example.predicted)), set(gold))
    scores: dict[str, Any] = get_ner_prf(examples, **kwargs)
    any_scored = len(counts) > 0
    return {
        **scores,
        "chars_p": counts.precision if any_scored else None,
        "chars_r": counts.recall if any_scored else None,
        "chars_f": counts.fscore if any_scored else None,
    }


def make_scorer() -> Callable[..., dict[str, Any]]:
    """The registered scorer `spacy-flat.entity_scorer.v1`."""
    return score_entities


ASSIGNS = ["doc.ents", "token.ent_iob", "token.ent_type", f"doc._.{CHAR_ENTS}"]
SETTINGS = {
    "on_misaligned": "expand",
    "overwrite": False,
    "scorer": {"@scorers": "spacy-flat.entity_scorer.v1"},
}
SCORE_WEIGHTS = {
    "ents_f": 1.0,
    "ents_p": 0.0,
    "ents_r": 0.0,
    "ents_per_type": None,
    "chars_f": 0.0,
    "chars_p": 0.0,
    "chars_r": 0.0,
}


class CRFEntityRecognizer(TrainablePipe):  # type: ignore[misc]
    """Finds entities by tagging the units of a text, characters or tokens, with a CRF.

    model: Docs → emissions of the tags of their units.
    on_misaligned: what becomes in `doc.ents` of an entity that cuts tokens: "expand" it to the
        tokens, "contract" it, or "drop" it. `doc._.char_ents` has the exact characters.
    overwrite: replace entities that the Doc already has; otherwise new ones give way to them.
    scorer: of the evaluation.
    """

    def __init__(
        self,
        vocab: Vocab,
        model: TaggingModel,
        name: str,
        *,
        on_misaligned: OnMisaligned = "expand",
        overwrite: bool = False,
        scorer: Callable[..., dict[str, Any]] | None = score_entities,
    ) -> None:
        self.vocab = vocab
        self.model = model
        self.name = name
        self.on_misaligned: OnMisaligned = on_misaligned
        self.overwrite = overwrite
        self.scorer = scorer
        self.cfg: dict[str, Any] = {"labels": []}

    @property
    def labels(self) -> tuple[str, ...]:
        """Entity types, in the order of their tags."""
        return tuple(self.cfg["labels"])

    @property
    def label_data(self) -> tuple[str, ...]:
        """What `spacy init labels` writes and `initialize` reads."""
        return self.labels

    @property
    def tags(self) -> TagSet:
        """The tags of a unit."""
        return tag_set(self.labels, scheme_of(self.model))

    def predict(self, docs: Iterable[Doc]) -> list[list[EntitySpan]]:
        """Entities of each Doc, as characters of its text."""
        docs = list(docs)
        self._require_initialised()
        texts: Sequence[Units] = []
        parts: list[list[tuple[Segment, list[EntitySpan]]]] = [[] for _ in docs]
        for emissions in self.model.predict(docs) if any(len(doc) for doc in docs) else ():
            texts = emissions.texts
            for segment, spans in self._decode(emissions):
                parts[segment.text].append((segment, spans))
        if not texts:
            return [[] for _ in docs]
        return [text.to_characters(_join(some)) for text, some in zip(texts, parts, strict=True)]

    def set_annotations(self, docs: Iterable[Doc], scores: Sequence[Sequence[EntitySpan]]) -> None:
        """Write what `predict` found to `doc.ents` and, in characters, to `doc._.char_ents`."""
        for doc, spans in zip(docs, scores, strict=True):
            set_char_ents(doc, spans)
            if len(doc):
                set_entities(doc, spans, self.on_misaligned, self.overwrite)

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn from examples. The network has dropouts of its own: `drop` is for a tok2vec.

        Examples that say nothing about entities teach nothing. Labels that are new are added, as
        spaCy's `ner` does.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, "CRFEntityRecognizer.update")
        self._require_initialised()
        if not any(has_gold(example) for example in examples):
            return losses
        for label in sorted(_labels_of(examples) - set(self.labels)):
            self.add_label(label)
        set_dropout_rate(self.model, drop)
        emissions, backprop = self.model.begin_update([eg.predicted for eg in examples])
        learnt = self._losses(examples, emissions)

        def gradients() -> Iterator[tuple[Emissions, "Tensor"]]:
            for part, loss, gradient in learnt:
                losses[self.name] += loss
                yield part, gradient

        backprop(gradients())  # type: ignore[arg-type]
        if sgd is not None:
            self.finish_update(sgd)
        return losses

    def get_loss(
        self, examples: Iterable[Example], scores: Iterable[Emissions]
    ) -> tuple[float, list["Tensor"]]:
        """Negative log-likelihood of the gold tags, the mean over the segments whose examples say
        what is an entity, and its gradient for each batch of emissions.

        Raises ValueError (F233) for a label that the component does not have.
        """
        found = list(self._losses(list(examples), scores))
        return sum(loss for _, loss, _ in found), [gradient for *_, gradient in found]

    def _losses(
        self, examples: Sequence[Example], emissions: Iterable[Emissions]
    ) -> Iterator[tuple[Emissions, float, "Tensor"]]:
        """Each batch with its share of the loss, and its gradient."""
        characters = [gold_spans(example) for example in examples]
        gold: list[list[EntitySpan] | None] = []
        n_known = 0
        for part in emissions:
            if not gold:
                gold = [
                    None if spans is None else text.from_characters(spans)
                    for text, spans in zip(part.texts, characters, strict=True)
                ]
                n_known = sum(gold[segment.text] is not None for segment in part.segments)
            known = [gold[segment.text] is not None for segment in part.batch.segments]
            weights = np.array(known) / max(1, n_known)
            tags = self._gold_tags(part.batch, gold)
            yield part, *loss_and_gradient(self.model, part, tags, weights)

    def settle_labels(
        self, get_examples: Callable[[], Iterable[Example]], labels: Sequence[str] | None
    ) -> list[Example]:
        """Set the labels, those of the examples where not given; those that were added before
        stay. Returns the examples.

        Raises ValueError where there is no label at all (F301) or a wrong one (F302), TypeError
        (F026) for labels that are one string.
        """
        if isinstance(labels, str):
            raise TypeError(Errors.F026.format(value=repr(labels)))
        validate_get_examples(get_examples, f"{type(self).__name__}.initialize")
        examples = list(get_examples())
        found = sorted(_labels_of(examples)) if labels is None else labels
        labels = list(dict.fromkeys([*found, *self.labels]))
        if not labels:
            raise ValueError(Errors.F301.format(name=self.name))
        self.cfg["labels"] = [self._checked(label) for label in labels]
        return examples

    def add_label(self, label: str) -> int:
        """Add an entity type, also to a trained network. Returns 0 if it is there already.

        Raises ValueError (F302) for what is no label.
        """
        if self._checked(label) in self.labels:
            return 0
        self.cfg["labels"].append(label)
        if shim_of(self.model).is_initialised:
            extend_labels(self.model, self.labels)
        return 1

    def _decode(self, emissions: Emissions) -> Iterator[tuple[Segment, list[EntitySpan]]]:
        """The entities of each segment, as units of the text that it is of."""
        segments = emissions.batch.segments
        tags = best_tags(self.model, emissions)
        found = self.tags.decode(tags.ravel())
        rows, starts = np.divmod(found.starts, tags.shape[1])
        starts += np.array([segment.start for segment in segments])[rows]
        ends = starts + found.ends - found.starts
        names = self.labels
        spans: list[list[EntitySpan]] = [[] for _ in segments]
        columns = (array.tolist() for array in (rows, starts, ends, found.labels))
        for row, start, end, label in zip(*columns, strict=True):
            spans[row].append(EntitySpan(start, end, names[label]))
        return zip(segments, spans, strict=True)

    def _gold_tags(self, batch: Batch, gold: Sequence[Sequence[EntitySpan] | None]) -> IntArray:
        """[B, C] tags of the gold entities; an entity that a segment cuts is an entity there."""
        tags = np.zeros((len(batch.segments), int(batch.n_units.max())), dtype=np.int64)
        for row, segment in enumerate(batch.segments):
            length = segment.end - segment.start
            spans = spans_within(gold[segment.text] or (), segment)
            tags[row, :length] = self.tags.encode(spans, length)
        return tags

    def _checked(self, label: str) -> str:
        """The label, also in the vocabulary's strings."""
        if not isinstance(label, str) or not label:
            raise ValueError(Errors.F302.format(label=label))
        self.vocab.strings.add(label)
        return label

    def _require_initialised(self) -> None:
        if not shim_of(self.model).is_initialised:
            raise ValueError(Errors.F303.format(name=self.name))


def _labels_of(examples: Iterable[Example]) -> set[str]:
    return {ent.label_ for example in examples for ent in example.reference.ents}


def _join(parts: list[tuple[Segment, list[EntitySpan]]]) -> list[EntitySpan]:
    """What was found in the segments of one text, which come in any order."""
    parts.sort(key=lambda part: part[0].start)
    return join_segments([segment for segment, _ in parts], [spans for _, spans in parts])
