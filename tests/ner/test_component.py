"""`flat_ner` in a pipeline: what a user of spaCy relies on."""

import copy
import json
import pickle
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import spacy
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spacy.language import Language
from spacy.scorer import get_ner_prf
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from thinc.api import Adam, fix_random_seed

from spacy_flat.lexicon import Entry, Lexicon
from spacy_flat.ner.component import CRFEntityRecognizer, score_entities
from spacy_flat.ner.flat.options import FLATOptions
from spacy_flat.nn.optimizers import SGD, AdamW
from spacy_flat.vectors import TextVectors

from .conftest import (
    GOLD,
    NETWORK,
    SENTENCES,
    TEXTS,
    TINY,
    WORDS,
    add_flat,
    blank,
    char_example,
    examples_of,
    found,
    lexicon,
    spans_of,
    train,
)

Copy = Callable[..., Language]

CONTEXT = settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def flat(nlp: Language) -> CRFEntityRecognizer:
    ner = nlp.get_pipe("flat_ner")
    assert isinstance(ner, CRFEntityRecognizer)
    return ner


def entities(doc: Doc) -> list[tuple[str, str]]:
    return [(ent.label_, ent.text) for ent in doc.ents]


def marked(text: str) -> list[tuple[str, str]]:
    """The gold entities of one of the ten sentences."""
    return [tuple(mark.split(" ", 1)) for mark in dict(SENTENCES)[text]]  # type: ignore[misc]


# Texts and tokens


def test_learns_ten_sentences_by_heart(trained: Language) -> None:
    assert found(trained) == GOLD
    assert [entities(doc) for doc in trained.pipe(TEXTS)] == [marked(text) for text in TEXTS]


def test_loss_falls() -> None:
    nlp = blank()
    add_flat(nlp)
    losses = train(nlp, steps=8)
    assert losses[-1] < losses[0] / 2


def test_learns_entities_that_cut_tokens(jieba_trained: Language) -> None:
    """With the tokens of jieba all characters are learnt; tokens are what entities expand to."""
    doc = jieba_trained("南京市长江大桥来了。")
    assert [token.text for token in doc][:2] == ["南京市", "长江大桥"]
    assert doc._.char_ents == [(0, 2, "LOC"), (4, 7, "PER")]
    assert entities(doc) == [("LOC", "南京市"), ("PER", "长江大桥")]
    assert found(jieba_trained) == GOLD


@pytest.mark.parametrize("on_misaligned", ["expand", "contract", "drop"])
def test_on_misaligned(jieba_trained: Language, on_misaligned: str) -> None:
    ner = flat(jieba_trained)
    before, ner.on_misaligned = ner.on_misaligned, on_misaligned  # type: ignore[assignment]
    try:
        doc = jieba_trained("南京市长江大桥来了。")
    finally:
        ner.on_misaligned = before
    expected = [("LOC", "南京市"), ("PER", "长江大桥")] if on_misaligned == "expand" else []
    assert entities(doc) == expected
    assert doc._.char_ents == GOLD[2]


def test_pkuseg() -> None:
    pytest.importorskip("spacy_pkuseg", reason="spacy-pkuseg is not installed")
    nlp = blank("pkuseg")
    nlp.tokenizer.initialize(pkuseg_model="mixed")  # type: ignore[attr-defined]
    add_flat(nlp)
    train(nlp)
    assert found(nlp) == GOLD


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "  ",
        "\n",
        "\u3000",
        "a",
        "京",
        "。",
        "😀",
        "👨‍👩‍👧‍👦在北京",
        "𠮷野家在上海",
        "e\u0301cole 學校 школа مدرسة",
        "上海\r\n 上海\t上海  ",
        "\0上海\0",
        "\u200b上海\ufeff",
        "１２３ＡＢＣ",
    ],
)
def test_odd_texts(trained: Language, jieba_trained: Language, text: str) -> None:
    for nlp in (trained, jieba_trained):
        doc = nlp(text)
        assert doc.text == text
        assert all(token.ent_iob_ != "" for token in doc)
        check_spans(doc)


def check_spans(doc: Doc) -> None:
    end = 0
    for start, stop, label in doc._.char_ents:
        assert end <= start < stop <= len(doc.text)
        assert doc.text[start:stop].strip() == doc.text[start:stop]
        assert label in ("LOC", "ORG", "PER")
        end = stop


