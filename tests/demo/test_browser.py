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
from typing import Any

import pytest

pytest.importorskip("streamlit", reason="streamlit is not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync")
SCREENSHOTS = os.environ.get("SCREENSHOTS")  # a folder for those of the docs


@pytest.fixture(scope="module")
def address(all_tasks: str) -> Iterator[str]:
    """Of the page with a pipeline that does everything."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder, name = os.path.split(all_tasks)
    command = [sys.executable, "-m", "spacy", "flat", "demo", name]
    options = ["--port", str(port), "--no-browser"]
    environment = {**os.environ, "HOME": all_tasks}
    server = subprocess.Popen([*command, *options], cwd=folder, env=environment)
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


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as play:
        playwright.expect.set_options(timeout=60_000)
        browser = play.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    page.set_default_timeout(60_000)
    page.goto(address)
    playwright.expect(page.locator("mark.entity")).to_have_count(3, timeout=120_000)
    yield page
    page.close()


def expect(found: Any) -> Any:
    return playwright.expect(found)


def choose(page: Any, task: str) -> None:
    page.get_by_test_id("stRadio").get_by_text(task, exact=True).click()


def fill(page: Any, name: str, text: str) -> None:
    box = page.get_by_role("textbox", name=name)
    box.fill(text)
    box.press("Control+Enter")


def picture(page: Any, name: str) -> None:
    if SCREENSHOTS:
        page.wait_for_timeout(2000)
        page.screenshot(path=f"{SCREENSHOTS}/{name}.png")


def test_words(page: Any) -> None:
    entities, error = page.locator("mark.entity"), page.get_by_test_id("stAlert")
    fill(page, "Words to add", "人和药店=ORG")
    expect(entities).to_have_count(4)
    assert entities.first.inner_text().split() == ["人和药店", "ORG"]
    expect(page.get_by_text("Lattice")).to_be_visible()
    picture(page, "demo")
    fill(page, "Words to add", "人和药店=SHOP")
    expect(error).to_contain_text("SHOP")


def test_pairs(page: Any) -> None:
    choose(page, "Similarity")
    metric = page.get_by_test_id("stMetricValue")
    expect(metric).to_be_visible()
    expect(page.get_by_test_id("stImage").locator("img")).to_be_visible()
    picture(page, "demo_pairs")
    fill(page, "Right text", "怎么修改登录密码")
    expect(metric).to_have_text("1.000")
    fill(page, "Right text", "")
    expect(metric).not_to_have_text("1.000")
    expect(page.get_by_test_id("stException")).to_have_count(0)


def test_search(page: Any) -> None:
    choose(page, "Search")
    expect(page.get_by_test_id("stDataFrame")).to_be_visible()
    fill(page, "Questions", "")
    expect(page.get_by_test_id("stDataFrame")).to_have_count(0)
    expect(page.get_by_test_id("stException")).to_have_count(0)


def test_translations(page: Any) -> None:
    choose(page, "Translation")
    expect(page.get_by_test_id("stText").filter(has_text="Wang Xiaoming")).to_be_visible()
    fill(page, "Text", "陈志远毕业于浙江大学。")
    expect(page.get_by_test_id("stText").filter(has_text="Chen Zhiyuan")).to_be_visible()
