"""Constrained decoding: exact among all sequences, on by default, and of decoding alone."""

import random
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import spacy
import torch
from numpy.typing import NDArray
from spacy.tokens import Doc

from spacy_flat.ner.constraints import rules_of
from spacy_flat.ner.decoding import Decoding, find_entities
from spacy_flat.ner.model import BatchEmissions, Emissions
from spacy_flat.ner.network import TaggingNetwork
from spacy_flat.ner.options import NetworkOptions
from spacy_flat.ner.tags import OUTSIDE, Scheme, TagSet
from spacy_flat.text.units import EntitySpan, Segment, Unit, Units

from .conftest import Copy, Span, add_flat, blank, char_example, flat, found, spans_of, train
from .paths import legal_paths
from .paths import spans_of as entities_of

PIECES = ["人", "7", "!", "·", "|", "\n", "\u2028", "<p>", "C+", "a\t"]
LETTERS, BREAKS = set("人7Cap"), set("|\n\t\u2028")


def is_entity(text: str, start: int, end: int) -> bool:
    """In a text of the pieces above."""
    in_tag = any(text[max(0, i - 2) : i + 3].count("<p>") for i in range(start, end))
    piece = set(text[start:end])
    return bool(piece & LETTERS) and not piece & BREAKS and not (in_tag and piece & set("<p>"))


def best_by_enumeration(
    text: Units, scores: NDArray[Any], crf: Sequence[NDArray[Any]], tags: TagSet
) -> list[EntitySpan]:
    transitions, starts, ends = crf
    best: list[tuple[float, list[EntitySpan]]] = []
    for path in legal_paths(tags, len(text)):
        spans = [
            EntitySpan(int(text.starts[start]), int(text.ends[end - 1]), label)
            for start, end, label in entities_of(tags, path)
        ]
        if all(is_entity(text.text, start, end) for start, end, _ in spans):
            steps = transitions[path[:-1], path[1:]].sum() + starts[path[0]] + ends[path[-1]]
            best.append((float(scores[range(len(path)), path].sum() + steps), spans))
    return max(best)[1]


def decode(
    texts: list[Units], scores: Any, network: TaggingNetwork, constrained: bool
) -> list[list[EntitySpan]]:
    n_units = np.array([len(text) for text in texts])
    segments = [Segment(number, 0, len(text)) for number, text in enumerate(texts)]
    batch: Any = SimpleNamespace(segments=segments, n_units=n_units)
    batches = iter([BatchEmissions(batch, torch.from_numpy(scores))])
    labels = {label: [label] for label in network.tags.labels}
    decoding = Decoding(labels, constrained)
    found = find_entities(Emissions(texts, segments, batches), network, decoding, {})
    return [each.entities for each in found]


@pytest.mark.parametrize(("scheme", "labels"), [("BIOES", ("A",)), ("BIO", ("A", "B"))])
@pytest.mark.parametrize("unit", ["char", "token"])
def test_the_best_of_all_sequences(scheme: Scheme, labels: tuple[str, ...], unit: Unit) -> None:
    choice, noise = random.Random(0), np.random.default_rng(0)
    network = TaggingNetwork(NetworkOptions(scheme=scheme), labels)
    vocab, tags = spacy.blank("en").vocab, network.tags
    crf = [noise.normal(size=each.shape) for each in network.crf.parameters()]
    for parameter, values in zip(network.crf.parameters(), crf, strict=True):
        parameter.data = torch.from_numpy(values)
    texts = []
    for _ in range(40):
        words = choice.choices(PIECES, k=choice.randint(1, 3))
        texts.append(Units.as_read(Doc(vocab, words, [False] * len(words)), unit))
    scores = noise.normal(size=(len(texts), max(map(len, texts)), len(tags)))
    scores[:, :, OUTSIDE] -= 1
    expected = [best_by_enumeration(*each, crf, tags) for each in zip(texts, scores, strict=True)]
    assert decode(texts, scores, network, constrained=True) == expected
    anything = decode(texts, scores, network, constrained=False)
    assert sum(a != b for a, b in zip(anything, expected, strict=True)) > 10