@CONTEXT
@given(text=st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text(trained: Language, text: str) -> None:
    doc = trained(text)
    assert doc.text == text
    check_spans(doc)


def test_long_texts_are_cut_and_put_together(trained: Language, copy_of: Copy) -> None:
    """No two of the sentences fit into a segment: their entities are found as one by one."""
    nlp = copy_of(trained, max_length=12, overlap=6)
    sentences = [text for text in TEXTS if text[-1] in "。！"] * 20
    doc = nlp("".join(sentences))
    assert entities(doc) == [entity for text in sentences for entity in marked(text)]


def test_a_hundred_thousand_characters_without_punctuation(trained: Language) -> None:
    before = peak_megabytes()
    text = "王小明昨天去了上海" * 11_112
    doc = trained(text)
    assert len(doc) == len(text)
    # Forced cuts, too: at every border between two of them both are found.
    assert len(doc.ents) > 20_000
    assert peak_megabytes() - before < 400


def test_a_million_characters(trained: Language, copy_of: Copy) -> None:
    nlp = copy_of(trained, max_length=30, overlap=10)
    text = "王小明昨天去了上海。" * 100_000
    # Not by the pipeline's tokenizer, which takes a minute.
    doc = Doc(nlp.vocab, list(text), [False] * len(text))
    before = peak_megabytes()
    nlp(doc)
    assert len(doc.ents) == 200_000
    assert peak_megabytes() - before < 700


def peak_megabytes() -> float:
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / 1024 if sys.platform == "linux" else size / 1024**2


# Other components


def test_beside_spacys_own_components() -> None:
    nlp = blank()
    nlp.add_pipe("sentencizer", config={"punct_chars": ["。", "！"]})
    ruler = nlp.add_pipe("entity_ruler")
    nlp.add_pipe("tagger")
    add_flat(nlp)
    nlp.add_pipe("ner")
    examples = examples_of(nlp)
    for example in examples:
        for token in example.reference:
            token.tag_ = "PU" if token.is_punct else "X"
    losses = train(nlp, examples)
    assert losses[-1] < 0.1
    ruler.add_patterns([{"label": "DATE", "pattern": "昨天"}])  # type: ignore[attr-defined]
    doc = nlp("王小明昨天去了上海。")
    assert {("DATE", "昨天"), ("PER", "王小明"), ("LOC", "上海")} <= set(entities(doc))
    assert doc._.char_ents == GOLD[1]
    assert doc[-1].tag_
    assert len(list(doc.sents)) == 1
    scores = nlp.evaluate(examples_of(nlp))
    assert scores["chars_f"] == 1.0


def test_existing_entities_stay_unless_overwritten(trained: Language, copy_of: Copy) -> None:
    for overwrite, expected in (
        (False, [("FAC", "小明昨"), ("LOC", "上海")]),
        (True, [("PER", "王小明"), ("LOC", "上海")]),
    ):
        nlp = copy_of(trained)
        flat(nlp).overwrite = overwrite
        doc = nlp.make_doc("王小明昨天去了上海。")
        doc.ents = [Span(doc, 1, 4, "FAC")]  # type: ignore[assignment]
        assert entities(nlp(doc)) == expected
        assert doc._.char_ents == GOLD[1]


def test_blocked_tokens_stay_free(trained: Language) -> None:
    doc = trained.make_doc("王小明昨天去了上海。")
    doc.set_ents([], blocked=[doc[0:1]], default="unmodified")
    assert entities(trained(doc)) == [("LOC", "上海")]


def test_select_pipes(trained: Language) -> None:
    with trained.select_pipes(disable=["flat_ner"]):
        assert trained("上海").ents == ()
    assert entities(trained("上海")) == [("LOC", "上海")]


def test_analysis_knows_what_is_assigned(trained: Language) -> None:
    summary = trained.analyze_pipes()["summary"]["flat_ner"]
    assert "doc._.char_ents" in summary["assigns"]
    assert "doc.ents" in summary["assigns"]


# Before there is a network


def test_not_initialised() -> None:
    nlp = blank()
    ner = add_flat(nlp)
    with pytest.raises(ValueError, match=r"F303.*'flat_ner'.*nlp\.initialize"):
        nlp("上海")
    with pytest.raises(ValueError, match="F303"):
        nlp.update(examples_of(nlp))
    assert ner.labels == ()
    assert len(ner.lexicon) == 0


def test_not_initialised_is_saved_and_loaded(tmp_path: Path) -> None:
    nlp = blank()
    add_flat(nlp).add_label("LOC")
    nlp.to_disk(tmp_path)
    again = blank()
    add_flat(again)
    copies = [
        spacy.load(tmp_path),
        again.from_bytes(nlp.to_bytes()),
        pickle.loads(pickle.dumps(nlp)),
        copy.deepcopy(nlp),
    ]
    for loaded in copies:
        assert flat(loaded).labels == ("LOC",)
        train(loaded)
        assert found(loaded) == GOLD


def test_no_label() -> None:
    nlp = blank()
    ner = add_flat(nlp)
    examples = [char_example(nlp, "上海", [])]
    with pytest.raises(ValueError, match=r"F301.*initialize\.components\.flat_ner\.labels"):
        ner.initialize(lambda: examples, lexicon=lexicon())
    with pytest.raises(ValueError, match="F301"):
        ner.initialize(lambda: examples, lexicon=lexicon(), labels=[])


@pytest.mark.parametrize("label", ["", 3, None])
def test_wrong_labels(label: Any) -> None:
    nlp = blank()
    ner = add_flat(nlp)
    with pytest.raises(ValueError, match=rf"F302.*{label!r}"):
        ner.add_label(label)
    with pytest.raises(ValueError, match="F302"):
        ner.initialize(lambda: examples_of(nlp), lexicon=lexicon(), labels=["LOC", label])
    with pytest.raises(TypeError, match="F026"):
        ner.initialize(lambda: examples_of(nlp), lexicon=lexicon(), labels="LOC")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layers": 0}, r"F305.*network: layers = 0 .*1 or more"),
        ({"num_heads": 0}, "F305.*num_heads"),
        ({"head_dim": -2}, "F305.*head_dim"),
        ({"ff": 0}, "F305.*ff"),
        ({"embed_dropout": 1.0}, r"F305.*embed_dropout = 1\.0 .*below 1"),
        ({"lattice_dropout": -0.1}, "F305.*lattice_dropout"),
        ({"output_dropout": 2}, "F305.*output_dropout"),
        ({"ff_dropout": 1.5}, "F305.*ff_dropout"),
        ({"attn_dropout": 1}, "F305.*attn_dropout"),
        ({"key_dropout": 1}, "F305.*key_dropout"),
        ({"word_dropout": 1}, "F305.*word_dropout"),
        ({"word_features": ["type", "type"]}, "F305.*word_features.*repetitions"),
    ],
)
def test_impossible_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FLATOptions(**options)
    with pytest.raises(ValueError, match=message):
        add_flat(blank(), {"model": {"network": options}})


