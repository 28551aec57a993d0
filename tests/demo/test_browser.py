"""The demo page in headless Chromium."""

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
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync")


@pytest.fixture(scope="module")
def address(released: str) -> Iterator[str]:
    """Of the page with the released pipeline."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "spacy", "flat", "demo", released]
    options = ["--port", str(port), "--no-browser"]
    server = subprocess.Popen([*command, *options], env={**os.environ, "HOME": released})
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(120):
            try:
                urllib.request.urlopen(f"{url}/_stcore/health", timeout=2).close()
                break
            except OSError:
                time.sleep(1)
        yield url
    finally:
        server.terminate()
        server.wait(20)
        with pytest.raises(urllib.error.URLError):
            urllib.request.urlopen(f"{url}/_stcore/health", timeout=2)


def test_words_in_the_browser(address: str) -> None:
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        page = browser.new_page(viewport={"width": 1100, "height": 900})
        page.goto(address)
        entities = page.locator("mark.entity")
        playwright.expect(entities).to_have_count(3, timeout=120_000)
        words = page.get_by_role("textbox", name="Words to add")
        words.fill("人和药店=ORG")
        words.press("Control+Enter")
        playwright.expect(entities).to_have_count(4, timeout=60_000)
        assert entities.first.inner_text().split() == ["人和药店", "ORG"]
        words.fill("人和药店=SHOP")
        words.press("Control+Enter")
        playwright.expect(page.get_by_test_id("stAlert")).to_contain_text("SHOP", timeout=60_000)
        if folder := os.environ.get("SCREENSHOTS"):
            words.fill("人和药店=ORG")
            words.press("Control+Enter")
            playwright.expect(page.get_by_text("Lattice")).to_be_visible(timeout=60_000)
            page.wait_for_timeout(2000)
            page.screenshot(path=f"{folder}/demo.png")
        browser.close()