@pytest.mark.parametrize(
    ("text", "entity", "is_one"),
    [
        ("John goes to Yahoo! today", "Yahoo!", True),
        ("C++", "C++", True),
        ("the <NBA> of <China Daily>", "NBA", True),
        ("the <NBA> of <China Daily>", "<China Daily>", True),
        ("若5 <x 而 北京 = 3 且 上海>2", "北京", True),
        ("若a<北京 and c>d", "北京", True),
        ("（王小明）", "（王小明）", True),
        ("（王小明）", "（王小明", False),
        ("（王小明）", "王小明）", False),
        ("赢创(上海)有限公司", "赢创(上海)有限公司", True),
        ("赢创(上海）有限公司", "赢创(上海）有限公司", True),
        ("赢创(上海)有限公司", ")有限公司", False),
        ('{"n":"张三"}', '张三"', False),
        ("“张三‘李四’王五”", "张三‘李四’王五", True),
        ("“张三‘李四”王五’", "三‘李四”王五’", False),
        ("（张三[）李四]", "张三[）李四]", False),
        ("（张三\n（李四）", "（李四）", True),
        ("O'Brien's and Macy’s", "O'Brien's", True),
        ("the Workers' Union", "Workers' Union", True),
        ("name='Anna Smith'", "Anna Smith'", False),
        ("他说'张三'来了", "张三'", False),
        ("`张三`", "`张三", False),
        ("（王小明）", "（", False),
        ("……👍", "……👍", False),
        ("北京|上海", "北京|", False),
        ("北京\r\n上海", "北京\r\n上海", False),
        ("北京\x85上海", "北京\x85上海", False),
        ("<p>北京</p>", "/p", False),
        ("<p>北京</p>", "<p>北京", False),
        ("<br/>北京<br />", "br", False),
        ('<A HREF="北京">上海</A>', "北京", False),
        ('<A HREF="北京">上海</A>', "上海", True),
    ],
)
def test_what_an_entity_is(text: str, entity: str, is_one: bool) -> None:
    start = text.index(entity)
    allowed = rules_of(Units.characters(text)).allowed
    assert allowed[start + len(entity), start] == is_one


def test_unmatched_brackets_at_the_ends_are_left_out() -> None:
    text = "（张三）】"
    moved = {(a, b): (c, d) for a, b, c, d in zip(*rules_of(Units.characters(text)).trims())}  # noqa: B905
    assert moved[0, 3] == moved[1, 4] == (1, 3)
    assert moved[0, 5] == (0, 4)
    assert not {(0, 4), (1, 3)} & moved.keys()


def test_the_constraints_are_of_decoding_alone(copy_of: Copy) -> None:
    """What violates them is learnt, and found where they are off."""
    marks = [("甲|在重庆", ["PER 甲|", "LOC 重庆"]), ("王</p>去上海", ["PER 王", "ORG </p>"])]
    gold: list[list[Span]] = [spans_of(*each) for each in marks]
    texts = [text for text, _ in marks]
    nlp = blank()
    add_flat(nlp, constrained_decoding=False)
    examples = [char_example(nlp, *each) for each in zip(texts, gold, strict=True)]
    losses = train(nlp, examples)
    assert losses[-1] < losses[0]
    assert found(nlp, texts) == gold
    assert found(copy_of(nlp), texts) == gold  # saved
    flat(nlp).alternatives = 1
    assert [doc._.ent_alternatives()[0][0] for doc in nlp.pipe(texts)] == gold
    config = nlp.config.copy()
    del config["components"]["flat_ner"]["constrained_decoding"]  # as those of older pipelines
    old = spacy.util.load_model_from_config(config).from_bytes(nlp.to_bytes())
    entities = [
        text[start:end]
        for text, spans in zip(texts, found(old, texts), strict=True)
        for start, end, _ in spans
    ]
    assert {"重庆", "王"} <= set(entities)
    assert not any(set(entity) & set("|</>") for entity in entities)
