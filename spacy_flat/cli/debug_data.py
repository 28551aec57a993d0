"""`python -m spacy flat debug-data`: counts and defects of a training corpus."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from wasabi import msg

from ..errors import Errors
from ..util.files import replacing, require_exists
from ..util.plural import counted
from ._lexicon import load_lexicon, require_source
from ._table import print_table
from .train import corpora_of

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.training import Example

    from ..corpora.statistics import Coverage, PartStatistics, Shared
    from ..lexicon import Lexicon

PARTS = ("train", "dev", "test")  # files of a folder
RARE = 50  # entities of a label below which it is learnt badly, as in `spacy debug data`
SHOWN = 15  # labels


class Corpus(NamedTuple):
    """Examples by part, the training part first.

    unlearnt: labels of the config's trained components that training has no entities of.
    """

    parts: dict[str, list[Example]]
    lexicon: Lexicon | None
    max_length: int
    unlearnt: Sequence[str] = ()


def debug_data(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="CONFIG|FILE...",
            help="Config, followed by overrides such as --paths.train; .spacy files, the training "
            "part first; or folder with train.spacy and dev.spacy",
        ),
    ],
    lang: Annotated[str, typer.Option(help="Language of the tokenizer (files)")] = "zh",
    segmenter: Annotated[
        str, typer.Option(help="Segmenter of the Chinese tokenizer (files): char, jieba, pkuseg")
    ] = "char",
    lexicon: Annotated[
        str,
        typer.Option(
            "--lexicon",
            "-l",
            help="Word list to add to jieba's, or pipeline (default: the config's or jieba's)",
        ),
    ] = "",
    max_length: Annotated[
        int, typer.Option(help="Length above which texts are split (files)", min=1)
    ] = 200,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="JSON file for the counts", dir_okay=False)
    ] = None,
) -> None:
    """Show counts of a corpus of entities: labels, missing annotation, entities that cut tokens,
    coverage by a lexicon, lengths, and what train and dev share.

    Like `spacy debug data`, but for `flat_ner` and `tener_ner`.
    """
    import srsly

    from ..corpora.statistics import compare, describe

    if lexicon:
        require_source(lexicon)  # before anything is read
    if inputs[0].endswith(".cfg"):
        corpus = corpus_of_config(Path(inputs[0]), inputs[1:], lexicon)
    else:
        corpus = corpus_of_files(inputs, lang, segmenter, lexicon, max_length)
    parts = {
        name: describe(examples, corpus.max_length, corpus.lexicon)
        for name, examples in corpus.parts.items()
    }
    for name, part in parts.items():
        show_part(name, part, corpus.max_length)
    (train, first), *others = corpus.parts.items()
    shared = {name: compare(first, examples) for name, examples in others}
    for name, counts in shared.items():
        show_shared(train, name, counts)
    for label, n in parts[train].labels.items():
        if n < RARE:
            few = counted(n, "entity")
            msg.warn(f"{label}: only {few} in {train}, which is little to learn from.")
    if corpus.unlearnt:
        msg.warn(
            f"{train} has no entities of {', '.join(corpus.unlearnt)}: training unlearns these "
            "labels, unless you declare that the corpus doesn't annotate them. See --unannotated "
            "of `flat convert`."
        )
    if output is not None:
        found: dict[str, Any] = {name: asdict(part) for name, part in parts.items()}
        found["shared"] = {name: asdict(counts) for name, counts in shared.items()}
        with replacing(output) as temporary:
            srsly.write_json(temporary, found)
        msg.good(str(output))


# Where the examples come from


def corpus_of_config(path: Path, overrides: list[str], lexicon: str) -> Corpus:
    """The corpora of a config, tokenized, with its lexicon.

    Raises FileNotFoundError (F001) if the config or a corpus is missing, ValueError (F139) if a
    path to a corpus is empty; otherwise as spaCy for a wrong config.
    """
    from spacy.cli._util import parse_config_overrides
    from spacy.util import load_config, load_model_from_config, registry, resolve_dot_names
    from thinc.api import Config

    require_exists(path)
    config = load_config(path, overrides=parse_config_overrides(overrides), interpolate=True)
    paths = config.get("paths", {})
    for part in ("train", "dev"):
        if part in paths and not paths[part]:
            raise ValueError(Errors.F139.format(path=path, part=part))
    nlp = load_model_from_config(config, auto_fill=True)
    filled = nlp.config.interpolate()
    require_exists(*corpora_of(filled))
    names = [filled["training"]["train_corpus"], filled["training"]["dev_corpus"]]
    corpora = Config(registry.resolve({"corpora": filled["corpora"]}))
    train, dev = resolve_dot_names(corpora, names)
    lengths = [size for part in filled["components"].values() for size in max_lengths(part)]
    known = load_lexicon(lexicon, add_jieba=True) if lexicon else configured_lexicon(nlp, filled)
    parts = {"train": list(train(nlp)), "dev": list(dev(nlp))}
    frozen = filled["training"]["frozen_components"]
    trained = [pipe for name, pipe in nlp.pipeline if name not in frozen]
    longest = min(lengths, default=sys.maxsize)
    return Corpus(parts, known, longest, unlearnt_labels(trained, parts["train"]))


def unlearnt_labels(pipes: Iterable[Any], train: Iterable[Example]) -> list[str]:
    """The labels of trained recognisers without entities in the training part, which doesn't
    declare them unannotated."""
    from ..ner.component import CRFEntityRecognizer
    from ..ner.spans import meaning

    annotated: set[str] = set()
    for doc in (example.reference for example in train):
        annotated.update(*(meaning(ent.label_, doc) for ent in doc.ents))
        annotated.update(doc._.unannotated_labels or ())
    return [
        label
        for pipe in pipes
        if isinstance(pipe, CRFEntityRecognizer) and pipe.is_initialised
        for label in pipe.known_labels
        if label not in {*annotated, *pipe.unannotated_labels}
    ]


def max_lengths(block: Mapping[str, Any]) -> list[int]:
    """All values of `max_length` in a block of a config."""
    found = [block["max_length"]] if "max_length" in block else []
    for value in block.values():
        if isinstance(value, Mapping):
            found += max_lengths(value)
    return found


def configured_lexicon(nlp: Language, config: Mapping[str, Any]) -> Lexicon | None:
    """The lexicon of the first component that has one: the config's, else its own if it is
    trained, else jieba's."""
    from spacy.util import registry

    from ..ner.flat.component import FlatEntityRecognizer

    for name, pipe in nlp.pipeline:
        if isinstance(pipe, FlatEntityRecognizer):
            block = config["initialize"]["components"].get(name, {}).get("lexicon")
            if block:
                lexicon: Lexicon = registry.resolve({"lexicon": block})["lexicon"]
                return lexicon
            return pipe.lexicon if pipe.is_initialised else load_lexicon("")
    return None