def test_options_of_the_config_are_checked() -> None:
    with pytest.raises(ValueError, match="F300"):
        add_flat(blank(), {"model": {"lattice": {"max_length": 50, "overlap": 30}}})
    for wrong in ({"fusion": "no"}, {"layers": "many"}, {"no_such_option": 1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            add_flat(blank(), {"model": {"network": wrong}})
    with pytest.raises(ValueError, match="on_misaligned"):
        add_flat(blank(), on_misaligned="keep")


# Labels


def test_labels_of_the_examples(trained: Language) -> None:
    assert flat(trained).labels == ("LOC", "ORG", "PER")
    assert flat(trained).label_data == ("LOC", "ORG", "PER")
    assert trained.pipe_labels["flat_ner"] == ["LOC", "ORG", "PER"]


def test_labels_given_and_added() -> None:
    nlp = blank()
    ner = add_flat(nlp)
    assert ner.add_label("ORG") == 1
    assert ner.add_label("ORG") == 0
    ner.initialize(lambda: examples_of(nlp), lexicon=lexicon(), labels=["PER", "GPE", "PER"])
    assert ner.labels == ("PER", "GPE", "ORG")
    assert "GPE" in nlp.vocab.strings


def test_labels_added_before_any_data() -> None:
    """`nlp.initialize()` without examples, as in spaCy's first steps."""
    nlp = blank()
    add_flat(nlp).add_label("LOC")
    nlp.config["initialize"]["components"]["flat_ner"] = {"lexicon": {"@misc": "test.lexicon"}}
    optimizer = nlp.initialize()
    for _ in range(40):
        nlp.update([char_example(nlp, *pair) for pair in (SH, NJ)], sgd=optimizer)
    assert found(nlp, ["上海"]) == [[(0, 2, "LOC")]]


SH = ("上海", [(0, 2, "LOC")])
NJ = ("他在南京", [(2, 4, "LOC")])


def test_label_added_to_a_trained_network(trained: Language, copy_of: Copy) -> None:
    nlp = copy_of(trained)
    assert flat(nlp).add_label("DATE") == 1
    assert flat(nlp).add_label("DATE") == 0
    for label in ("LOC", "ORG", "PER"):
        assert flat(nlp).add_label(label) == 0
    module = flat(nlp).model.shims[0].module
    with torch.no_grad():  # a new label has learnt nothing yet: let it be unlikely
        module.classify.bias[-4:] = -50.0
    assert found(nlp) == GOLD
    examples = [*examples_of(nlp), char_example(nlp, "昨天下雨。", [(0, 2, "DATE")])]
    optimizer = AdamW(0.02)
    for _ in range(40):
        nlp.update(examples, sgd=optimizer)
    assert entities(nlp("昨天下雨。")) == [("DATE", "昨天")]
    assert found(nlp)[0] == GOLD[0]
    assert flat(copy_of(nlp)).labels == ("LOC", "ORG", "PER", "DATE")


def test_new_labels_met_in_training_are_added(trained: Language, copy_of: Copy) -> None:
    """As spaCy's `ner` does: a streamed corpus is not read for labels to its end."""
    nlp = copy_of(trained)
    example = char_example(nlp, "昨天下雨。", [(0, 2, "DATE")])
    nlp.update([example], sgd=AdamW(0.01))
    assert flat(nlp).labels == ("LOC", "ORG", "PER", "DATE")


def test_loss_of_an_unknown_label(trained: Language) -> None:
    ner = flat(trained)
    example = char_example(trained, "昨天下雨。", [(0, 2, "DATE")])
    emissions = list(ner.model.predict([example.predicted]))
    with pytest.raises(ValueError, match=r"F233.*DATE"):
        ner.get_loss([example], emissions)


# Training


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda: Adam(0.02),
        lambda: SGD(0.02, momentum=0.9),
        lambda: AdamW(0.02, use_averages=True),
    ],
    ids=["Adam", "SGD", "AdamW"],
)
def test_optimizers(optimizer: Callable[[], Any]) -> None:
    nlp = blank()
    add_flat(nlp)
    train(nlp, steps=0)
    sgd = optimizer()
    for _ in range(40):
        nlp.update(examples_of(nlp), sgd=sgd)
    assert found(nlp) == GOLD


def test_averages() -> None:
    nlp = blank()
    add_flat(nlp)
    train(nlp, steps=2)
    sgd = AdamW(0.02, use_averages=True)
    for _ in range(5):
        nlp.update(examples_of(nlp), sgd=sgd)
    weight = flat(nlp).model.shims[0].module.classify.weight
    last = weight.detach().clone()
    with nlp.use_params(sgd.averages):
        assert not torch.equal(weight, last)
    assert torch.equal(weight, last)


def test_same_seed_same_network() -> None:
    weights = []
    for _ in range(2):
        nlp = blank()
        add_flat(nlp)
        train(nlp, steps=3)
        weights.append(nlp.to_bytes(exclude=["vocab"]))
    assert weights[0] == weights[1]


def test_examples_without_annotation_teach_nothing(trained: Language, copy_of: Copy) -> None:
    nlp = copy_of(trained)
    before = flat(nlp).model.to_bytes()
    silent = [Example(nlp.make_doc(text), nlp.make_doc(text)) for text in ("上海", "")]
    assert nlp.update(silent, sgd=AdamW(0.1)) == {"flat_ner": 0.0}
    assert flat(nlp).model.to_bytes() == before


