"""`python -m spacy flat`: the commands of this package within spaCy's command line.

spaCy imports this module with each of its commands, so heavy imports are inside functions.
"""

import typer
from spacy.cli._util import app as spacy_app

from ._failure import exiting
from .alignment import alignment
from .annotate import annotate
from .calibrate import calibrate
from .compact import compact
from .convert import convert
from .curve import curve
from .debug_data import debug_data
from .demo import demo
from .evaluate import evaluate
from .generate import generate
from .lattice import lattice
from .search import search
from .show import show
from .train import train
from .translate import translate

app = typer.Typer(
    name="flat",
    help="Commands of spacy-flat: corpora, vectors, lexicons, scores, search, pictures.",
    no_args_is_help=True,
)
OVERRIDES = {"ignore_unknown_options": True}  # of a config
SETTINGS = {debug_data: OVERRIDES, train: {"allow_extra_args": True, **OVERRIDES}}
for command in (
    *(alignment, annotate, calibrate, compact, convert, curve, debug_data, demo, evaluate),
    *(generate, lattice, search, show, train, translate),
):
    app.command(
        command.__name__.replace("_", "-"),
        no_args_is_help=True,
        context_settings=SETTINGS.get(command),
    )(exiting(command))

spacy_app.add_typer(app)
