"""`python -m spacy flat generate`: write texts and poems."""

from typing import Annotated, Any

import typer

from ..errors import Errors
from ..generator.forms import FORMS
from ._components import load_component
from ._options import Component, Device, Pipeline


def generate(
    model: Pipeline,
    prompt: Annotated[str, typer.Option("--prompt", "-p", help="Beginning of each text")] = "",
    acrostic: Annotated[
        str | None, typer.Option("--acrostic", "-a", help="First characters of the lines")
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--form",
            "-f",
            help=f"{', '.join(FORMS)}, or lines x characters, such as 6x5 (default: 七绝 for an "
            "acrostic and with --rhyme, otherwise a text without form)",
        ),
    ] = None,
    n: Annotated[int, typer.Option("-n", help="Number of texts")] = 1,
    seed: Annotated[
        int | None, typer.Option("--seed", "-s", help="The same seed gives the same texts")
    ] = None,
    temperature: Annotated[
        float,
        typer.Option(
            "--temperature", "-t", help="Temperature; 0: always the most probable character"
        ),
    ] = 1.0,
    top_k: Annotated[int, typer.Option(help="Only the k most probable characters; 0: all")] = 0,
    top_p: Annotated[
        float, typer.Option(help="Only the most probable characters with this total probability")
    ] = 1.0,
    max_length: Annotated[int, typer.Option(help="Maximum length of a text without form")] = 200,
    rhyme: Annotated[
        bool, typer.Option("--rhyme", help="Rhyme the even lines of a poem (needs pypinyin)")
    ] = False,
    candidates: Annotated[
        int, typer.Option(help="Write this many poems and show the most probable")
    ] = 4,
    component: Component = "",
    device: Device = "",
) -> None:
    """Write texts that start with a prompt, poems of a form, or acrostics (藏头诗)."""
    from ..generator.component import CharGenerator

    if prompt and acrostic is not None:
        raise ValueError(Errors.F173)
    _, writer = load_component(model, CharGenerator, component, device, "char_generator")
    sampling = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    options: dict[str, Any] = {"n": n, "seed": seed, **sampling}
    if form is None and acrostic is None and not rhyme:
        texts: list[Any] = writer.generate(prompt, max_length=max_length, **options)
    else:
        options |= {"rhyme": rhyme, "candidates": candidates}
        options["form"] = "七绝" if form is None else form
        if acrostic is None:
            texts = writer.poem(prompt=prompt, **options)
        else:
            texts = writer.acrostic(acrostic, **options)
    typer.echo("\n\n".join(map(str, texts)))
