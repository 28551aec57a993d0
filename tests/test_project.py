"""The workflow, the configs and the package's entry points."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import distribution
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import pytest
import release
import spacy
from blocks import filled
from packaging.requirements import Requirement
from published import CORPORA, GROUPS
from spacy import displacy
from spacy.cli.debug_config import debug_config
from spacy.displacy.render import DEFAULT_LABEL_COLORS
from spacy.tokens import Doc
from spacy.util import load_config, registry
from spacy.vocab import Vocab
from weasel.cli.document import project_document
from weasel.cli.run import project_run
from weasel.util import load_project_config

from spacy_flat.viz.colours import COLOURS

ROOT = Path(__file__).parents[1]
CONFIGS = sorted((ROOT / "configs").glob("*.cfg"))
MODELS = {
    "ner": ("flat", "tener", "flat_msra", "flat_bert", "tener_bert", "bert_crf", "bert_mlp"),
    "pairs": ("re2",),
    "poems": ("char",),
    "parallel": ("seq2seq",),
}
VARIABLES = {"vars.config": "configs/mini.cfg"}


# Configs


@pytest.mark.usefixtures("few_words")
def test_configs_are_complete(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each passes `spacy debug config`."""
    nlp = spacy.blank("zh")
    for name in ("flat_ner", "seq2seq_translator"):
        nlp.add_pipe(name)
    nlp.add_pipe("doc_cleaner")
    nlp.add_pipe("sentencizer", name="transformer")  # any component that can be sourced
    nlp.to_disk(tmp_path)
    names = ("train", "dev", "pipeline", "recogniser", "translator")
    paths = {f"paths.{name}": str(tmp_path) for name in names}
    configs = sorted((ROOT / "configs").rglob("*.cfg"))
    assert len(configs) > 20
    for path in configs:
        debug_config(path, overrides=paths)
        assert "Config is valid" in capsys.readouterr().out


def test_a_rate_that_falls_to_zero_does_so_at_the_last_step() -> None:
    path = ROOT / "configs/zh_flat_msra.cfg"
    config = load_config(path, {"training.max_steps": 2000}, interpolate=True)
    schedule = registry.resolve({"rate": config["training"]["optimizer"]["learn_rate"]})["rate"]
    rates = list(islice(schedule, 2000))
    assert rates[1000] == pytest.approx(0.0005, rel=0.05)
    assert 0 < rates[-1] < 1e-6


# Entry points


def test_entry_points_resolve() -> None:
    for entry in distribution("spacy-flat").entry_points:
        found = entry.load()
        assert callable(found) or isinstance(found, dict)


def test_displacy_has_colours() -> None:
    doc = Doc(Vocab(), words=["王芳"], spaces=[False], ents=["B-PER"])
    assert COLOURS["PER"] in displacy.render(doc, style="ent", jupyter=False)


def test_colours_of_spacy_stay() -> None:
    assert registry.displacy_colors.get("spacy_flat") is COLOURS
    assert not COLOURS.keys() & DEFAULT_LABEL_COLORS.keys()
    assert all(label == label.upper() for label in COLOURS)


# project.yml


def test_project_is_documented(tmp_path: Path) -> None:
    project_document(ROOT, tmp_path / "README.md")
    text = (tmp_path / "README.md").read_text("utf-8")
    for command in load_project_config(ROOT, interpolate=False)["commands"]:
        assert f"| `{command['name']}` | {command['help']} |" in text


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
    pairs |= {("general", "zh", "flat_general"), ("questions", "zh", "re2_questions")}
    assert {corpus for corpus, _, _ in pairs} >= {*GROUPS}
    one_of_each = {(lang, model): corpus for corpus, lang, model in sorted(pairs)}
    for (lang, model), corpus in one_of_each.items():
        out = dry_run(workflow, corpus=corpus, lang=lang, model=model, source="../corpora")
        assert f"scripts/fetch.py {corpus} --source ../corpora" in out
        assert f"scripts/convert.py {corpus}" in out
        assert f"spacy flat train configs/{lang}_{model}.cfg --resume" in out
        assert "--paths.char_vectors null" in out
        assert (f"package training/{lang}_{model}_{corpus}/model-best" in out) == (
            workflow == "all"
        )
        # A package called as a released pipeline is would take its place.
        assert "pip install" not in out
        if corpus not in GROUPS:
            assert (ROOT / f"assets/examples/{lang}_{model}.txt").is_file()


def test_variables(dry_run: DryRun) -> None:
    setting = "training.max_epochs 5"
    out = dry_run("train", seed=7, word_vectors="w.vec.xz", setting=setting)
    assert "--system.seed 7 --training.max_epochs 5" in out
    assert "--paths.word_vectors w.vec.xz" in out
    out = dry_run("install", corpus="resume")
    assert "--force-reinstall packages/zh_flat_resume-0.1.0/dist/" in out
    assert "--find-links assets/pipelines zh_flat_msra" in dry_run("translate")