def test_examples_without_annotation_do_not_change_the_loss(trained: Language) -> None:
    ner = flat(trained)
    told = examples_of(trained)[:3]
    silent = Example(trained.make_doc("上海在北京"), trained.make_doc("上海在北京"))

    def loss(examples: list[Example]) -> tuple[float, float]:
        emissions = list(ner.model.predict([example.predicted for example in examples]))
        value, gradients = ner.get_loss(examples, emissions)
        ner.model.shims[0].module.zero_grad()
        return value, sum(float(gradient.abs().sum()) for gradient in gradients)

    assert loss([told[0], silent, *told[1:]]) == pytest.approx(loss(told), rel=1e-3)
    assert loss([silent]) == (0.0, 0.0)


def test_gradient_is_that_of_the_loss(trained: Language, copy_of: Copy) -> None:
    """Small steps against the gradient of the emissions lower the loss as they should."""
    nlp = copy_of(trained)
    ner = flat(nlp)
    fix_random_seed(3)
    example = char_example(nlp, "王小明在上海", [(0, 3, "ORG"), (4, 6, "PER")])
    (part,) = ner.model.predict([example.predicted])
    loss, (gradient,) = ner.get_loss([example], [part])
    step = 1e-2 * torch.randn_like(part.scores)
    higher, _ = ner.get_loss([example], [replace(part, scores=part.scores + step)])
    lower, _ = ner.get_loss([example], [replace(part, scores=part.scores - step)])
    assert (higher - lower) / 2 == pytest.approx(float((gradient * step).sum()), rel=1e-2)
    assert loss > 0


def test_reference_with_other_white_space() -> None:
    nlp = blank()
    add_flat(nlp)
    example = char_example(nlp, "王小明 在上海", [(0, 3, "PER"), (5, 7, "LOC")])
    example = Example(nlp.make_doc("王小明在 上海"), example.reference)
    train(nlp, [example], steps=30)
    assert found(nlp, ["王小明在 上海"]) == [[(0, 3, "PER"), (5, 7, "LOC")]]
    other = Example(nlp.make_doc("王小明在上海滩"), example.reference)
    with pytest.raises(ValueError, match=r"F304.*王小明 在上海.*王小明在上海滩"):
        nlp.update([other])


def test_long_examples_are_learnt_in_segments() -> None:
    nlp = blank()
    lattice = {"embed_width": 16, "max_length": 12, "overlap": 4}
    add_flat(nlp, {"model": {"network": NETWORK, "lattice": lattice}})
    text = "".join(TEXTS)
    starts = [sum(map(len, TEXTS[:number])) for number in range(len(TEXTS))]
    spans = [
        (start + offset, end + offset, label)
        for offset, gold in zip(starts, GOLD, strict=True)
        for start, end, label in gold
    ]
    train(nlp, [char_example(nlp, text, spans)], steps=40)
    assert found(nlp, [text]) == [spans]


def test_memory_of_training_does_not_grow_with_the_text(trained: Language, copy_of: Copy) -> None:
    nlp = copy_of(trained)
    sentence = "王小明昨天去了上海。"
    text = sentence * 5000
    spans = [
        (start + 10 * number, end + 10 * number, label)
        for number in range(5000)
        for start, end, label in [(0, 3, "PER"), (7, 9, "LOC")]
    ]
    example = char_example(nlp, text, spans)
    nlp.update([char_example(nlp, sentence, spans[:2])], sgd=AdamW(0.001))
    before = peak_megabytes()
    losses = nlp.update([example], sgd=AdamW(0.001), losses={})
    assert losses["flat_ner"] < 1
    assert peak_megabytes() - before < 300


def test_rehearsing_and_resuming(trained: Language, copy_of: Copy) -> None:
    nlp = copy_of(trained)
    optimizer = nlp.resume_training()
    assert nlp.rehearse(examples_of(nlp), sgd=optimizer) is not None
    nlp.update(examples_of(nlp), sgd=optimizer)
    assert found(nlp) == GOLD


def test_initialising_again_forgets(trained: Language, copy_of: Copy) -> None:
    nlp = copy_of(trained)
    losses = train(nlp, steps=1)
    assert losses[0] > 1.0
    assert found(nlp) != GOLD


def test_an_empty_lexicon_is_taken_as_it_is() -> None:
    """And not for none, which is jieba's."""
    nlp = blank()
    ner = add_flat(nlp)
    ner.initialize(lambda: examples_of(nlp), lexicon=Lexicon())
    assert len(ner.lexicon) == 0
    assert nlp("上海").text == "上海"


def test_words_added_to_a_trained_pipeline(trained: Language, copy_of: Copy) -> None:
    nlp = copy_of(trained)
    words = flat(nlp).lexicon
    words.add(["韩梅梅"], type="nr")
    words.add(["新闻茶"], type="drug", frequency=7)
    assert found(nlp)[5] == GOLD[5]
    check_spans(nlp("今天没有新闻茶，韩梅梅。"))
    loaded = copy_of(nlp)
    assert "韩梅梅" in flat(loaded).lexicon
    texts = [*TEXTS, "今天没有新闻茶，韩梅梅。"]
    assert found(loaded, texts) == found(nlp, texts)


def vectors_of(*keys: str, width: int = 6) -> TextVectors:
    rows = torch.randn(len(keys), width, generator=torch.Generator().manual_seed(1))
    return TextVectors(list(keys), rows.numpy())


