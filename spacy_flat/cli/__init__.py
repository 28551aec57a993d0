"""`python -m spacy flat`: the commands of this package within spaCy's command line.

spaCy imports this module with each of its commands, so heavy imports are inside functions.
"""

from collections.abc import Callable

import typer
from spacy.cli._util import app as spacy_app

from ._failure import exiting
from .annotate import annotate
from .calibrate import calibrate
from .compact import compact
from .convert import convert
from .demo import demo
from .export import export
from .generate import generate
from .search import search
from .show import show
from .train import train
from .translate import translate

app = typer.Typer(
    name="flat",
    help="Commands of spacy-flat: corpora, training, search, poems, translations.",
    no_args_is_help=True,
)
COMMANDS: tuple[Callable[..., None], ...] = (
    *(convert, export, train, calibrate, compact, annotate),
    *(show, search, translate, generate, demo),
)
for command in COMMANDS:
    overrides = {"allow_extra_args": True, "ignore_unknown_options": True}  # of a config
    app.command(
        command.__name__,
        no_args_is_help=True,
        context_settings=overrides if command is train else None,
    )(exiting(command))

spacy_app.add_typer(app)
