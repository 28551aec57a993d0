"""An index of texts to search for the most similar ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from thinc.api import Model
from thinc.backends import get_array_ops

from ..errors import Errors
from ..nn.shim import tok2vec_of
from ..text.batches import batch_by_length
from ..util.arrays import Float32s, Ints
from ..util.files import replacing, with_checksum, without_checksum
from ..util.options import require_count, require_number, require_string
from .equality import normal_form
from .model import Encoded, compare, encode
from .ranking import Candidates, best_by_turns, terms_of

if TYPE_CHECKING:
    from .component import PairClassifier

MAGIC = b"spacy-flat.index.v10\n"
FILE = "index.safetensors"
CHARACTERS = 8000  # of texts encoded at once
CANDIDATES = 5  # compared with a query
BELOW_ONE = np.nextafter(np.float32(1), np.float32(0))

Question = str | Sequence[str]  # with several phrasings

# safetensors is imported where it is used: every `Language()` imports the components.


class Match(NamedTuple):
    """A question found: its number in the index, its most similar phrasing, the probability that it
    is the right question, and its answer."""

    number: int
    text: str
    similarity: float
    answer: str = ""


class Entry(NamedTuple):
    phrasings: list[str]
    answer: str = ""


class TextIndex:
    """Questions to search with `re2_similarity`, each read once.

    An index belongs to the weights that encoded it: build it again after further training, and for
    other questions. Several threads may search at once.
    """

    def __init__(
        self,
        pipe: PairClassifier,
        questions: list[Entry],
        encoded: Encoded | None = None,
        weights: str = "",
    ) -> None:
        """encoded: the distinct texts, in their order in the questions. weights: a checksum."""
        self.pipe = pipe
        self.questions = questions
        self._numbers: dict[str, list[int]] = {}  # the questions that have each distinct text
        for number, question in enumerate(questions):
            for text in question.phrasings:
                self._numbers.setdefault(text, []).append(number)
        self.texts = list(self._numbers)
        self._most_phrasings = max(len(question.phrasings) for question in questions)
        self._equal: dict[str, list[int]] = {}  # places of the texts with the same normal form
        for place, text in enumerate(self.texts):
            self._equal.setdefault(normal_form(text), []).append(place)
        simplified = map(pipe.featuriser.simplifier, self.texts)
        self._candidates = Candidates.of(map(terms_of, simplified))
        self._encoded = encoded or encode_texts(pipe, self.texts)
        self._vectors = self._encoded.vectors.astype(np.float32)
        self._weights = weights or weights_of(pipe)

    def __len__(self) -> int:
        return len(self.questions)

    def search(
        self,
        query: str,
        top_k: int = 5,
        candidates: int = CANDIDATES,
        min_similarity: float | None = None,
    ) -> list[Match]:
        """Find the most similar questions, best first; equally similar ones in their order. Equal
        texts come first (see `equal` in `PairTextOptions`).

        candidates: number of distinct texts to compare: half are those that share the most
            characters (of Chinese) or words with the query, the other half have the nearest
            sentence vectors. More are compared if `top_k` questions have more phrasings.
        min_similarity: lowest similarity of a match, from 0 to 1; by default the component's.

        Returns `top_k` matches, or fewer, and none where no question is similar enough.

        Raises ValueError for a number out of its bounds (F341) and without a positive label (F322),
        TypeError for anything but a string (F028).
        """
        require_count("top_k", top_k)
        require_count("candidates", candidates)
        pipe = self.pipe
        least = pipe.min_similarity if min_similarity is None else min_similarity
        require_number("min_similarity", least, 0, 1)
        if not require_string(query).strip():
            return []
        equal = self._equal.get(normal_form(query), []) if pipe.knows_equals else []
        n = max(candidates, top_k * self._most_phrasings)
        places, logits, cosines = self.compare(query, n, equal)
        similarities = pipe.probabilities(logits, cosines)[:, pipe.labels.index(pipe.positive)]
        if equal:  # before others that the network is as sure of
            is_equal = np.isin(places, equal)
            similarities = np.where(is_equal, 1.0, np.minimum(similarities, BELOW_ONE))
        best: dict[int, Match] = {}
        for place, similarity in zip(places.tolist(), similarities.tolist(), strict=True):
            text = self.texts[place]
            for number in self._numbers[text] if similarity >= least or not least else ():
                if number not in best or best[number].similarity < similarity:
                    best[number] = Match(number, text, similarity, self.questions[number].answer)
        return nsmallest(top_k, best.values(), key=lambda match: (-match.similarity, match.number))

    def compare(
        self, query: str, n: int, also: Sequence[int] = ()
    ) -> tuple[Ints, Float32s, Float32s]:
        """[B] places of n candidates and the texts `also`, [B, K] outputs for them, [B] cosines."""
        terms = terms_of(self.pipe.featuriser.simplifier(query))
        text = encode_texts(self.pipe, [query])
        cosines = self._vectors @ text.vectors[0]
        best = best_by_turns(self._candidates.scores(terms), cosines, n)
        places = np.union1d(best, np.array(also, dtype=np.int64))
        outputs = compare(self.pipe.model, text, self._encoded.of(places))
        return places, outputs, cosines[places]

    def save(self, path: str | Path) -> None:
        """Write a folder with one file, replacing an older index in one step."""
        from safetensors.numpy import save

        texts = json.dumps([self._weights, self.questions], ensure_ascii=False)
        arrays: dict[str, NDArray[Any]] = {
            **self._encoded._asdict(),
            "texts": np.frombuffer(texts.encode(), np.uint8),
        }
        data = save(arrays)
        with replacing(Path(path) / FILE) as temporary:
            temporary.write_bytes(with_checksum(MAGIC, data))

    @classmethod
    def load(cls, pipe: PairClassifier, path: Path) -> TextIndex:
        """See `PairClassifier.load_index`."""
        from safetensors.numpy import load

        pipe.require_initialised()
        file = path / FILE
        if not file.is_file():
            raise FileNotFoundError(Errors.F331.format(path=path, file=FILE))
        try:
            arrays = load(without_checksum(MAGIC, file.read_bytes()))
        except ValueError as error:
            raise ValueError(Errors.F332.format(path=file, reason=error)) from error
        weights, questions = json.loads(arrays["texts"].tobytes())
        if weights != weights_of(pipe):
            raise ValueError(Errors.F334.format(path=path, name=pipe.name))
        encoded = Encoded(*(arrays[name] for name in Encoded._fields))
        return cls(pipe, [Entry(*each) for each in questions], encoded, weights)


def read_questions(
    questions: Iterable[Question], answers: Iterable[str] | None = None
) -> list[Entry]:
    """Questions with their answers.

    Raises TypeError for a single string (F026) and for anything but strings (F028), ValueError
    without texts or for a blank one (F330) and for another number of answers (F335).
    """
    for given in (questions, () if answers is None else answers):
        if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
            raise TypeError(Errors.F026.format(value=f"{given!r:.60}"))
    asked = [
        [own] if isinstance(own, str) or not isinstance(own, Iterable) else list(own)
        for own in questions
    ]
    for number, own in enumerate(asked):
        if not own or not all(require_string(text).strip() for text in own):
            where = f": see question number {number} (from 0)"
            raise ValueError(Errors.F330.format(where=where))
    if not asked:
        raise ValueError(Errors.F330.format(where=""))
    given_answers = [""] * len(asked) if answers is None else [*map(require_string, answers)]
    if len(given_answers) != len(asked):
        counts = {"questions": len(asked), "answers": len(given_answers)}
        raise ValueError(Errors.F335.format(**counts))
    return [Entry(own, answer) for own, answer in zip(asked, given_answers, strict=True)]


def encode_texts(pipe: PairClassifier, texts: Sequence[str]) -> Encoded:
    """Distinct texts, at least one, in half precision."""
    found = []
    for batch in batch_by_length(texts, CHARACTERS, len):
        own = encode(pipe.model, pipe.read([(text, text) for text in batch]))
        halves = own.units.astype(np.float16), own.vectors.astype(np.float16)
        found.append(Encoded(own.counts, *halves))
    return Encoded(*map(np.concatenate, zip(*found, strict=True)))


def weights_of(pipe: PairClassifier) -> str:
    """A checksum of everything that an encoded text depends on."""
    found = hashlib.blake2b(digest_size=16)
    found.update(pipe.featuriser.to_bytes())
    found.update(to_bytes(pipe.nlp.vocab.vectors.data))
    if hasattr(pipe.nlp.tokenizer, "to_bytes"):
        found.update(pipe.nlp.tokenizer.to_bytes(exclude=["vocab"]))
    before = pipe.components_before() if tok2vec_of(pipe.model) is not None else []
    models = [getattr(component, "model", None) for component in (pipe, *before)]
    nodes = [node for model in models if isinstance(model, Model) for node in model.walk()]
    for node in nodes:  # without their settings
        for name in filter(node.has_param, node.param_names):
            found.update(to_bytes(node.get_param(name)))
        for shim in node.shims:
            found.update(shim.to_bytes())  # type: ignore[no-untyped-call]
    return found.hexdigest()


def to_bytes(array: Any) -> bytes:
    """An array on any device."""
    return bytes(get_array_ops(array).to_numpy(array).tobytes())  # type: ignore[no-untyped-call]
