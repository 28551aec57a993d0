"""Learning: the loss, its gradient, placeholders of training pairs, and what a network is built
for."""

import random
from functools import partial
from pathlib import Path

import pytest
from spacy.language import Language
from spacy.tokens import DocBin

from spacy_flat.nn.optimizers import AdamW
from spacy_flat.translator.featuriser import TranslationFeaturiser
from spacy_flat.translator.names import NameTable
from spacy_flat.translator.options import TranslationOptions
from spacy_flat.translator.scores import likelihood_corpus
from spacy_flat.translator.training import Texts, all_texts, draw_spans, encode, joined

from .conftest import NAMES, PAIRS, TEXTS, add, blank, examples_of, make, translator

TABLE = NameTable(NAMES)


def test_the_loss_is_the_mean_of_all_pieces(trained: Language) -> None:
    """With the end of each translation; the same whatever the batches; and names are no
    placeholders in scores."""
    translator(trained).placeholder_rate = 0.0
    losses = translator(trained).update(examples_of(trained), losses={})
    translator(trained).placeholder_rate = 0.5
    translator(trained).shim.module.zero_grad()
    scores = trained.evaluate(examples_of(trained))
    expected = pytest.approx(-scores["translation_log_prob"], rel=1e-4)
    assert losses["seq2seq_translator"] == expected
    assert scores["bleu"] == pytest.approx(1.0)
    assert scores["chrf"] == pytest.approx(1.0)


def test_texts_are_read_without_characters_of_zero_width_and_needless_space() -> None:
    (texts,) = all_texts(examples_of(blank(), [(" 我\u200b喜欢茶。", " I  like\ttea. ")]))
    assert texts == PAIRS[0]


def test_pairs_that_teach_nothing() -> None:
    nlp = make(None, {"longest_pair": 20})
    pipe = translator(nlp)
    before = pipe.model.to_bytes()
    long = [("茶" * 21, "tea"), ("茶", "tea, " * 20), ("茶", "z" * 21)]
    without = examples_of(nlp)
    for example in without:
        example.reference._.translation = None
    blank_side = examples_of(nlp, [("", "tea"), ("茶", " "), (" ", "tea")])
    for examples in ([], blank_side, examples_of(nlp, long), without):
        losses = pipe.update(examples, sgd=AdamW(0.1), losses={})
        assert losses == {"seq2seq_translator": 0}
    assert pipe.model.to_bytes() == before
    scores = nlp.evaluate(without)
    assert scores["translation_log_prob"] is scores["bleu"] is None


# Placeholders of training pairs


def test_joined_pairs() -> None:
    pairs = [Texts(*pair) for pair in PAIRS]
    assert joined(pairs, 0.0, 200) == pairs
    (one,) = joined(pairs, 1.0, 200)
    assert one == Texts("".join(TEXTS), " ".join(target for _, target in PAIRS))
    # No longer than allowed, and not behind a text that ends in a word.
    assert all(len(side) <= 40 for pair in joined(pairs, 1.0, 40) for side in pair)
    assert len(joined(pairs, 1.0, 40)) == 4
    open_end = [Texts("茶", "tea"), Texts("书", "books")]
    assert joined(open_end, 1.0, 200) == open_end
    random.seed(0)
    assert 250 < len(joined([Texts("茶。", "Tea.")] * 500, 0.3, 10_000)) < 400


@pytest.mark.parametrize(
    ("source", "target", "drawn"),
    [
        ("王芳的NBA在北京", "Beijing has the NBA of Wang Fang", ["王芳", "NBA", "北京"]),
        ("王芳的NBA", "nba, basketball", []),
        # A part of a longer name is no name.
        (
            "王芳喜欢北京市和华盛顿州",
            "Wang Fang likes Beijing and Washington",
            ["王芳", "华盛顿州"],
        ),
        # Words with all their digits, and numbers, but neither single letters nor what a
        # translation may write in words
        (
            "A说2台A380比3D电视贵747倍，1.5万",
            "A: 2 A380s, A380, 747 times, 3D, 1.5",
            ["A380", "3D", "747"],
        ),
    ],
)
def test_names_on_both_sides(source: str, target: str, drawn: list[str]) -> None:
    table = NameTable({**NAMES, "华盛顿州": "Washington"})
    spans = draw_spans(Texts(source, target), table, share=1.0, most=8)
    assert [source[slice(*own)] for own, _ in spans] == drawn
    names = {**NAMES, "华盛顿州": "Washington"}
    assert [target[slice(*other)] for _, other in spans] == [names.get(own, own) for own in drawn]


def test_a_share_of_the_names_is_drawn() -> None:
    texts = Texts("王芳的NBA在北京", "Beijing has the NBA of Wang Fang")
    assert len(draw_spans(texts, TABLE, share=1.0, most=2)) == 2
    random.seed(0)
    drawn = sum(len(draw_spans(texts, TABLE, 0.3, 8)) for _ in range(200))
    assert 0.2 < drawn / 600 < 0.4


def test_placeholders_have_the_same_number_on_both_sides(trained: Language) -> None:
    encoder = translator(trained).featuriser
    texts = Texts("王芳喜欢北京", "Beijing is liked by Wang Fang")
    drawn = set()
    for _ in range(100):
        pair = encode(texts, encoder, TABLE, 1.0)
        first, second = (key for key in pair.source.tolist() if 3 <= key <= encoder.first)
        assert first < second
        assert [key for key in pair.target.tolist() if 3 <= key <= encoder.first] == [second, first]
        drawn |= {first, second}
    # All of them are learnt.
    assert drawn == {3, 4, 5, 6}
    assert encoder.stretches(pair.target[1:-1]) == [second - 3, " is liked by ", first - 3]


# What a network is built for


def test_what_cannot_be_learnt() -> None:
    """Pairs that are too long."""
    nlp = blank()
    add(nlp, text={"longest_pair": 50})
    for pairs in ([("茶" * 70, "tea " * 70)], [("茶", "")]):
        with pytest.raises(ValueError, match=r"F403.*'seq2seq_translator'.*translation"):
            nlp.initialize(partial(examples_of, nlp, pairs))


def test_pieces_keep_all_of_a_text(trained: Language) -> None:
    encoder = translator(trained).featuriser
    for text in ("I like tea.", "“Quotes” — don't", "naïve 😀"):
        assert encoder.stretches(encoder.target_ids([text])) == [text]
    # Bytes that are no character are left out.
    assert encoder.stretches(encoder.target_ids(["é"])[:2]) == [""]


def test_unknown_brackets_are_read_as_known_ones(trained: Language) -> None:
    encoder = TranslationFeaturiser.build(TranslationOptions(), ["（茶）："], ["tea"])
    assert encoder.source_ids(["【茶】"]).tolist() == encoder.source_ids(["（茶）"]).tolist()
    assert encoder.unknown("【茶〕😀") == [3]


def test_evaluating_without_translating(tmp_path: Path, trained: Language) -> None:
    """Scores are those of gold translations; nothing is decoded."""
    docs = [example.reference for example in examples_of(trained)]
    DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / "dev.spacy")
    examples = list(likelihood_corpus(tmp_path / "dev.spacy")(trained))
    scores = trained.evaluate(examples)
    expected = trained.evaluate(examples_of(trained))
    assert scores["bleu"] is scores["chrf"] is None
    assert scores["translation_log_prob"] == pytest.approx(expected["translation_log_prob"])
    assert trained(examples[0].predicted.copy())._.translation is None
