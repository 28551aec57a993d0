"""`python -m spacy flat show`: show what a pipeline predicts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from wasabi import msg

from ..errors import Errors
from ..similarity.pairs import join_pair, pair_of
from ..util.files import UTF_8, encoded_in, replacing
from ._components import PAIRS, choose
from ._options import Device, Encoding, Pipeline, TextFile, lines_of, several

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

LEXICON = "component with a lexicon"
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
    lexicon: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE[=TYPE],...", help="Word lists to add to the lexicon first"),
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
    encoding: Encoding = UTF_8,
    device: Device = "",
) -> None:
    """Show what a pipeline predicts: entities, the similarity of pairs, the probability of texts,
    or translations."""
    from ..loading import load_on_device

    for picture in filter(None, (lattice, alignment)):
        if picture.suffix != ".svg":
            raise ValueError(Errors.F146.format(path=picture, suffix=".svg"))
    with encoded_in(encoding):
        texts = [*(texts or ()), *filter(None, lines_of(file))]
    if not texts:
        raise ValueError(Errors.F137)
    nlp = load_on_device(model, device)
    with encoded_in(encoding):
        for path, _, type_ in (each.partition("=") for each in several(lexicon)):
            able(nlp, model, "lexicon", LEXICON).lexicon.update(path, type=type_, trust=trust)
    add_words(nlp, model, several(added), trust)
    for _, pipe in nlp.pipeline:
        if hasattr(pipe, "confidence"):
            pipe.confidence = True
    compares = any(hasattr(component, "predict_pairs") for _, component in nlp.pipeline)
    if compares:
        texts = [joined(text) for text in texts]
    for doc in nlp.pipe(texts):
        show_doc(doc, compares)
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

    Raises as `able` and `Lexicon.add`."""
    for entry in words:
        word, _, type_ = map(str.strip, entry.partition("="))
        able(nlp, model, "lexicon", LEXICON).lexicon.add([word], type=type_, trust=trust)


def joined(text: str) -> str:
    """Join two texts separated by a TAB to a pair; other texts stay unchanged."""
    left, *right = (part.strip() for part in text.split("\t"))
    return join_pair(left, right[0]) if left and len(right) == 1 and right[0] else text


def show_doc(doc: Doc, compares: bool) -> None:
    pair = pair_of(doc)
    msg.divider(" | ".join(text.text for text in pair) if pair and doc.cats else doc.text)
    is_scored = doc.has_extension("perplexity") and doc._.perplexity is not None
    is_translated = doc.has_extension("translation") and doc._.translation is not None
    if is_scored:
        show_probability(doc)
    if is_translated:
        show_translation(doc)
    if pair and doc.cats:
        labels = sorted(doc.cats.items(), key=lambda item: -item[1])
        rows = [(label, f"{value:.4f}") for label, value in labels]
        msg.table(rows, header=("label", "score"), divider=True)
    elif compares and not pair:
        msg.text("no pair: put one TAB between two texts")
    elif doc.ents:
        show_entities(doc)
    elif not (doc.cats or is_scored or is_translated):
        msg.text("no entities")


def show_entities(doc: Doc) -> None:
    rows = []  # Chinese text stands in the last column, as it is wider than wasabi counts
    for ent in doc.ents:
        share = ent._.confidence if ent.has_extension("confidence") else None
        cells = (ent.label_, f"{share:.3f}" if share else "", ent.text)
        rows.append((f"{ent.start_char}–{ent.end_char}", *cells))
    msg.table(rows, header=("characters", "label", "confidence", "entity"), divider=True)


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
    msg.table(rows)


def show_translation(doc: Doc) -> None:
    """Print a translation, and a table of its entities with their source."""
    typer.echo(doc._.translation)
    rows = [
        (f"{ent.start}–{ent.end}", ent.label, ent.text, doc.text[slice(*ent.source)])
        for ent in doc._.translation_ents
    ]
    if rows:
        msg.table(rows, header=("characters", "label", "entity", "source"), divider=True)
