"""The workflow, the configs and the package's entry points."""

import json
import shutil
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path

import pytest
import spacy
from packaging.requirements import Requirement
from published import CORPORA
from spacy.cli.debug_config import debug_config
from spacy.cli.init_config import fill_config
from spacy.language import DEFAULT_CONFIG
from spacy.util import load_config
from weasel.cli.run import project_run

ROOT = Path(__file__).parents[1]
CONFIGS = [
    path for folder in ("configs", "assets") for path in sorted((ROOT / folder).rglob("*.cfg"))
]
MODELS = {
    "ner": ("flat", "tener", "flat_bert", "tener_bert", "bert_crf"),
    "pairs": ("re2",),
    "poems": ("char",),
    "parallel": ("seq2seq",),
}
VARIABLES = {"vars.config": "configs/mini.cfg"}


# Configs


@pytest.mark.usefixtures("few_words")
def test_configs_are_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each passes `spacy debug config` once filled, and has what `spacy train` wants to be said."""
    nlp = spacy.blank("zh")
    for name in ("flat_ner", "re2_similarity", "seq2seq_translator"):
        nlp.add_pipe(name)
    nlp.add_pipe("doc_cleaner")
    nlp.add_pipe("sentencizer", name="transformer")  # any component that can be sourced
    nlp.to_disk(tmp_path)
    filled = tmp_path / "filled.cfg"
    names = ("train", "dev", "pipeline", "recogniser", "translator")
    paths = {f"paths.{name}": str(tmp_path) for name in names}
    for path in CONFIGS:
        config = load_config(path, paths)
        config.to_disk(filled)
        fill_config(filled, filled, silent=True)
        debug_config(filled)
        assert "Config is valid" in capsys.readouterr().out
        assert {"seed", "gpu_allocator"} <= {*config.get("training", ("seed", "gpu_allocator"))}


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_paths_of_configs_are_read(path: Path) -> None:
    text = path.read_text("utf-8")
    for name in {*load_config(path)["paths"]} - {*DEFAULT_CONFIG["paths"]}:
        assert f"${{paths.{name}}}" in text, name


# Entry points


def test_entry_points_resolve() -> None:
    for entry in distribution("spacy-flat").entry_points:
        found = entry.load()
        assert callable(found) or isinstance(found, dict)


# project.yml


DryRun = Callable[..., str]


@pytest.fixture
def dry_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> DryRun:
    """What a command or workflow would run, in a folder with project.yml alone."""
    shutil.copy(ROOT / "project.yml", tmp_path)

    def shown(name: str, **variables: object) -> str:
        overrides = {f"vars.{key}": value for key, value in variables.items()}
        project_run(tmp_path, name, overrides=overrides, dry=True)
        out = capfd.readouterr().out
        assert "${" not in out
        return out

    return shown


@pytest.mark.parametrize("workflow", ["train", "all"])
def test_every_corpus_can_be_trained_on(dry_run: DryRun, workflow: str) -> None:
    """Fetched, converted and trained in a fresh clone."""
    pairs = {
        (corpus, source.lang, model)
        for corpus, source in CORPORA.items()
        for model in MODELS[source.task]
        if (ROOT / f"configs/{source.lang}_{model}.cfg").exists()
    }
    assert {corpus for corpus, _, _ in pairs} == {*CORPORA}
    one_of_each = {(lang, model): corpus for corpus, lang, model in sorted(pairs)}
    for (lang, model), corpus in one_of_each.items():
        out = dry_run(workflow, corpus=corpus, lang=lang, model=model, source="../corpora")
        assert f"scripts/fetch.py {corpus} --source ../corpora" in out
        assert f"scripts/convert.py {corpus}" in out
        assert f"spacy flat train configs/{lang}_{model}.cfg --resume" in out
        assert (f"package training/{lang}_{model}_{corpus}/model-best" in out) == (
            workflow == "all"
        )
        # A package called as a released pipeline is would take its place.
        assert "pip install" not in out
        assert (ROOT / f"assets/examples/{lang}_{model}.txt").is_file()


def test_variables(dry_run: DryRun) -> None:
    out = dry_run("train", seed=7, options="training.max_epochs 5 --paths.word_vectors w.vec.xz")
    assert "--system.seed 7 --training.max_epochs 5 --paths.word_vectors w.vec.xz" in out
    config = "assets/release/zh_flat_general.cfg"
    out = dry_run("train", corpus="general", model="flat_general", config=config)
    assert f"spacy flat train {config} --resume --output training/zh_flat_general_general" in out
    out = dry_run("install", corpus="resume")
    assert "--force-reinstall packages/zh_flat_resume-0.1.0/dist/" in out
    assert "--find-links assets/pipelines zh_flat_msra" in dry_run("translate")


# The whole of it, on a few sentences


def test_workflow_trains_and_scores(mini_project: Path) -> None:
    training = mini_project / "training/zh_flat_demo"
    metrics = json.loads((training / "metrics.json").read_text("utf-8"))
    assert 0 <= metrics["ents_f"] <= 1
    log = [json.loads(line) for line in (training / "log.jsonl").read_text("utf-8").splitlines()]
    assert [line["step"] for line in log] == [0, 2, 4]


def test_package_requires_this_one(mini_project: Path) -> None:
    meta = json.loads((mini_project / "packages/zh_flat_demo-0.1.0/meta.json").read_text("utf-8"))
    requirements = [Requirement(text) for text in meta["requirements"]]
    assert {requirement.name for requirement in requirements} == {"spacy", "spacy-flat"}
    ours = next(requirement for requirement in requirements if requirement.name == "spacy-flat")
    assert ours.specifier.contains(distribution("spacy-flat").version)


# What a fresh machine installs


def test_every_dependency_is_pinned() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = [Requirement(line) for line in lines if not line.startswith("#")]
    assert [pin.name for pin in pins] == sorted(pin.name for pin in pins)
    assert len({pin.name for pin in pins}) < len(pins)  # some differ by Python version
    for text in distribution("spacy-flat").requires or []:
        requirement = Requirement(text)
        own = [pin for pin in pins if pin.name == requirement.name]
        assert own
        for pin in own:
            (version,) = [specifier.version for specifier in pin.specifier]
            assert requirement.specifier.contains(version)
