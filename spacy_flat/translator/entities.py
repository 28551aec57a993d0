"""The entities of translations, by another pipeline."""

from collections.abc import Iterable, Sequence

from spacy.language import Language
from spacy.tokens import Span

from ..errors import Errors
from ..loading import load_on_device
from .annotations import TranslationEnt


def load_reader(entities: str, name: str, device: str = "") -> Language:
    """Load the pipeline that finds entities.

    entities: the name of an installed package, or a path.
    name: of the translator.
    device: as in `load_on_device`.

    Raises OSError (F404) if there is none; other errors as in `load_on_device`.
    """
    try:
        return load_on_device(entities, device)
    except OSError as error:
        words = {"name": name, "entities": entities, "reason": error}
        raise OSError(Errors.F404.format(**words)) from error


def with_found(
    reader: Language, texts: Sequence[str], carried: Iterable[Sequence[TranslationEnt]]
) -> list[list[TranslationEnt]]:
    """For each translation its carried entities, and those that the pipeline finds elsewhere."""
    return [
        [*own, *_elsewhere(doc.ents, own)]
        for doc, own in zip(reader.pipe(texts), carried, strict=True)
    ]


def _elsewhere(found: Iterable[Span], carried: Sequence[TranslationEnt]) -> list[TranslationEnt]:
    return [
        TranslationEnt(ent.text, ent.label_, ent.start_char, ent.end_char)
        for ent in found
        if all(ent.end_char <= own.start or own.end <= ent.start_char for own in carried)
    ]
