"""`python -m spacy flat search` as a user types it."""

import re
from functools import partial
from itertools import product
from pathlib import Path

import pytest
import spacy
from blocks import pipe_config
from commands import failure, printed, said
from learning import settle
from similarity.conftest import re2
from spacy.language import Language
from spacy.training import Example
from thinc.api import fix_random_seed

from spacy_flat.nn.optimizers import AdamW
from spacy_flat.similarity.index import FILE
from spacy_flat.similarity.pairs import join_pair

# What is asked, and which question is the same.
SAME = {"如何退款": "怎么退款", "能开发票吗": "可以开发票吗", "几天能收到快递": "快递几天到"}
run = partial(printed, "search")
TINY = {"network": {"hidden": 12}, "text": {"embed_width": 12}}


def train(nlp: Language, steps: int) -> Language:
    fix_random_seed(0)
    examples = []
    for left, right in product(SAME, SAME.values()):
        is_same = float(SAME[left] == right)
        cats = {"same": is_same, "different": 1 - is_same}
        examples.append(Example.from_dict(nlp.make_doc(join_pair(left, right)), {"cats": cats}))
    optimizer = nlp.initialize(lambda: examples, sgd=AdamW(0.01))
    settle(nlp, examples, optimizer, steps)
    return nlp


def rows(output: str) -> list[tuple[str, str]]:
    """The questions and answers that are shown."""
    return re.findall(r"^\d\.\d{3}  (.*)\n(?: {7}(.*)\n)?", output, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pipeline")
    nlp = spacy.blank("zh")
    nlp.add_pipe("re2_similarity", config=pipe_config("re2_similarity", TINY))
    train(nlp, steps=60).to_disk(folder)
    return folder


@pytest.fixture
def faq(tmp_path: Path) -> Path:
    path = tmp_path / "faq.tsv"
    path.write_text("快递几天到\t三天\n\n怎么退款\t在订单里\n可以开发票吗\n", "utf-8")
    return path


def test_the_best_question_with_its_answer(pipeline: Path, faq: Path) -> None:
    result = run(pipeline, faq, "如何退款", "能开发票吗", "--top-k", "1")

    assert rows(result) == [("怎么退款", "在订单里"), ("可以开发票吗", "")]
    assert result.index("如何退款") < result.index("能开发票吗")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("faq.txt", "怎么退款\t在订单里\n快递几天到\n"),
        ("faq.csv", '\ufeff"怎么退款","在订单里"\n"快递几天到"\n'),
        ("faq.csv", "编号,问题,说明,答案\n1,怎么退款,x,在订单里\n2,快递几天到\n"),
        ("faq.tsv", "\ufeffAnswer\tQuestion\n在订单里\t怎么退款\n\t快递几天到\n"),
        ("faq.jsonl", '{"问题": ["怎么退款", "退"], "答案": "在订单里"}\n{"问题": "快递几天到"}\n'),
        ("faq.json", '[\n{"问题": "怎么退款",\n"答案": "在订单里"}, {"问题": "快递几天到"}]'),
    ],
)  # fmt: skip
def test_tables(pipeline: Path, tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content, "utf-8")
    result = run(pipeline, tmp_path / name, "怎么退款")
    assert {*rows(result)} == {("怎么退款", "在订单里"), ("快递几天到", "")}


@pytest.mark.parametrize("first", ["question", "question\t42", "问题", "答案\t在这里"])
def test_a_question_is_not_taken_for_a_header(pipeline: Path, tmp_path: Path, first: str) -> None:
    (tmp_path / "faq.tsv").write_text(f"{first}\n怎么退款\n", "utf-8")
    assert len(rows(run(pipeline, tmp_path / "faq.tsv", "怎么退款"))) == 2


# The index


