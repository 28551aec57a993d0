"""An index of texts to search for the most similar ones."""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import nsmallest
from numbers import Integral
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from thinc.api import Model
from thinc.backends import get_array_ops

from ..errors import Errors
from ..nn.model import shims_of, tok2vec_of
from ..text.tok2vec import ReadOnce
from ..util.arguments import require, require_count
from ..util.files import replacing
from .candidates import Candidates, best_by_turns, terms_of
from .encoded import EncodedTexts, QueryText
from .equality import normal_form
from .pairs import Text, string_of
from .ranking import FEATURES, features_of, probabilities

if TYPE_CHECKING:
    from .component import PairClassifier

FORMAT = 5
FILE = "index.safetensors"
HEADER = "spacy-flat.index"  # the one metadata entry
CHARACTERS = 8000  # of texts encoded at once

Arrays = Mapping[str, NDArray[Any]]
Question = Text | Sequence[Text]  # with several phrasings

# safetensors is imported where it is used: every `Language()` imports the components.


class Match(NamedTuple):
    """A question found: its number in the index, its most similar phrasing, the probability that it
    is the right question (or the score, if the network predicts scores), and its answer."""

    number: int
    text: str
    similarity: float
    answer: str = ""


@dataclass(frozen=True)
class Contents:
    """What an index holds at a time."""

    phrasings: dict[int, list[str]]  # of each question, by its number
    answers: dict[int, str]
    encoded: EncodedTexts  # of each distinct text
    candidates: Candidates  # of each distinct text
    next: int  # number of the next question

    def __post_init__(self) -> None:
        _ = self.forms  # no search waits for it

    @cached_property
    def numbers(self) -> dict[str, list[int]]:
        """The questions that have each distinct text."""
        found: dict[str, list[int]] = {}
        for number, texts in self.phrasings.items():
            for text in texts:
                found.setdefault(text, []).append(number)
        return found

    def n_questions(self, texts: Sequence[str]) -> int:
        """How many questions have one of these texts."""
        return len({number for text in texts for number in self.numbers[text]})

    @cached_property
    def texts(self) -> NDArray[np.object_]:
        return np.array(list(self.numbers), dtype=np.object_)

    @cached_property
    def forms(self) -> dict[str, list[int]]:
        """The places among `texts` of those with the same normal form."""
        found: dict[str, list[int]] = {}
        for place, text in enumerate(self.texts):
            found.setdefault(normal_form(text), []).append(place)
        return found


