"""MSRA's development part, cut from the public archive, whose train set comes in chunks of at most
100 characters and has no development part.

A random choice of sentences would be too easy: 83 % of its names occur in the rest, but only 72 %
of those of the official test part. Runs of consecutive sentences have about the latter share.
"""

import random
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from pathlib import Path
from zipfile import BadZipFile, ZipFile

TRAIN_CHUNKS = 50_658  # the others are the test part
RUNS, RUN_LENGTH = 10, 350  # of the development part
MAX_SIZE = 50_000_000  # bytes of the archive's text, which has 15 million
LONGEST_CHUNK = 100  # characters
LONGEST_BRACKET = 14

PAUSES = ("，", "、")
ENDS = tuple("。！？；：”…）』》!?;")
CLOSING = tuple("』”）」》，、。；！？")

Rows = list[tuple[str, str]]  # characters and their tags


def split_archive(path: Path) -> dict[str, bytes]:
    """The training and the development part, in columns, from the archive.

    Raises ValueError for anything but a ZIP file with this text.
    """
    try:
        chunks = list(islice(read_chunks(read_text(path).splitlines()), TRAIN_CHUNKS))
    except (BadZipFile, ValueError) as error:
        raise ValueError(f"{path.name}: can't read the archive: {error}") from error
    if len(chunks) < TRAIN_CHUNKS:
        raise ValueError(f"{path.name} has {len(chunks):,} chunks of text, not {TRAIN_CHUNKS:,}")
    parts = split_sentences(list(join_chunks(iter(chunks))))
    return {name: to_columns(part).encode("utf-8") for name, part in parts.items()}


def read_text(path: Path) -> str:
    """The text of an archive, of limited size: 1.5 MB of it can unpack to gigabytes."""
    with ZipFile(path) as archive:
        name = next((name for name in archive.namelist() if name.endswith(".txt")), None)
        if name is None:
            raise ValueError("it has no text")
        with archive.open(name) as stream:
            data = stream.read(MAX_SIZE + 1)
    if len(data) > MAX_SIZE:
        raise ValueError(f"its text has more than {MAX_SIZE:,} bytes")
    return data.decode("utf-8")


def read_chunks(lines: Sequence[str]) -> Iterator[Rows]:
    """Chunks are separated by blank lines, with a character and its tag per line."""
    for is_text, rows in groupby(lines, lambda line: bool(line.strip())):
        if is_text:
            yield [(character, tag) for character, tag in map(str.split, rows)]


def join_chunks(chunks: Iterator[Rows]) -> Iterator[Rows]:
    """Sentences from chunks."""
    sentence = last = next(chunks)
    for chunk in chunks:
        if belongs_to(sentence, last, chunk):
            sentence = sentence + chunk
        else:
            yield sentence
            sentence = chunk
        last = chunk
    yield sentence


def belongs_to(sentence: Rows, last: Rows, chunk: Rows) -> bool:
    """Whether a chunk continues the sentence, whose last chunk is `last`."""
    end, (begin, tag) = last[-1][0], chunk[0]
    is_bracket = len(chunk) <= LONGEST_BRACKET and (begin, chunk[-1][0]) == ("（", "）")
    return (
        (end in PAUSES and len(sentence) + len(chunk) >= LONGEST_CHUNK)
        or (len(last) >= LONGEST_CHUNK - 1 and end not in ENDS)
        or begin in CLOSING
        or tag.startswith("I-")
        or (end == "。" and is_bracket)
    )


def split_sentences(sentences: Sequence[Rows]) -> dict[str, list[Rows]]:
    """Ten runs of consecutive sentences for development; the rest, shuffled, for training."""
    n = len(sentences)
    starts = [run * n // RUNS for run in range(RUNS)]
    held_out = [place for start in starts for place in range(start, start + RUN_LENGTH)]
    rest = sorted(set(range(n)) - set(held_out))
    random.Random(1).shuffle(rest)
    return {
        "train": [sentences[place] for place in rest],
        "dev": [sentences[place] for place in held_out],
    }


def to_columns(sentences: Sequence[Rows]) -> str:
    return "\n".join(
        "".join(f"{character}\t{tag}\n" for character, tag in sentence) for sentence in sentences
    )
