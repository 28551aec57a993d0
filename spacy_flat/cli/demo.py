"""`python -m spacy flat demo`: try pipelines on a local page in the browser."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from ..errors import Errors
from ..util.options import require_installed

APP = Path(__file__).parents[1] / "demo" / "app.py"


def demo(
    pipelines: Annotated[list[str], typer.Argument(help="Trained pipelines, packages or folders")],
    port: Annotated[int, typer.Option(help="Port of the page", min=1, max=65535)] = 8501,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser")] = True,
) -> None:
    """Try pipelines in the browser: entities with the lattice and your own words, similarity and
    search, poems, and translations.

    The page is at http://127.0.0.1:8501, for this machine only, until you press Ctrl+C. Nothing is
    written: words and questions are gone afterwards.
    """
    from spacy.util import is_package

    require_installed("The demo page", "streamlit", "spacy-flat[demo]")
    for source in pipelines:
        if not Path(source).exists() and not is_package(source):
            raise FileNotFoundError(Errors.F145.format(source=source))
    settings = {
        "global.developmentMode": "false",
        "server.address": "127.0.0.1",
        "server.port": port,
        "server.headless": str(not browser).lower(),
        "server.fileWatcherType": "none",
        "browser.gatherUsageStats": "false",
    }
    options = [part for name, value in settings.items() for part in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "streamlit", "run", str(APP), *options, "--", *pipelines]
    sys.stdout.flush()
    os.execv(command[0], command)  # so that what ends this process ends the server
