"""README.md and docs/ hold: every snippet runs, every command and link is right, and what is made
from the code is current."""

import ast
import json
import re
import runpy
import shlex
import shutil
import subprocess
from importlib.metadata import distribution
from pathlib import Path

import pytest
import spacy
from commands import assert_arguments
from similarity.conftest import examples_of
from spacy.cli._util import app as spacy_app
from spacy.tokens import DocBin
from spacy.util import load_config, load_model_from_config, registry
from thinc.api import Config
from typer.testing import CliRunner
from weasel.cli.run import project_run
from weasel.util.config import parse_config_overrides as parse_project_overrides

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "README.zh-CN.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = {page.relative_to(ROOT).as_posix(): page.read_text("utf-8") for page in PAGES}


def blocks(language: str) -> dict[str, str]:
    """The fenced blocks of a language in all pages, by page and number."""
    return {
        f"{name}:{number}": block
        for name, text in TEXTS.items()
        for number, block in enumerate(
            re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE), 1
        )
    }


PYTHON, INI, CFG = blocks("python"), blocks("ini"), blocks("cfg")
# What snippets print, where a page says so: the same for every pipeline that has learnt what comes
# with the project, or of released ones.
SHOWN: dict[str, str] = {}
for text in TEXTS.values():
    pattern = r"^```python\n((?:(?!```).*\n)*)```\n+```text\n((?:(?!```).*\n)*)```$"
    SHOWN |= re.findall(pattern, text, re.MULTILINE)
(CIRCLE,) = (block.splitlines() for block in blocks("bash").values() if "flat export" in block)
COMMANDS = list(dict.fromkeys("".join(blocks("bash").values()).splitlines()))
COMMANDS = [line for line in COMMANDS if line not in CIRCLE]


