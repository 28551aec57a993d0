"""Translate whole texts, part by part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..util.combinations import best_combinations
from .annotations import SentencePair, TranslationEnt
from .decoding import BeamSearch, Hypothesis, Source
from .featuriser import TranslationFeaturiser
from .model import Seq2SeqModel, featuriser_of, generate
from .names import Protected, with_names
from .sentences import MARKS, TextPart, gap, split


@dataclass(frozen=True)
class Translation:
    """A translation of a text.

    score: the sum of the scores of its sentences, log-probabilities divided by a length penalty.
    ents: the carried names with a label.
    """

    text: str
    score: float
    sents: tuple[SentencePair, ...]
    ents: tuple[TranslationEnt, ...]


class Spelled(NamedTuple):
    """A translation of one part, and the places of its names."""

    score: float
    text: str
    places: list[tuple[int, int]]


def translate(
    model: Seq2SeqModel,
    texts: Sequence[str],
    names: Sequence[Sequence[Protected]],
    how: BeamSearch,
    n_best: int = 1,
) -> list[list[Translation]]:
    """Translate texts: at most `n_best` translations of each, best first.

    names: of each text, sorted, without overlaps.
    """
    featuriser = featuriser_of(model)
    parts = [split(text, own, featuriser) for text, own in zip(texts, names, strict=True)]
    # Translate equal sentences once.
    sources: dict[tuple[bytes, int], Source] = {}
    keys = []
    for text, own in zip(texts, parts, strict=True):
        for part in own:
            key = None
            if not part.is_copied(text):
                ids = featuriser.source_ids(text[part.start : part.end], part.slots)
                key = ids.tobytes(), len(part.names)
                sources.setdefault(key, Source(ids, len(part.names)))
            keys.append(key)
    written = dict(zip(sources, generate(model, list(sources.values()), how), strict=True))
    following = iter(keys)
    translations = []
    for text, own in zip(texts, parts, strict=True):
        choices = []
        for part in own:
            key = next(following)
            hypotheses = None if key is None else written[key]
            spelled = _spelled(text, part, hypotheses, featuriser)[:n_best]
            choices.append([(each.score, each) for each in spelled])
        best = best_combinations(choices, n_best)
        translations.append([_joined(text, own, *each) for each in best])
    return translations


def _spelled(
    text: str,
    part: TextPart,
    hypotheses: Sequence[Hypothesis] | None,
    featuriser: TranslationFeaturiser,
) -> list[Spelled]:
    if hypotheses is None:
        return [_copied(text, part)]
    found: dict[str, Spelled] = {}  # several hypotheses may have the same text
    for each in hypotheses:
        spelled = Spelled(each.score, *featuriser.spell(each.ids, part.names))
        found.setdefault(spelled.text, spelled)
    return list(found.values())


def _copied(text: str, part: TextPart) -> Spelled:
    """A part of only names, with the white space and marks between them."""
    stretches: list[str | int] = []
    before = part.start
    for number, name in enumerate(part.names):
        stretches += [text[before : name.start].translate(MARKS), number]
        before = name.end
    stretches.append(text[before : part.end].translate(MARKS))
    return Spelled(0.0, *with_names(stretches, part.names))


def _joined(
    text: str, parts: Sequence[TextPart], score: float, spelled: Sequence[Spelled]
) -> Translation:
    pieces: list[str] = []
    sents = []
    ents = []
    end = 0
    for number, (part, own) in enumerate(zip(parts, spelled, strict=True)):
        if number:
            pieces.append(gap(text, parts[number - 1], part))
            end += len(pieces[-1])
        pieces.append(own.text)
        sents.append(SentencePair((part.start, part.end), (end, end + len(own.text))))
        for name, (first, last) in zip(part.names, own.places, strict=True):
            if name.label:
                place = (name.start, name.end)
                ents.append(TranslationEnt(name.text, name.label, end + first, end + last, place))
        end += len(own.text)
    return Translation("".join(pieces), score, tuple(sents), tuple(ents))
