"""An index of texts to search for the most similar ones."""

import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nsmallest
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from spacy.language import Language
from spacy.tokens import Span
from thinc.api import Model
from thinc.backends import get_array_ops

from ..errors import Errors
from ..nn.model import tok2vec_of
from ..text.tok2vec import ReadOnce
from ..util.arguments import require_count
from ..util.files import replacing
from .candidates import Candidates, terms_of
from .encoded import EncodedTexts
from .model import PairModel
from .pairs import Text, string_of

FORMAT = 1
FILE = "index.safetensors"
HEADER = "spacy-flat.index"  # the one metadata entry
CHARACTERS = 8000  # of texts encoded at once

Arrays = Mapping[str, NDArray[Any]]

# safetensors is imported where it is used: every `Language()` imports the components.


class PairScorer(Protocol):
    """The component that an index belongs to."""

    name: str
    model: PairModel
    nlp: Language

    def require_initialised(self) -> None: ...
    def components_before(self) -> list[Any]: ...
    def spans_of(self, texts: Sequence[Text]) -> list[Span]: ...
    def probabilities(self, logits: NDArray[np.float32]) -> NDArray[np.float32]: ...
    def similarities(self, probabilities: NDArray[np.float32]) -> NDArray[np.float32]: ...


class Match(NamedTuple):
    """A text found: its number in the index, and its similarity, which is the probability of the
    positive label, or the score."""

    number: int
    text: str
    similarity: float


@dataclass(frozen=True, eq=False, repr=False)
class TextIndex:
    """Texts that a `re2_similarity` searches, each encoded once, up to its first alignment.

    An index belongs to the weights that encoded it: rebuild it after further training. Several
    threads may search at once.
    """

    pipe: PairScorer
    weights: str  # a checksum
    numbers: dict[str, list[int]]  # the places of each distinct text
    encoded: EncodedTexts  # of each distinct text
    candidates: Candidates  # of each distinct text

    @classmethod
    def of(cls, pipe: PairScorer, texts: Iterable[Text]) -> "TextIndex":
        """See `PairClassifier.index`."""
        if isinstance(texts, str):
            raise TypeError(Errors.F026.format(value=repr(texts)))
        pipe.require_initialised()
        numbers: dict[str, list[int]] = {}
        upstream = ReadOnce(tok2vec_of(pipe.model))
        parts = [
            EncodedTexts.of(pipe.model, pipe.spans_of(some), upstream)
            for some in batches_of(distinct(texts, numbers))
        ]
        if not parts:
            raise ValueError(Errors.F330)
        encoded = EncodedTexts.join(parts)
        return cls(pipe, weights_of(pipe), numbers, encoded, Candidates.of(map(terms_of, numbers)))

    def __len__(self) -> int:
        return sum(map(len, self.numbers.values()))

    def __repr__(self) -> str:
        return f"<TextIndex of {len(self)} texts>"

    @property
    def texts(self) -> list[str]:
        """All texts, in their original order."""
        places = [(number, text) for text, own in self.numbers.items() for number in own]
        return [text for _, text in sorted(places)]

    def search(self, query: Text, top_k: int = 5, candidates: int = 50) -> list[Match]:
        """Find the most similar texts, best first; of equally similar ones the first.

        candidates: distinct texts that the network compares with the query: those that share most
            characters (of Chinese) or words with it. At least `top_k`.

        Returns `top_k` matches, or fewer if the index has fewer texts.

        Raises ValueError for less than one (F341), TypeError for anything but a text (F311).
        """
        require_count("top_k", top_k)
        require_count("candidates", candidates)
        found = self.candidates.best(terms_of(string_of(query)), max(top_k, candidates))
        (span,) = self.pipe.spans_of([query])
        outputs = self.encoded.compare(self.pipe.model, span, found)
        similarities = self.pipe.similarities(self.pipe.probabilities(outputs))
        matches = (
            Match(number, text, similarity)
            for text, similarity in zip(self._distinct[found], similarities.tolist(), strict=True)
            for number in self.numbers[text]
        )
        return nsmallest(top_k, matches, key=lambda match: (-match.similarity, match.number))

    @cached_property
    def _distinct(self) -> NDArray[np.object_]:
        return np.array(list(self.numbers), dtype=np.object_)

    def save(self, path: str | Path) -> None:
        """Write a folder with one file, replacing an older index in one step."""
        from safetensors.numpy import save

        arrays = {
            **self.encoded.arrays,
            **self.candidates.arrays,
            "texts": pack(self.texts),
            "terms": pack(self.candidates.terms),
        }
        checksum = checksum_of(self.weights, arrays)
        fields = {"format": FORMAT, "weights": self.weights, "checksum": checksum}
        with replacing(Path(path) / FILE) as temporary:
            temporary.write_bytes(save(arrays, {HEADER: json.dumps(fields)}))

    @classmethod
    def load(cls, pipe: PairScorer, path: Path) -> "TextIndex":
        """See `PairClassifier.load_index`."""
        pipe.require_initialised()
        weights, arrays = read_arrays(path / FILE)
        if weights != weights_of(pipe):
            raise ValueError(Errors.F334.format(path=path, name=pipe.name))
        numbers: dict[str, list[int]] = {}
        list(distinct(unpack(arrays["texts"]), numbers))
        encoded = EncodedTexts.restore(arrays)
        candidates = Candidates.restore(unpack(arrays["terms"]), arrays, len(numbers))
        return cls(pipe, weights, numbers, encoded, candidates)


def distinct(texts: Iterable[Text], numbers: dict[str, list[int]]) -> Iterator[Text]:
    """Yield each text once. Adds the places of each to `numbers`."""
    for number, text in enumerate(texts):
        own = numbers.setdefault(string_of(text), [])
        own.append(number)
        if len(own) == 1:
            yield text


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


def weights_of(pipe: PairScorer) -> str:
    """A checksum of everything that an encoded text depends on."""
    found = hashlib.blake2b(digest_size=16)
    featuriser = pipe.model.attrs["featuriser"]
    found.update(featuriser.to_bytes())
    models = [pipe.model]
    has_tok2vec = tok2vec_of(pipe.model) is not None
    if has_tok2vec:
        before = (getattr(component, "model", None) for component in pipe.components_before())
        models += [model for model in before if isinstance(model, Model)]
        found.update(to_bytes(pipe.nlp.vocab.vectors.data))
    if featuriser.options.inputs != "chars" or has_tok2vec:
        tokenizer = pipe.nlp.tokenizer
        if hasattr(tokenizer, "to_bytes"):
            found.update(tokenizer.to_bytes(exclude=["vocab"]))
    for model in models:
        for part in parameters_of(model):
            found.update(part)
    return found.hexdigest()


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
    for name in sorted(arrays):
        checksum = zlib.crc32(np.ascontiguousarray(arrays[name]).data, checksum)
    return checksum


def pack(texts: list[str]) -> NDArray[np.uint8]:
    """Texts as bytes of JSON."""
    return np.frombuffer(json.dumps(texts, ensure_ascii=False).encode("utf-8"), np.uint8)


def unpack(data: NDArray[np.uint8]) -> list[str]:
    texts: list[str] = json.loads(data.tobytes())
    return texts