@pytest.fixture(scope="module")
def start(
    mini_project: Path,
    pairs_pipeline: Path,
    poems_pipeline: Path,
    translation_pipeline: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The files of a user who follows the pages."""
    folder = tmp_path_factory.mktemp("start")
    shutil.copy(mini_project / "project.yml", folder)
    (folder / "configs").symlink_to(ROOT / "configs")
    for name in ("benchmarks", "scripts"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copytree(mini_project / "corpus/demo", folder / "corpus/mine")
    trained, begun = mini_project / "training/zh_flat_demo", ("checkpoints", "finished.json")
    shutil.copytree(trained, folder / "training/mine", ignore=shutil.ignore_patterns(*begun))
    shutil.copytree(pairs_pipeline, folder / "training/pairs/model-best")
    (folder / "corpus/pairs").mkdir()
    DocBin(docs=[example.reference for example in examples_of(spacy.blank("zh"))]).to_disk(
        folder / "corpus/pairs/dev.spacy"
    )
    shutil.copytree(poems_pipeline, folder / "training/poems")
    (folder / "corpus/poems").mkdir()
    poem = spacy.blank("zh")("白日依山尽，黄河入海流。")
    DocBin(docs=[poem]).to_disk(folder / "corpus/poems/dev.spacy")
    translations = folder / "training/zh_seq2seq_demo_parallel"
    shutil.copytree(translation_pipeline, translations / "with_entities")
    alone = spacy.load(translation_pipeline)
    alone.remove_pipe("entity_ruler")
    alone.to_disk(translations / "model-best")
    shutil.copytree(ROOT / "assets/demo_parallel", folder / "assets/demo_parallel")
    for name in ("zh_en.tsv", "zh_en.dev.tsv"):
        shutil.copy(ROOT / "assets/demo_parallel/dev.tsv", folder / name)
    (folder / "texts.zh").write_text("王小明住在上海。\n", "utf-8")
    (folder / "poems.txt").write_text("白日依山尽，\n\n黄河入海流。\n", "utf-8")
    (folder / "names.txt").write_text("王芳\t1\tPER\n", "utf-8")
    (folder / "packages").mkdir()
    shutil.copy(ROOT / "configs/zh_flat.cfg", folder / "mine.cfg")
    for part in ("train", "dev", "test"):
        (folder / f"{part}.txt").write_text(
            "王\tB-PER\n芳\tI-PER\n\n重\tB-LOC\n庆\tI-LOC\n", "utf-8"
        )
    for part in ("train", "dev"):
        (folder / f"{part}.tsv").write_text(
            "怎么退款\t如何退款\t1\n怎么退款\t如何付款\t0\n", "utf-8"
        )
    (folder / "words.tsv").write_text("Ann\tB-PER\nleft\tO\n", "utf-8")
    (folder / "words.txt").write_text("人和药店\t3\n", "utf-8")
    (folder / "raw.txt").write_text("人和药店在重庆开业\n" * 3000, "utf-8")
    (folder / "text.txt").write_text("人和药店在重庆开业\n" * 10, "utf-8")
    return folder


@pytest.fixture
def folder(start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of a user who follows the pages."""
    shutil.copytree(start, tmp_path, symlinks=True, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Snippets


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("code", PYTHON.values(), ids=PYTHON)
def test_python_runs(
    code: str, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    need_released(code, request)
    exec(compile(code, "snippet", "exec"), {})
    out = capsys.readouterr().out
    assert out == SHOWN.get(code, out)
    assert out or "print(" not in code


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("block", INI.values(), ids=INI)
def test_lexicons_of_configs_are_read(block: str) -> None:
    parents = "[initialize]\n[initialize.components]\n[initialize.components.flat_ner]\n"
    path = "[initialize.components.flat_ner.lexicon]\n@readers = spacy-flat.Lexicon.v1\n"
    sources = "[initialize.components.flat_ner.lexicon.sources]\n"
    config = Config().from_str(parents + path + sources + block.replace(sources, ""))
    lexicon = config["initialize"]["components"]["flat_ner"]["lexicon"]
    lexicon["sources"].pop("jieba", None)  # takes seconds
    found = registry.resolve({"lexicon": lexicon})["lexicon"]
    assert list(found) == ["人和药店"]
    assert found.snapshot.type_names == ("", "drug")


@pytest.mark.parametrize("place", CFG)
def test_parts_of_configs(place: str) -> None:
    """They fit into the config of which the page speaks."""
    name, names = "zh_tener", ["tener_ner"]
    if "components.flat_ner." in CFG[place]:
        name, names = "zh_flat", ["flat_ner"]
    if "components.transformer." in CFG[place]:
        name, names = "zh_flat_bert", ["transformer", "flat_ner"]
    if "transformer" in names:
        pytest.importorskip("spacy_transformers", reason="spacy-transformers is not installed")
    whole = load_config(ROOT / f"configs/{name}.cfg", interpolate=False)
    part = Config().from_str(parents_of(CFG[place]) + CFG[place], interpolate=False)
    nlp = load_model_from_config(whole.merge(part), auto_fill=True)
    assert nlp.pipe_names == names
    config = nlp.config.interpolate()
    registry.resolve({"optimizer": config["training"]["optimizer"]})
    augmenter = config["corpora"]["train"].get("augmenter")
    if augmenter:
        registry.resolve({"augmenter": augmenter})


def parents_of(block: str) -> str:
    """The headings that a part of a config must have before it."""
    own = re.findall(r"^\[(.+)\]$", block, re.MULTILINE)
    parts = [name.split(".")[:length] for name in own for length in range(1, name.count(".") + 1)]
    names = dict.fromkeys(".".join(part) for part in parts)
    return "".join(f"[{name}]\n" for name in names if name not in own)


# Commands


@pytest.mark.parametrize("line", COMMANDS, ids=COMMANDS)
def test_commands(
    line: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = shlex.split(line)
    if words[0] == "make":
        assert_make(words)
        return
    if words[:4] == ["python", "-m", "pip", "install"]:
        for place in words[4:]:
            assert_installable(place)
        return
    need_released(line, request)
    folder = request.getfixturevalue("folder")
    if words[:5] == ["python", "-m", "spacy", "project", "run"]:
        name, place, *overrides = words[5:]
        project_run(folder / place, name, overrides=parse_project_overrides(overrides), dry=True)
    elif words[:4] == ["python", "-m", "spacy", "flat"]:
        registry.cli.get_all()  # as `python -m spacy` does first
        if words[4] == "annotate":
            words += ["--actors", "1"]  # Ray has its own tests
        if words[4] == "demo":
            words.append("--no-browser")
            monkeypatch.setattr("streamlit.web.cli.main", lambda *args, **settings: None)
        if words[4] == "train":
            request.getfixturevalue("few_words")
            words += ["--training.max_steps", "1"]
        if "--resume" in words:  # what there is to resume
            CliRunner().invoke(spacy_app, [word for word in words[3:] if word != "--resume"])
        result = CliRunner().invoke(spacy_app, words[3:])
        assert result.exit_code == 0, result.output
    elif words[0] == "mkdir":
        (folder / words[-1]).mkdir(exist_ok="-p" in words)
    else:
        assert words[0] == "python"
        if words[1:4] == ["-m", "spacy", "train"]:
            need_released((ROOT / words[4]).read_text("utf-8"), request)
        assert_arguments(words[1:])


def test_from_predictions_to_a_corrected_pipeline(folder: Path) -> None:
    """The steps of docs/training.md, with three corrections."""
    registry.cli.get_all()  # as `python -m spacy` does first
    lines = [json.loads(line)["text"] for line in (ROOT / "assets/demo/dev.jsonl").open()][:9]
    for name in ("text.txt", "raw.txt"):
        (folder / name).write_text("\n".join(lines), "utf-8")
    few = ["--training.max_steps", "2", "--training.eval_frequency", "1"]
    few += ["--training.optimizer.learn_rate.warmup_steps", "0"]
    printed = []
    for line in CIRCLE:
        if "corrected.jsonl" in line:
            records = [json.loads(row) for row in (folder / "predicted.jsonl").open()]
            assert sorted(record["text"] for record in records) == sorted(lines)
            for record in records[:3]:
                record["label"] = [[0, 2, "LOC"]]
            written = "".join(json.dumps(record) + "\n" for record in records)
            (folder / "corrected.jsonl").write_text(written, "utf-8")
        words = [*shlex.split(line)[3:], *(few if " train " in line else ())]
        result = CliRunner().invoke(spacy_app, words)
        assert result.exit_code == 0, result.output
        printed.append(result.output)
    docs = DocBin().from_disk("corpus/corrected/train.spacy").get_docs(spacy.blank("zh").vocab)
    corrected = [doc for doc in docs if doc.text in [record["text"] for record in records[:3]]]
    found = [[(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents] for doc in corrected]
    assert found == [[(0, 2, "LOC")]] * 3
    assert all("NER F" in each for each in printed[-2:])


def test_further_training_above_a_transformer(zh_flat_general_trf: None) -> None:
    """The config has all that the pipeline needs."""
    config = load_config(ROOT / "configs/further/zh_flat_trf.cfg")
    nlp = load_model_from_config(config, auto_fill=True)
    assert nlp.pipe_names == spacy.load("zh_flat_general_trf").pipe_names
    assert nlp.config["training"]["frozen_components"] == ["transformer"]


def assert_make(words: list[str]) -> None:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    subprocess.run([*words, "-n"], cwd=ROOT, check=True, capture_output=True)


def need_released(text: str, request: pytest.FixtureRequest) -> None:
    """Let what names a released pipeline load it."""
    released = {path.name.split("-")[0] for path in (ROOT / "assets/pipelines").glob("*.whl")}
    for name in released & set(re.findall(r"\w+", text)):
        request.getfixturevalue(name)


def assert_installable(place: str) -> None:
    """A released wheel, or this folder, with extras that there are."""
    if place.endswith(".whl"):
        assert (ROOT / place).is_file()
        return
    match = re.fullmatch(r"\.(?:\[([\w,]+)\])?", place)
    assert match
    extras = distribution("spacy-flat").metadata.get_all("Provides-Extra")
    assert set((match[1] or "").split(",")) - {""} <= set(extras)


# Facts


@pytest.mark.parametrize("page", PAGES, ids=TEXTS)
def test_links(page: Path) -> None:
    text = re.sub(r"`[^`\n]+`", "", page.read_text("utf-8"))  # a format has [text](TYPE)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        linked = page.parent / path if path else page
        assert linked.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", linked.read_text("utf-8"), re.MULTILINE)
            assert anchor in map(anchor_of, headings)


def anchor_of(heading: str) -> str:
    """As GitHub has it: in lower case, without punctuation, spaces as hyphens."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


MAKE = runpy.run_path(str(ROOT / "docs/make.py"))


@pytest.mark.parametrize("page", PAGES, ids=TEXTS)
def test_what_is_made_from_the_code_is_current(page: Path) -> None:
    assert MAKE["filled"](page.read_text("utf-8")) == page.read_text("utf-8"), "Run: make docs"


def test_what_the_reference_leaves_out_exists() -> None:
    names = re.findall("<!-- reference: (.+?) -->", "".join(TEXTS.values()))
    things = [MAKE["find"](name) for each in names for name in each.split()]
    assert MAKE["INTERNAL"] <= {member for thing in things for member in vars(thing)}


# From the left to the right, as the design says; what is not named here is a component.
RANKS = {"cli": 6, "annotate": 5, "corpora": 4, "demo": 4, "training": 2, "viz": 2, "lexicon": 2}
RANKS |= {"text": 1, "vectors": 0, "nn": 0, "util": -1}
COMPONENT = 3


def test_imports_go_one_way() -> None:
    package = ROOT / "spacy_flat"
    for path in package.glob("*/**/*.py"):
        folder = path.relative_to(package).parts[0]
        for imported in imported_folders(path, package):
            assert RANKS.get(folder, COMPONENT) > RANKS.get(imported, COMPONENT), (path, imported)


def imported_folders(path: Path, package: Path) -> set[str]:
    """Other folders of the package from which a module imports, not only for its types."""
    parents = path.relative_to(package).parts[:-1]
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]
    targets = [
        (*parents[: len(parents) - node.level + 1], *(node.module or "").split("."))
        for node in imports
    ]
    folders = {path.name for path in package.iterdir() if path.is_dir()}
    return ({target[0] for target in targets} & folders) - {parents[0]}
