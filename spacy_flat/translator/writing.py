"""Translate whole texts, part by part."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..text.units import Units
from ..util.probabilities import best_combinations
from .annotations import SentencePair, TranslationEnt
from .decoding import BeamSearch, Source
from .featuriser import Stretches, TranslationFeaturiser
from .model import Seq2SeqModel, featuriser_of, generate
from .names import Placeholder
from .placeholders import MARKS
from .sentences import TextPart, gap, split

_SPACES = re.compile(" +")

Written = tuple[str, list[tuple[int, int]]]  # a translation, and the places of its names


@dataclass(frozen=True)
class Translation:
    """A translation of a text.

    score: the sum of the scores of its sentences, log-probabilities divided by a length penalty.
    ents: the carried names with a label, in order.
    """

    text: str
    score: float
    sents: tuple[SentencePair, ...]
    ents: tuple[TranslationEnt, ...]


def translate(
    model: Seq2SeqModel,
    texts: Sequence[Units],
    names: Sequence[Sequence[Placeholder]],
    how: BeamSearch,
    n_best: int = 1,
) -> list[list[Translation]]:
    """Translate texts: at most `n_best` translations of each, best first.

    names: what each text carries, sorted, without overlaps.
    """
    featuriser = featuriser_of(model)
    parts = [split(text.visible, own, featuriser) for text, own in zip(texts, names, strict=True)]
    sources = [
        [_source(text.visible, part, featuriser) for part in own]
        for text, own in zip(texts, parts, strict=True)
    ]
    # Translate equal sentences once.
    distinct = {source.key: source for own in sources for source in own if source}
    found = dict(zip(distinct, generate(model, list(distinct.values()), how), strict=True))
    translations = []
    for text, own_parts, own_sources in zip(texts, parts, sources, strict=True):
        choices = []
        for part, source in zip(own_parts, own_sources, strict=True):
            stretches = (
                [(each.score, featuriser.stretches(each.ids)) for each in found[source.key]]
                if source
                else [(0.0, _copied(text.visible, part))]
            )
            written: dict[str, tuple[float, Written]] = {}  # several may have the same text
            for score, own in stretches:
                each = with_names(own, part.names)
                written.setdefault(each[0], (score, each))
            choices.append(list(written.values())[:n_best])
        best = best_combinations(choices, n_best)
        translations.append([_joined(text, own_parts, *each) for each in best])
    return translations


def _source(text: str, part: TextPart, featuriser: TranslationFeaturiser) -> Source | None:
    """None without a letter or digit outside of names: the part is copied."""
    stretches = part.stretches(text)
    if not any(map(str.isalnum, "".join(each for each in stretches if isinstance(each, str)))):
        return None
    return Source(featuriser.source_ids(stretches), len(part.names))


def _copied(text: str, part: TextPart) -> Stretches:
    """Only names, with the white space and marks between them."""
    stretches = part.stretches(text)
    return [each.translate(MARKS) if isinstance(each, str) else each for each in stretches]


def with_names(stretches: Stretches, names: Sequence[Placeholder]) -> Written:
    """Join a translation, without white space at its ends. Returns its text, and the place of each
    name: (start, end) in characters.

    A space separates words, and names from punctuation before them. An entity is a word whatever it
    begins and ends with (Yahoo!, .NET); other texts are where they begin or end with a letter or a
    digit. The full stop of a name (3 p.m.) also ends a sentence.
    """
    text = ""
    places = [(0, 0)] * len(names)
    ends_with_word = after_name = False
    for each in stretches:
        name = names[each] if isinstance(each, int) else None
        is_entity = name is not None and bool(name.label or name.around)
        spelled = name.written if name else _SPACES.sub(" ", str(each))
        if not text or text.endswith(" "):
            spelled = spelled.lstrip(" ")
        if after_name and text.endswith("."):
            spelled = spelled.removeprefix(".")
        after_name = name is not None
        if not spelled:
            continue
        is_word = is_entity or spelled[0].isalnum()
        if is_word and (ends_with_word or (name and text.endswith(tuple(",;:.!?")))):
            text += " "
        text += spelled
        if name:
            is_within = bool(name.around)
            places[int(each)] = len(text) - len(spelled) + is_within, len(text) - is_within
        ends_with_word = is_entity or spelled[-1].isalnum()
    return text.rstrip(), places


def _joined(
    text: Units, parts: Sequence[TextPart], score: float, written: Sequence[Written]
) -> Translation:
    def source(start: int, end: int) -> tuple[int, int]:
        return int(text.starts[start]), int(text.ends[end - 1])

    whole = ""
    sents = []
    ents = []
    for number, (part, (own, places)) in enumerate(zip(parts, written, strict=True)):
        if number:
            whole += gap(text.visible, parts[number - 1], part)
        start = len(whole)
        whole += own
        sents.append(SentencePair(source(part.start, part.end), (start, len(whole))))
        for name, (first, last) in zip(part.names, places, strict=True):
            if name.label:
                place = source(name.start, name.end)
                ents.append(
                    TranslationEnt(name.text, name.label, start + first, start + last, place)
                )
    ents.sort(key=lambda ent: (ent.start, ent.end))
    return Translation(whole, score, tuple(sents), tuple(ents))
