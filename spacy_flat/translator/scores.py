"""What Docs get, and how it is scored: BLEU and chrF of sacrebleu, with its signatures.

`doc.user_data` holds it as plain strings and numbers, which a DocBin with `store_user_data=True`,
pickle and worker processes keep.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Optional

from spacy.errors import Errors as SpacyErrors
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Corpus, Example

from ..util.options import require_installed

SCORED_ONLY = "translation_scored_only"  # in doc.user_data
_KEY = "translation_ents"  # in doc.user_data


class TranslationEnt(NamedTuple):
    """An entity of the translation.

    start, end: characters of `doc._.translation`.
    source: (start, end) of the source entity that it translates, characters of `doc.text`.
    """

    text: str
    label: str
    start: int
    end: int
    source: tuple[int, int]


def score_translations(
    examples: Iterable[Example], *, tokenize: str = "13a", **_: Any
) -> dict[str, Any]:
    """Score `doc._.translation` for examples whose reference has one.

    tokenize: sacrebleu's name of the tokenizer for BLEU: "13a" for English, "zh" for Chinese.

    `bleu` (Papineni et al., 2002) and `chrf` (Popović, 2015) of the whole corpus go from 0 to 1;
    `bleu_signature` and `chrf_signature` document their settings. None without gold translations.
    Raises ImportError (F030) without sacrebleu.
    """
    pairs = [
        (example.predicted._.translation or "", example.reference._.translation)
        for example in examples
        if example.reference._.translation is not None
    ]
    if not pairs:
        return {"bleu": None, "chrf": None}
    require_installed("Scoring translations", "sacrebleu", "spacy-flat[translation]")
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    found, references = ([pair[side] for pair in pairs] for side in (0, 1))
    scores: dict[str, Any] = {}
    for name, metric in (("bleu", BLEU(tokenize=tokenize)), ("chrf", CHRF())):
        scores[name] = metric.corpus_score(found, [references]).score / 100
        scores[f"{name}_signature"] = str(metric.get_signature())
    return scores


def make_scorer(tokenize: str = "13a") -> Callable[..., dict[str, Any]]:
    """`spacy-flat.translation_scorer.v1`: see `score_translations`.

    tokenize: sacrebleu's name of the tokenizer for BLEU: "13a" for English, "zh" for Chinese.
    """

    return partial(score_translations, tokenize=tokenize)  # a function within could not be pickled


# Evaluating while training, without translating


def likelihood_corpus(
    path: Optional[Path],  # noqa: UP045  (thinc validates by it)
) -> Callable[[Language], Iterator[Example]]:
    """`spacy-flat.LikelihoodCorpus.v1`: like `spacy.Corpus.v1`, but the translator only scores the
    probability of the references' translations, which takes a fraction of the time.

    path: a .spacy file, or a folder of them.

    Raises ValueError (spaCy's E913) without a path.
    """
    if path is None:
        raise ValueError(SpacyErrors.E913)
    corpus = Corpus(path)

    def read(nlp: Language) -> Iterator[Example]:
        for example in corpus(nlp):
            example.predicted.user_data[SCORED_ONLY] = True
            yield example

    return read


def is_scored_only(doc: Doc) -> bool:
    """Whether to skip translating a Doc."""
    return SCORED_ONLY in doc.user_data


def _get_ents(doc: Doc) -> tuple[TranslationEnt, ...]:
    # `Doc.from_bytes` makes lists of tuples.
    return tuple(
        TranslationEnt(text, label, start, end, tuple(source))
        for text, label, start, end, source in doc.user_data.get(_KEY, ())
    )


def _set_ents(doc: Doc, ents: Iterable[TranslationEnt]) -> None:
    doc.user_data[_KEY] = tuple(map(tuple, ents))


Doc.set_extension("translation", default=None, force=True)
Doc.set_extension("translation_ents", getter=_get_ents, setter=_set_ents, force=True)
