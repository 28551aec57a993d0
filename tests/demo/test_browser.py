"""The demo page in headless Chromium, from the command to its end."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

pytest.importorskip("streamlit", reason="streamlit is not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM = shutil.which("chromium")
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync")
SCREENSHOT = os.environ.get("SCREENSHOT")  # a file for the picture of the docs


@pytest.fixture
def address(released: str) -> Iterator[str]:
    """Of the page, while the command runs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder, name = os.path.split(released)
    command = [sys.executable, "-m", "spacy", "flat", "demo", name]
    command += ["--port", str(port), "--no-browser"]
    server = subprocess.Popen(command, cwd=folder, env={**os.environ, "HOME": released})
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(120):
            try:
                urllib.request.urlopen(f"{url}/_stcore/health", timeout=2).close()
                break
            except OSError:
                time.sleep(0.5)
        yield url
    finally:
        server.terminate()
        server.wait(20)
        with pytest.raises(urllib.error.URLError):
            urllib.request.urlopen(f"{url}/_stcore/health", timeout=2)


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_words(address: str) -> None:
    expect = playwright.expect
    expect.set_options(timeout=60_000)
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        page = browser.new_page(viewport={"width": 1100, "height": 900})
        page.goto(address)
        entities = page.locator("mark.entity")
        expect(entities).to_have_count(3, timeout=120_000)
        words = page.get_by_role("textbox", name="Words to add")
        words.fill("人和药店=ORG")
        words.press("Control+Enter")
        expect(entities).to_have_count(4)
        assert entities.first.inner_text().split() == ["人和药店", "ORG"]
        expect(page.get_by_test_id("stImage").locator("img")).to_be_visible()  # the lattice
        if SCREENSHOT:
            page.wait_for_timeout(2000)
            page.screenshot(path=SCREENSHOT)
        browser.close()
