"""`seq2seq_translator`: a spaCy component that translates."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import Any, Literal

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Model

from ..errors import Errors, Warnings
from ..pipe import NetworkPipe, Scorer, setting
from ..text.spans import EntitySpan, Units
from ..util.messages import logger
from ..util.options import Check, require, require_string
from .decoding import BeamSearch
from .featuriser import TranslationFeaturiser
from .model import IdPair, batches, initialise, network_of
from .names import NameTable, Placeholder, common_names, is_name_list
from .placeholders import entity_names, placeholders, with_terms
from .scores import is_scored_only, score_translations
from .splitting import Translation, translate
from .training import Texts, all_texts, encode, joined

DEFAULT_MODEL = """
[model]
@architectures = "spacy-flat.Seq2Seq.v1"

[model.network]
@misc = "spacy-flat.Seq2SeqOptions.v2"

[model.text]
@misc = "spacy-flat.TranslationOptions.v2"
"""


WANTED_NAMES = "a mapping of terms to their translations, strings on one line each, not blank"


class Seq2SeqTranslator(NetworkPipe):
    """Translates texts with an encoder–decoder Transformer.

    beam: beam width, at most 100; 1 is greedy.
    length_penalty: α of Wu et al. (2016), which divides log-probabilities by ((5 + length) / 6)^α;
        for a beam above 1.
    max_ratio: maximum pieces of a translation per character of the sentence, plus 10.
    no_repeat_ngram: no sequence of this many pieces occurs twice in a sentence; 0 allows all.
    carry_names: translate each of the Doc's entities exactly once: by the list of names, some 700
        common English names, or, for people and places, in pinyin (needs pypinyin).
    placeholder_rate: share of listed names, Latin words and numbers on both sides of training pairs
        to replace with placeholders.
    join_rate: share of training pairs to join with the previous one, for longer texts with more
        names.
    """

    beam: int = setting(1, min=1, max=100)
    length_penalty: float = setting(1.0, min=0, max=10)
    max_ratio: float = setting(2.0, min=0.01, max=100)
    no_repeat_ngram: int = setting(5, min=0)
    carry_names: bool = setting(True)
    placeholder_rate: float = setting(0.5, min=0, max=1)
    join_rate: float = setting(0.0, min=0, max=1)

    def __init__(
        self, *args: Any, scorer: Scorer | None = score_translations, **settings: Any
    ) -> None:
        super().__init__(*args, scorer=scorer, **settings)
        self.cfg["names"] = {}
        self._table: tuple[tuple[Any, ...], NameTable] | None = None
        self._warned = False  # of missing entities

    @property
    def names(self) -> Mapping[str, str]:
        """Names and their translations, strings of one line each. Raises ValueError (F310) for
        anything else."""
        return MappingProxyType(self.cfg["names"])

    @names.setter
    def names(self, value: Mapping[str, str]) -> None:
        if not is_name_list(value):
            self._reject("names", value, WANTED_NAMES)
        self.cfg["names"] = {name.strip(): text.strip() for name, text in value.items()}

    # Translating

    def predict(self, docs: Iterable[Doc]) -> list[Translation | None]:
        """The best translation of each Doc's text, or None for Docs that are only scored."""
        self.require_initialised()
        docs = list(docs)
        wanted = [doc for doc in docs if not is_scored_only(doc)]
        best = iter(self.translate(wanted))
        return [None if is_scored_only(doc) else next(best) for doc in docs]

    def set_annotations(self, docs: Iterable[Doc], scores: Sequence[Translation | None]) -> None:
        """Set the extension attributes."""
        for doc, found in zip(docs, scores, strict=True):
            if found is not None:
                doc._.translation = found.text
                doc._.translation_ents = found.ents

    def translate(
        self, texts: Iterable[str | Doc], *, glossary: Mapping[str, str] | None = None
    ) -> list[Translation]:
        """Translate texts.

        texts: strings, or Docs, whose entities are placed in the translation.
        glossary: terms and their translations. If terms and names overlap, the longest counts.

        Raises ValueError without a network (F303) and for another glossary (F341); TypeError for a
        single string (F026) and anything but texts (F028); ImportError (F030) without pypinyin.
        """
        if isinstance(texts, str | Doc) or not isinstance(texts, Iterable):
            raise TypeError(Errors.F026.format(value=repr(texts)[:60]))
        self.require_initialised()
        how = BeamSearch(**{each.name: getattr(self, each.name) for each in fields(BeamSearch)})
        glossary = {} if glossary is None else glossary
        require("glossary", glossary, Check(WANTED_NAMES, is_name_list))
        terms = NameTable(glossary, simplify=self.featuriser.simplifier)
        texts = list(texts)
        units = [
            Units.visible_characters(each.text if isinstance(each, Doc) else require_string(each))
            for each in texts
        ]
        known = self._known_names() if self.carry_names else None
        carried = [
            placeholders(own.visible, with_terms(names, own.visible, terms), self.featuriser)
            for text, own in zip(texts, units, strict=True)
            for names in [self._names_of(text, own, known)]
        ]
        return translate(self.model, units, carried, how)

    def _names_of(
        self, text: str | Doc, units: Units, known: NameTable | None
    ) -> list[Placeholder]:
        if isinstance(text, str) or known is None:
            return []
        if not (self._warned or text.has_annotation("ENT_IOB")):
            self._warned = True
            warnings.warn(Warnings.W403.format(name=self.name), stacklevel=3)
        ents = [EntitySpan(ent.start_char, ent.end_char, ent.label_) for ent in text.ents]
        return entity_names(units.visible, units.touched(ents), known)

    def _known_names(self) -> NameTable:
        """Built once: with 100,000 names it takes half a second."""
        made_of = names, simplifier = self.cfg["names"], self.featuriser.simplifier
        table = self._table
        if table is None or table[0] != made_of:
            self._table = table = made_of, NameTable(names, common_names(), simplifier)
        return table[1]

    # Scoring

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Call the scorer, and add `translation_log_prob`: the mean natural logarithm of the
        probability of a piece of the gold translations, except too long ones. None without gold."""
        examples = list(examples)
        found = {"bleu": None, "chrf": None}
        loss, n_predicted = 0.0, 0
        for batch, scores in self.model.predict(self._learnable(all_texts(examples))):
            loss += network_of(self.model).loss(scores, batch.targets).item()
            n_predicted += len(batch.targets)
        translated = [each for each in examples if not is_scored_only(each.predicted)]
        if self.scorer is not None and translated:
            found = super().score(translated, **kwargs)
        return {**found, "translation_log_prob": -loss / n_predicted if n_predicted else None}

    # Training

    def _add_gradients(
        self, examples: list[Example], drop: float, losses: dict[str, float]
    ) -> bool:
        """Pairs that are too long are skipped."""
        texts = joined(all_texts(examples), self.join_rate, self.featuriser.options.longest_pair)
        pairs = self._learnable(texts, self._known_names(), self.placeholder_rate)
        if not pairs:
            return False
        n_predicted = sum(len(pair.target) - 1 for pair in pairs)
        scale = self.loss_scale(n_predicted) / n_predicted
        with self.shim.training():
            network = network_of(self.model)
            for batch in batches(pairs, self.featuriser.options.batch_size):
                loss = network.loss(network(batch), batch.targets)
                self.backward(loss * scale, losses)
        return True

    def _learnable(
        self, texts: Iterable[Texts], names: NameTable | None = None, share: float = 0.0
    ) -> list[IdPair]:
        """The pairs that aren't too long; further arguments as in `encode`."""
        featuriser = self.featuriser
        longest = featuriser.options.longest_pair
        short = (each for each in texts if len(each.source) <= longest)
        pairs = (encode(each, featuriser, names, share) for each in short)
        return [pair for pair in pairs if max(len(pair.source), len(pair.target)) <= longest + 2]

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        names: Mapping[str, str] | None = None,
    ) -> None:
        """Build the vocabularies and the network.

        names: names and their translations, which become placeholders in training pairs.

        Raises ValueError without pairs that aren't too long (F403), and for names that aren't a
        mapping of strings (F310).
        """
        if self.lacks_examples(get_examples):
            return
        texts = all_texts(get_examples())
        options = self.featuriser.options
        n_short = sum(len(each.source) <= options.longest_pair for each in texts)
        if not n_short:
            words = {"n": len(texts), "longest": options.longest_pair}
            raise ValueError(Errors.F403.format(name=self.name, **words))
        if names is not None:
            self.names = names
        featuriser = TranslationFeaturiser.build(
            options, [each.source for each in texts], [each.target for each in texts]
        )
        initialise(self.model, featuriser)
        pairs = f"{len(texts):,} pairs, {len(texts) - n_short:,} with too long a source"
        sizes = "source {source:,}, target {target:,}".format(**featuriser.sizes)
        logger.info("%s: %s; ids: %s", self.name, pairs, sizes)


