"""The demo page without a browser: the command, its inputs and what it shows."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest
import spacy
from spacy.language import Language
from spacy.training import Example

pytest.importorskip("streamlit", reason="streamlit is not installed")

from streamlit.testing.v1 import AppTest

from spacy_flat.cli.demo import APP
from spacy_flat.demo.pages import entities_html
from spacy_flat.lexicon.word_lists import ADDED
from spacy_flat.similarity.pairs import join_pair

TEXT = "人和药店在重庆开业"


def saved(nlp: Language, examples: list[Example], folder: Path) -> str:
    """An untrained pipeline: what it shows is as good as chance."""
    nlp.initialize(lambda: examples)
    nlp.to_disk(folder)
    return str(folder)


def page(monkeypatch: pytest.MonkeyPatch, *pipelines: str, task: str = "") -> AppTest:
    monkeypatch.setattr("sys.argv", [str(APP), *pipelines])
    run = AppTest.from_file(str(APP), default_timeout=120).run()
    if task:
        run.sidebar.radio[0].set_value(task).run()
    assert not run.exception
    return run


def shown(run: AppTest) -> str:
    return "\n".join(str(html.proto.body) for html in run.get("html"))


def test_words_change_the_entities(released: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = page(monkeypatch, released)
    text, words = run.text_area
    text.set_value(TEXT).run()
    assert "ORG" not in shown(run)
    words.set_value("人和药店=ORG").run()
    assert not run.error
    (table,) = run.dataframe
    assert table.value["text"].tolist() == ["人和药店", "重庆"]
    assert table.value["confidence"].between(0, 1).all()
    assert run.get("image")  # the lattice
    assert run.select_slider[0].value == ADDED  # as for `lexicon.add` and `show --add`
    words.set_value("重庆开=PER").run()
    run.select_slider[0].set_value(0).run()
    assert "PER" not in shown(run)
    run.select_slider[0].set_value(1).run()
    assert "PER" in shown(run)
    words.set_value("").run()
    assert "ORG" not in shown(run)
    words.set_value("人和药店=SHOP").run()
    assert "SHOP" in run.error[0].value
    run.text_area[0].set_value("").run()
    assert not run.exception


def test_pairs_and_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nlp = spacy.blank("zh")
    nlp.add_pipe("re2_similarity")
    examples = []
    for right, same in (("如何退款", 1.0), ("发货要几天", 0.0)):
        doc = nlp.make_doc(join_pair("怎么退款", right))
        doc.cats = {"same": same, "different": 1 - same}
        examples.append(Example(nlp.make_doc(doc.text), doc))
    path = saved(nlp, examples, tmp_path / "pairs")
    run = page(monkeypatch, path, task="Similarity")
    assert 0 <= float(run.metric[0].value) <= 1
    assert run.get("image")
    run = page(monkeypatch, path, task="Search")
    run.text_area[0].set_value("怎么退款\n\n发货要几天").run()
    run.text_input[0].set_value("退款").run()
    assert sorted(run.dataframe[0].value["question"]) == ["发货要几天", "怎么退款"]
    before = run.dataframe[0].value["similarity"].tolist()
    other = saved(nlp, examples, tmp_path / "other")  # another network has another index
    run = page(monkeypatch, path, other, task="Search")
    run.sidebar.selectbox[0].set_value(other).run()
    run.text_area[0].set_value("怎么退款\n\n发货要几天").run()
    run.text_input[0].set_value("退款").run()
    assert run.dataframe[0].value["similarity"].tolist() != before


def test_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nlp = spacy.blank("zh")
    nlp.add_pipe("char_generator", config={"model": {"text": {"min_freq": 1}}})
    poem = nlp.make_doc("床前明月光，疑是地上霜。")
    path = saved(nlp, [Example(nlp.make_doc(poem.text), poem)], tmp_path / "poems")
    assert float(page(monkeypatch, path, task="Probability").metric[0].value) > 1
    run = page(monkeypatch, path, task="Poems")
    run.main.selectbox[0].set_value("五绝").run()
    run.text_input[0].set_value("床前明月").run()
    assert [line[0] for line in run.text[0].value.splitlines()] == list("床前明月")
    run.text_input[0].set_value("床前").run()
    assert run.error[0].value.startswith("[F344]")


def test_translations(translation_pipeline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = page(monkeypatch, str(translation_pipeline))
    run.text_area[0].set_value("王芳喜欢北京。").run()
    assert run.text[0].value == "Wang Fang likes Beijing."
    assert run.dataframe[0].value["source"].tolist() == ["王芳", "北京"]


def test_a_pipeline_without_our_components(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spacy.blank("zh").to_disk(tmp_path / "blank")
    assert page(monkeypatch, str(tmp_path / "blank")).error[0].value.startswith("[F166]")


@pytest.mark.parametrize("browser", [True, False])
def test_the_command_serves_the_page(released: str, tmp_path: Path, browser: bool) -> None:
    """Until it ends, also where Streamlit never ran and nobody can answer its questions.
    Streamlit's own health check answers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    folder, name = os.path.split(released)
    command = [sys.executable, "-m", "spacy", "flat", "demo", name, "--port", str(port)]
    command += ["--no-browser"] * (not browser)
    (opened := tmp_path / "opened").touch()
    (tmp_path / "browser").write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    (tmp_path / "browser").chmod(0o700)
    environment = {**os.environ, "HOME": str(tmp_path), "BROWSER": f"{tmp_path}/browser %s"}
    server = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL)
    found = b""
    while (not found or (browser and not opened.read_text())) and server.poll() is None:
        time.sleep(0.5)
        with suppress(OSError):
            found = urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health").read()
    assert found == b"ok"
    assert opened.read_text() == f"http://127.0.0.1:{port}\n" * browser
    server.terminate()
    server.wait(20)
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}")


def test_labels_are_escaped() -> None:
    nlp = spacy.blank("zh")
    doc = nlp.make_doc("王芳来了。")
    doc.set_ents([doc.char_span(0, 2, label="<img src=x onerror=alert(1)>")])
    assert "王芳" in entities_html(doc)
    assert "<img" not in entities_html(doc).lower()
