"""Compress a trained pipeline: merge pretrained and trained vectors, with fewer rows and bits.

The result is an ordinary pipeline. Further training changes everything except the rows of its
tables, of which only that of unknown keys changes.
"""

import tempfile
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from spacy.language import Language
from thinc.api import Model

from ..errors import Errors
from ..nn.embeddings import PretrainedEmbedding, Table
from ..nn.shim import TorchShim, shim_of
from ..nn.weights import distinct, is_matrix, quantise
from ..pipe import NetworkPipe
from ..text.featuriser import SegmentFeaturiser
from ..text.segments import split_texts
from ..text.spans import Units
from ..text.vocabulary import TableVocab
from ..util.arrays import Ints
from ..util.options import Check, require, require_count, require_number

BITS = (4, 5, 6, 7, 8, 16, 32)  # of a number
TEXTS_AT_ONCE = 2000  # to count in a memory zone


class Compactor:
    """Compresses a trained pipeline in place: the components of this package, and the transformers
    (`spacy-flat.CharacterTransformer.v1`) that they use. Other components stay unchanged. Only
    `flat_ner` and `tener_ner` have rows to drop.

    Raises ValueError if no component can be compressed (F370), and for an untrained one (F303).
    """

    def __init__(self, nlp: Language) -> None:
        self.nlp = nlp
        pipes = {name: pipe for name, pipe in nlp.pipeline if isinstance(pipe, NetworkPipe)}
        if not pipes:
            raise ValueError(Errors.F370.format(components=", ".join(nlp.pipe_names) or "none"))
        self.components: dict[str, TableCompactor] = {}
        self._networks = [(node, shim_of(node), 7) for node in transformers_of(nlp)]  # least bits
        for name, pipe in pipes.items():
            pipe.require_initialised()
            if isinstance(pipe.featuriser, SegmentFeaturiser):
                self.components[name] = TableCompactor(pipe.model)
            else:
                self._networks.append((pipe.model, pipe.shim, 4))

    def count(self, texts: Iterable[str]) -> None:
        """Count how often texts read each row of the tables.

        Don't call this in a memory zone of the pipeline, since it opens one for the tokens.
        """
        texts = iter(texts)
        while some := list(islice(texts, TEXTS_AT_ONCE)):
            with self.nlp.memory_zone():
                for component in self.components.values():
                    component.count(some, self.nlp)

    def apply(self, bits: int = 8, min_count: int = 0, limit: float | None = None) -> int:
        """Compress the pipeline. Each call starts from the pipeline of the first one: what it has
        learnt since is lost, and so are words added to its lexicon, which is a new object.

        bits: per number in a table. Up to 8, each row has a scale. Fewer than 8 only save space on
            disk; in memory, a number has 8. A BERT keeps at least 7. It and components other than
            flat_ner and tener_ner are only smaller on disk.
        min_count: minimum occurrences in the counted texts of a row to keep.
        limit: bytes on disk; the smallest `min_count` that fits is chosen, at least the given one.

        Returns the minimum of occurrences. Raises ValueError for an argument out of its bounds
        (F341), for rows to drop if nothing was counted (F371), and if nothing fits (F372).
        """
        require("bits", bits, Check(f"one of {BITS}", BITS.__contains__))
        require_count("min_count", min_count, 0)
        if limit is not None:
            require_number("limit", limit, 1)
        drops_rows = min_count > 0 or limit is not None
        if self.components and drops_rows and not row_counts(self.components.values()).any():
            raise ValueError(Errors.F371)
        for model, shim, min_bits in self._networks:
            model.shims[0] = rounded(shim, max(bits, min_bits))
            model.attrs["packed"] = True  # which counts where it is the whole model of a pipe
        if limit is not None:
            min_count = self._fitting(bits, min_count, limit)
        self._apply_to_tables(bits, min_count)
        return min_count

    def rows(self) -> dict[str, int]:
        """How many rows each table has at present, by "COMPONENT: TABLE"."""
        return {
            f"{name}: {table}": rows
            for name, component in self.components.items()
            for table, rows in component.rows().items()
        }

    def _apply_to_tables(self, bits: int, min_count: int) -> None:
        for component in self.components.values():
            component.apply(bits, min_count)

    def _fitting(self, bits: int, min_count: int, limit: float) -> int:
        def size(min_count: int) -> int:
            self._apply_to_tables(bits, min_count)
            return size_on_disk(self.nlp)

        # The values that differ in what they drop. There are few, as high counts are rare.
        counts = np.unique(row_counts(self.components.values())) + 1
        steps: list[int] = sorted({max(step, min_count) for step in (0, *counts.tolist())})
        place: int = bisect_left(steps, True, key=lambda step: size(step) <= limit)
        if place == len(steps):
            raise ValueError(Errors.F372.format(size=size(steps[-1]) / 1e6, limit=limit / 1e6))
        return steps[place]


