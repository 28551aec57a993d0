"""Compressing a trained pipeline: pretrained and trained vectors merged into one table, fewer rows,
fewer bits a number.

The result is an ordinary pipeline. Further training changes all but the rows of its tables, apart
from that of unknown keys.
"""

import math
import tempfile
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from spacy.language import Language
from thinc.api import Model

from ..errors import Errors
from ..nn.model import shim_of, tok2vec_of
from ..pipe import NetworkPipe
from ..text.batches import SegmentFeaturiser
from ..text.segments import split_texts
from ..text.units import Ints, Units
from ..text.vocabulary import KeyIndex
from ..util.arguments import require
from ..util.options import Options, option

Bits = Literal[4, 5, 6, 7, 8, 16, 32]

TEXTS_AT_ONCE = 2000  # that are counted


@dataclass(frozen=True)
class CompressConfig(Options):
    """How much is kept.

    Raises ValueError (F341) for a value of another kind, and for one out of its bounds.
    """

    bits: Bits = option(
        8,
        "bits of a number in a table. Up to 8, each row has a scale. Fewer than 8 save bytes on "
        "disk only, in memory a number has 8. With fewer than 32, numbers of an encoder "
        "have 16 on disk",
    )
    min_count: int = option(
        0, "occurrences in the texts that were counted from which a row is kept", least=0
    )
    known_words: bool = option(
        False, "keep only words of a lexicon that have a row, or a label as type"
    )


class Compactor:
    """Compresses a trained pipeline in place: its `flat_ner` and `tener_ner`, and their encoders,
    `spacy-flat.Encoder.v2` or a BERT of characters, their own or shared. The rest stays as it is.

    Raises ValueError if no component can be compressed (F370), and for an untrained one (F303).
    """

    def __init__(self, nlp: Language) -> None:
        self.nlp = nlp
        self.components = compactors_of(nlp)
        self.encoders = encoders_of(nlp, self.components)

    def count(self, texts: Iterable[str]) -> int:
        """Count how often each row of the tables is read in texts. Returns how many times any was.

        No memory zone of the pipeline may be open: one is opened for the texts' tokens.
        """
        before, texts = self._n_counted(), iter(texts)
        while some := list(islice(texts, TEXTS_AT_ONCE)):
            with self.nlp.memory_zone():
                for component in self.components.values():
                    component.count(some, self.nlp)
        return self._n_counted() - before

    def apply(self, config: CompressConfig, limit: float | None = None) -> CompressConfig:
        """Compress the pipeline. Each call starts from the pipeline of the first one: what
        it has learnt since is lost, and so are words added to its lexicon. The lexicons of its
        components are new objects.

        limit: bytes on disk; the smallest `min_count` that fits is chosen, at least that of
            `config`.

        Returns the config used. Raises ValueError for rows to drop if nothing was counted (F371),
        for a limit that is not above 0 (F341), and if nothing fits (F372), which restores the
        pipeline.
        """
        if limit is not None:
            require("limit", limit, lambda: 0 < limit < math.inf, "bytes, more than 0")
        if (config.min_count or limit is not None) and not self._n_counted():
            raise ValueError(Errors.F371)
        for encoder in self.encoders:
            encoder.apply(config)
        if limit is not None:
            config = self._fitting(config, limit)
        self._apply_to_components(config)
        return config

    def rows(self) -> dict[str, int]:
        """How many rows each table has at present, by "COMPONENT: TABLE"."""
        return {
            f"{name}: {table}": rows
            for name, component in self.components.items()
            for table, rows in component.rows().items()
        }

    def _n_counted(self) -> int:
        counts = (each for one in self.components.values() for each in one.counts.values())
        return sum(int(each[1:].sum()) for each in counts)

    def _apply_to_components(self, config: CompressConfig) -> None:
        for component in self.components.values():
            component.apply(config)

    def _fitting(self, config: CompressConfig, limit: float) -> CompressConfig:
        def size(min_count: int) -> int:
            self._apply_to_components(replace(config, min_count=min_count))
            return size_on_disk(self.nlp)

        possible = thresholds(self.components.values())
        steps = sorted({max(step, config.min_count) for step in possible})
        place = bisect_left(steps, True, key=lambda step: size(step) <= limit)
        if place == len(steps):
            smallest = size(steps[-1])
            for component in self.components.values():
                component.undo()
            for encoder in self.encoders:
                encoder.undo()
            raise ValueError(Errors.F372.format(size=smallest / 1e6, limit=limit / 1e6))
        return replace(config, min_count=steps[place])


