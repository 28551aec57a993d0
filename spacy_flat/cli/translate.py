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
            help="File to write to, line by line: .txt (translations), .tsv (text, translation, "
            "score) or .jsonl (also entities)",
            dir_okay=False,
        ),
    ] = None,
    n_best: Annotated[
        int, typer.Option("--n-best", "-n", help="Translations per text, at most --beam", min=1)
    ] = 1,
    beam: Annotated[int | None, typer.Option(help="Beam width", min=1, max=100)] = None,
    batch_size: Annotated[
        int, typer.Option("--batch-size", help="Texts to translate at once", min=1)
    ] = 256,
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
    from ..translator.entities import load_reader
    from ..translator.names import name_list

    if output is not None:
        check_lines(output, n_best)
    # Fail now, not after translating, if the file can't be read to its end.
    total = None
    if file and file.is_file():
        total = len(texts or ()) + sum(1 for _ in lines_of(file))
    lines = chain(texts or (), lines_of(file))
    wanted = filter(str.strip, lines) if output is None else lines
    first = next(wanted, None)
    if first is None:
        raise ValueError(Errors.F137)
    terms = name_list(glossary)
    use_gpu(gpu_id)
    nlp, translator = load_component(
        model, Seq2SeqTranslator, component, device, "seq2seq_translator"
    )
    if beam is not None:
        translator.beam = beam
    if names is not None:
        translator.names = {**translator.names, **name_list(names)}
    if entities:
        translator.entities = load_reader(entities, translator.name, device)
    any_entities = False
    with writing(output) as write, tqdm(total=total, unit=" lines", disable=output is None) as bar:
        for batch in minibatch(chain([first], wanted), batch_size):  # type: ignore[no-untyped-call]
            with nlp.memory_zone():
                for doc, best in annotated(nlp, translator, batch, n_best, terms):
                    write(doc, best)
                    any_entities = any_entities or bool(doc.ents)
            bar.update(len(batch))
    if output is not None:
        msg.good(str(output))
    if names is not None and not any_entities:
        msg.warn(Warnings.W402.format(pipeline=model, path=names))


def check_lines(path: Path, n_best: int) -> None:
    """Raise ValueError for an unknown kind of file (F432), and for several translations per line
    (F174)."""
    if path.suffix not in LINES:
        raise ValueError(Errors.F432.format(path=path))
    if path.suffix == ".txt" and n_best > 1:
        raise ValueError(Errors.F174.format(option="--n-best", kind="--output with .txt"))


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


# What is written


@contextmanager
def writing(output: Path | None) -> Iterator[Write]:
    """A function that shows a text and its translations, or writes them to the file."""
    if output is None:
        yield show
        return
    lines = LINES[output.suffix]
    with replacing(output) as temporary, temporary.open("w", encoding="utf-8") as file:
        yield lambda doc, best: file.write(lines(doc.text, best))


def show(doc: Doc, best: Sequence[Translation]) -> None:
    msg.divider(doc.text)
    show_translation(doc)
    if len(best) > 1:
        print_table(
            [(f"{each.score:.4f}", each.text) for each in best], header=("score", "translation")
        )


def txt_lines(text: str, best: Sequence[Translation]) -> str:
    return f"{one_line(best[0].text)}\n"


def tsv_lines(text: str, best: Sequence[Translation]) -> str:
    rows = (f"{one_line(text)}\t{one_line(each.text)}\t{each.score:.4f}\n" for each in best)
    return "".join(rows) if text else "\n"


def json_lines(text: str, best: Sequence[Translation]) -> str:
    translations = [
        {
            "text": each.text,
            "score": round(each.score, 4),
            "ents": [ent._asdict() for ent in each.ents],
        }
        for each in best
    ]
    return json.dumps({"text": text, "translations": translations}, ensure_ascii=False) + "\n"


def one_line(text: str) -> str:
    return " ".join(text.replace("\t", " ").splitlines())


LINES = {".txt": txt_lines, ".tsv": tsv_lines, ".jsonl": json_lines}
