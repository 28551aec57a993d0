"""Mix several training corpora."""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from spacy.language import Language
from spacy.training import Corpus, Example

from ..errors import Errors
from .docs import look_up_once


def mixed_corpus(
    paths: dict[str, Path | None],
    weights: dict[str, float] | None = None,
    seed: int = 0,
    max_length: int = 0,
    augmenter: Callable[[Language, Example], Iterator[Example]] | None = None,
) -> Callable[[Language], Iterator[Example]]:
    """`spacy-flat.MixedCorpus.v1`: several corpora, shuffled together. The same seed gives the same
    examples in the same order. The reader stops after an epoch, like `spacy.Corpus.v1`.

    paths: .spacy files, or folders of them, by name; null leaves one out.
    weights: how often each Doc of a corpus occurs in an epoch, by name, 1 by default: with 2.5, all
        Docs occur twice, and a random half of them a third time.
    seed: seed of the order and the random choice.
    max_length: maximum length of a Doc, in tokens; 0 for any.
    augmenter: augments the examples, each time they occur.

    Raises ValueError for weights of other names, or below 0 (F165).
    """
    weights = weights or {}
    for name, weight in weights.items():
        if name not in paths or not 0 <= weight < float("inf"):
            words = {"name": name, "weight": weight, "names": ", ".join(paths)}
            raise ValueError(Errors.F165.format(**words))

    def read(nlp: Language) -> Iterator[Example]:
        look_up_once()
        random = Random(seed)
        mixed: list[Example] = []
        for name, path in paths.items():
            if path is None:
                continue
            weight = weights.get(name, 1.0)
            plain = examples = list(Corpus(path, max_length=max_length)(nlp))
            while weight > 0:
                if augmenter:
                    examples = [new for each in plain for new in augmenter(nlp, each)]
                mixed += random.sample(examples, round(min(weight, 1) * len(examples)))
                weight -= 1
        random.shuffle(mixed)
        yield from mixed

    return read
