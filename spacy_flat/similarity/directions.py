"""Texts as sums of the embeddings of their units, and the cosines of two.

Shapes: N texts, U units of all texts, D width of the embeddings.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..nn.model import shim_of
from ..text.hashing import hash_words
from ..util.arrays import Float32s, Ints
from .featuriser import SpanPairs, rows_of
from .model import PairModel, network_of, read_pairs

if TYPE_CHECKING:
    from .featuriser import PairFeaturiser

HALF_MOST = float(np.finfo(np.float16).max)


def cosines_of(model: PairModel, pairs: SpanPairs) -> Float32s:
    """[N] the cosines of the directions of both texts of each pair, at least one."""
    featuriser, texts, upstream = read_pairs(model, pairs)
    lengths, found = rows_of(texts.texts), []
    # Texts of about `batch_size` units at once.
    batches = np.cumsum(lengths) // featuriser.options.batch_size
    for numbers in np.split(np.arange(len(lengths)), np.flatnonzero(np.diff(batches)) + 1):
        rows = featuriser.rows(texts, numbers)
        n_units = int(lengths[numbers].sum())
        with shim_of(model).predicting():
            vectors = network_of(model).embed(rows.keys, upstream.of_texts(rows.segments))
        strings = [texts.strings(number) for number in numbers.tolist()]
        embedded = vectors[:n_units].cpu().numpy()
        found.append(directions_of(model, strings, rows.words[:n_units], embedded))
    directions = np.concatenate(found)
    cosines: Float32s = (directions[texts.left] * directions[texts.right]).sum(axis=1)
    return cosines


def directions_of(
    model: PairModel, strings: Sequence[Sequence[str]], words: Ints, embedded: Float32s
) -> Float32s:
    """[N, D] the sums of each text's embeddings, scaled to unit length.

    Punctuation and symbols don't count: a text of these alone has zeros. An unknown token counts as
    those of its characters that are known, if any are.

    strings: the units of each text, at least one.
    words: [U] keys of the words, 0 or less for unknown ones.
    embedded: [U, D]
    """
    units = [string for own in strings for string in own]
    counts = np.array([any(map(str.isalnum, unit)) for unit in units])
    embedded = np.where(counts[:, None], np.clip(embedded, -HALF_MOST, HALF_MOST), 0)
    if model.attrs["featuriser"].unit == "token":
        unknown = np.flatnonzero(counts & (words <= 0))
        spell(model, [units[number] for number in unknown], unknown, embedded)
    starts = np.cumsum([0, *map(len, strings[:-1])])
    sums = np.add.reduceat(embedded, starts, axis=0)
    directions: Float32s = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
    return directions


def spell(model: PairModel, words: Sequence[str], places: Ints, embedded: Float32s) -> None:
    """Replace the vectors of unknown words by the sums of their characters' vectors."""
    featuriser: PairFeaturiser = model.attrs["featuriser"]
    spelled = [
        (place, character)
        for place, word in zip(places.tolist(), words, strict=True)
        for character in featuriser.simplifier(word)
        if character.isalnum()
    ]
    owners = np.array([place for place, _ in spelled], dtype=np.int64)
    characters = [character for _, character in spelled]
    keys = featuriser.words.look_up(hash_words(characters, featuriser.options), False)
    owners, keys = owners[keys > 0], keys[keys > 0]
    network = network_of(model)
    if not len(keys) or network.words is None:
        return
    with shim_of(model).predicting():
        vectors = network.words(network.to_tensor(keys)).cpu().numpy()
    embedded[np.unique(owners), : vectors.shape[1]] = 0
    np.add.at(embedded[:, : vectors.shape[1]], owners, vectors)
