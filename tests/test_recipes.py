"""`scripts/release.py`: the runs of a recipe, as many as are needed, on its inputs."""

import json
import shutil
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

import pytest
import release
from fetch import checksum

ROOT = Path(__file__).parents[1]
ADD = "-c \"open('{here}/%s', 'a').write('%s')\""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return tmp_path


def adding(name: str, text: str) -> dict[str, str]:
    return {"run": ADD % (name, text), "makes": ["{here}/" + name]}


def contents(here: Path, runs: list[dict[str, Any]]) -> list[str]:
    done = release.execute(runs, {"here": here, "trial": 0}, here / "runs.json")
    return [Path(run["makes"][0]).read_text("utf-8") for run in done]


def test_what_is_finished_is_not_done_again(here: Path) -> None:
    runs = [adding("a", "1"), adding("b", "2"), adding("c", "3")]
    assert contents(here, runs) == contents(here, runs) == ["1", "2", "3"]
    # A run is repeated if its command, script or result has changed.
    runs[1] = adding("b", "4")
    assert contents(here, runs) == ["1", "4", "3"]
    (here / "b").write_text("")
    assert contents(here, runs) == ["1", "4", "3"]
    (here / "script.py").write_text(f"open({str(here / 'a')!r}, 'w').write('5')")
    runs[0] = {"run": "{here}/script.py", "makes": ["{here}/a"]}
    assert contents(here, runs) == ["5", "4", "3"]
    (here / "script.py").write_text(f"open({str(here / 'a')!r}, 'w').write('6')")
    assert contents(here, runs) == ["6", "4", "3"]
    seconds = [run["seconds"] for run in json.loads((here / "runs.json").read_text())]
    assert len(seconds) == 3


def test_what_makes_the_same_again_repeats_nothing_after_it(here: Path) -> None:
    run = "-c \"open('{here}/log', 'a').write('%s'); open('{here}/%s', 'w')\""
    runs = [{"run": run % (name, name), "makes": ["{here}/" + name]} for name in "ab"]
    for _ in range(2):
        contents(here, [{**runs[0], "always": True}, runs[1]])
    assert (here / "log").read_text("utf-8") == "aba"


def test_what_recipes_share_is_not_deleted(here: Path) -> None:
    values = {"here": here / "own", "there": here, "trial": 0}
    for text in "12":
        run = {"run": (ADD % ("a", text)).replace("here", "there"), "makes": ["{there}/a"]}
        release.execute([run], values, here / "runs.json")
    assert (here / "a").read_text("utf-8") == "12"


def test_an_interrupted_run_resumes_unless_it_changed(here: Path) -> None:
    failing = {"run": (ADD % ("b", "2"))[:-1] + '; exit(1)"', "makes": ["{here}/b"]}
    runs = [adding("a", "1"), failing, adding("c", "3")]
    for _ in range(2):
        with pytest.raises(CalledProcessError):
            contents(here, runs)
    assert (here / "b").read_text() == "22"  # it finds what it has written
    runs[1] = adding("b", "4")
    assert contents(here, runs) == ["1", "4", "3"]


def test_a_run_that_fails_or_makes_nothing_ends_it(here: Path) -> None:
    runs = [adding("a", "1"), {"run": "-c 'pass'", "makes": ["{here}/missing"]}, adding("c", "3")]
    with pytest.raises(SystemExit, match="missing is missing after: -c pass"):
        contents(here, runs)
    assert (here / "a").read_text() == "1"
    assert not (here / "c").exists()


def test_inputs_are_the_files_that_the_recipe_names(here: Path) -> None:
    path = here / "wiki.txt"
    path.write_text("北京")
    wanted = {"text": {"about": "Wikipedia", "sha256": checksum(path)}}
    release.check({"text": str(path)}, wanted)
    path.write_text("上海")
    with pytest.raises(SystemExit, match=r"--text: the SHA-256 of .* not that of Wikipedia"):
        release.check({"text": str(path)}, wanted)
    with pytest.raises(SystemExit, match="--text needs a file, but '' is none: Wikipedia"):
        release.check({"text": ""}, wanted)


def test_runs_make_the_same_weights_again(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    corpus = "--paths.train {here}/demo/train.spacy --paths.dev {here}/demo/dev.spacy"
    steps = "--training.max_steps {steps} --training.eval_frequency {steps}"
    runs = [
        {"run": command, "makes": [f"{{here}}/{makes}"]}
        for command, makes in (
            ("scripts/fetch.py demo --data {here}/data", "data"),
            ("scripts/convert.py demo --data {here}/data --out {here}", "demo"),
            (
                f"-m spacy flat train configs/zh_flat.cfg {corpus} {steps} --output {{here}}",
                "model-last",
            ),
            ("-m spacy flat compact {here}/model-last {here}/compact --bits 8", "compact"),
        )
    ]
    sums = []
    for _ in range(2):
        folder = here / "made"
        done = release.execute(runs, {"here": folder, "trial": 20}, folder / "runs.json")
        sums.append([run["sha256"] for run in done])
        shutil.rmtree(folder)
    assert sums[0] == sums[1]
