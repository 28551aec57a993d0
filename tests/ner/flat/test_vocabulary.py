"""Which characters, bigrams and words a network knows, and their pretrained vectors."""

from typing import Any

import numpy as np

from spacy_flat.lexicon import Entry, Lexicon
from spacy_flat.ner.flat.featuriser import build_vocabulary
from spacy_flat.ner.flat.options import LatticeOptions
from spacy_flat.text.vocabulary import Pretrained, TableVocab, Vocabulary
from spacy_flat.vectors import TextVectors

TRAINING = ["重庆重庆在", "", "药店在"]
LEXICON = Lexicon([Entry("重庆"), Entry("药店"), Entry("上海")])


def vectors_of(*keys: str, width: int = 3) -> TextVectors:
    """Vectors (1, 1, …), (2, 2, …), …"""
    rows = np.arange(1, len(keys) + 1, dtype=np.float32)
    return TextVectors(list(keys), np.repeat(rows[:, None], width, axis=1))


def build(options: dict[str, Any] | None = None, **vectors: TextVectors) -> Vocabulary:
    settings = LatticeOptions(**{"normalise_embeddings": False, **(options or {})})
    return build_vocabulary(settings, TRAINING, LEXICON, labels=["LOC"], **vectors)


def codes(*texts: str) -> list[int]:
    """Hashes of characters and bigrams; "\\0" is the end of a text."""
    return sorted(
        ord(text) if len(text) == 1 else ord(text[0]) * 2**21 + ord(text[1]) for text in texts
    )


def hash_words(*words: str) -> list[int]:
    return sorted(LEXICON.index(word) for word in words)


def trained(index: TableVocab) -> list[int]:
    return index.hashes[index.ids <= index.n_trained].tolist()


def test_pretrained_vectors_are_known_beside_what_is_trained() -> None:
    vocabulary = build(
        char_vectors=vectors_of("重", "海", "上海"),
        bigram_vectors=vectors_of("重庆", "上海", "海", "上海人", width=4),
        word_vectors=vectors_of("上海", "天津", "重庆", width=5),
    )
    encoder = vocabulary.featuriser
    assert trained(encoder.chars) == codes(*"重庆在药店")
    assert encoder.chars.hashes.tolist() == codes(*"重庆在药店海")
    assert vocabulary.tables["chars"].pretrained.hashes.tolist() == codes("重", "海")
    assert set(codes("上海")) <= set(encoder.bigrams.hashes.tolist()) - set(
        trained(encoder.bigrams)
    )
    assert vocabulary.tables["bigrams"].pretrained.hashes.tolist() == codes("上海", "重庆")
    assert encoder.words.hashes.tolist() == hash_words("重庆", "药店", "上海")  # not 天津
    assert vectors(vocabulary.tables["words"].pretrained) == {
        LEXICON.index("上海"): 1.0,
        LEXICON.index("重庆"): 3.0,
    }
    assert vocabulary.tables["bigrams"].pretrained.vectors.shape == (2, 4)


def vectors(pretrained: Pretrained) -> dict[int, float]:
    """The first element of each vector."""
    return dict(zip(pretrained.hashes.tolist(), pretrained.vectors[:, 0].tolist(), strict=True))
