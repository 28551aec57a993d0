"""`python -m spacy flat demo`: try pipelines on a local page in the browser."""

import socket
import time
import webbrowser
from pathlib import Path
from threading import Thread
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
    from streamlit.web.cli import main

    for source in pipelines:
        if not Path(source).exists() and not is_package(source):
            raise FileNotFoundError(Errors.F145.format(source=source))
    settings = {
        "global.developmentMode": "false",
        "server.address": "127.0.0.1",
        "server.port": port,
        "server.headless": "true",  # else it asks for an e-mail address
        "server.fileWatcherType": "none",
        "browser.gatherUsageStats": "false",
    }
    options = [part for name, value in settings.items() for part in (f"--{name}", str(value))]
    if browser:
        Thread(target=open_page, args=[port], daemon=True).start()
    main(["run", str(APP), *options, "--", *pipelines], prog_name="streamlit")


def open_page(port: int) -> None:
    """Open the page in a browser as soon as its server answers."""
    while True:
        time.sleep(0.2)
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            continue
        webbrowser.open(f"http://127.0.0.1:{port}")
        return
