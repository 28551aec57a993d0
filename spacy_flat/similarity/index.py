"""An index of texts to search for the most similar ones."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nsmallest
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from thinc.api import Model
from thinc.backends import get_array_ops

from ..errors import Errors
from ..nn.model import tok2vec_of
from ..text.featuriser import batch_by_length
from ..util.arrays import Float64s, Ints
from ..util.files import replacing
from ..util.options import require_count, require_number, require_string
from .candidates import Candidates, best_by_turns, terms_of
from .encoded import Arrays, EncodedTexts
from .equality import normal_form
from .pairs import Text, string_of
from .ranking import FEATURES, SearchedQuery, features_of, probabilities

if TYPE_CHECKING:
    from ..nn.weights import Version
    from .component import PairClassifier

MAGIC = b"spacy-flat.index.v7\n"
FILE = "index.safetensors"
CHARACTERS = 8000  # of texts encoded at once
TRIED = 20  # candidates of each query, in fitting

Question = Text | Sequence[Text]  # with several phrasings

# safetensors is imported where it is used: every `Language()` imports the components.


class Match(NamedTuple):
    """A question found: its number in the index, its most similar phrasing, the probability that it
    is the right question (or the score, if the network predicts scores), and its answer."""

    number: int
    text: str
    similarity: float
    answer: str = ""


class Entry(NamedTuple):
    """A question."""

    phrasings: list[str]
    answer: str = ""


@dataclass(frozen=True)
class Contents:
    """What an index holds at a time."""

    entries: dict[int, Entry]  # by their numbers
    next: int  # number of the next question
    encoded: EncodedTexts  # of each distinct text
    candidates: Candidates
    numbers: dict[str, list[int]]  # the questions that have each distinct text
    forms: dict[str, list[int]]  # the places of the texts with the same normal form

    @classmethod
    def of(
        cls, pipe: PairClassifier, entries: dict[int, Entry], encoded: EncodedTexts, following: int
    ) -> Contents:
        """encoded: the distinct texts, in their order in the entries."""
        numbers: dict[str, list[int]] = {}
        forms: dict[str, list[int]] = {}
        for number, entry in entries.items():
            for text in entry.phrasings:
                numbers.setdefault(text, []).append(number)
        for place, text in enumerate(numbers):
            forms.setdefault(normal_form(text), []).append(place)
        candidates = Candidates.of(terms_of(pipe.featuriser.simplifier(text)) for text in numbers)
        return cls(entries, following, encoded, candidates, numbers, forms)

    @cached_property
    def texts(self) -> list[str]:
        """The distinct texts."""
        return list(self.numbers)

    def n_questions(self, places: Ints) -> int:
        """How many questions have one of the texts at these places."""
        return len({number for at in places for number in self.numbers[self.texts[at]]})


@dataclass(eq=False, repr=False)
class TextIndex:
    """Questions to search with `re2_similarity`, each read once: its ids, the vectors of a
    tok2vec, and the sum of its embeddings.

    An index belongs to the weights that encoded it: rebuild it after further training. `search`,
    `add` and `save` raise ValueError (F349) if the component or an encoder before it was trained,
    `save` also for spaCy's own layers. Several threads may search, add and remove at once.
    """

    pipe: PairClassifier
    weights: str  # a checksum
    versions: list[tuple[int, Version]]  # of these weights
    ranking: Sequence[float]  # see `ranking.FEATURES`
    contents: Contents
    _changing: Lock = field(default_factory=Lock, init=False)

    @classmethod
    def of(
        cls, pipe: PairClassifier, questions: Iterable[Question], answers: Iterable[str] | None
    ) -> TextIndex:
        """See `PairClassifier.index`."""
        pipe.require_initialised()
        entries, texts = read_questions(questions, answers, 0)
        if not texts:
            raise ValueError(Errors.F330.format(where=""))
        contents = Contents.of(pipe, entries, encode(pipe, texts.values()), len(entries))
        return cls(pipe, weights_of(pipe), versions_of(pipe), pipe.ranking, contents)

    def add(self, questions: Iterable[Question], answers: Iterable[str] | None = None) -> list[int]:
        """Add questions, as in `PairClassifier.index`. Returns their numbers."""
        with self._changing:
            self._require_weights()
            known = self.contents
            entries, texts = read_questions(questions, answers, known.next)
            new = [each for text, each in texts.items() if text not in known.numbers]
            encoded = [known.encoded, encode(self.pipe, new)] if new else [known.encoded]
            both, following = {**known.entries, **entries}, known.next + len(entries)
            self.contents = Contents.of(self.pipe, both, EncodedTexts.join(encoded), following)
        return list(entries)

    def remove(self, numbers: Iterable[int]) -> None:
        """Remove questions; the others keep their numbers.

        Raises KeyError (F351) for a number that isn't in the index, ValueError (F330) if none is
        left, TypeError (F026) for a single number.
        """
        require_list(numbers)
        chosen = dict.fromkeys(numbers)
        with self._changing:
            known = self.contents
            for number in chosen:
                if number not in known.entries:
                    raise KeyError(Errors.F351.format(number=number))
            entries = {number: own for number, own in known.entries.items() if number not in chosen}
            if not entries:
                raise ValueError(Errors.F330.format(where=""))
            places = {text: place for place, text in enumerate(known.texts)}
            kept = dict.fromkeys(text for own in entries.values() for text in own.phrasings)
            encoded = known.encoded.select(np.array([places[text] for text in kept]))
            self.contents = Contents.of(self.pipe, entries, encoded, known.next)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_changing"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # In another process, the same numbers may come again with other weights.
        vars(self).update(state, versions=[], _changing=Lock())

    def __len__(self) -> int:
        return len(self.contents.entries)

    def __repr__(self) -> str:
        return f"<TextIndex of {len(self)} questions>"

    @property
    def questions(self) -> list[tuple[list[str], str]]:
        """The phrasings and the answer of each question, in their order."""
        return [(list(texts), answer) for texts, answer in self.contents.entries.values()]

    @property
    def texts(self) -> list[str]:
        """All phrasings, in their order."""
        return [text for phrasings, _ in self.questions for text in phrasings]

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
            bounds = () if self.pipe.is_regression else (0, 1)
            require_number("min_similarity", min_similarity, *bounds)
        self._require_weights()
        if not string_of(query).strip():
            return []
        contents = self.contents
        n = max(top_k, candidates)
        places, similarities = self._ranked(contents, query, n)
        while contents.n_questions(places) < min(top_k, len(contents.entries)):
            n *= 2
            places, similarities = self._ranked(contents, query, n)
        least = -np.inf if min_similarity is None else min_similarity
        best: dict[int, Match] = {}
        for place, similarity in zip(places.tolist(), similarities.tolist(), strict=True):
            text = contents.texts[place]
            for number in contents.numbers[text] if similarity >= least else ():
                if number not in best or best[number].similarity < similarity:
                    answer = contents.entries[number].answer
                    best[number] = Match(number, text, similarity, answer)
        return nsmallest(top_k, best.values(), key=lambda match: (-match.similarity, match.number))

    def examples(self, same: Mapping[str, set[str]], n: int) -> list[SearchedQuery]:
        """What a search finds, to fit a ranking.

        same: of each query, the texts of the index that are right; it is not to find itself.
        n: queries to search for, at even distances.
        """
        examples = []
        for query in list(same)[:: max(1, len(same) // n)]:
            places, features = self._compared(self.contents, query, TRIED, True)
            texts = [self.contents.texts[place] for place in places]
            others = [row for row, text in enumerate(texts) if text != query]
            gold = np.array([texts[row] in same[query] for row in others])
            if others:
                examples.append(SearchedQuery(features[others], gold, bool(same[query])))
        return examples

    def _require_weights(self) -> None:
        """Raises ValueError (F349) if the network has other weights than those of the index."""
        versions = versions_of(self.pipe)
        if versions != self.versions:
            self._compare_weights()
            self.versions = versions

    def _compare_weights(self) -> None:
        if weights_of(self.pipe) != self.weights:
            raise ValueError(Errors.F349.format(name=self.pipe.name))

    def _ranked(self, contents: Contents, query: Text, n: int) -> tuple[Ints, Float64s]:
        """[B] places of candidates and of texts equal to the query, and their similarities."""
        form = normal_form(string_of(query)) if self.pipe.knows_equals else None
        equal = [] if form is None else contents.forms.get(form, [])
        if self.pipe.is_regression:
            places, features = self._compared(contents, query, n, True, equal)
            return places, features[:, 0]
        asks_network = self.ranking[FEATURES.index("network")] != 0
        places, features = self._compared(contents, query, n, asks_network, equal)
        return places, np.where(np.isin(places, equal), 1.0, probabilities(features, self.ranking))

    def _compared(
        self,
        contents: Contents,
        query: Text,
        n: int,
        asks_network: bool,
        also: Sequence[int] = (),
    ) -> tuple[Ints, Float64s]:
        """[B] places of n candidates and of the texts `also`, and their features [B, F], or the
        scores [B, 1] of a network that predicts these."""
        model = self.pipe.model
        terms = terms_of(self.pipe.featuriser.simplifier(string_of(query)))
        read = EncodedTexts.of(model, self.pipe.read([(query, query)]))
        scores, cosines = contents.candidates.scores(terms), contents.encoded.cosines(read)
        places = np.union1d(best_by_turns(scores, cosines, n), np.array(also, dtype=np.int64))
        similarities = np.full(len(places), 0.5, dtype=np.float32)
        if asks_network:
            both = EncodedTexts.join([read, contents.encoded.select(places)])
            logits = self.pipe.logits(both.pairs_of_first(model))
            similarities = self.pipe.similarities(self.pipe.probabilities(logits, cosines[places]))
        if self.pipe.is_regression:
            return places, similarities[:, None].astype(np.float64)
        shares = scores[places].astype(np.float64)
        shares /= max(1e-9, contents.candidates.max_score(terms))
        return places, features_of(similarities, cosines[places], shares)

    def save(self, path: str | Path) -> None:
        """Write a folder with one file, replacing an older index in one step."""
        self._compare_weights()  # also those of spaCy's layers, which have no versions
        known = self.contents
        entries = json.dumps(list(known.entries.items()), ensure_ascii=False)
        arrays = {
            **known.encoded.arrays,
            "entries": np.frombuffer(entries.encode(), np.uint8),
            "ranking": np.array([*self.ranking, known.next], dtype=np.float64),
        }
        write_arrays(Path(path) / FILE, self.weights, arrays)

    @classmethod
    def load(cls, pipe: PairClassifier, path: Path) -> TextIndex:
        """See `PairClassifier.load_index`."""
        pipe.require_initialised()
        weights, arrays = read_arrays(path / FILE)
        if weights != weights_of(pipe):
            raise ValueError(Errors.F334.format(path=path, name=pipe.name))
        json_bytes, numbers = (arrays.pop(name) for name in ("entries", "ranking"))
        entries = {number: Entry(*own) for number, own in json.loads(json_bytes.tobytes())}
        *ranking, following = numbers.tolist()
        contents = Contents.of(pipe, entries, EncodedTexts.restore(arrays), int(following))
        return cls(pipe, weights, versions_of(pipe), ranking, contents)


def read_questions(
    questions: Iterable[Question], answers: Iterable[str] | None, first: int
) -> tuple[dict[int, Entry], dict[str, Text]]:
    """Questions under numbers from `first`, and their distinct texts by their strings.

    Raises TypeError for a single text (F026), anything but texts (F311) and an answer that isn't a
    string (F028), ValueError for a question without a text or with a blank one (F330) and another
    number of answers (F335).
    """
    require_list(questions)
    asked = [list(own) if isinstance(own, list | tuple) else [cast(Text, own)] for own in questions]
    entries: list[Entry] = []
    texts: dict[str, Text] = {}
    for number, own in enumerate(asked):
        strings = [string_of(text, f" in question number {number} (from 0)") for text in own]
        if not strings or not all(map(str.strip, strings)):
            where = f": see question number {number} (from 0)"
            raise ValueError(Errors.F330.format(where=where))
        entries.append(Entry(strings))
        texts.update(zip(strings, own, strict=True))
    if answers is None:
        return dict(enumerate(entries, first)), texts
    require_list(answers)
    own_answers = list(map(require_string, answers))
    if len(own_answers) != len(entries):
        counts = {"questions": len(entries), "answers": len(own_answers)}
        raise ValueError(Errors.F335.format(**counts))
    both = enumerate(zip(entries, own_answers, strict=True), first)
    return {number: entry._replace(answer=own) for number, (entry, own) in both}, texts


def require_list(value: object) -> None:
    """Raises TypeError (F026) for a text, a mapping, and anything but an iterable."""
    if isinstance(value, Text | Mapping) or not isinstance(value, Iterable):
        raise TypeError(Errors.F026.format(value=f"{value!r:.60}"))


def encode(pipe: PairClassifier, texts: Iterable[Text]) -> EncodedTexts:
    """Encode distinct texts, at least one, in half precision."""
    return EncodedTexts.join(
        [
            EncodedTexts.of(pipe.model, pipe.read([(text, text) for text in some]), np.float16)
            for some in batch_by_length(texts, CHARACTERS, lambda text: len(string_of(text)))
        ]
    )


def weights_of(pipe: PairClassifier) -> str:
    """A checksum of everything that an encoded text depends on."""
    found = hashlib.blake2b(digest_size=16)
    found.update(pipe.featuriser.to_bytes())
    has_tok2vec = tok2vec_of(pipe.model) is not None
    if has_tok2vec:
        found.update(to_bytes(pipe.nlp.vocab.vectors.data))
    if (pipe.featuriser.unit == "token" or has_tok2vec) and hasattr(pipe.nlp.tokenizer, "to_bytes"):
        found.update(pipe.nlp.tokenizer.to_bytes(exclude=["vocab"]))
    for node in nodes_of(pipe):  # without their settings
        for name in filter(node.has_param, node.param_names):
            found.update(to_bytes(node.get_param(name)))
        for shim in node.shims:
            found.update(shim.to_bytes())  # type: ignore[no-untyped-call]
    return found.hexdigest()


def versions_of(pipe: PairClassifier) -> list[tuple[int, Version]]:
    """Numbers that change with the weights of a component's networks."""
    shims = (shim for node in nodes_of(pipe) for shim in node.shims)
    return [shim.version for shim in shims if hasattr(shim, "version")]