class TableCompactor:
    """Replaces the featuriser (a `SegmentFeaturiser`) and network of a model by smaller ones."""

    def __init__(self, model: Model[Any, Any]) -> None:
        self.model = model
        self.shim = shim_of(model)
        self.featuriser: Any = model.attrs["featuriser"]
        self.counts: dict[str, Ints] = {
            name: np.zeros(len(getattr(self.featuriser, name)) + 1, np.int64)
            for name in self.rows()
        }

    def rows(self) -> dict[str, int]:
        """How many rows each table has at present."""
        sizes = shim_of(self.model).config["sizes"].items()
        return {
            name: size["keys"] for name, size in sizes if isinstance(size, dict) and size["width"]
        }

    def count(self, texts: Sequence[str], nlp: Language) -> None:
        """Count how often each row of the tables is read in texts; `nlp` makes their tokens."""
        units = [
            Units.visible_characters(text)
            if self.featuriser.unit == "char"
            else Units.as_read(nlp.make_doc(text), "token")
            for text in texts
        ]
        segments = split_texts(units, self.featuriser.options.max_length)
        for batch in self.featuriser.batches(units, segments):
            for name, counts in self.counts.items():
                counts += np.bincount(getattr(batch, name).ravel(), minlength=len(counts))

    def apply(self, bits: int, min_count: int) -> None:
        """Put a smaller featuriser and network, made from the first ones, into the model."""
        vocabs, rows = {}, {}
        for name, counts in self.counts.items():
            vocab: TableVocab = getattr(self.featuriser, name)
            chosen = counts[vocab.ids] >= min_count
            vocabs[name] = TableVocab.build(vocab.hashes[:0], vocab.hashes[chosen])
            rows[name] = vocab.ids[chosen]
        self.model.attrs["featuriser"] = self.featuriser.compact(vocabs)
        self.model.attrs["packed"] = True
        self.model.shims[0] = compact_network(self.shim, rows, bits)


def compact_network(shim: TorchShim, rows: Mapping[str, Ints], bits: int) -> TorchShim:
    """The same network with other tables.

    rows: of each table the keys [N] that are kept, which become the untrained keys 1 to N.
    bits: of a number in a table, 32, 16, or 2 to 8.
    """
    sizes = dict(shim.config["sizes"])
    for name, keys in rows.items():
        table = Table(**sizes[name])
        new = replace(table, keys=len(keys), trained=0, float16=bits == 16, int8=bits <= 8)
        sizes[name] = asdict(new)
    compacted = TorchShim(shim.build, {**shim.config, "sizes": sizes}, shim.device_name)
    state = distinct(compacted.module)
    with torch.no_grad():
        for name, value in distinct(shim.module).items():
            if name.partition(".")[0] not in rows:
                state[name].copy_(value)
        for name, keys in rows.items():
            embedding: PretrainedEmbedding = getattr(compacted.module, name)
            embedding.merge(
                getattr(shim.module, name), torch.from_numpy(keys).to(shim.device), bits
            )
    return compacted


@torch.no_grad()
def rounded(shim: TorchShim, bits: int = 16) -> TorchShim:
    """The same network with rounded numbers.

    bits: 32 for a plain copy, 16 for bfloat16, of which a packed file stores no more, or 2 to 8 in
        matrices, with a scale for each row.
    """
    copied = deepcopy(shim)
    if bits == 32:
        return copied
    for value in distinct(copied.module).values():
        if bits < 16 and is_matrix(value):
            numbers, scales = quantise(value.flatten(1), bits)
            value.copy_((numbers * scales).view_as(value))
        elif value.dtype == torch.float32:
            value.copy_(value.bfloat16())
    if bits < 16:
        copied.config["bits"] = bits
    return copied


def transformers_of(nlp: Language) -> list[Model[Any, Any]]:
    """The transformers of this package in a pipeline, shared or a component's own."""
    models = [getattr(pipe, "model", None) for _, pipe in nlp.pipeline]
    nodes = [node for model in models if isinstance(model, Model) for node in model.walk()]
    return [node for node in nodes if node.name == "character_transformer"]


def row_counts(compactors: Iterable[TableCompactor]) -> Ints:
    counts = [each[1:] for one in compactors for each in one.counts.values()]
    return np.concatenate([np.zeros(0, np.int64), *counts])


def size_on_disk(nlp: Language) -> int:
    """Bytes of a pipeline as it is saved."""
    with tempfile.TemporaryDirectory() as folder:
        nlp.to_disk(folder)
        return size_of_folder(Path(folder))


def size_of_folder(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
