"""Train vectors on raw text (UTF-8, plain, .gz or .xz), for the `[initialize]` of a config:

    python scripts/train_vectors.py char text.txt char.vec.gz
    python scripts/train_vectors.py bigram text.txt bigram.vec.gz
    python scripts/train_vectors.py word text.txt word.vec.gz

Words are those that jieba finds. Characters and words are trained as skip-grams, bigrams, being
many, as continuous bags of words.
"""

import argparse
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import jieba
from gensim.models import Word2Vec

from spacy_flat.util.files import read_text_lines

UNITS = {
    "char": list,
    "bigram": lambda line: [a + b for a, b in pairwise(line)],
    "word": jieba.lcut,
}


class Sentences:
    """The units of each line."""

    def __init__(self, kind: str, path: Path) -> None:
        self.kind, self.path = kind, path

    def __iter__(self) -> Iterator[list[str]]:
        for _, line in read_text_lines(self.path):
            yield UNITS[self.kind]("".join(line.split()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=UNITS)
    parser.add_argument("text", type=Path)
    parser.add_argument("out")
    for name, default in (("width", 50), ("min-count", 5), ("epochs", 5), ("workers", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    model = Word2Vec(
        Sentences(options.kind, options.text),
        vector_size=options.width,
        min_count=options.min_count,
        epochs=options.epochs,
        workers=options.workers,
        sg=options.kind != "bigram",
    )
    model.wv.save_word2vec_format(options.out)


if __name__ == "__main__":
    main()