def corpus_of_files(
    inputs: list[str], lang: str, segmenter: str, lexicon: str, max_length: int
) -> Corpus:
    """The Docs of files, tokenized by a blank pipeline. Raises as `read_examples`, and
    ValueError (F140) for a folder without them."""
    import spacy

    from ..corpora.docs import read_examples

    tokenizer = {"nlp": {"tokenizer": {"segmenter": segmenter}}} if lang == "zh" else {}
    nlp = spacy.blank(lang, config=tokenizer)
    files = files_of(inputs)
    require_exists(*files)
    named = zip(part_names(files), files, strict=True)
    parts = {name: read_examples(path, nlp) for name, path in named}
    known = load_lexicon(lexicon, add_jieba=True) if lexicon or lang == "zh" else None
    return Corpus(parts, known, max_length)


def files_of(inputs: list[str]) -> list[Path]:
    """The files that are named, or the parts in the folder that is named."""
    folder = Path(inputs[0])
    if len(inputs) > 1 or not folder.is_dir():
        return [Path(name) for name in inputs]
    files = [folder / f"{part}.spacy" for part in PARTS]
    found = [path for path in files if path.is_file()]
    if not found:
        raise ValueError(Errors.F140.format(folder=folder))
    return found


def part_names(files: Sequence[Path]) -> list[str]:
    """The names of files without suffix, or their paths if two have the same name."""
    stems = [path.stem for path in files]
    return stems if len({*stems}) == len(stems) else [*map(str, files)]


# What is shown


def show_part(name: str, part: PartStatistics, max_length: int) -> None:
    msg.divider(name)
    shortest, middle, longest = part.lengths
    sizes = (counted(part.docs, "text"), counted(part.characters, "character"))
    msg.info(f"{', '.join(sizes)}, {counted(part.tokens, 'token')}")
    msg.text(f"lengths: {shortest:,} to {longest:,} characters, the median {middle:,.6g}")
    rows = [(label, f"{n:,}") for label, n in list(part.labels.items())[:SHOWN]]
    print_table(rows, header=("label", "entities"), divider=True, aligns=("l", "r"))
    if len(part.labels) > SHOWN:
        msg.text(f"and {counted(len(part.labels) - SHOWN, 'label')} more")
    if not part.labels:
        msg.warn("No entities.")
    if part.longer:
        longer = counted(part.longer, "text")
        msg.text(f"{longer} of more than {max_length:,} characters will be cut in pieces")
    if part.duplicates:
        msg.warn(f"{counted(part.duplicates, 'text')} more than once.")
    if part.unannotated:
        msg.warn(f"{counted(part.unannotated, 'text')} without any annotation of entities.")
    if part.missing:
        msg.warn(f"{counted(part.missing, 'token')} with missing annotation in annotated texts.")
    if part.misaligned:
        total = counted(sum(part.labels.values()), "entity")
        examples = "; ".join(part.misaligned_examples)
        msg.warn(f"{part.misaligned:,} of {total} cut by the tokens: {examples}")
    if part.coverage is not None:
        show_coverage(part.coverage)


def show_coverage(coverage: Coverage) -> None:
    rows = [
        ("entities that are a word", share(coverage.whole, coverage.mentions)),
        ("entities with a word within", share(coverage.touched, coverage.mentions)),
        ("distinct ones that are a word", share(coverage.whole_texts, coverage.texts)),
        ("words in 100 characters of text", f"{coverage.words_per_100:.1f}"),
    ]
    print_table(rows, header=("of the lexicon", ""), divider=True, aligns=("l", "r"))


def show_shared(train: str, name: str, counts: Shared) -> None:
    msg.divider(f"{train} and {name}")
    if counts.texts:
        msg.warn(f"{counted(counts.texts, 'text')} in both: scores on {name} are too high.")
    else:
        msg.good("No text in both.")
    new = share(counts.new_entities, counts.entities)
    msg.text(f"entities of {name} that {train} does not have: {new}")
    if counts.new_labels:
        labels = ", ".join(counts.new_labels)
        msg.warn(f"Labels of {name} that {train} does not have: {labels}")


def share(n: int, total: int) -> str:
    """ "3 of 4 (75.0 %)"."""
    return f"{n:,} of {total:,}" + (f" ({100 * n / total:.1f} %)" if total else "")
