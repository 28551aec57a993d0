"""`python -m spacy flat translate`: translations of texts, and the entities in them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from wasabi import msg

from ..errors import Errors, Warnings
from ..files import replacing
from ._components import load_component
from ._devices import Device, use_gpu
from .show import lines_of, show_translation

if TYPE_CHECKING:
    from spacy.language import Language

    from ..translator.component import Seq2SeqTranslator


def translate(
    model: Annotated[str, typer.Argument(metavar="PIPELINE", help="Pipeline package or folder")],
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT]...", help="Texts to translate")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="File of texts, one a line (UTF-8)")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html", help="HTML file of the texts beside their translations", dir_okay=False
        ),
    ] = None,
    beam: Annotated[
        int | None,
        typer.Option(help="Translations that are followed side by side", min=1, max=100),
    ] = None,
    names: Annotated[
        Path | None, typer.Option(help="List of names: name TAB translation", exists=True)
    ] = None,
    entities: Annotated[
        str, typer.Option(help="Pipeline that finds the entities of the translations")
    ] = "",
    gpu_id: Annotated[int, typer.Option("--gpu-id", "-g", help="GPU, or -1 for the CPU")] = -1,
    device: Device = "",
    component: Annotated[
        str, typer.Option("--component", help="The component of the pipeline that translates")
    ] = "",
) -> None:
    """Translate texts, and list the entities of the translations.

    What is not given is as the pipeline has it. A name of the list is used where a component
    before the translator finds it as an entity.
    """
    from ..translator.entities import load_reader
    from ..translator.names import name_list

    texts = [*(texts or ()), *(lines_of(file) if file else ())]
    if not texts:
        raise ValueError(Errors.F430)
    use_gpu(gpu_id)
    nlp, translator = load_translator(model, component, device)
    if beam is not None:
        translator.beam = beam
    if names is not None:
        translator.names = {**translator.names, **name_list(names)}
    if entities:
        translator.entities = load_reader(entities, translator.name, device)
    docs = []  # kept for the page alone
    any_entities = False
    for doc in nlp.pipe(texts):
        msg.divider(doc.text)
        show_translation(doc)
        any_entities = any_entities or bool(doc.ents)
        if html is not None:
            docs.append(doc)
    if names is not None and not any_entities:
        msg.warn(Warnings.W402.format(pipeline=model, path=names))
    if html is not None:
        from ..translator.html import side_by_side

        with replacing(html) as temporary:
            temporary.write_text(side_by_side(docs, title=model), encoding="utf-8")
        msg.good(str(html))


def load_translator(source: str, component: str, device: str) -> tuple[Language, Seq2SeqTranslator]:
    """A pipeline (package or folder), and its only component that translates, or the one that is
    named.

    Raises ValueError where there is none, or several and none of them is named (F429), and where
    none has the name (F406); otherwise as `load_on_device`.
    """
    from ..translator.component import Seq2SeqTranslator

    errors = {"not_one": Errors.F429, "misnamed": Errors.F406}
    return load_component(source, Seq2SeqTranslator, component, device, **errors)