@Language.factory(
    "seq2seq_translator",
    assigns=["doc._.translation", "doc._.translation_ents"],
    default_config=Seq2SeqTranslator.default_config(
        DEFAULT_MODEL, "spacy-flat.translation_scorer.v1"
    )
    | {"pinyin": True, "entities": None},
    # Not "bleu" and "chrf", which would be 0 in meta.json where dev is not decoded.
    default_score_weights={"translation_log_prob": 1.0},
)
def make_seq2seq_translator(
    nlp: Language,
    name: str,
    model: Model[Any, Any],
    scorer: Scorer | None,
    device: str,
    beam: int,
    length_penalty: float,
    max_ratio: float,
    no_repeat_ngram: int,
    carry_names: bool,
    placeholder_rate: float,
    join_rate: float,
    pinyin: Literal[True],  # in configs of earlier versions
    entities: None,  # in configs of earlier versions
) -> Seq2SeqTranslator:
    return Seq2SeqTranslator(
        nlp.vocab,
        model,
        name,
        scorer=scorer,
        device=device,
        beam=beam,
        length_penalty=length_penalty,
        max_ratio=max_ratio,
        no_repeat_ngram=no_repeat_ngram,
        carry_names=carry_names,
        placeholder_rate=placeholder_rate,
        join_rate=join_rate,
    )
