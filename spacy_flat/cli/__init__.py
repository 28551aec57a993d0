"""`python -m spacy flat`: the commands of this package within spaCy's command line.

spaCy imports this module on every one of its commands, so that heavy imports stand within the
commands' functions.
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
from .evaluate import evaluate
from .fetch import fetch
from .generate import generate
from .lattice import lattice
from .lexicon import lexicon
from .pretrain import pretrain
from .search import search
from .show import show
from .train import train
from .translate import translate
from .vectors import vectors

app = typer.Typer(
    name="flat",
    help="Commands of spacy-flat: corpora, vectors, lexicons, scores, search, pictures.",
    no_args_is_help=True,
)
app.command("fetch", no_args_is_help=True)(exiting(fetch))
app.command("alignment", no_args_is_help=True)(exiting(alignment))
app.command("annotate", no_args_is_help=True)(exiting(annotate))
app.command("calibrate", no_args_is_help=True)(exiting(calibrate))
app.command("compact", no_args_is_help=True)(exiting(compact))
app.command("convert", no_args_is_help=True)(exiting(convert))
app.command("curve", no_args_is_help=True)(exiting(curve))
app.command(
    "debug-data",
    no_args_is_help=True,
    context_settings={"ignore_unknown_options": True},  # the config's overrides
)(exiting(debug_data))
app.command("evaluate", no_args_is_help=True)(exiting(evaluate))
app.command("generate", no_args_is_help=True)(exiting(generate))
app.command("lattice", no_args_is_help=True)(exiting(lattice))
app.command("lexicon")(exiting(lexicon))
app.command("pretrain", no_args_is_help=True)(exiting(pretrain))
app.command("search", no_args_is_help=True)(exiting(search))
app.command("show", no_args_is_help=True)(exiting(show))
app.command(
    "train",
    no_args_is_help=True,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)(exiting(train))
app.command("translate", no_args_is_help=True)(exiting(translate))
app.command("vectors", no_args_is_help=True)(exiting(vectors))

spacy_app.add_typer(app)
