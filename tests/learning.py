"""Training in tests: what they rely on must not depend on how a processor rounds."""

import resource
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from spacy.language import Language
from spacy.training import Example
from thinc.api import Optimizer


def falling(sgd: Optimizer, steps: int) -> Iterator[None]:
    """Steps at a rate that falls to zero, so that the last ones settle what was learnt."""
    rate = sgd.learn_rate
    for step in range(steps):
        sgd.learn_rate = rate * (1 - step / steps)
        yield
    sgd.learn_rate = rate


def settle(
    nlp: Language, examples: Sequence[Example], sgd: Optimizer, steps: int, **kwargs: Any
) -> list[float]:
    """Update a pipeline at a rate that falls to zero; the losses of the steps, summed over its
    components."""
    return [
        sum(nlp.update(examples, sgd=sgd, losses={}, **kwargs).values())
        for _ in falling(sgd, steps)
    ]


def peak_megabytes() -> float:
    """The most memory that this process has had."""
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / 1024 if sys.platform == "linux" else size / 1024**2
