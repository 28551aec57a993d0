"""Train vectors on raw text (UTF-8, plain, .gz or .xz), for the `[initialize]` of a config:

    python scripts/train_vectors.py char text.txt char.vec.gz
    python scripts/train_vectors.py bigram text.txt bigram.vec.gz
    python scripts/train_vectors.py word text.txt word.vec.gz [--lexicon words.txt]

Words are jieba's, or those of a word list, cut from left to right into the longest. Characters and
words are trained as skip-grams, bigrams, being many, as continuous bags of words.
"""

import argparse
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from gensim.models import Word2Vec

from spacy_flat.lexicon import Lexicon, jieba_words, read_words
from spacy_flat.util.files import read_text_lines


class Units:
    """The units of each line."""

    def __init__(self, kind: str, path: Path, lexicon: Lexicon) -> None:
        self.kind, self.path, self.lexicon = kind, path, lexicon

    def __iter__(self) -> Iterator[list[str]]:
        for _, line in read_text_lines(self.path):
            line = "".join(line.split())
            if self.kind == "word":
                yield list(self._words(line))
            else:
                yield list(line) if self.kind == "char" else [a + b for a, b in pairwise(line)]

    def _words(self, line: str) -> Iterator[str]:
        found = self.lexicon.match([line])
        # Of words with the same start the longest comes last.
        ends = dict(zip(found.starts.tolist(), found.ends.tolist(), strict=True))
        start = 0
        while start < len(line):
            end = ends.get(start, start + 1)
            yield line[start:end]
            start = end


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("char", "bigram", "word"))
    parser.add_argument("text", type=Path)
    parser.add_argument("out")
    parser.add_argument("--lexicon", type=Path)
    for name, default in (("width", 50), ("min-count", 5), ("epochs", 5), ("workers", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    lexicon = Lexicon()
    if options.kind == "word":
        lexicon = Lexicon(read_words(options.lexicon) if options.lexicon else jieba_words())
    model = Word2Vec(
        Units(options.kind, options.text, lexicon),
        vector_size=options.width,
        min_count=options.min_count,
        epochs=options.epochs,
        workers=options.workers,
        sg=options.kind != "bigram",
    )
    model.wv.save_word2vec_format(options.out)


if __name__ == "__main__":
    main()
