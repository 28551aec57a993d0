"""BLEU and chrF, as sacrebleu computes them, with its signatures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from spacy.training import Example

from ..util.options import needed
from . import annotations as extensions  # noqa: F401  (doc._.translation)


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
    with needed("Scoring translations", "sacrebleu", "translation"):
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