@pytest.mark.parametrize("fine_tune", [True, False])
def test_pretrained_vectors(fine_tune: bool) -> None:
    nlp = blank()
    lattice = {"embed_width": 16, "fine_tune": fine_tune}
    ner = add_flat(nlp, {"model": {"network": NETWORK, "lattice": lattice}})
    ner.initialize(
        lambda: examples_of(nlp),
        lexicon=lexicon(),
        char_vectors=vectors_of(*"上海津", width=5),
        bigram_vectors=vectors_of("上海", "天津", width=6),
        word_vectors=vectors_of("上海", "北京", "天津", width=7),
    )
    module = ner.model.shims[0].module
    encoder = ner.model.attrs["encoder"]
    key = int(encoder.chars.look_up(torch.tensor([ord("上")]).numpy().astype("uint64"))[0])
    assert (key <= encoder.chars.n_trained) is fine_tune

    def vector() -> torch.Tensor:
        with torch.no_grad():
            return module.chars(torch.tensor(key)).clone()

    before = vector()
    assert float(before.norm()) == pytest.approx(1.0, rel=1e-5)
    sgd = AdamW(0.02)
    for _ in range(40):
        nlp.update(examples_of(nlp), sgd=sgd)
    assert found(nlp) == GOLD
    assert torch.equal(before, vector()) is not fine_tune


# With a tok2vec

HASH_EMBED = {
    "@architectures": "spacy.HashEmbedCNN.v2",
    "pretrained_vectors": None,
    "width": 12,
    "depth": 1,
    "embed_size": 50,
    "window_size": 1,
    "maxout_pieces": 2,
    "subword_features": False,
}
LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": 12, "upstream": "*"}


def with_upstream(segmenter: str, shared: bool) -> tuple[Language, Any]:
    """A pipeline with a tok2vec of its own or a shared one, and the tok2vec's model."""
    nlp = blank(segmenter)
    if shared:
        nlp.add_pipe("tok2vec", config={"model": HASH_EMBED})
    ner = add_flat(nlp, {"model": {**TINY["model"], "tok2vec": LISTENER if shared else HASH_EMBED}})
    upstream = nlp.get_pipe("tok2vec").model if shared else ner.model.get_ref("tok2vec")  # type: ignore[attr-defined]
    return nlp, upstream


@pytest.mark.parametrize("segmenter", ["char", "jieba"])
@pytest.mark.parametrize("shared", [False, True], ids=["own", "listener"])
def test_tok2vec(segmenter: str, shared: bool, tmp_path: Path) -> None:
    nlp, upstream = with_upstream(segmenter, shared)
    train(nlp, steps=1)
    before = upstream.to_bytes()
    silent = Example(nlp.make_doc("上海 在\n北京"), nlp.make_doc("上海 在\n北京"))
    empty = char_example(nlp, "", [])
    sgd = AdamW(0.02)
    for _ in range(40):
        nlp.update([*examples_of(nlp), silent, empty], sgd=sgd)
    assert upstream.to_bytes() != before
    assert found(nlp) == GOLD
    assert found(nlp, ["", " ", "王小明昨天去了上海。"]) == [[], [], GOLD[1]]
    assert list(nlp.pipe([])) == []
    nlp.to_disk(tmp_path)
    assert found(spacy.load(tmp_path)) == GOLD


def test_characters_have_their_tokens_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    nlp, upstream = with_upstream("jieba", shared=False)
    train(nlp, steps=1)
    docs = [nlp.make_doc(text) for text in ("😀公司 在南京 开会 ", "", "南京市长江大桥\n\n来了")]
    vectors = upstream.predict(docs)
    seen: list[tuple[Any, torch.Tensor]] = []
    module = flat(nlp).model.shims[0].module
    monkeypatch.setattr(module, "forward", lambda *inputs: seen.append(inputs))
    list(flat(nlp).model.predict(docs))
    ((batch, given),) = seen
    for row, segment in enumerate(batch.segments):
        doc = docs[segment.text]
        for token in doc:
            for place in range(token.idx, token.idx + len(token)):
                assert given[row, place].tolist() == vectors[segment.text][token.i].tolist()
        spaces = [token.idx + len(token) for token in doc if token.whitespace_]
        assert not given[row, spaces].any()
        assert not given[row, len(doc.text) :].any()


def test_gradient_of_a_tok2vec() -> None:
    """What flows back is the derivative of the loss by the tokens' vectors."""
    nlp, upstream = with_upstream("jieba", shared=False)
    train(nlp, steps=2)
    ner = flat(nlp)
    example = char_example(nlp, "😀公司 在南京 开会", GOLD[7])
    vectors = upstream.predict([example.predicted])
    seen = {}

    def forward(model: Any, docs: list[Doc], is_train: bool) -> Any:
        return vectors, lambda gradient: seen.update(gradient=gradient) or []

    upstream._func = forward
    emissions, backprop = ner.model.begin_update([example.predicted])
    parts = list(emissions)
    backprop(zip(parts, ner.get_loss([example], parts)[1], strict=True))  # type: ignore[arg-type]
    (gradient,) = seen["gradient"]
    assert gradient.shape == vectors[0].shape

    def loss() -> float:
        return ner.get_loss([example], ner.model.begin_update([example.predicted])[0])[0]

    for token in range(len(example.predicted)):
        step = 0.02 * gradient[token] / abs(gradient[token]).max()
        vectors[0][token] += step
        higher = loss()
        vectors[0][token] -= 2 * step
        lower = loss()
        vectors[0][token] += step
        slope = float((gradient[token] * step).sum())
        assert (higher - lower) / 2 == pytest.approx(slope, rel=0.02, abs=1e-5)


