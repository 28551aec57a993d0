"""`python -m spacy flat translate`: translations of texts, and the entities in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from tqdm import tqdm
from wasabi import msg

from ..errors import Errors
from ..util.files import replacing
from ._components import load_component
from ._options import Component, Device, Pipeline, TextFile, lines_of
from .show import show_translation

if TYPE_CHECKING:
    from spacy.tokens import Doc

    from ..translator.splitting import Translation

Write = Callable[["Doc", "Translation"], object]


def translate(
    model: Pipeline,
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT]...", help="Texts to translate")
    ] = None,
    file: TextFile = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File to write to, line by line: .txt (translations) or .jsonl (with scores "
            "and entities)",
            dir_okay=False,
        ),
    ] = None,
    beam: Annotated[int | None, typer.Option(help="Beam width", min=1, max=100)] = None,
    names: Annotated[
        Path | None, typer.Option(help="List of names: name TAB translation", exists=True)
    ] = None,
    glossary: Annotated[
        Path | None, typer.Option(help="List of terms: term TAB translation", exists=True)
    ] = None,
    device: Device = "",
    component: Component = "",
) -> None:
    """Translate texts, and list the entities of the translations.

    Defaults are the pipeline's settings. Put a recogniser before the translator, which makes up
    names otherwise. Names apply to the entities that it finds, glossary terms wherever they occur.
    """
    from spacy.util import minibatch

    from ..translator.component import Seq2SeqTranslator
    from ..translator.names import name_list

    if output is not None and output.suffix not in (".txt", ".jsonl"):
        raise ValueError(Errors.F432.format(path=output))
    inputs = [each.resolve() for each in (file, names, glossary) if each]
    if output is not None and output.resolve() in inputs:
        raise ValueError(Errors.F433.format(path=output))
    lines = chain(texts or (), lines_of(file))
    wanted = filter(str.strip, lines) if output is None else lines
    if (first := next(wanted, None)) is None:
        raise ValueError(Errors.F137)
    terms = name_list(glossary)
    nlp, translator = load_component(
        model, Seq2SeqTranslator, component, device, "seq2seq_translator"
    )
    translator.beam = beam or translator.beam
    translator.names = {**translator.names, **name_list(names)}
    before = nlp.pipe_names[: nlp.pipe_names.index(translator.name)]
    with writing(output) as write, tqdm(unit=" lines", disable=output is None) as bar:
        for batch in minibatch(chain([first], wanted), 256):  # type: ignore[no-untyped-call]
            with nlp.memory_zone(), nlp.select_pipes(enable=before):
                docs = list(nlp.pipe(batch))
                found = translator.translate(docs, glossary=terms)
                translator.set_annotations(docs, found)
                for doc, translation in zip(docs, found, strict=True):
                    write(doc, translation)
            bar.update(len(batch))
    if output is not None:
        msg.good(str(output))


@contextmanager
def writing(output: Path | None) -> Iterator[Write]:
    """A function that shows a text and its translation, or writes them to the file."""
    if output is None:
        yield show
        return
    with replacing(output) as temporary, temporary.open("w", encoding="utf-8") as file:
        if output.suffix == ".jsonl":
            yield lambda doc, found: file.write(f"{json_line(doc.text, found)}\n")
        else:
            yield lambda doc, found: file.write(f"{' '.join(found.text.splitlines())}\n")


def show(doc: Doc, translation: Translation) -> None:
    msg.divider(doc.text)
    show_translation(doc)


def json_line(text: str, translation: Translation) -> str:
    found = {
        "text": text,
        "translation": translation.text,
        "score": round(translation.score, 4),
        "ents": [ent._asdict() for ent in translation.ents],
    }
    return json.dumps(found, ensure_ascii=False)
