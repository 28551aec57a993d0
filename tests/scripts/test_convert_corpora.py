"""The parts of published corpora: what they join, leave out and hold out."""

from itertools import pairwise
from pathlib import Path

import pytest
from convert import Part, convert_corpus
from converted import entities, load
from fetch import fetch_corpus
from published import CORPORA, Corpus, CorpusFile
from spacy.tokens import Doc

ROOT = Path(__file__).parents[2]
SHARED = ROOT / "../shared/data"
GENERAL = {"PER", "GPE", "LOC", "SCENE", "ORG", "COMPANY", "GOVERNMENT", "TITLE"} | {
    *("BOOK", "GAME", "MOVIE")
}


def texts(doc: Doc) -> tuple[str, str]:
    left, right = doc.spans["pair"]
    return left.text, right.text


def corpus_of(
    folder: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], **given: object
) -> None:
    """Make a corpus "toy" of fetched files of pairs."""
    named = {name: CorpusFile(name) for name in files}
    options = {"format": given.pop("format", "pairs-tsv")}
    corpus = Corpus("pairs", "zh", "toy", "", named, options, **given)  # type: ignore[arg-type]
    monkeypatch.setitem(CORPORA, "toy", corpus)
    (folder / "toy").mkdir()
    for name, text in files.items():
        (folder / "toy" / name).write_text(text, "utf-8")


def parts_of(folder: Path, name: str = "toy", general: bool = False) -> dict[str, Part]:
    parts = convert_corpus(name, folder, folder / "out", general)
    return {part.path.stem: part for part in parts}


def test_a_part_of_several_files_without_the_pairs_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "a": "甲\t乙\t1\n丙\t丁\t0\n甲\t乙\t1\n",
        "b": "乙\t甲\t1\n戊\t己\t0\n庚\t辛\t1\n",
        "c": "丁\t丙\t0\n丁\t丙\t0\n",
        "d": "庚\t辛\t1\n",
    }
    made_of = {"train": ("a", "b"), "test": ("c",)}
    corpus_of(tmp_path, monkeypatch, files, made_of=made_of, left_out=("d",), distinct=True)
    made = parts_of(tmp_path)
    assert [texts(doc) for doc in load(made["train"].path)] == [("甲", "乙"), ("戊", "己")]
    assert [texts(doc) for doc in load(made["test"].path)] == [("丁", "丙")] * 2  # as published
    assert (made["train"].left_out, made["test"].left_out) == (4, 0)
    (tmp_path / "toy/d").unlink()
    with pytest.raises(ValueError, match=r"does not exist\. Run: python scripts/fetch.py toy"):
        parts_of(tmp_path)


@pytest.mark.parametrize(
    ("distinct", "kept"),
    [
        (False, ["甲乙", "甲丙", "甲丙"]),
        (True, ["甲丙"]),  # a text may have several translations
    ],
)
def test_what_is_in_another_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, distinct: bool, kept: list[str]
) -> None:
    lines = [f"{a}\t{b}\n" for a, b in ("甲乙", "甲丙", "甲丙")]
    files = {"train": "".join(lines), "test": lines[0]}
    corpus_of(tmp_path, monkeypatch, files, format="parallel-tsv", distinct=distinct)
    docs = load(parts_of(tmp_path)["train"].path)
    assert [doc.text + doc._.translation for doc in docs] == kept


