"""`python -m spacy flat`: the commands of this package within spaCy's command line.

spaCy imports this module on every one of its commands, so that heavy imports stand within the
commands' functions.
"""

import typer
from spacy.cli._util import app as spacy_app

from .convert import convert
from .curve import curve
from .evaluate import evaluate
from .fetch import fetch
from .lattice import lattice
from .lexicon import lexicon
from .show import show
from .vectors import vectors

app = typer.Typer(
    name="flat",
    help="Commands of spacy-flat: corpora, vectors, lexicons, lattices, training curves, scores.",
    no_args_is_help=True,
)
app.command("fetch", no_args_is_help=True)(fetch)
app.command("convert", no_args_is_help=True)(convert)
app.command("curve", no_args_is_help=True)(curve)
app.command("evaluate", no_args_is_help=True)(evaluate)
app.command("lattice", no_args_is_help=True)(lattice)
app.command("lexicon")(lexicon)
app.command("show", no_args_is_help=True)(show)
app.command("vectors", no_args_is_help=True)(vectors)

spacy_app.add_typer(app)
