"""`python -m spacy flat show`: show what a pipeline predicts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from wasabi import msg

from ..errors import Errors
from ..similarity.pairs import join_pair, pair_of
from ..util.files import replacing
from ..util.messages import counted
from ._components import PAIRS, choose
from ._options import Device, Pipeline, TextFile, lines_of, several
from ._table import print_table

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

LEXICON = "component with a lexicon"
MAX_WRITTEN = 100  # characters of a generated text
SURPRISING = 3  # characters to list as least expected


def show(
    model: Pipeline,
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TEXT]...", help="Texts, or pairs of texts separated by a TAB"),
    ] = None,
    file: TextFile = None,
    added: Annotated[
        list[str] | None,
        typer.Option(
            "--add", "-a", metavar="WORD=TYPE,...", help="Words to add to the lexicon first"
        ),
    ] = None,
    trust: Annotated[
        float | None,
        typer.Option(help="Trust of added words, from 0 (the network decides) to 1 (always)"),
    ] = None,
    lattice: Annotated[
        Path | None,
        typer.Option(help="SVG of the lattice over the first text, with its words and entities"),
    ] = None,
    alignment: Annotated[
        Path | None, typer.Option(help="SVG of what a pair's texts attend to in each other")
    ] = None,
    device: Device = "",
) -> None:
    """Show what a pipeline predicts: the entities and lexicon words of texts, the similarity of
    pairs, the probability of texts, a generated text, or translations."""
    from ..loading import load_on_device

    for picture in filter(None, (lattice, alignment)):
        if picture.suffix != ".svg":
            raise ValueError(Errors.F146.format(path=picture, suffix=".svg"))
    texts = [*(texts or ()), *filter(None, lines_of(file))]
    if not texts:
        raise ValueError(Errors.F137)
    nlp = load_on_device(model, device)
    add_words(nlp, model, several(added), trust)
    for _, pipe in nlp.pipeline:
        if hasattr(pipe, "confidence"):
            pipe.confidence = True
    compares = any(hasattr(component, "predict_pairs") for _, component in nlp.pipeline)
    if compares:
        texts = [joined(text) for text in texts]
    for doc in nlp.pipe(texts):
        show_doc(nlp, doc, compares)
    for name, component in nlp.pipeline:
        if hasattr(component, "generate") and getattr(component, "suspicion", None) is None:
            msg.divider(f"written by {name}")
            typer.echo(component.generate(max_length=MAX_WRITTEN, seed=0)[0])
    if lattice is not None:
        pipe = able(nlp, model, "render_lattice", LEXICON)
        write(lattice, pipe.render_lattice(nlp(texts[0])))
    if alignment is not None:
        left, right = map(str, pair_of(nlp(texts[0])) or ("", ""))
        write(alignment, able(nlp, model, "align", PAIRS).align(left, right).to_svg())


def able(nlp: Language, model: str, attribute: str, kind: str) -> Any:
    """The component with an attribute. Raises as `choose`."""
    found = {name: pipe for name, pipe in nlp.pipeline if hasattr(pipe, attribute)}
    return choose(found, "", model, kind)


def write(path: Path, picture: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(picture, encoding="utf-8")
    msg.good(str(path))


def add_words(nlp: Language, model: str, words: tuple[str, ...], trust: float | None) -> None:
    """Add each WORD=TYPE or WORD to the pipeline's lexicon.

    Raises as `able` and `Lexicon.add`, and ValueError without a word (F176)."""
    for entry in words:
        word, _, type_ = map(str.strip, entry.partition("="))
        if not word:
            raise ValueError(Errors.F176.format(value=entry))
        able(nlp, model, "lexicon", LEXICON).lexicon.add([word], type=type_, trust=trust)


def joined(text: str) -> str:
    """Join two texts separated by a TAB to a pair; other texts stay unchanged."""
    left, *right = (part.strip() for part in text.split("\t"))
    return join_pair(left, right[0]) if left and len(right) == 1 and right[0] else text


def show_doc(nlp: Language, doc: Doc, compares: bool) -> None:
    pair = pair_of(doc)
    if pair is not None and doc.cats:
        msg.divider(" | ".join(text.text for text in pair))
        show_labels(doc)
    else:
        msg.divider(doc.text)
    is_scored = doc.has_extension("perplexity") and doc._.perplexity is not None
    is_translated = doc.has_extension("translation") and doc._.translation is not None
    if is_scored:
        show_probability(doc)
    if is_translated:
        show_translation(doc)
    if compares and pair is None:
        msg.text("no pair: put one TAB between two texts")
    elif doc.ents or not (doc.cats or is_scored or is_translated):
        show_entities(doc)
    for name, words in lattice_words(nlp, doc.text):
        msg.text(f"{name} found {counted(len(words), 'word')} of its lexicon:", "  ".join(words))


def show_entities(doc: Doc) -> None:
    if not doc.ents:
        msg.text("no entities")
        return
    header = ["characters", "label", "entity"]
    shares = [ent.has_extension("confidence") and ent._.confidence for ent in doc.ents]
    rows = [
        [f"{ent.start_char}–{ent.end_char}", ent.label_, ent.text, f"{share:.3f}" if share else ""]
        for ent, share in zip(doc.ents, shares, strict=True)
    ]
    if any(shares):
        header.append("confidence")
    print_table([row[: len(header)] for row in rows], header=header, divider=True)


def show_labels(doc: Doc) -> None:
    labels = sorted(doc.cats.items(), key=lambda item: -item[1])
    rows = [(label, f"{value:.4f}") for label, value in labels]
    print_table(rows, header=("label", "score"), divider=True, aligns=("l", "r"))


def show_probability(doc: Doc) -> None:
    """Print the probability of a text, its least expected characters, and those that may be
    wrong."""
    surprisals = doc._.char_surprisal.tolist()
    order = sorted(range(len(surprisals)), key=lambda place: -surprisals[place])[:SURPRISING]
    rows = [
        ("perplexity", f"{doc._.perplexity:,.2f}"),
        ("unknown characters, per cent", f"{100 * doc._.oov_rate:.2f}"),
        ("least expected", ", ".join(f"{doc.text[place]} ({place})" for place in sorted(order))),
    ]
    if doc._.suspicious is not None:
        errors = [f"{each.found} ({each.start}) → {each.expected}" for each in doc._.suspicious]
        rows.append(("may be wrong", ", ".join(errors) or "none"))
    print_table(rows)


def show_translation(doc: Doc) -> None:
    """Print a translation, and a table of its entities with their source."""
    typer.echo(doc._.translation)
    rows = [
        (f"{ent.start}–{ent.end}", ent.label, ent.text, doc.text[slice(*ent.source or (0, 0))])
        for ent in doc._.translation_ents
    ]
    if rows:
        print_table(rows, header=("characters", "label", "entity", "source"), divider=True)


def lattice_words(nlp: Language, text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each component with a lexicon, and the words that it finds in the text."""
    for name, component in nlp.pipeline:
        lexicon = getattr(component, "lexicon", None)
        if lexicon is not None:
            matches = lexicon.match([text])
            spans = zip(matches.starts, matches.ends, strict=True)
            yield name, [text[start:end] for start, end in spans]
