"""What several tests share: the project's workflow, run on a few sentences."""

import os
import runpy
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from filelock import FileLock
from hypothesis import settings
from spacy.cli._util import app as spacy_app
from spacy.language import Language
from spacy.util import load_config, registry
from typer.testing import CliRunner
from weasel.cli.run import project_run

from spacy_flat.corpora.docs import look_up_once
from spacy_flat.lexicon import readers, word_lists

# How long an example takes says something of the machine's load, not of the code.
settings.register_profile("tests", deadline=None)
settings.load_profile("tests")

look_up_once()

# Several are slower for tiny networks, and the tests share the processor.
torch.set_num_threads(1)

# Ray's workers have their share of a processor that other tests are busy on.
os.environ |= {"RAY_worker_niceness": "0"}

ROOT = Path(__file__).parents[1]
SIZES = {"train": 40, "dev": 10, "test": 10}
MINI_CONFIG = {
    "components.flat_ner.model.network.num_heads": 2,
    "components.flat_ner.model.network.head_dim": 8,
    "training.max_steps": 4,
    "training.eval_frequency": 2,
    "training.optimizer.learn_rate": 0.01,
}
CHARACTERS = set("南京市长江大桥清华大学在北京人和药店重庆开业王芳好")
VARIABLES = {"vars.config": "configs/mini.cfg", "vars.part": "test"}


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A new cache folder, so that nothing is taken from the user's nor left there."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def mini_project(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A copy of the project with a tiny corpus and network, after `run all` up to `package`. It is
    made once, and each process of the tests has a copy."""
    own = tmp_path_factory.mktemp("project")
    base = tmp_path_factory.getbasetemp()
    made = (base if worker_id == "master" else base.parent) / "mini_project"
    with FileLock(f"{made}.lock"):
        if not made.exists():
            make_mini_project(own / "making")
            (own / "making").rename(made)
    return shutil.copytree(made, own / "project")


def make_mini_project(folder: Path) -> None:
    (folder / "assets/demo").mkdir(parents=True)
    shutil.copy(ROOT / "project.yml", folder)
    shutil.copytree(ROOT / "scripts", folder / "scripts")
    for part, size in SIZES.items():
        with (ROOT / f"assets/demo/{part}.jsonl").open(encoding="utf-8") as file:
            text = "".join(islice(file, size))
        (folder / f"assets/demo/{part}.jsonl").write_text(text, "utf-8")
    (folder / "words.txt").write_text("药店\n重庆\n开业\n市长\n长江大桥\n", "utf-8")
    (folder / "configs").mkdir()
    write_mini_config("zh_flat", folder / "configs/mini.cfg")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weasel.cli.run.run_command", run_here)
        for command in ("fetch", "convert", "fit", "evaluate", "package"):
            project_run(folder, command, overrides=VARIABLES)


def run_here(command: list[str], **settings: object) -> None:
    """Run a command of the project in this process, which has imported all: other processes would
    take seconds."""
    _, first, *rest = command
    if first == "-c" or rest[0] == "build":
        subprocess.run(command, check=True, capture_output=True)
    elif first == "-m":
        registry.cli.get_all()  # as `python -m spacy` does first
        result = CliRunner().invoke(spacy_app, rest[1:])
        assert result.exit_code == 0, result.output
    else:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", [first, *rest])
            runpy.run_path(first, run_name="__main__")


def write_mini_config(name: str, path: Path) -> None:
    """One of the configs, with a tiny network and few words."""
    config = load_config(ROOT / f"configs/{name}.cfg", overrides=MINI_CONFIG)
    lexicon = config["initialize"]["components"]["flat_ner"]["lexicon"]
    lexicon["sources"] = {"words": {"@readers": "spacy-flat.Words.v1", "path": "words.txt"}}
    config.to_disk(path)


@pytest.fixture(scope="session")
def mini_site(mini_project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the Python path into which the mini project's package is installed."""
    site = tmp_path_factory.mktemp("site")
    wheel = mini_project / "packages/zh_flat_demo-0.1.0/dist/zh_flat_demo-0.1.0-py3-none-any.whl"
    zipfile.ZipFile(wheel).extractall(site)
    return site


@pytest.fixture
def zh_flat_demo(mini_site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """`spacy.load("zh_flat_demo")` loads the mini project's pipeline, whatever is installed."""
    monkeypatch.syspath_prepend(mini_site)
    monkeypatch.delitem(sys.modules, "zh_flat_demo", raising=False)
    yield
    sys.modules.pop("zh_flat_demo", None)


def released(name: str) -> Any:
    """A fixture with which `spacy.load(name)` loads the released pipeline."""

    @pytest.fixture(name=name)
    def fixture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        (wheel,) = (ROOT / "assets/pipelines").glob(f"{name}-*.whl")
        zipfile.ZipFile(wheel).extractall(tmp_path / "released")
        monkeypatch.syspath_prepend(tmp_path / "released")
        yield
        sys.modules.pop(name, None)

    return fixture


zh_flat_general = released("zh_flat_general")
zh_flat_general_trf = released("zh_flat_general_trf")
zh_flat_msra = released("zh_flat_msra")
zh_re2_questions = released("zh_re2_questions")
zh_char_tang = released("zh_char_tang")
zh_char_news = released("zh_char_news")
en_tener_wikiann = released("en_tener_wikiann")
zh_seq2seq_tatoeba = released("zh_seq2seq_tatoeba")


@pytest.fixture(scope="session")
def short_dictionary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of those words of jieba's dictionary that consist of a few characters."""
    lines = word_lists.jieba_dictionary().read_text("utf-8").splitlines(keepends=True)
    path = tmp_path_factory.mktemp("jieba") / "dict.txt"
    known = "".join(line for line in lines if CHARACTERS.issuperset(line.split(" ")[0]))
    path.write_text(known, "utf-8")
    return path


@pytest.fixture
def few_words(short_dictionary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lexicon of jieba's words has a few, as the making of one of all takes seconds."""
    for module in (word_lists, readers):
        monkeypatch.setattr(module, "jieba_dictionary", lambda: short_dictionary)


@pytest.fixture(scope="session")
def trained_pairs() -> Language:
    """A small pipeline that compares texts and knows ten pairs. Not to be changed: take a copy."""
    from similarity.conftest import make_trained

    return make_trained()


@pytest.fixture(scope="session")
def pairs_pipeline(trained_pairs: Language, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its folder."""
    folder = tmp_path_factory.mktemp("pairs")
    trained_pairs.to_disk(folder)
    return folder


@pytest.fixture(scope="session")
def poems_pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small pipeline that knows three poems."""
    from generator.conftest import make

    folder = tmp_path_factory.mktemp("poems")
    make(steps=60).to_disk(folder)
    return folder


@pytest.fixture(scope="session")
def translation_pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small pipeline that finds entities and translates five texts."""
    from translator.conftest import with_recogniser

    folder = tmp_path_factory.mktemp("translation")
    with_recogniser().to_disk(folder)
    return folder
