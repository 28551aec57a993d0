"""Which characters, bigrams and words a network knows, and their pretrained vectors."""

import numpy as np

from spacy_flat.lexicon import Entry, Lexicon
from spacy_flat.ner.flat.featuriser import build_vocabulary
from spacy_flat.ner.flat.options import LatticeOptions
from spacy_flat.vectors import TextVectors

LEXICON = Lexicon([Entry("重庆"), Entry("药店"), Entry("上海")])


def vectors_of(*keys: str, width: int = 3) -> TextVectors:
    """Vectors (1, 1, …), (2, 2, …), …"""
    rows = np.arange(1, len(keys) + 1, dtype=np.float32)
    return TextVectors(list(keys), np.repeat(rows[:, None], width, axis=1))


def test_pretrained_vectors_are_known_beside_what_is_trained() -> None:
    vocabulary = build_vocabulary(
        LatticeOptions(normalise_embeddings=False),
        ["重庆重庆在", "", "药店在"],
        LEXICON,
        char_vectors=vectors_of("重", "海", "上海"),
        bigram_vectors=vectors_of("重庆", "上海", "海", "上海人", width=4),
        word_vectors=vectors_of("上海", "天津", "重庆", width=5),
    )
    encoder, tables = vocabulary
    chars = encoder.chars
    assert chars.hashes.tolist() == sorted(map(ord, "重庆在药店海"))
    trained = chars.hashes[chars.ids <= chars.n_trained].tolist()
    assert trained == sorted(map(ord, "重庆在药店"))
    assert tables["chars"].pretrained.hashes.tolist() == sorted(map(ord, "重海"))
    assert tables["bigrams"].pretrained.vectors.shape == (2, 4)
    words = {word: LEXICON.index(word) for word in ("重庆", "药店", "上海")}
    assert encoder.words.hashes.tolist() == sorted(words.values())  # not 天津
    hashes, rows = tables["words"].pretrained
    found = dict(zip(hashes.tolist(), rows[:, 0].tolist(), strict=True))
    assert found == {words["上海"]: 1.0, words["重庆"]: 3.0}
