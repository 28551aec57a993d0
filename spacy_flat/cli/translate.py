"""`python -m spacy flat translate`: translations of texts, and the entities in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from tqdm import tqdm
from wasabi import msg

from ..errors import Errors, Warnings
from ..util.files import replacing
from ._components import load_component
from ._options import Component, Device, GpuId, Pipeline, TextFile, lines_of, use_gpu
from ._table import print_table
from .show import show_translation

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

    from ..translator.component import Seq2SeqTranslator
    from ..translator.writing import Translation

Write = Callable[["Doc", Sequence["Translation"]], object]


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
            help="File to write to, line by line: .txt (best translations) or .jsonl (with scores "
            "and entities)",
            dir_okay=False,
        ),
    ] = None,
    n_best: Annotated[
        int, typer.Option("--n-best", "-n", help="Translations per text, at most --beam", min=1)
    ] = 1,
    beam: Annotated[int | None, typer.Option(help="Beam width", min=1, max=100)] = None,
    names: Annotated[
        Path | None, typer.Option(help="List of names: name TAB translation", exists=True)
    ] = None,
    glossary: Annotated[
        Path | None, typer.Option(help="List of terms: term TAB translation", exists=True)
    ] = None,
    entities: Annotated[
        str, typer.Option(help="Pipeline that finds the entities of the translations")
    ] = "",
    gpu_id: GpuId = -1,
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
    use_gpu(gpu_id)
    nlp, translator = load_component(
        model, Seq2SeqTranslator, component, device, "seq2seq_translator"
    )
    translator.beam = beam or translator.beam
    translator.names = {**translator.names, **name_list(names)}
    translator.entities = entities or translator.entities
    any_entities = False
    with writing(output) as write, tqdm(unit=" lines", disable=output is None) as bar:
        for batch in minibatch(chain([first], wanted), 256):  # type: ignore[no-untyped-call]
            with nlp.memory_zone():
                for doc, best in annotated(nlp, translator, batch, n_best, terms):
                    write(doc, best)
                    any_entities = any_entities or bool(doc.ents)
            bar.update(len(batch))
    if output is not None:
        msg.good(str(output))
    if names is not None and not any_entities:
        msg.warn(Warnings.W402.format(pipeline=model, path=names))


def annotated(
    nlp: Language,
    translator: Seq2SeqTranslator,
    texts: Sequence[str],
    n_best: int,
    glossary: Mapping[str, str],
) -> Iterator[tuple[Doc, Sequence[Translation]]]:
    """The Docs of texts and their best translations, the first as the components after the
    translator have changed it."""
    place = [pipe for _, pipe in nlp.pipeline].index(translator)
    docs = list(nlp.pipe(texts, disable=nlp.pipe_names[place:]))
    found = translator.translate(docs, n_best=n_best, glossary=glossary)
    translator.set_annotations(docs, [best[0] for best in found])
    docs = list(nlp.pipe(docs, disable=nlp.pipe_names[: place + 1]))
    for doc, (first, *others) in zip(docs, found, strict=True):
        yield doc, [replace(first, text=doc._.translation, ents=doc._.translation_ents), *others]


@contextmanager
def writing(output: Path | None) -> Iterator[Write]:
    """A function that shows a text and its translations, or writes them to the file."""
    if output is None:
        yield show
        return
    line = json_line if output.suffix == ".jsonl" else txt_line
    with replacing(output) as temporary, temporary.open("w", encoding="utf-8") as file:
        yield lambda doc, best: file.write(f"{line(doc.text, best)}\n")


def show(doc: Doc, best: Sequence[Translation]) -> None:
    msg.divider(doc.text)
    show_translation(doc)
    if len(best) > 1:
        rows = [(f"{each.score:.4f}", each.text) for each in best]
        print_table(rows, header=("score", "translation"))


def txt_line(text: str, best: Sequence[Translation]) -> str:
    return " ".join(best[0].text.splitlines())


def json_line(text: str, best: Sequence[Translation]) -> str:
    translations = [
        {
            "text": each.text,
            "score": round(each.score, 4),
            "ents": [ent._asdict() for ent in each.ents],
        }
        for each in best
    ]
    return json.dumps({"text": text, "translations": translations}, ensure_ascii=False)