def test_empty_batch_with_a_tok2vec() -> None:
    nlp, _ = with_upstream("char", shared=False)
    train(nlp, steps=1)
    ner = flat(nlp)
    assert ner.predict([]) == []
    assert ner.predict([nlp.make_doc("")]) == [[]]


# Saving and loading


def copies_of(nlp: Language, folder: Path) -> Iterator[Language]:
    nlp.to_disk(folder)
    yield spacy.load(folder)
    yield spacy.util.load_model_from_config(nlp.config).from_bytes(nlp.to_bytes())
    yield pickle.loads(pickle.dumps(nlp))
    yield copy.deepcopy(nlp)
    sourced = blank()
    sourced.add_pipe("flat_ner", source=nlp)
    yield sourced


def components_of(nlp: Language) -> str:
    """As JSON, which has lists for tuples."""
    return json.dumps(nlp.config["components"], sort_keys=True)


def test_copies_find_the_same(trained: Language, tmp_path: Path) -> None:
    texts = [*TEXTS, "韩梅梅去北京大学。", "南京市的药店开业！"]
    expected = found(trained, texts)
    for nlp in copies_of(trained, tmp_path):
        assert found(nlp, texts) == expected
        assert flat(nlp).labels == flat(trained).labels
        assert components_of(nlp) == components_of(trained)


def test_copies_can_be_trained_on(trained: Language, tmp_path: Path) -> None:
    for nlp in copies_of(trained, tmp_path):
        nlp.update(examples_of(nlp), sgd=AdamW(0.001))
        assert found(nlp) == GOLD


def test_a_copy_is_apart(trained: Language) -> None:
    nlp = copy.deepcopy(trained)
    train(nlp, steps=1)
    flat(nlp).lexicon.add(["天津"])
    assert found(trained) == GOLD
    assert "天津" not in flat(trained).lexicon