@dataclass(eq=False, repr=False)
class TextIndex:
    """Questions to search with `re2_similarity`, each encoded once, up to the first alignment.

    An index belongs to the weights that encoded it: rebuild it after further training. `search`,
    `add` and `save` raise ValueError (F349) if the component or an encoder before it was trained,
    `save` also for spaCy's own layers. Several threads may search, add and remove at once.
    """

    pipe: PairClassifier
    weights: str  # a checksum
    versions: list[tuple[int, int]]  # of these weights
    ranking: Sequence[float]  # see `ranking.FEATURES`
    contents: Contents
    _changing: Lock = field(default_factory=Lock, init=False)

    @classmethod
    def of(
        cls, pipe: PairClassifier, questions: Iterable[Question], answers: Iterable[str] | None
    ) -> TextIndex:
        """See `PairClassifier.index`."""
        pipe.require_initialised()
        phrasings, own_answers = read_questions(questions, answers, 0)
        texts = {string_of(text): text for own in phrasings.values() for text in own}
        if not texts:
            raise ValueError(Errors.F330)
        contents = Contents(
            strings_of(phrasings),
            own_answers,
            encode(pipe, texts.values()),
            candidates_of(pipe, texts),
            len(phrasings),
        )
        return cls(pipe, weights_of(pipe), versions_of(pipe), pipe.ranking, contents)

    def add(self, questions: Iterable[Question], answers: Iterable[str] | None = None) -> list[int]:
        """Add questions, as in `PairClassifier.index`. Returns their numbers."""
        with self._changing:
            self._require_weights()
            known = self.contents
            phrasings, own_answers = read_questions(questions, answers, known.next)
            texts = {string_of(text): text for own in phrasings.values() for text in own}
            new = [text for string, text in texts.items() if string not in known.numbers]
            encoded = [known.encoded, encode(self.pipe, new)] if new else [known.encoded]
            self._change(
                {**known.phrasings, **strings_of(phrasings)},
                {**known.answers, **own_answers},
                [*known.numbers, *map(string_of, new)],
                EncodedTexts.join(encoded),
                known.next + len(phrasings),
            )
        return list(phrasings)

    def remove(self, numbers: Iterable[int]) -> None:
        """Remove questions; the others keep their numbers.

        Raises KeyError (F351) for a number that isn't in the index, ValueError (F330) if none is
        left, TypeError (F026) for a single number.
        """
        require_list(numbers)
        chosen = list(numbers)
        with self._changing:
            known = self.contents
            phrasings = dict(known.phrasings)
            for number in chosen:
                is_number = isinstance(number, Integral) and not isinstance(number, bool)
                if not is_number or number not in known.phrasings:
                    raise KeyError(Errors.F351.format(number=number))
                phrasings.pop(number, None)
            if not phrasings:
                raise ValueError(Errors.F330)
            answers = {each: text for each, text in known.answers.items() if each in phrasings}
            self._change(phrasings, answers, list(known.numbers), known.encoded, known.next)

    def _change(
        self,
        phrasings: dict[int, list[str]],
        answers: dict[int, str],
        texts: list[str],
        encoded: EncodedTexts,
        following: int,
    ) -> None:
        """texts: those that are encoded, perhaps more than the phrasings."""
        places = {text: place for place, text in enumerate(texts)}
        kept = dict.fromkeys(text for own in phrasings.values() for text in own)
        chosen = np.array([places[text] for text in kept], dtype=np.int64)
        candidates = candidates_of(self.pipe, kept)
        self.contents = Contents(phrasings, answers, encoded.select(chosen), candidates, following)

    def __copy__(self) -> TextIndex:
        return replace(self)

    def __getstate__(self) -> dict[str, Any]:
        # spaCy's tokenizer keeps the module.
        if getattr(self.pipe.nlp.tokenizer, "jieba_seg", None) is not None:
            raise TypeError(Errors.F352.format(name=self.pipe.name))
        return {name: value for name, value in vars(self).items() if name != "_changing"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # In another process, the same numbers may come again with other weights.
        vars(self).update(state, versions=[], _changing=Lock())

    def __len__(self) -> int:
        return len(self.contents.phrasings)

    def __repr__(self) -> str:
        return f"<TextIndex of {len(self)} questions>"

    @property
    def questions(self) -> list[tuple[list[str], str]]:
        """The phrasings and the answer of each question, in their order."""
        known = self.contents
        found = known.phrasings.items()
        return [(list(own), known.answers.get(number, "")) for number, own in found]

    @property
    def texts(self) -> list[str]:
        """All phrasings, in their order."""
        return [text for own in self.contents.phrasings.values() for text in own]

    def search(
        self, query: Text, top_k: int = 5, candidates: int = 50, min_similarity: float | None = None
    ) -> list[Match]:
        """Find the most similar questions, best first; equally similar ones in their order. Equal
        texts come first (see `equal` in `PairTextOptions`).

        candidates: number of distinct texts to rank: half are those that share the most characters
            (of Chinese) or words with the query, the other half have the nearest sums of
            embeddings. More are ranked if they belong to fewer than `top_k` questions.
        min_similarity: lowest similarity of a match: from 0 to 1, unless the network predicts
            scores.

        Returns `top_k` matches, or fewer if the index has fewer questions; none for a blank text.

        Raises ValueError for a number out of its bounds (F341), TypeError for anything but a text
        (F311).
        """
        require_count("top_k", top_k)
        require_count("candidates", candidates)
        if min_similarity is not None:
            self._require_similarity(min_similarity)
        self._require_weights()
        if not string_of(query).strip():
            return []
        contents = self.contents
        n = max(top_k, candidates)
        texts, similarities = self._ranked(contents, query, n)
        while contents.n_questions(texts) < min(top_k, len(contents.phrasings)):
            n *= 2
            texts, similarities = self._ranked(contents, query, n)
        least = -np.inf if min_similarity is None else min_similarity
        best: dict[int, Match] = {}
        for text, similarity in zip(texts, similarities.tolist(), strict=True):
            for number in contents.numbers[text] if similarity >= least else ():
                if number not in best or best[number].similarity < similarity:
                    answer = contents.answers.get(number, "")
                    best[number] = Match(number, text, similarity, answer)
        return nsmallest(top_k, best.values(), key=lambda match: (-match.similarity, match.number))

    def _require_weights(self) -> None:
        """Raises ValueError (F349) if the network has other weights than those of the index."""
        versions = versions_of(self.pipe)
        if versions != self.versions:
            self._compare_weights()
            self.versions = versions

    def _compare_weights(self) -> None:
        if weights_of(self.pipe) != self.weights:
            raise ValueError(Errors.F349.format(name=self.pipe.name))

    def _require_similarity(self, value: float) -> None:
        if self.pipe.is_regression:
            require("min_similarity", value, lambda: math.isfinite(value), "a finite number")
        else:
            require("min_similarity", value, lambda: 0 <= value <= 1, "a number from 0 to 1")

    def _ranked(self, contents: Contents, query: Text, n: int) -> tuple[Sequence[str], Any]:
        """Candidates, and their similarities [B]."""
        form = normal_form(string_of(query)) if self.pipe.knows_equals else None
        places = [] if form is None else contents.forms.get(form, [])
        ranking = self.ranking
        asks_network = self.pipe.is_regression or ranking[FEATURES.index("network")] != 0
        texts, features, similarities = self._compared(contents, query, n, asks_network, places)
        if features is not None:
            similarities = probabilities(features, ranking)
        equal = set(contents.texts[places])
        return texts, np.where([text in equal for text in texts], 1.0, similarities)

    def features(self, query: str, n: int) -> tuple[Sequence[str], Any]:
        """n candidates, and what their ranking depends on, [n, F]."""
        texts, features, _ = self._compared(self.contents, query, n, asks_network=True)
        return texts, features

    def _compared(
        self,
        contents: Contents,
        query: Text,
        n: int,
        asks_network: bool,
        also: Sequence[int] = (),
    ) -> tuple[Sequence[str], Any, Any]:
        """n candidates and the places `also`, their features [B, F], and their similarities by the
        network [B], if it is asked."""
        terms = terms_in(self.pipe, string_of(query))
        (span,) = self.pipe.spans_of([query])
        read = QueryText.of(self.pipe.model, span, asks_network)
        scores, cosines = contents.candidates.scores(terms), contents.encoded.cosines(read)
        found = np.union1d(best_by_turns(scores, cosines, n), np.array(also, dtype=np.int64))
        similarities = np.full(len(found), 0.5, dtype=np.float32)
        if asks_network:
            outputs = contents.encoded.compare(self.pipe.model, read, found)
            similarities = self.pipe.similarities(self.pipe.probabilities(outputs, cosines[found]))
        texts = contents.texts[found].tolist()
        if self.pipe.is_regression:
            return texts, None, similarities
        shares = scores[found].astype(np.float64) / max(1e-9, contents.candidates.most(terms))
        return texts, features_of(similarities, cosines[found], shares), similarities

    def save(self, path: str | Path) -> None:
        """Write a folder with one file, replacing an older index in one step."""
        from safetensors.numpy import save

        self._compare_weights()  # also those of spaCy's layers, which have no versions
        known = self.contents
        arrays = {
            **known.encoded.arrays,
            **known.candidates.arrays,
            "texts": to_json_bytes([list(known.phrasings.items()), list(known.answers.items())]),
            "terms": to_json_bytes(known.candidates.terms),
            "ranking": np.array([*self.ranking, known.next], dtype=np.float64),
        }
        checksum = checksum_of(self.weights, arrays)
        fields = {"format": FORMAT, "weights": self.weights, "checksum": checksum}
        with replacing(Path(path) / FILE) as temporary:
            temporary.write_bytes(save(arrays, {HEADER: json.dumps(fields)}))

    @classmethod
    def load(cls, pipe: PairClassifier, path: Path) -> TextIndex:
        """See `PairClassifier.load_index`."""
        pipe.require_initialised()
        weights, arrays = read_arrays(path / FILE)
        if weights != weights_of(pipe):
            raise ValueError(Errors.F334.format(path=path, name=pipe.name))
        phrasings, answers = map(dict, from_json_bytes(arrays["texts"]))
        *ranking, following = arrays["ranking"].tolist()
        encoded = EncodedTexts.restore(arrays)
        candidates = Candidates.restore(
            from_json_bytes(arrays["terms"]), arrays, len(encoded.lengths)
        )
        contents = Contents(phrasings, answers, encoded, candidates, int(following))
        return cls(pipe, weights, versions_of(pipe), ranking, contents)


def read_questions(
    questions: Iterable[Question], answers: Iterable[str] | None, first: int
) -> tuple[dict[int, list[Text]], dict[int, str]]:
    """The phrasings and the answers of questions, under numbers from `first`.

    Raises TypeError for a single text (F026), anything but texts (F311) and an answer that isn't a
    string (F028), ValueError for a question without a text (F330) and another number of answers
    (F335).
    """
    require_list(questions)
    require_list(() if answers is None else answers)
    phrasings: dict[int, list[Text]] = {
        number: list(own) if isinstance(own, list | tuple) else [cast(Text, own)]
        for number, own in enumerate(questions, first)
    }
    if not all(phrasings.values()):
        raise ValueError(Errors.F330)
    for number, own in enumerate(phrasings.values()):
        for text in own:
            string_of(text, f" in question number {number} (from 0)")
    if answers is None:
        return phrasings, {}
    own_answers = list(answers)
    for answer in own_answers:
        if not isinstance(answer, str):
            raise TypeError(Errors.F028.format(value=f"{answer!r:.60}", type=type(answer).__name__))
    if len(own_answers) != len(phrasings):
        counts = {"questions": len(phrasings), "answers": len(own_answers)}
        raise ValueError(Errors.F335.format(**counts))
    return phrasings, dict(zip(phrasings, own_answers, strict=True))


def require_list(value: object) -> None:
    """Raises TypeError (F026) for a text, a mapping, and anything but an iterable."""
    if isinstance(value, Text | Mapping) or not isinstance(value, Iterable):
        raise TypeError(Errors.F026.format(value=f"{value!r:.60}"))


def terms_in(pipe: PairClassifier, text: str) -> list[str]:
    """The terms of a text, in simplified characters if the component reads these."""
    return terms_of(pipe.model.attrs["featuriser"].simplifier(text))


def candidates_of(pipe: PairClassifier, texts: Iterable[str]) -> Candidates:
    return Candidates.of(terms_in(pipe, text) for text in texts)


def strings_of(phrasings: Mapping[int, Sequence[Text]]) -> dict[int, list[str]]:
    return {number: list(map(string_of, own)) for number, own in phrasings.items()}


def encode(pipe: PairClassifier, texts: Iterable[Text]) -> EncodedTexts:
    """Encode distinct texts."""
    upstream = ReadOnce(tok2vec_of(pipe.model))
    return EncodedTexts.join(
        [EncodedTexts.of(pipe.model, pipe.spans_of(some), upstream) for some in batches_of(texts)]
    )


def batches_of(texts: Iterable[Text]) -> Iterator[list[Text]]:
    """Batches of at most `CHARACTERS` characters, or of one text."""
    batch: list[Text] = []
    size = 0
    for text in texts:
        size += len(string_of(text))
        if batch and size > CHARACTERS:
            yield batch
            batch, size = [], len(string_of(text))
        batch.append(text)
    if batch:
        yield batch


def weights_of(pipe: PairClassifier) -> str:
    """A checksum of everything that an encoded text depends on."""
    found = hashlib.blake2b(digest_size=16)
    featuriser = pipe.model.attrs["featuriser"]
    found.update(featuriser.to_bytes())
    has_tok2vec = tok2vec_of(pipe.model) is not None
    if has_tok2vec:
        found.update(to_bytes(pipe.nlp.vocab.vectors.data))
    if featuriser.options.inputs != "chars" or has_tok2vec:
        tokenizer = pipe.nlp.tokenizer
        if hasattr(tokenizer, "to_bytes"):
            found.update(tokenizer.to_bytes(exclude=["vocab"]))
    for model in models_of(pipe):
        for part in parameters_of(model):
            found.update(part)
    return found.hexdigest()


def versions_of(pipe: PairClassifier) -> list[tuple[int, int]]:
    """Numbers that change with the weights of a component's networks."""
    return [shim.version for model in models_of(pipe) for shim in shims_of(model)]


def models_of(pipe: PairClassifier) -> list[Model[Any, Any]]:
    """A component's model and, if it has a tok2vec, those of the components before it."""
    if tok2vec_of(pipe.model) is None:
        return [pipe.model]
    before = (getattr(component, "model", None) for component in pipe.components_before())
    return [pipe.model, *(model for model in before if isinstance(model, Model))]


def parameters_of(model: Model[Any, Any]) -> Iterator[bytes]:
    """The weights of a model and its layers, without their settings."""
    for node in model.walk():
        for name in node.param_names:
            if node.has_param(name):
                yield to_bytes(node.get_param(name))
        for shim in node.shims:
            yield shim.to_bytes()  # type: ignore[no-untyped-call]


def to_bytes(array: Any) -> bytes:
    """An array on any device."""
    return bytes(get_array_ops(array).to_numpy(array).tobytes())  # type: ignore[no-untyped-call]


def read_arrays(path: Path) -> tuple[str, Arrays]:
    """The checksum of the weights, and the arrays, from the file of an index.

    Errors as in `PairClassifier.load_index`.
    """
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise FileNotFoundError(Errors.F331.format(path=path.parent, file=FILE))
    try:
        with safe_open(path, framework="numpy") as file:
            fields = json.loads(file.metadata()[HEADER])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        found, weights, checksum = fields["format"], str(fields["weights"]), fields["checksum"]
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(Errors.F332.format(path=path, reason=repr(error))) from error
    if found != FORMAT:
        raise ValueError(Errors.F333.format(path=path, found=found, expected=FORMAT))
    if checksum != checksum_of(weights, arrays):
        raise ValueError(Errors.F332.format(path=path, reason="its checksum differs"))
    return weights, arrays


def checksum_of(weights: str, arrays: Arrays) -> int:
    checksum = zlib.crc32(weights.encode())
    for name, array in sorted(arrays.items()):
        checksum = zlib.crc32(f"{name}{array.dtype}{array.shape}".encode(), checksum)
        checksum = zlib.crc32(np.ascontiguousarray(array).data, checksum)
    return checksum


def to_json_bytes(data: Any) -> NDArray[np.uint8]:
    """Texts as bytes of JSON."""
    return np.frombuffer(json.dumps(data, ensure_ascii=False).encode("utf-8"), np.uint8)


def from_json_bytes(data: NDArray[np.uint8]) -> Any:
    return json.loads(data.tobytes())