def test_what_commands_run_is_installed_with_the_package() -> None:
    """Not with an extra alone, such as `dev`."""
    tomllib = pytest.importorskip("tomllib", reason="needs Python 3.11")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    modules = set(re.findall(r"python -m (\w+)", (ROOT / "project.yml").read_text("utf-8")))
    assert {*modules, "setuptools"} <= {Requirement(each).name for each in project["dependencies"]}


def test_variables_in_lists_stay_apart() -> None:
    """spaCy's config reads variables that follow one another in a list as one text."""
    plain = load_project_config(ROOT, interpolate=False)["commands"]
    for command, as_written in zip(load_project_config(ROOT)["commands"], plain, strict=True):
        for part in ("script", "deps", "outputs"):
            assert len(command.get(part, ())) == len(as_written.get(part, ())), command["name"]


def test_releases(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What each runs: its config, and its metadata. Without vectors it is refused at first."""
    ran: list[str] = []
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(release, "run", lambda *words: ran.append(" ".join(map(str, words))))
    monkeypatch.setattr(release, "compare", lambda pipeline: None)
    (tmp_path / "e5/released/zh_flat_general/zh_flat_general-0.1.2").mkdir(parents=True)
    (tmp_path / "e5/released/zh_flat_general/zh_flat_general-0.1.2/config.cfg").touch()
    for folder in ("assets", "configs"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    names = ("char-vectors", "bigram-vectors", "word-vectors", "text", "news")
    options = [word for name in names for word in (f"--{name}", "file")]
    for name in release.RELEASES:
        ran.clear()
        monkeypatch.setattr(sys, "argv", ["release.py", name, *options])
        release.main()
        assert any("spacy flat train" in each for each in ran)
        assert f"assets/release/{name}.json" in ran[-2]
        for path in re.findall(r"(?:configs|assets)/\S+\.(?:cfg|json|py)", " ".join(ran)):
            assert (ROOT / path).is_file()
    ran.clear()
    monkeypatch.setattr(sys, "argv", ["release.py", "zh_flat_msra", *options[2:]])
    with pytest.raises(SystemExit, match=r"each of these: --char-vectors$"):
        release.main()
    assert not ran


def test_a_release_is_compared_with_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(release, "given", SimpleNamespace(package="zh_char_tang"), raising=False)
    scores = {"perplexity": 90.25, "new": 1.0, "per_type": None}
    (tmp_path / "meta.json").write_text(json.dumps({"performance": scores}), "utf-8")
    release.compare(str(tmp_path))
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["perplexity", "97.6120", "90.2500"] in rows
    assert ["new", "–", "1.0000"] in rows


def test_overrides_of_training_exist(dry_run: DryRun) -> None:
    """Those of `paths` in some config, all others in each; and each config takes them all."""
    pairs = re.findall(r"--(\w+)\.([\w.]+) (\S+)", dry_run("fit"))
    assert len(pairs) == 10  # the seed twice
    overrides = {f"{section}.{key}": value for section, key, value in pairs}
    paths = set()
    for path in CONFIGS:
        config = filled(path)
        paths |= config["paths"].keys()
        for section, key, _ in pairs:
            if section == "paths":
                continue
            node = config[section]
            *parents, last = key.split(".")
            for parent in parents:
                node = node[parent]
            assert last in node
        changed = load_config(path, overrides, interpolate=True)
        reader = changed["corpora"]["train"]
        own = (reader.get("paths") or {"": reader["path"]}).values()
        several = path.stem in ("zh_flat_general", "zh_re2_questions")
        assert several != (overrides["paths.train"] in own)
    assert paths >= {key for section, key, _ in pairs if section == "paths"}


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


def test_installed_package_loads(mini_site: Path) -> None:
    code = "import spacy; print(spacy.load('zh_flat_demo')('重庆').text)"
    environment = {**os.environ, "PYTHONPATH": str(mini_site)}
    run = [sys.executable, "-X", "utf8", "-c", code]
    result = subprocess.run(run, env=environment, capture_output=True, check=True)
    assert result.stdout.decode("utf-8").strip() == "重庆"


def test_what_has_not_changed_is_skipped(
    mini_project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for command in ("convert", "fit", "package"):
        project_run(mini_project, command, overrides=VARIABLES)
        assert f"Skipping '{command}'" in capfd.readouterr().out


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


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_targets() -> None:
    for target in ("demo", "test", "bench", "lint", "docs", "pictures"):
        subprocess.run(["make", "-n", target], cwd=ROOT, check=True, capture_output=True)