def test_loading_executes_nothing_from_the_files(
    trained: Language, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained.to_disk(tmp_path)

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("loading unpickles")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    monkeypatch.setattr(torch, "load", refuse)
    assert found(spacy.load(tmp_path)) == GOLD


def test_the_vocabulary_is_stored_once(trained: Language, tmp_path: Path) -> None:
    trained.to_disk(tmp_path)
    assert sorted(path.name for path in (tmp_path / "flat_ner").iterdir()) == ["cfg", "model"]


def test_the_same_pipeline_gives_the_same_files(trained: Language, tmp_path: Path) -> None:
    model = Path("flat_ner", "model")
    trained.to_disk(tmp_path / "a")
    spacy.load(tmp_path / "a").to_disk(tmp_path / "b")
    assert (tmp_path / "a" / model).read_bytes() == (tmp_path / "b" / model).read_bytes()


def test_exclude(trained: Language, tmp_path: Path) -> None:
    ner = flat(trained)
    ner.to_disk(tmp_path / "some", exclude=["vocab", "cfg"])
    assert [path.name for path in (tmp_path / "some").iterdir()] == ["model"]
    nlp = blank()
    fresh = add_flat(nlp)
    fresh.from_bytes(ner.to_bytes(exclude=["vocab"]), exclude=["model"])
    assert fresh.labels == ner.labels
    assert not fresh.model.shims[0].is_initialised
    trained.to_disk(tmp_path / "all", exclude=["flat_ner"])
    assert not (tmp_path / "all" / "flat_ner").exists()


def test_labels_of_a_loaded_pipeline_need_no_vocabulary(trained: Language) -> None:
    nlp = spacy.util.load_model_from_config(trained.config)
    nlp.from_bytes(trained.to_bytes(exclude=["vocab"]), exclude=["vocab"])
    assert [entities(doc) for doc in nlp.pipe(TEXTS)] == [marked(text) for text in TEXTS]


def test_damaged_model(trained: Language, tmp_path: Path) -> None:
    """Another architecture's options than those the weights are of."""
    trained.to_disk(tmp_path)
    config = spacy.util.load_config(tmp_path / "config.cfg")
    assert config["components"]["flat_ner"]["model"]["network"]["layers"] == 1
    path = tmp_path / "flat_ner" / "model"
    data = path.read_bytes()
    place = data.index(b"classify.weight")
    path.write_bytes(data[:place] + b"classify.wEight" + data[place + 15 :])
    with pytest.raises(ValueError, match="F20"):
        spacy.load(tmp_path)


# Many texts


def mixed_texts() -> st.SearchStrategy[list[str]]:
    one = st.sampled_from([*TEXTS, "", " ", "😀"])
    return st.lists(st.one_of(one, st.lists(one, max_size=4).map("".join)), max_size=12)


@CONTEXT
@given(texts=mixed_texts(), batch_size=st.integers(1, 12), nodes=st.integers(1, 300))
def test_pipe_is_one_by_one(
    trained: Language, texts: list[str], batch_size: int, nodes: int
) -> None:
    encoder = flat(trained).model.attrs["encoder"]
    before = encoder.options
    expected = [(entities(doc), doc._.char_ents) for doc in map(trained, texts)]
    encoder.options = replace(before, batch_nodes=nodes)
    try:
        docs = list(trained.pipe(texts, batch_size=batch_size))
    finally:
        encoder.options = before
    assert [(entities(doc), doc._.char_ents) for doc in docs] == expected
    assert [doc.text for doc in docs] == texts


def test_as_tuples(trained: Language) -> None:
    pairs = [(text, {"number": number}) for number, text in enumerate(TEXTS)]
    for number, (doc, context) in enumerate(trained.pipe(pairs, as_tuples=True, batch_size=3)):
        assert context == {"number": number}
        assert entities(doc) == marked(TEXTS[number])


def test_a_text_that_fails_is_left_to_the_error_handler(
    trained: Language, copy_of: Copy, monkeypatch: pytest.MonkeyPatch
) -> None:
    nlp = copy_of(trained)
    failed: list[str] = []
    nlp.set_error_handler(lambda name, proc, docs, error: failed.extend(d.text for d in docs))
    predict = flat(nlp).predict

    def fail(docs: list[Doc]) -> Any:
        if any("新闻" in doc.text for doc in docs):
            raise RuntimeError("no")
        return predict(docs)

    monkeypatch.setattr(flat(nlp), "predict", fail)
    docs = list(nlp.pipe(TEXTS, batch_size=1))
    assert failed == ["今天没有新闻。"]
    assert len(docs) == len(TEXTS) - 1


def test_memory_zone(trained: Language) -> None:
    texts = [f"编号{number}的人去了上海。" for number in range(50)]
    expected = found(trained, texts)
    size = len(trained.vocab.strings)
    for _ in range(2):
        with trained.memory_zone():
            assert found(trained, texts) == expected
    assert len(trained.vocab.strings) == size
    assert found(trained) == GOLD


WORKERS = """
import multiprocessing, pickle, sys
import torch

def main():
    torch.set_num_threads(2)
    torch.rand(500, 500) @ torch.rand(500, 500)  # torch now has threads, which no fork copies
    with open(sys.argv[1], "rb") as file:
        nlp, texts = pickle.load(file)
    multiprocessing.set_start_method(sys.argv[2])
    here = [doc._.char_ents for doc in nlp.pipe(texts)]
    docs = list(nlp.pipe(texts, n_process=2, batch_size=2))
    assert [doc._.char_ents for doc in docs] == here
    assert any(doc.ents for doc in docs)

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_worker_processes(trained: Language, tmp_path: Path, method: str) -> None:
    if method == "fork" and sys.platform != "linux":
        pytest.skip("fork is for Linux")
    data, script = tmp_path / "data", tmp_path / "workers.py"
    data.write_bytes(pickle.dumps((trained, TEXTS)))
    script.write_text(WORKERS, encoding="utf-8")
    subprocess.run([sys.executable, script, data, method], check=True, timeout=200)


# Scores


def scored(nlp: Language, text: str, gold: list[tuple[int, int, str]]) -> Example:
    """An example whose predicted Doc is what the pipeline makes of the text."""
    example = char_example(nlp, text, gold)
    return Example(nlp(text), example.reference)


def test_scores_are_spacys(trained: Language) -> None:
    examples = [scored(trained, *pair) for pair in zip(TEXTS, GOLD, strict=True)]
    wrong = spans_of(TEXTS[0], ["ORG 人和", "PER 药店", "LOC 重庆"])
    examples.append(scored(trained, TEXTS[0], wrong))
    scores = score_entities(examples)
    assert {**scores, **get_ner_prf(examples)} == scores
    assert scores["ents_p"] == scores["chars_p"] == pytest.approx(17 / 18)
    assert scores["ents_r"] == scores["chars_r"] == pytest.approx(17 / 19)
    assert set(scores["ents_per_type"]) == {"LOC", "ORG", "PER"}


def test_characters_score_apart_from_tokens(jieba_trained: Language) -> None:
    """江大桥 in the token 长江大桥: found exactly, though no tokens are it."""
    scores = score_entities([scored(jieba_trained, TEXTS[2], GOLD[2])])
    assert scores["chars_f"] == 1.0
    assert scores["ents_f"] == 0.0
    assert score_entities([scored(jieba_trained, TEXTS[1], GOLD[1])])["ents_f"] == 1.0


def test_nothing_to_score(trained: Language) -> None:
    silent = Example(trained("上海"), trained.make_doc("上海"))
    for examples in ([], [silent]):
        scores = score_entities(examples)
        assert set(scores.values()) == {None}
        assert {"ents_f", "chars_p", "chars_r", "chars_f", "ents_per_type"} <= set(scores)
    none_found = score_entities([scored(trained, "今天没有新闻。", [])])
    assert none_found["chars_f"] is None
    missed = score_entities([scored(trained, "今天没有新闻。", [(0, 2, "DATE")])])
    assert missed["chars_f"] == missed["ents_f"] == 0.0


def test_evaluate(trained: Language) -> None:
    scores = trained.evaluate(examples_of(trained))
    assert scores["ents_f"] == scores["chars_f"] == 1.0


def test_without_scorer(trained: Language) -> None:
    nlp = blank()
    assert add_flat(nlp, scorer=None).scorer is None


def test_char_ents_survive_a_doc_bin(trained: Language) -> None:
    bin_ = DocBin(store_user_data=True, docs=[trained(TEXTS[0])])
    (doc,) = DocBin().from_bytes(bin_.to_bytes()).get_docs(trained.vocab)
    assert doc._.char_ents == GOLD[0]
    assert Doc(trained.vocab).from_bytes(trained(TEXTS[0]).to_bytes())._.char_ents == GOLD[0]
    assert trained.make_doc("上海")._.char_ents == []


# spaCy's commands


@pytest.fixture(scope="module")
def workplace(trained: Language, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a trained pipeline, its data and a config to train with."""
    folder = tmp_path_factory.mktemp("workplace")
    trained.to_disk(folder / "pipeline")
    DocBin(docs=[example.reference for example in examples_of(trained)]).to_disk(
        folder / "data.spacy"
    )
    nlp = blank()
    add_flat(nlp)
    config = nlp.config.copy()
    config["paths"] = {
        **{name: str(folder / "data.spacy") for name in ("train", "dev")},
        "vectors": None,
        "init_tok2vec": None,
    }
    config["initialize"]["components"] = {"flat_ner": {"lexicon": {"@misc": "test.lexicon"}}}
    config["training"].update(max_steps=4, eval_frequency=2, patience=0)
    config["training"]["optimizer"] = {
        "@optimizers": "spacy-flat.AdamW.v1",
        "learn_rate": 0.01,
        "use_averages": True,
    }
    config.to_disk(folder / "config.cfg")
    return folder


def spacy_command(*arguments: object) -> str:
    """Run a command of spaCy in this process."""
    import spacy.cli  # noqa: F401  (knows the commands)
    from spacy.cli._util import app
    from typer.testing import CliRunner

    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def test_train_and_evaluate(workplace: Path, tmp_path: Path) -> None:
    spacy_command("train", workplace / "config.cfg", "--output", tmp_path)
    assert flat(spacy.load(tmp_path / "model-last")).labels == ("LOC", "ORG", "PER")
    metrics = tmp_path / "metrics.json"
    spacy_command("evaluate", workplace / "pipeline", workplace / "data.spacy", "--output", metrics)
    scores = json.loads(metrics.read_text(encoding="utf-8"))
    assert scores["ents_f"] == scores["chars_f"] == 1.0
    assert scores["ents_per_type"]["PER"]["f"] == 1.0


def test_train_beside_frozen_and_annotating_components(workplace: Path, tmp_path: Path) -> None:
    """A trained flat_ner is taken over frozen and annotates for another one, which listens to a
    tok2vec that is trained, too."""
    config = spacy.util.load_config(workplace / "config.cfg")
    second = config["components"].pop("flat_ner")
    second["model"]["tok2vec"] = LISTENER
    config["components"]["old"] = {
        "source": str(workplace / "pipeline"),
        "component": "flat_ner",
    }
    config["components"]["tok2vec"] = {"factory": "tok2vec", "model": HASH_EMBED}
    config["components"]["new"] = {**second, "overwrite": True}
    config["nlp"]["pipeline"] = ["old", "tok2vec", "new"]
    config["training"]["frozen_components"] = ["old"]
    config["training"]["annotating_components"] = ["old"]
    settings = config["initialize"]["components"].pop("flat_ner")
    config["initialize"]["components"]["new"] = settings
    config.to_disk(tmp_path / "config.cfg")
    spacy_command("train", tmp_path / "config.cfg", "--output", tmp_path)
    nlp = spacy.load(tmp_path / "model-last")
    assert nlp.pipe_names == ["old", "tok2vec", "new"]
    with nlp.select_pipes(enable=["old"]):
        assert found(nlp) == GOLD


def test_init_labels(workplace: Path, tmp_path: Path) -> None:
    spacy_command("init", "labels", workplace / "config.cfg", tmp_path)
    labels = tmp_path / "flat_ner.json"
    assert json.loads(labels.read_text(encoding="utf-8")) == ["LOC", "ORG", "PER"]
    config = spacy.util.load_config(workplace / "config.cfg")
    reader = {"@readers": "spacy.read_labels.v1", "path": str(labels)}
    config["initialize"]["components"]["flat_ner"]["labels"] = reader
    nlp = spacy.training.initialize.init_nlp(config)
    assert flat(nlp).labels == ("LOC", "ORG", "PER")


def test_fill_and_debug_config(workplace: Path, tmp_path: Path) -> None:
    base = tmp_path / "base.cfg"
    base.write_text(
        "[nlp]\nlang = 'zh'\npipeline = ['flat_ner']\n"
        "[components]\n[components.flat_ner]\nfactory = 'flat_ner'\n".replace("'", '"'),
        encoding="utf-8",
    )
    filled = tmp_path / "filled.cfg"
    spacy_command("init", "fill-config", base, filled)
    config = spacy.util.load_config(filled)
    model = config["components"]["flat_ner"]["model"]
    assert model["network"]["fusion"] == FLATOptions().fusion
    assert model["network"]["word_features"] == list(FLATOptions().word_features)
    assert model["lattice"]["max_length"] == 200
    assert config["training"]["score_weights"]["ents_f"] == 1.0
    spacy_command("debug", "config", workplace / "config.cfg")


def test_assemble(workplace: Path, tmp_path: Path) -> None:
    config = spacy.util.load_config(workplace / "config.cfg")
    config["components"] = {"flat_ner": {"source": str(workplace / "pipeline")}}
    config.to_disk(tmp_path / "config.cfg")
    spacy_command("assemble", tmp_path / "config.cfg", tmp_path / "out")
    assert found(spacy.load(tmp_path / "out")) == GOLD


def test_apply(workplace: Path, tmp_path: Path) -> None:
    texts = tmp_path / "texts.jsonl"
    lines = [json.dumps({"text": text}) for text in TEXTS]
    texts.write_text("\n".join(lines), encoding="utf-8")
    spacy_command("apply", workplace / "pipeline", texts, tmp_path / "out.spacy")
    docs = DocBin().from_disk(tmp_path / "out.spacy").get_docs(blank().vocab)
    assert [doc._.char_ents for doc in docs] == GOLD


def test_benchmark_speed(workplace: Path) -> None:
    output = spacy_command(
        "benchmark",
        "speed",
        workplace / "pipeline",
        workplace / "data.spacy",
        "--batches",
        30,
        "--batch-size",
        4,
    )
    assert "Benchmarking" in output


# The words of the lattice


def test_lexicon_is_the_pipelines(trained: Language) -> None:
    assert set(flat(trained).lexicon) == {entry.word for entry in WORDS}
    assert isinstance(WORDS[0], Entry)
