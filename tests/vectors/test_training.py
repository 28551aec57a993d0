import random
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import spacy
from spacy.cli._util import app as spacy_app
from typer.testing import CliRunner

from spacy_flat.lexicon import Lexicon
from spacy_flat.lexicon.cutting import longest_match
from spacy_flat.lexicon.sources import Entry
from spacy_flat.vectors import TextVectors, read_vectors
from spacy_flat.vectors.training import Kind, Trained, VectorOptions, _write_units, train_vectors

FRUIT, PLACES = ["苹果", "香蕉", "葡萄"], ["重庆", "浙江", "北京"]
LEXICON = Lexicon(map(Entry, [*FRUIT, *PLACES, "苹果树"]))


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Sentences in which all fruit is eaten and all places are gone to."""
    draw = random.Random(0)
    lines = [
        draw.choice([f"我爱吃{draw.choice(FRUIT)}和甜点", f"他坐火车去{draw.choice(PLACES)}旅行"])
        for _ in range(3000)
    ]
    path = tmp_path / "text.txt"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def train(kind: Kind, text: Path, target: Path, **options: int) -> Trained:
    settings = VectorOptions(**{"width": 8, "epochs": 2, **options})
    return train_vectors(kind, [text], target, LEXICON, longest_match(LEXICON), settings)


def similarity(vectors: TextVectors, one: str, other: str) -> float:
    a, b = (vectors.data[vectors.keys.index(key)] for key in (one, other))
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_units_used_alike_get_like_vectors(text: Path, tmp_path: Path) -> None:
    trained = train("word", text, tmp_path / "word.vec", epochs=10)

    vectors = read_vectors(tmp_path / "word.vec")
    assert trained.vectors == len(vectors.keys)
    assert trained.size == (tmp_path / "word.vec").stat().st_size
    assert similarity(vectors, "苹果", "香蕉") > similarity(vectors, "苹果", "重庆") + 0.2


@pytest.mark.parametrize(
    ("kind", "some"),
    [("char", ["苹", "果"]), ("bigram", ["苹果", "果和"]), ("word", ["苹果", "和"])],
)
def test_each_kind_has_its_units(kind: Kind, some: list[str], text: Path, tmp_path: Path) -> None:
    train(kind, text, tmp_path / "some.vec.gz")

    keys = read_vectors(tmp_path / "some.vec.gz").keys
    assert set(some) <= set(keys)
    assert {len(key) for key in keys} == {"char": {1}, "bigram": {2}, "word": {1, 2}}[kind]


@pytest.mark.parametrize("kind", ["char", "bigram", "word"])
def test_one_worker_and_a_seed_give_the_same_file(kind: Kind, text: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        train(kind, text, tmp_path / name / "some.vec.gz")
    train(kind, text, tmp_path / "other.vec.gz", seed=2)

    one, two = (tmp_path / name / "some.vec.gz" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes() != (tmp_path / "other.vec.gz").read_bytes()


def test_several_texts_are_read(text: Path, tmp_path: Path) -> None:
    cut, target = longest_match(LEXICON), tmp_path / "out" / "x.vec"
    trained = train_vectors("char", [text, text], target, LEXICON, cut, VectorOptions(4))
    units = sum(len(line) for line in text.read_text("utf-8").splitlines())
    assert trained.units == 2 * units
    assert [path.name for path in target.parent.iterdir()] == ["x.vec"]
    bad = tmp_path / "bad.txt"
    bad.write_bytes("好\n".encode() + "重庆\n".encode("gbk"))
    with pytest.raises(ValueError, match=r"F004.*bad\.txt, line 2"):
        train_vectors("char", [text, bad], target, LEXICON, cut, VectorOptions(4))


def test_with_subwords_every_word_of_the_lexicon_has_a_vector(text: Path, tmp_path: Path) -> None:
    train("word", text, tmp_path / "word.vec", subwords=True, epochs=5)

    vectors = read_vectors(tmp_path / "word.vec")
    assert set(LEXICON) <= set(vectors.keys)
    assert "苹果树" not in text.read_text("utf-8")
    assert similarity(vectors, "苹果树", "苹果") > similarity(vectors, "苹果树", "重庆")


@pytest.mark.parametrize("subwords", [False, True])
def test_words_with_spaces_have_vectors_that_are_read_again(subwords: bool, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("在New York买iPhone 15和T\u3000恤\n" * 9, "utf-8")
    lexicon = Lexicon(map(Entry, ["New York", "iPhone 15", "T\u3000恤", "小米 14", "小\n米"]))
    target, options = tmp_path / "word.vec", VectorOptions(4, subwords=subwords)
    with pytest.warns(UserWarning, match="W003.*1 of them") if subwords else nullcontext():
        cut = longest_match(lexicon)
        train_vectors("word", [tmp_path / "text.txt"], target, lexicon, cut, options)

    seen = {"在", "New York", "买", "iPhone 15", "和", "T\u3000恤"}
    assert set(read_vectors(target).keys) == (seen | {"小米 14"} if subwords else seen)


def test_a_failure_leaves_the_old_file(text: Path, tmp_path: Path) -> None:
    target = tmp_path / "char.vec"
    target.write_text("old")

    with pytest.raises(ValueError, match="F031"):
        train("char", text, target, min_count=100_000)

    assert target.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["char.vec", "text.txt"]


def test_without_gensim_the_error_says_how_to_get_it(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gensim.models", None)

    with pytest.raises(ModuleNotFoundError, match=r"\[F030\].*spacy-flat\[vectors\]"):
        train("char", text, tmp_path / "char.vec")


def test_lines_longer_than_gensim_takes_are_cut(tmp_path: Path) -> None:
    """It leaves out what comes after the 10,000th unit."""
    units = [str(number) for number in range(12_000)]
    assert _write_units(tmp_path / "units", [units]) == 12_000
    lines = [line.split() for line in (tmp_path / "units").read_text("utf-8").splitlines()]
    assert max(map(len, lines)) <= 10_000
    assert [unit for line in lines for unit in line] == units


def test_spacy_takes_the_file_as_its_vectors(text: Path, tmp_path: Path) -> None:
    train("word", text, tmp_path / "word.vec.gz")
    command = ["init", "vectors", "zh", str(tmp_path / "word.vec.gz"), str(tmp_path / "pipeline")]
    assert CliRunner().invoke(spacy_app, command).exit_code == 0

    nlp = spacy.load(tmp_path / "pipeline")
    ours = read_vectors(tmp_path / "word.vec.gz")
    row = ours.data[ours.keys.index("苹果")]
    np.testing.assert_allclose(nlp.vocab["苹果"].vector, row, rtol=1e-5)
