"""One training corpus from many."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random

from spacy.language import Language
from spacy.training import Corpus, Example

from ..errors import Errors
from ..util.packing import look_up_once


def mixed_corpus(
    paths: dict[str, Path | None],
    weights: dict[str, float] | None = None,
    seed: int = 0,
    max_length: int = 0,
    augmenter: Callable[[Language, Example], Iterator[Example]] | None = None,
) -> Callable[[Language], Iterator[Example]]:
    """`spacy-flat.MixedCorpus.v1`: several corpora, shuffled into each other. The same seed gives
    the same examples in the same order. It ends after an epoch, as `spacy.Corpus.v1` does.

    paths: .spacy files, or folders of them, by name; null leaves one out.
    weights: how often an epoch has each Doc of a corpus, by name, 1 by default: 2.5 stands for all
        of them twice and half of them, drawn at random, once more.
    seed: of the order and of what is drawn.
    max_length: maximum length of a Doc, in tokens; 0 for any.
    augmenter: augments the examples, those that occur twice each time.

    Raises ValueError for weights of other names, or below 0 (F165).
    """
    weights = weights or {}
    check_weights(weights, paths)

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


def check_weights(weights: Mapping[str, float], paths: Mapping[str, Path | None]) -> None:
    for name, weight in weights.items():
        if name not in paths or not 0 <= weight < float("inf"):
            words = {"name": name, "weight": weight, "names": ", ".join(paths)}
            raise ValueError(Errors.F165.format(**words))