def test_what_is_stripped_and_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Positions of units, and entities with more characters than their label may have."""
    tags = zip("京海淀区在410", ("B-LOC", "B-LOC", "I-LOC", "I-LOC", *"OOOO"), strict=False)
    text = "".join(f"{unit}{n}\t{tag}\n" for n, (unit, tag) in enumerate(tags))
    files = {"train": text, "dev": text}
    more = {"strip": "(?<=.)[0-9]+(?=\t)", "general": {"longest": {"LOC": 2}}}
    corpus_of(tmp_path, monkeypatch, files, format="bio", **more)
    for general, found in ((False, ["京", "海淀区"]), (True, ["京"])):
        (doc,) = load(parts_of(tmp_path, general=general)["train"].path)
        assert doc.text == "京海淀区在410"
        assert [text for text, _ in entities(doc)] == found
        assert [token.ent_iob_ for token in doc][1:4] == (["", "", ""] if general else [*"BII"])


def test_a_share_is_held_out_at_even_distances(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"甲{number}\t乙{number}\t{number % 2}\n" for number in range(44)]
    share = CORPORA["lcqmc"].dev_share * 3
    corpus_of(tmp_path, monkeypatch, {"train": "".join(lines)}, dev_share=share)
    made = parts_of(tmp_path)
    assert [part.summary.docs for part in made.values()] == [15, 29]
    numbers = [int(texts(doc)[0][1:]) for doc in load(made["dev"].path)]
    assert {b - a for a, b in pairwise(numbers)} == {2, 3}


def test_pairs_with_a_text_in_common_stay_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = ["甲乙", "丙丁", "戊己", "庚辛", "乙丙", "己壬", "子丑", "辛癸"]
    files = {"train": "".join(f"{a}\t{b}\t1\n" for a, b in pairs), "test": "癸\t寅\t1\n"}
    share = CORPORA["oppo"].dev_share * 4
    corpus_of(tmp_path, monkeypatch, files, distinct=True, dev_share=share)
    made = parts_of(tmp_path)
    parts = {name: ["".join(texts(doc)) for doc in load(part.path)] for name, part in made.items()}
    # 庚辛癸 has a text of the test part; of the other groups every other is held out.
    assert parts == {
        "test": ["癸寅"],
        "dev": ["戊己", "己壬"],
        "train": ["甲乙", "丙丁", "乙丙", "子丑"],
    }
    assert made["train"].left_out == 2


@pytest.mark.parametrize(("by_surname", "unknown"), [(True, "李某"), (False, "李某小朱郑欧阳")])
def test_what_persons_are_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_surname: bool, unknown: str
) -> None:
    """Among the general labels 老陈 and 王某 are whole. Where a corpus leaves out persons called by
    their surname, they are unknown."""
    rows = [("老", "O"), ("陈", "B-PER"), ("见", "O"), ("王", "B-PER"), ("某", "O"), ("、", "O")]
    rows += [("李", "O"), ("某", "O"), ("说", "O"), ("某", "O"), ("种", "O"), ("周", "B-PER")]
    rows += [(char, "O") for char in "小朱和郑老师，小时欧阳先生"]
    text = "".join(f"{char} {tag}\n" for char, tag in rows)
    general = {"coarse": [], "by_surname": by_surname}
    corpus_of(tmp_path, monkeypatch, {"train": text}, format="bio", general=general)
    (doc,) = load(parts_of(tmp_path, general=True)["train"].path)
    assert entities(doc) == [("老陈", "PER"), ("王某", "PER"), ("周", "PER")]
    assert "".join(token.text for token in doc if not token.ent_iob_) == unknown


@pytest.mark.parametrize("name", ["msra", "cluener", "weibo", "resume"])
def test_general_labels(name: str) -> None:
    general = CORPORA[name].general
    assert general is not None
    found = {
        label for each in general["coarse"] for label in each.split("=")[1].split(",") if label
    }
    found |= {"PER"} if name == "msra" else {"TITLE"} if name == "resume" else set()
    assert found.isdisjoint(general.get("unannotated", ()))
    assert found | set(general.get("unannotated", ())) == GENERAL


# Different, same, and how many were left out. Of large files the first lines alone, for time.
FIRST = {"atec": 2000, "bq": 1500}
PARTS = {
    "atec": {"train": (1397, 331, 81), "dev": (155, 36, 0)},
    "bq": {"train": (1409, 1300, 0), "dev": (129, 160, 0)},
    "lcqmc": {"train": (3904, 3917, 2), "dev": (496, 483, 0)},
    "oppo": {"train": (4857, 2121, 0), "dev": (714, 308, 0)},
}


@pytest.mark.skipif(not SHARED.is_dir(), reason="the real corpora are not at hand")
@pytest.mark.parametrize("name", PARTS)
def test_published_corpora(tmp_path: Path, name: str) -> None:
    for path in fetch_corpus(name, tmp_path, SHARED):
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[: FIRST.get(name)]))
    found = parts_of(tmp_path, name)
    assert PARTS[name] == {
        name: (part.summary.labels["different"], part.summary.labels["same"], part.left_out)
        for name, part in found.items()
    }
    dev, train = ([texts(doc) for doc in load(found[part].path)] for part in ("dev", "train"))
    assert not {*dev} & {*train}
