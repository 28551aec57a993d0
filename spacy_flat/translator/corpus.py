"""Evaluating while training, without translating."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Optional

from spacy.errors import Errors as SpacyErrors
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Corpus, Example

SCORED_ONLY = "translation_scored_only"  # in doc.user_data


def likelihood_corpus(
    path: Optional[Path],  # noqa: UP045  (thinc validates by it)
    max_length: int = 0,
    limit: int = 0,
) -> Callable[[Language], Iterator[Example]]:
    """`spacy-flat.LikelihoodCorpus.v1`: like `spacy.Corpus.v1`, but the translator only scores the
    probability of the references' translations, which takes a fraction of the time.

    path: a .spacy file, or a folder of them.
    max_length: maximum length of a Doc, in tokens; 0 for any.
    limit: maximum number of examples; 0 for all.

    Raises ValueError (spaCy's E913) without a path.
    """
    if path is None:
        raise ValueError(SpacyErrors.E913)
    corpus = Corpus(path, max_length=max_length, limit=limit)

    def read(nlp: Language) -> Iterator[Example]:
        for example in corpus(nlp):
            example.predicted.user_data[SCORED_ONLY] = True
            yield example

    return read


def is_scored_only(doc: Doc) -> bool:
    """Whether to skip translating a Doc."""
    return SCORED_ONLY in doc.user_data