def test_an_index_is_kept(pipeline: Path, faq: Path, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    first = run(pipeline, faq, "如何退款", "--index", folder)
    saved = (folder / FILE).stat()
    second = run(pipeline, faq, "如何退款", "--index", folder)

    assert "index of 3 questions" in " ".join(first.split())
    assert "index of" not in second
    assert rows(first) == rows(second)
    assert (folder / FILE).stat().st_mtime_ns == saved.st_mtime_ns


def test_questions_that_are_not_similar_enough(pipeline: Path, faq: Path, tmp_path: Path) -> None:
    nlp = spacy.load(pipeline)
    re2(nlp).min_similarity = 0.99
    re2(nlp).write_settings(nlp.get_pipe_config("re2_similarity"))
    nlp.to_disk(tmp_path / "strict")
    folder = tmp_path / "index"
    run(pipeline, faq, "如何退款", "--index", folder)
    result = run(tmp_path / "strict", faq, "退款如何", "--index", folder)
    assert "None of 0.990 or more" in result
    assert len(rows(result)) == 1  # the nearest
    result = run(tmp_path / "strict", faq, "退款如何", "--min-similarity", "0")
    assert "or more" not in result


@pytest.mark.parametrize("change", ["questions", "pipeline", "damage"])
def test_an_index_that_does_not_fit_is_made_again(
    pipeline: Path, faq: Path, tmp_path: Path, change: str
) -> None:
    folder = tmp_path / "index"
    run(pipeline, faq, "如何退款", "--index", folder)
    message = {"questions": "of other questions", "pipeline": "[F334]", "damage": "[F332]"}[change]
    if change == "pipeline":
        nlp = spacy.load(pipeline)
        pipeline = tmp_path / "other"
        train(nlp, steps=2).to_disk(pipeline)
    elif change == "damage":
        (folder / FILE).write_bytes(b"damaged")
    else:
        faq.write_text("快递几天到\n如何退款呢\n可以开发票吗\n", "utf-8")
    result = run(pipeline, faq, "如何退款", "--index", folder)
    assert message in " ".join(result.split())
    assert len(rows(result)) == 3
    assert message not in said("search", pipeline, faq, "如何退款", "--index", folder)


def test_an_index_goes_into_no_other_folder(pipeline: Path, faq: Path) -> None:
    before = sorted(pipeline.iterdir())
    assert "[F148]" in failure("search", pipeline, faq, "如何退款", "--index", pipeline)
    assert sorted(pipeline.iterdir()) == before
    assert "[F148]" in failure("search", pipeline, faq, "如何退款", "--index", faq)


# Bad input


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("faq.tsv", "怎么退款\n\t在订单里\n", [], r"F336\].*faq\.tsv, line 2"),
        ("faq.jsonl", '{"question": "a"}\n{"frage": "b"}\n', [], r"F336\].*faq\.jsonl, line 2"),
        ("faq.jsonl", '{"question": 3}\n', [], r"F336\].*line 1"),
        ("faq.jsonl", '{"question": "a", "answer": 3}\n', [], r"F336\].*line 1"),
        ("faq.jsonl", '["a"]\n', [], r"F336\].*line 1"),
        ("faq.jsonl", "\n怎么退款\n", [], r"F156\].*line 2"),
        ("faq.csv", "answer,question\na,b\nc\n", [], r"F336\].*line 3"),
        ("faq.tsv", "\n \n", [], r"F010\].*faq\.tsv"),
        ("faq.csv", "question,answer\n", [], r"F010\].*faq\.csv"),
        ("faq.csv", 'a,b\n"c,d\n', [], r"F152\].*faq\.csv, line 2"),
        ("faq.csv", "类别,提问内容,处理办法\n售后,怎么退款,三天\n", [], r"F390\].*line 1"),
        ("faq.tsv", "类别\t问题\n1\t2\n", [], r"F336\].*line 2"),
        ("faq.tsv", "问题\t问题\n怎么退款\tx\n", [], r"F390\].*line 1"),
        ("faq.tsv", "1\t怎么退款\n", [], r"F336\].*line 1"),
        ("faq.csv", None, [], "F001"),
        ("faq.tsv", "a\n", ["--component", "other"], "F136.*Name one"),
    ],
)
def test_bad_questions(
    pipeline: Path, tmp_path: Path, name: str, content: str | None, options: list[str], message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content, "utf-8")

    assert re.search(message, failure("search", pipeline, tmp_path / name, "如何退款", *options))