def nodes_of(pipe: PairClassifier) -> Iterator[Model[Any, Any]]:
    """The layers of a component's model and, if it has a tok2vec, of the components before it."""
    before = pipe.components_before() if tok2vec_of(pipe.model) is not None else []
    for component in (pipe, *before):
        if isinstance(model := getattr(component, "model", None), Model):
            yield from model.walk()


def to_bytes(array: Any) -> bytes:
    """An array on any device."""
    return bytes(get_array_ops(array).to_numpy(array).tobytes())  # type: ignore[no-untyped-call]


def write_arrays(path: Path, weights: str, arrays: Arrays) -> None:
    """Write a file with a checksum, replacing an older one in one step."""
    from safetensors.numpy import save

    data = save(dict(arrays), {"weights": weights})
    with replacing(path) as temporary:
        temporary.write_bytes(MAGIC + zlib.crc32(data).to_bytes(4, "little") + data)


def read_arrays(path: Path) -> tuple[str, Arrays]:
    """The checksum of the weights, and the arrays. Errors as in `PairClassifier.load_index`."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    if not path.is_file():
        raise FileNotFoundError(Errors.F331.format(path=path.parent, file=FILE))
    content, size = path.read_bytes(), len(MAGIC) + 4
    if b"spacy-flat.index" in content[:300] and not content.startswith(MAGIC):
        raise ValueError(Errors.F333.format(path=path))
    data = content[size:]
    if not content.startswith(MAGIC) or zlib.crc32(data) != int.from_bytes(
        content[size - 4 : size], "little"
    ):
        raise ValueError(Errors.F332.format(path=path, reason="its checksum differs"))
    try:
        size = int.from_bytes(data[:8], "little")
        return json.loads(data[8 : 8 + size])["__metadata__"]["weights"], load(data)
    except (SafetensorError, ValueError, KeyError) as error:
        raise ValueError(Errors.F332.format(path=path, reason=repr(error))) from error
