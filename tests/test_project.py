"""The workflow, the configs and the package's entry points."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import distribution
from itertools import islice
from pathlib import Path
from subprocess import SubprocessError
from typing import Any

import pytest
from blocks import filled
from packaging.requirements import Requirement
from published import CORPORA
from spacy import displacy, load
from spacy.cli._util import parse_config_overrides
from spacy.displacy.render import DEFAULT_LABEL_COLORS
from spacy.tokens import Doc
from spacy.util import load_config, load_model_from_config, registry
from spacy.vocab import Vocab
from weasel.cli.document import project_document
from weasel.cli.run import project_run
from weasel.util import load_project_config
from weasel.util.config import parse_config_overrides as parse_project_overrides

from spacy_flat.viz.colours import COLOURS

ROOT = Path(__file__).parents[1]
CONFIGS = sorted((ROOT / "configs").glob("*.cfg"))
FACTORIES = {
    "flat": "flat_ner",
    "tener": "tener_ner",
    "re2": "re2_similarity",
    "char": "char_generator",
    "seq2seq": "seq2seq_translator",
    "bert": "tener_ner",
}
BERT_MODELS = ("flat_bert", "tener_bert", "bert_crf", "bert_mlp")
MODELS = {
    "ner": ("flat", "tener", "flat_msra", "flat_cluener", *BERT_MODELS),
    "pairs": ("re2",),
    "poems": ("char",),
    "parallel": ("seq2seq",),
}
# One corpus for each config.
PIPELINES = {
    (source.lang, model): name
    for name, source in reversed(CORPORA.items())
    for model in MODELS[source.task]
    if (ROOT / f"configs/{source.lang}_{model}.cfg").exists()
}
VARIABLES = {"vars.config": "configs/mini.cfg"}
VECTORS = ("char", "bigram", "word")
GENERAL = [name for name, source in CORPORA.items() if source.general]
RELEASED = ["flat_msra", "configs/zh_flat_msra.cfg", "refined/model-best"]


# Configs


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_configs_need_only_what_spacy_fills_in(path: Path) -> None:
    assert filled(path).merge(load_config(path)) == filled(path)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_pipelines_of_configs_can_be_built(path: Path) -> None:
    nlp = load_model_from_config(filled(path), auto_fill=False)
    assert FACTORIES[path.stem.split("_")[1]] in nlp.pipe_names


@pytest.mark.parametrize("name", ["zh_flat_msra", "zh_flat_cluener"])
def test_a_rate_that_falls_to_zero_does_so_at_the_last_step(name: str) -> None:
    path = ROOT / f"configs/{name}.cfg"
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


@pytest.fixture
def bare_project(tmp_path: Path) -> Path:
    """A folder with project.yml alone."""
    shutil.copy(ROOT / "project.yml", tmp_path)
    return tmp_path


DryRun = Callable[..., str]


@pytest.fixture
def dry_run(bare_project: Path, capfd: pytest.CaptureFixture[str]) -> DryRun:
    """What a command or workflow would run, and what the commands that it runs would run."""

    def lines(name: str, overrides: dict[str, Any]) -> Iterator[str]:
        project_run(bare_project, name, overrides=overrides, dry=True)
        for line in capfd.readouterr().out.splitlines():
            yield line
            if run := re.search(r"spacy project run (\S+) \. (.+)", line):
                yield from lines(run[1], parse_config_overrides(shlex.split(run[2])))

    def shown(name: str, **variables: object) -> str:
        out = "\n".join(lines(name, {f"vars.{key}": value for key, value in variables.items()}))
        assert "${" not in out
        return out

    return shown


@pytest.mark.parametrize(("lang", "model"), PIPELINES)
def test_dry_run(dry_run: DryRun, lang: str, model: str) -> None:
    corpus = PIPELINES[lang, model]
    out = dry_run("all", corpus=corpus, lang=lang, model=model)
    assert f"scripts/fetch.py {corpus} --source ''" in out
    assert "--paths.char_vectors null" in out
    assert f"spacy flat train configs/{lang}_{model}.cfg --resume" in out
    assert f"--name {model}_{corpus}" in out
    trained = f"training/{lang}_{model}_{corpus}/model-best"
    assert f"show {trained} --file assets/examples/{lang}_{model}.txt" in out
    assert (ROOT / f"assets/examples/{lang}_{model}.txt").is_file()
    # A package called as a released pipeline is would take its place.
    assert "pip install" not in out


def test_the_general_workflow_takes_all_corpora_that_declare_labels(dry_run: DryRun) -> None:
    out = dry_run("general", source="../corpora")
    paths = load_config(ROOT / "configs/zh_flat_general.cfg")["corpora"]["train"]["paths"]
    assert set(GENERAL) == set(paths)
    for name in GENERAL:
        assert re.search(rf"scripts/fetch.py .*{name}.* --source ../corpora", out)
        assert re.search(rf"scripts/convert.py .*{name}.* --general --out corpus/general", out)
        assert f"corpus/general/{name}/dev.spacy" in out


def test_variables(dry_run: DryRun) -> None:
    setting = "training.max_epochs 5"
    out = dry_run("all", source="../corpora", seed=7, word_vectors="w.vec.xz", setting=setting)
    assert "--source ../corpora" in out
    assert "--system.seed 7 --training.max_epochs 5" in out
    assert "--paths.word_vectors w.vec.xz" in out


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


def test_commands_that_run_others_pass_all_variables_on() -> None:
    """But for those that say which pipeline it is, and those made of these."""
    variables = load_project_config(ROOT, interpolate=False)["vars"]
    which = {"corpus", "lang", "model", "config", "examples", "name", "output", "passed_on"}
    which |= {"trained", "bits", "package", "made", "e5", "general"}  # each release has its own
    overrides = {f"vars.{name}": f"my_{name}" for name in variables.keys() - which}
    passed_on = load_project_config(ROOT, overrides=overrides)["vars"]["passed_on"]
    assert parse_project_overrides(shlex.split(passed_on)) == overrides


@pytest.mark.parametrize(
    ("package", "shown"),
    [
        (
            "zh_flat_general",
            [
                "check.py general flat_general configs/zh_flat_general.cfg model-best",
                *("--vars.word_vectors word", "--paths.word_vectors word", "--bits 4"),
                *(f"general/calibrated corpus/general/{name}/dev.spacy" for name in GENERAL),
                "spacy package training/zh_flat_general/calibrated training/zh_flat_general",
            ],
        ),
        (
            "zh_flat_general_trf",
            [
                *("--text my.txt", "below.py e5/released/zh_flat_general/zh_flat_general-"),
                *("e5/characters e5/zh_flat_general", "--bits 4", "--trust"),
                *(f"trf/calibrated corpus/general/{name}/dev.spacy" for name in GENERAL),
                "spacy package training/zh_flat_general_trf/calibrated training/zh_flat_",
            ],
        ),
        *(
            (
                f"zh_flat_{corpus}",
                [
                    f"{corpus} flat_{corpus} configs/zh_flat_{corpus}.cfg refined/model-best",
                    *(f"--vars.{kind}_vectors {kind}" for kind in VECTORS),
                    *(f"--paths.{kind}_vectors {kind}" for kind in VECTORS),
                    ".network.r_drop'\"'\"': 1.0}",
                    f"spacy flat train configs/further/zh_flat_{corpus}.cfg --resume",
                    f"--paths.pipeline training/zh_flat_{corpus}_{corpus}/unrefined",
                    f"_{corpus}/refined/model-best training/zh_flat_{corpus}_{corpus}/compact",
                    f"--bits {bits}",
                ],
            )
            for corpus, bits in (("msra", 4), ("cluener", 5))
        ),
        ("zh_char_tang", ["--paths.word_vectors word", "--paths.char_vectors null", "--bits 8"]),
        (
            "zh_char_news",
            [
                "news.py corpus/news my.txt my_news.txt",
                *("--paths.train corpus/news/train.spacy", "--bits 8"),
                "spacy package training/zh_char_news/proofreader training/zh_char_news",
            ],
        ),
        (
            "zh_seq2seq_tatoeba",
            ["--paths.word_vectors word", "--paths.char_vectors char", "--bits 8"],
        ),
        ("zh_re2_questions", ["fitted --vars.word_vectors word", "--words word", "--bits 8"]),
        (
            "en_tener_wikiann",
            [
                "configs/en_tener_wikiann.cfg model-best --vars.english_vectors english",
                *("--paths.word_vectors english", "--paths.char_vectors char", "--bits 6"),
                *("--pieces --layers 6", "--words english", "--paths.transformer e5/english"),
                "plain_english.py corpus/plain_english/train.spacy data/tatoeba",
            ],
        ),
    ],
)
def test_dry_run_of_a_release(dry_run: DryRun, package: str, shown: list[str]) -> None:
    command = f"release-{package.rpartition('_')[2]}"
    assert command in load_project_config(ROOT)["workflows"]["release"]
    files = {"text": "my.txt", "news": "my_news.txt"}
    files |= {f"{kind}_vectors": kind for kind in (*VECTORS, "english")}
    out = dry_run(command, seed=3, **files)
    config = f"configs/{'further/' if package == 'zh_flat_general_trf' else ''}{package}.cfg"
    for each in (*shown, f"spacy flat train {config} --resume", "--system.seed 3"):
        assert each in out
    if "check.py" in out:
        assert out.index("check.py") < out.index("spacy flat")
    assert (ROOT / config).is_file()
    assert f"--meta-path assets/release/{package}.json" in out
    assert (ROOT / f"assets/release/{package}.json").is_file()
    # What a user trains on the same corpus stays.
    own = ("zh_flat_general", "zh_flat_general_trf", "zh_re2_questions", "zh_char_news")
    assert f"training/{package}/" not in out or package in own
    assert f"packages/{package}" not in out


RELEASED_WHEEL = f"zh_flat_msra-{load_project_config(ROOT)['vars']['released']}-py3-none-any.whl"


@pytest.mark.parametrize(
    ("command", "overrides", "shown"),
    [
        # A package is installed by itself, and a version is not that of released ones.
        ("install", {"corpus": "resume"}, "--force-reinstall packages/zh_flat_resume-0.1.0/dist/"),
        ("first", {"version": "0.2.0"}, "--find-links assets/pipelines zh_flat_general"),
        ("translate", {"version": "0.2.0"}, f"--force-reinstall assets/pipelines/{RELEASED_WHEEL}"),
        (
            "check-release",
            {"corpus": "msra", "config": "configs/my own.cfg", "trained": "mine"},
            "check.py msra flat 'configs/my own.cfg' mine --vars",
        ),
    ],
)
def test_dry_run_of_a_command(
    dry_run: DryRun, command: str, overrides: dict[str, str], shown: str
) -> None:
    assert shown in dry_run(command, **overrides)
    assert (ROOT / "assets/pipelines" / RELEASED_WHEEL).is_file()


@pytest.mark.parametrize(
    ("settings", "files", "said"),
    [
        (RELEASED, {"word": "null"}, "each of these: --vars.word_vectors$"),
        (RELEASED, dict.fromkeys(VECTORS, "gone.vec.gz"), "--vars.char_vectors, --vars.bigram_"),
        (["flat", *RELEASED[1:]], {}, "Run: release-general, release-msra or release-cluener$"),
        ([RELEASED[0], "configs/zh_flat.cfg", RELEASED[2]], {}, "Run: release-general"),
        ([*RELEASED[:2], "model-best"], {}, "Run: release-general"),
        (RELEASED, {}, "^$"),
    ],
)
def test_what_is_not_released(
    tmp_path: Path, settings: list[str], files: dict[str, str], said: str
) -> None:
    (tmp_path / "some.vec").write_text("1 1\n中 1\n", "utf-8")
    run = [sys.executable, str(ROOT / "assets/release/check.py"), "msra", *settings]
    for kind in VECTORS:
        run += [f"--vars.{kind}_vectors", files.get(kind, "some.vec")]
    result = subprocess.run(run, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
    assert re.search(said, result.stderr.strip())
    assert bool(result.returncode) is bool(result.stderr)


def test_a_release_is_compared_with_the_one_before(tmp_path: Path) -> None:
    (wheel,) = (ROOT / "assets/pipelines").glob("zh_char_tang-*.whl")
    scores = {"perplexity": 90.25, "new": 1.0, "per_type": None}
    (tmp_path / "meta.json").write_text(json.dumps({"performance": scores}), "utf-8")
    for path, before in ((wheel, "97.6120"), (tmp_path / "none.whl", "–")):
        run = [sys.executable, str(ROOT / "assets/release/compare.py"), str(tmp_path), str(path)]
        lines = subprocess.run(run, capture_output=True, encoding="utf-8", check=True).stdout
        rows = [line.split() for line in lines.splitlines()]
        assert ["perplexity", before, "90.2500"] in rows
        assert ["new", "–", "1.0000"] in rows


def test_a_release_without_vectors_is_refused_at_first(bare_project: Path) -> None:
    (bare_project / "assets/release").mkdir(parents=True)
    shutil.copy(ROOT / "assets/release/check.py", bare_project / "assets/release")
    said = "--vars.char_vectors, --vars.bigram_vectors, --vars.word_vectors"
    with pytest.raises(SubprocessError, match=said):
        project_run(bare_project, "release", capture=True)
    assert not any((bare_project / "packages").iterdir())


def test_overrides_of_training_exist(dry_run: DryRun) -> None:
    """Those of `paths` in some config, all others in each; and each config takes them all."""
    pairs = re.findall(r"--(\w+)\.([\w.]+) (\S+)", dry_run("train"))
    assert len(pairs) == 11  # the seed twice
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
        if "train" in load_config(path)["paths"]:  # others train on several corpora
            reader = changed["corpora"]["train"]
            own = reader.get("paths") or {"": reader["path"]}
            assert overrides["paths.train"] in own.values()
    assert paths >= {key for section, key, _ in pairs if section == "paths"}


# The whole of it, on a few sentences


def test_workflow_trains_and_scores(mini_project: Path) -> None:
    training = mini_project / "training/zh_flat_demo"
    metrics = json.loads((training / "metrics.json").read_text("utf-8"))
    assert (metrics["part"], metrics["sentences"]) == ("test", 10)
    assert 0 <= metrics["ents_f"] <= 1
    log = [json.loads(line) for line in (training / "log.jsonl").read_text("utf-8").splitlines()]
    assert [line["step"] for line in log] == [0, 2, 4]
    assert "</svg>" in (training / "curve.svg").read_text("utf-8")


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


def test_workflow_of_vectors(mini_project: Path, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    shutil.copytree(mini_project, folder, ignore=shutil.ignore_patterns("packages", "training"))
    (folder / "text.txt").write_text("人和药店在重庆开业。\n" * 20, "utf-8")
    for command in ("train-vectors", "train-on-vectors"):
        project_run(folder, command, overrides=VARIABLES, capture=True)
    config = load_config(folder / "training/zh_flat_demo/model-best/config.cfg")
    assert config["paths"]["word_vectors"] == "vectors/word.vec.gz"
    nlp = load(folder / "training/zh_flat_demo/model-best")
    network = nlp.get_pipe("flat_ner").model.shims[0].module  # type: ignore[attr-defined]
    assert network.chars.pretrained.abs().sum() > 0
    assert network.words.pretrained.abs().sum() > 0


def test_what_has_not_changed_is_skipped(
    mini_project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for command in ("convert", "train", "package"):
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
