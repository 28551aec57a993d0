"""`python -m spacy flat generate`: write texts and poems."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import Errors
from ..generator.forms import FORMS, Form, form_of
from ._components import load_component
from ._options import Component, Device, Pipeline
from ._table import print_table

if TYPE_CHECKING:
    from ..generator.poems import Poem


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
            "acrostic, otherwise a text without form)",
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
    repetition_penalty: Annotated[
        float, typer.Option(help="Above 1: make repeated characters less probable")
    ] = 1.0,
    max_length: Annotated[
        int | None, typer.Option(help="Maximum length of a text without form (default: 200)")
    ] = None,
    rhyme: Annotated[
        bool, typer.Option("--rhyme", help="Rhyme the even lines of a poem (needs pypinyin)")
    ] = False,
    tones: Annotated[
        str, typer.Option("--tones", help="Tone pattern of a poem: 平起 or 仄起 (needs pypinyin)")
    ] = "",
    candidates: Annotated[
        int | None,
        typer.Option(help="Write this many poems and show the most probable (default: 4)"),
    ] = None,
    report: Annotated[
        bool, typer.Option("--report", help="Report whether each poem keeps rhyme and tones")
    ] = False,
    component: Component = "",
    device: Device = "",
) -> None:
    """Write texts that start with a prompt, poems of a form, or acrostics (藏头诗)."""
    from ..generator.component import CharGenerator

    sampling: dict[str, Any] = {
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "repetition_penalty": repetition_penalty,
    }
    of_poems = {
        "--rhyme": rhyme,
        "--tones": bool(tones),
        "--candidates": candidates is not None,
        "--report": report,
    }
    is_poem = form is not None or acrostic is not None
    of_others = {"--max-length": max_length is not None} if is_poem else of_poems
    check_options(prompt, acrostic, of_others, is_poem)
    _, writer = load_component(model, CharGenerator, component, device, "char_generator")
    length = 200 if max_length is None else max_length
    if not is_poem:
        texts = writer.generate(prompt, max_length=length, n=n, seed=seed, **sampling)
        typer.echo("\n\n".join(texts))
        return
    wanted: dict[str, Any] = {
        "form": form_named("七绝" if form is None else form),
        "rhyme": rhyme,
        "tones": tones or None,
        "candidates": 4 if candidates is None else candidates,
        "n": n,
        "seed": seed,
        **sampling,
    }
    if acrostic is None:
        poems = writer.poem(prompt=prompt, **wanted)
    else:
        poems = writer.acrostic(acrostic, **wanted)
    for number, poem in enumerate(poems):
        typer.echo("\n" * bool(number) + str(poem))
        if report:
            show_report(poem)


def check_options(
    prompt: str, acrostic: str | None, of_others: dict[str, bool], is_poem: bool
) -> None:
    """Raise ValueError for an acrostic with a prompt (F173), and for options without effect
    (F174)."""
    if prompt and acrostic is not None:
        raise ValueError(Errors.F173)
    for option, is_given in of_others.items():
        if is_given:
            kind = "a poem" if is_poem else "a text without --form or --acrostic"
            raise ValueError(Errors.F174.format(option=option, kind=kind))


def form_named(name: str) -> Form:
    """A form by its name, or "6x5" for six lines of five characters.

    Raises ValueError (F343; F341 for no lines or characters).
    """
    free = re.fullmatch(r"\s*(\d+)\s*[xX×]\s*(\d+)\s*", name)
    return Form(int(free[1]), int(free[2])) if free else form_of(name)


def show_report(poem: Poem) -> None:
    """Print the probability of a poem, and whether it keeps rhyme and tones if asked for."""
    misplaced = poem.misplaced
    rows = [("log-probability of a character", f"{poem.log_prob:.4f}")]
    if poem.rhymes is not None:
        rows.append(("rhyme", "met" if poem.rhymes else "not met"))
    if misplaced is not None:
        places = ", ".join(f"{poem.lines[line][at]} in line {line + 1}" for line, at in misplaced)
        rows.append(("tones", f"not met: {places}" if misplaced else "met"))
    print_table(rows)