class ComponentCompactor:
    """Replaces the featuriser and network of a trained component's model by smaller ones.

    model: its featuriser is a `SegmentFeaturiser`.
    """

    def __init__(self, model: Model[Any, Any]) -> None:
        self.model = model
        self.featuriser: Any = model.attrs["featuriser"]
        self.shim = shim_of(model)
        self.packed: bool = model.attrs.get("packed", False)
        sizes = self.shim.config["sizes"]
        self.tables = [name for name, size in sizes.items() if is_table(size)]
        self.counts: dict[str, Ints] = {
            name: np.zeros(len(self.index(name)) + 1, np.int64) for name in self.tables
        }

    def index(self, table: str) -> KeyIndex:
        """The keys of a table."""
        index: KeyIndex = getattr(self.featuriser, table)
        return index

    def rows(self) -> dict[str, int]:
        """How many rows each table has at present."""
        sizes = shim_of(self.model).config["sizes"]
        return {name: sizes[name]["keys"] for name in self.tables}

    def count(self, texts: Sequence[str], nlp: Language) -> None:
        """Count how often each row of the tables is read in texts; `nlp` makes their tokens."""
        in_characters = self.featuriser.unit == "char"
        units = [
            Units.characters(text) if in_characters else Units.of(nlp.make_doc(text), "token")
            for text in texts
        ]
        segments = split_texts(units, self.featuriser.options)
        for batch in self.featuriser.batches(units, segments):
            for name, counts in self.counts.items():
                counts += np.bincount(getattr(batch, name).ravel(), minlength=len(counts))

    def apply(self, config: CompressConfig) -> None:
        """Put a smaller featuriser and network, made from the first ones, into the model."""
        from ..nn.compact import compact_network

        indexes, rows = {}, {}
        for name in self.tables:
            index = self.index(name)
            chosen = self.counts[name][index.keys] >= config.min_count
            indexes[name], rows[name] = index.select(chosen), index.keys[chosen]
        self.model.attrs["featuriser"] = self.featuriser.compact(indexes, config.known_words)
        self.model.attrs["packed"] = True
        self.model.shims[0] = compact_network(self.shim, rows, config.bits)

    def undo(self) -> None:
        """Restore copies of the first featuriser and network."""
        self.model.attrs["featuriser"] = deepcopy(self.featuriser)
        self.model.attrs["packed"] = self.packed
        self.model.shims[0] = deepcopy(self.shim)


class EncoderCompactor:
    """Rounds the encoder in a layer of a component's model, or of a pipe that it listens to."""

    def __init__(self, node: Model[Any, Any]) -> None:
        self.node = node
        self.shim = shim_of(node)
        self.packed: bool = node.attrs.get("packed", False)

    def apply(self, config: CompressConfig) -> None:
        """Put a copy of the first network into the layer, rounded to 16 bits below 32."""
        from ..nn.compact import rounded

        self.node.shims[0] = deepcopy(self.shim) if config.bits == 32 else rounded(self.shim)
        self.node.attrs["packed"] = True  # which counts where it is the whole model of a pipe

    def undo(self) -> None:
        """Restore a copy of the first network."""
        self.node.shims[0], self.node.attrs["packed"] = deepcopy(self.shim), self.packed


def is_table(size: object) -> bool:
    """Whether one of a network's sizes is that of a table of embeddings that it has."""
    return isinstance(size, dict) and size["width"] > 0


def compactors_of(nlp: Language) -> dict[str, ComponentCompactor]:
    """By name, those components of a pipeline that can be made small. Raises as `Compactor`."""
    found = {}
    for name, pipe in nlp.pipeline:
        if isinstance(pipe, NetworkPipe) and isinstance(
            pipe.model.attrs["featuriser"], SegmentFeaturiser
        ):
            pipe.require_initialised()
            found[name] = ComponentCompactor(pipe.model)
    if not found:
        raise ValueError(Errors.F370.format(components=", ".join(nlp.pipe_names) or "none"))
    return found


def encoders_of(nlp: Language, components: Collection[str]) -> list[EncoderCompactor]:
    """The encoders of this package that components use, their own and shared ones."""
    from ..nn.shim import TorchShim

    own = [tok2vec_of(nlp.get_pipe(name).model) for name in components]  # type: ignore[attr-defined]
    shared = [
        pipe.model  # type: ignore[attr-defined]
        for _, pipe in nlp.pipeline
        if not set(components).isdisjoint(getattr(pipe, "listening_components", ()))
    ]
    nodes = [node for model in (*own, *shared) if model is not None for node in model.walk()]
    return [
        EncoderCompactor(node)
        for node in nodes
        if any(isinstance(shim, TorchShim) for shim in node.shims)
    ]


def thresholds(compactors: Iterable[ComponentCompactor]) -> Sequence[int]:
    """Values of `min_count`, ascending: the first drops no row, the last drops all, and each other
    one about a hundredth of them more than the one before; rows of one count go together."""
    every = np.concatenate([each[1:] for one in compactors for each in one.counts.values()])
    if not len(every):
        return [0]
    some = np.unique(np.percentile(every, range(101), method="lower"))
    return [*some.tolist(), int(every.max()) + 1]


def size_on_disk(nlp: Language) -> int:
    """Bytes of a pipeline as it is saved."""
    with tempfile.TemporaryDirectory() as folder:
        nlp.to_disk(folder)
        return size_of_folder(Path(folder))


def size_of_folder(folder: Path) -> int:
    """Bytes of all files in it."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
