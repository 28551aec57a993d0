"""The commands as a user types them."""

import json
from pathlib import Path

import pytest
import spacy
from commands import failure, said
from commands import printed as run
from spacy.cli._util import app as spacy_app
from spacy.tokens import DocBin
from typer.testing import CliRunner

from spacy_flat.cli import app
from spacy_flat.cli._failure import exiting


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's folder with a tiny demo corpus, as the working directory."""
    folder = tmp_path / "assets" / "demo"
    folder.mkdir(parents=True)
    record = {"text": "重庆开业", "label": {"LOC": {"重庆": [[0, 1]]}}}
    for part in ("train", "dev", "test"):
        (folder / f"{part}.jsonl").write_text(json.dumps(record) + "\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_spacy_has_the_commands() -> None:
    result = CliRunner().invoke(spacy_app, ["flat", "--help"])
    assert result.exit_code == 0
    assert all(name in result.output for name in ("convert", "train", "show"))


def test_convert_a_file_with_options(project: Path) -> None:
    (project / "corpus.txt").write_text("a I-X\nb O\n", "utf-8")
    options = ["--words", "--format", "bio"]
    assert "[F104] corpus.txt, line 1: 'I-X' continues" in failure(
        "convert", "corpus.txt", "out.spacy", *options
    )
    output = said("convert", "corpus.txt", "out.spacy", *options, "--repair")
    assert "1 repair: illegal start made a start 1" in output
    (doc,) = DocBin().from_disk(project / "out.spacy").get_docs(spacy.blank("en").vocab)
    assert (doc.text, [e.text for e in doc.ents]) == ("a b", ["a"])


def test_options_with_several_values(project: Path) -> None:
    """They are repeated, separated by commas, or both."""
    (project / "corpus.txt").write_text("好 B-ORG\n人 B-EDU\n", "utf-8")
    found = []
    for options in (
        "--unannotated PER --unannotated GPE,LOC --coarse ORG=A,B --coarse EDU=",
        "--unannotated PER,GPE,LOC --coarse ORG=A,B,EDU=",
    ):
        run("convert", "corpus.txt", "out.spacy", *options.split())
        (doc,) = DocBin().from_disk(project / "out.spacy").get_docs(spacy.blank("zh").vocab)
        found.append((doc._.unannotated_labels, doc._.coarse_labels, len(doc.ents)))
    assert found == [(("PER", "GPE", "LOC"), {"ORG": ("A", "B")}, 1)] * 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("convert assets out.spacy", "assets"),
        ("convert corpus.txt assets", "[F142]"),
        ("convert corpus.txt out.spacy --format conll", "[F118]"),
        ("convert corpus.txt file/out.spacy", "[F138] file: "),
        ("show none 好", "E050"),
        ("show blank", "[F137]"),
        ("show blank --file file", "[F137]"),
        ("show blank --file none", "[F001]"),
        ("demo zh_none", "[F145]"),
        # Missing files are named before anything is loaded.
        ("generate blank", "[F136]"),
        ("show wrong 好", "batch_size"),
        ("calibrate other none.spacy out", "[F001]"),
    ],
)
def test_what_is_refused(project: Path, arguments: str, message: str) -> None:
    (project / "corpus.txt").write_text("好 O\n", "utf-8")
    for name in ("file", "bad.spacy"):
        (project / name).touch()
    for name in ("blank", "wrong"):
        spacy.blank("zh").to_disk(project / name)
    config = (project / "wrong/config.cfg").read_text("utf-8")
    (project / "wrong/config.cfg").write_text(config.replace("= 1000", '= "many"'), "utf-8")
    shown = failure(*arguments.split())
    assert message in shown
    assert "Errno" not in shown


def test_show(mini_project: Path) -> None:
    model = mini_project / "training/zh_flat_demo/model-best"
    add = ["--add", "看书=LOC, 王芳=PER", "--trust", 1, "--lattice", mini_project / "lattice.svg"]
    output = said("show", model, "药店在重庆", "看书", *add)
    assert "0–1" in (mini_project / "lattice.svg").read_text("utf-8")
    assert "0–2 LOC 1.000 看书" in output
    (names := mini_project / "names.txt").write_text("看书\n", "utf-8")
    assert "0–2 LOC 1.000 看书" in said(
        "show", model, "看书", "--lexicon", f"{names}=LOC", "--trust", 1
    )
    message = failure("show", model, "王芳", "--add", "王芳=PERSON")
    assert "[F044] The pipeline doesn't know the type 'PERSON'. Choose one of: 'LOC'," in message
    assert "F341" in failure("show", model, "看书", "--add", "看书=LOC", "--trust", "2")


def test_show_a_file(tmp_path: Path) -> None:
    spacy.blank("zh").to_disk(tmp_path / "model")
    texts = tmp_path / "texts.txt"
    texts.write_text("上海\n\n重庆\n", encoding="utf-8")
    output = run("show", str(tmp_path / "model"), "南京", "--file", str(texts))
    places = [output.index(text) for text in ("南京", "上海", "重庆")]
    assert places == sorted(places)
    assert output.count("no entities") == 3
    texts.write_bytes(b"\xff")
    message = failure("show", str(tmp_path / "model"), "--file", str(texts))
    assert "F004" in message
    assert "line 1" in message


# How commands fail


@pytest.mark.parametrize("error", [ValueError("not coded"), KeyError("x"), TypeError("[X001] y")])
def test_a_bug_keeps_its_traceback(error: Exception) -> None:
    def command() -> None:
        raise error

    with pytest.raises(type(error)):
        exiting(command)()


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (ValueError("[E050] Can't find"), "[E050] Can't find"),
        (ModuleNotFoundError("[F030] gensim"), "[F030] gensim"),
        (FileNotFoundError(2, "No such file", "a/b"), "a/b: No such file"),
        (OSError(28, "No space left"), "No space left"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_a_coded_error_ends_the_command(
    error: Exception, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def command() -> None:
        raise error

    with pytest.raises(SystemExit) as exit:
        exiting(command)()
    assert exit.value.code == 1
    assert shown in capsys.readouterr().out


def test_any_terminal_shows_any_text(project: Path) -> None:
    spacy.blank("zh").to_disk(project / "blank")
    result = CliRunner(charset="ascii").invoke(app, ["show", "blank", "重庆"])
    assert (result.exit_code, result.exception) == (0, None)
    assert r"\u91cd\u5e86" in result.output
    assert "[F162]" in failure("show", "blank", "重\udce5")
