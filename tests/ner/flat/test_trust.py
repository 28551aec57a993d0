"""Words of the lexicon that are obeyed as far as the user wants."""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest
from spacy.language import Language
from spacy.tokens import Span

from spacy_flat.lexicon import Lexicon

from ..conftest import TEXTS, Copy, entities, flat, found

TEXT = "今天没有新闻，昨天去了上海。"
TRUSTED = ["没有", "昨天"]


@pytest.fixture
def nlp(trained: Language, copy_of: Copy) -> Language:
    return copy_of(trained)


def lexicon_of(nlp: Language) -> Lexicon:
    return flat(nlp).lexicon  # type: ignore[attr-defined,no-any-return]


def test_a_prior_is_of_the_odds(nlp: Language) -> None:
    """The share 1 - trust of the odds against a word remains."""
    lexicon_of(nlp).declare_types(["PER"])
    doc = nlp.make_doc(TEXT)
    span = [Span(doc, 4, 6, "PER")]

    def odds(trust: float) -> float:
        lexicon_of(nlp).add(["新闻"], type="PER", trust=trust)
        ((share,),) = flat(nlp).span_probabilities([doc], [span])
        return share / (1 - share)

    for temperature in (1.0, 2.0):  # which doesn't weaken the trust
        flat(nlp).temperature = temperature
        before = odds(0)
        assert odds(0.9) == pytest.approx(before / 0.1, rel=1e-4)
        assert odds(0.999) == pytest.approx(before / 0.001, rel=1e-3)


def test_added_names_have_a_high_trust(nlp: Language) -> None:
    """Whatever the component's setting for the words of files, and a word's trust before."""
    lexicon_of(nlp).declare_types(["PER"])
    doc = nlp.make_doc(TEXT)
    span = [Span(doc, 4, 6, "PER")]

    def probability() -> list[list[float]]:
        return flat(nlp).span_probabilities([doc], [span])

    lexicon_of(nlp).add(["新闻"], type="PER", trust=0.999)
    expected = probability()
    lexicon_of(nlp).add(["新闻"], type="PER", trust=0)
    assert probability() < expected
    with flat(nlp).with_words({"新闻": "PER"}):  # type: ignore[attr-defined]
        assert probability() == expected
    assert probability() < expected
    lexicon_of(nlp).add(["新闻"], type="PER")
    flat(nlp).trust = 1.0  # type: ignore[attr-defined]
    assert probability() == expected


def test_trust_of_1_is_always_obeyed(nlp: Language) -> None:
    lexicon_of(nlp).declare_types(["PER", "ORG"])
    expected = found(nlp, [*TEXTS, TEXT])
    lexicon_of(nlp).add(["新闻", "天没"], type="PER", trust=0)
    assert len(found(nlp, [TEXT])) == 1
    lexicon_of(nlp).add(["新闻"], type="ORG", trust=1)
    doc = nlp(TEXT)
    assert ("ORG", "新闻") in entities(doc)
    assert found(nlp, TEXTS[:4]) == expected[:4]
    # The longer word, and first of all what the Doc has.
    lexicon_of(nlp).add(["有新闻，昨"], type="PER", trust=1)
    assert ("PER", "有新闻，昨") in entities(nlp(TEXT))
    doc = nlp.make_doc(TEXT)
    doc.ents = [Span(doc, 6, 8, "LOC")]  # type: ignore[assignment]
    assert {("LOC", "，昨"), ("ORG", "新闻")} <= set(entities(nlp(doc)))
    doc = nlp.make_doc(TEXT)
    doc.set_ents([], blocked=[doc[5:6]], default="missing")
    assert not {"新闻", "有新闻，昨"} & {text for _, text in entities(nlp(doc))}


def test_a_word_that_a_long_text_is_split_within(trained: Language, copy_of: Copy) -> None:
    nlp = copy_of(trained, max_length=10)
    lexicon_of(nlp).declare_types(["ORG"])
    lexicon_of(nlp).add(["了。今天"], type="ORG", trust=1)
    ner = flat(nlp)
    ner.confidence, ner.alternatives = True, 1
    doc = nlp("王小明昨天去了。今天没有新闻" * 2)
    words = [ent for ent in doc.ents if ent.text == "了。今天"]
    assert [(ent.label_, ent._.confidence) for ent in words] == [("ORG", 1.0)] * 2
    assert doc._.ent_alternatives()[0][0] == doc._.char_ents


def test_trust_of_the_component_is_the_default(nlp: Language) -> None:
    flat(nlp).trust = 1.0  # type: ignore[attr-defined]
    lexicon_of(nlp).declare_types(["ORG"])
    lexicon_of(nlp).add(["新闻"], type="ORG")
    assert ("ORG", "新闻") in entities(nlp(TEXT))
    lexicon_of(nlp).add(["新闻"], type="ORG", trust=0)
    assert "新闻" not in [text for _, text in entities(nlp(TEXT))]


def test_eight_threads_while_words_are_added_and_removed(nlp: Language) -> None:
    """Each prediction has one state of the lexicon, and temporary words are a thread's own."""
    lexicon, stop = lexicon_of(nlp), threading.Event()

    def change() -> None:
        for number in count():
            if stop.is_set():
                return
            lexicon.add([f"今天{number}", "今天没"], type="n")
            lexicon.remove(["今天没"])

    def predict(word: str) -> set[str]:
        with flat(nlp).with_words({word: "ORG"}, 1.0):  # type: ignore[attr-defined]
            docs = [nlp(TEXT) for _ in range(6)]
        return {text for doc in docs for _, text in entities(doc) if text in TRUSTED}

    changing = threading.Thread(target=change)
    changing.start()
    try:
        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(predict, TRUSTED * 4))
    finally:
        stop.set()
        changing.join()
    assert results == [{word} for word in TRUSTED * 4]
    assert "今天1" in lexicon


def test_probabilities_have_one_state_of_the_lexicon(
    nlp: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    ner: Any = flat(nlp)
    asked = [nlp.make_doc(TEXT)], [[(0, 2, "PER")]]
    before, trusted_words = ner.span_probabilities(*asked), ner.trusted_words

    def busy(*arguments: Any) -> Any:
        found = trusted_words(*arguments)
        ner.lexicon.add(["今天没有"], type="PER", trust=0)  # as another thread
        return found

    monkeypatch.setattr(ner, "trusted_words", busy)
    assert ner.span_probabilities(*asked) == before
    assert ner.span_probabilities(*asked) != before


def test_a_word_that_no_entity_may_have(nlp: Language) -> None:
    """What must be an entity is one whether or not it is barred or lacks letters."""
    lexicon_of(nlp).add(["没有|新", "——"], type="PER", trust=1)
    flat(nlp).confidence = True
    doc = nlp("今天没有|新闻——王小明昨天去了上海")
    assert [ent for ent in entities(doc) if ent[0] == "PER"][:2] == [
        ("PER", "没有|新"),
        ("PER", "——"),
    ]
    assert entities(doc)[2:] == [("PER", "王小明"), ("LOC", "上海")]
    assert [ent._.confidence for ent in doc.ents][:2] == pytest.approx([1.0, 1.0])


def test_of_overlapping_words_that_break_a_rule_one_is_found(nlp: Language) -> None:
    lexicon_of(nlp).add(["没有|新", "新|闻昨"], type="PER", trust=1)
    words = {text for _, text in entities(nlp("今天没有|新|闻昨天去了上海"))}
    assert len(words & {"没有|新", "新|闻昨"}) == 1


def test_no_entity_within_a_word_that_is_none(nlp: Language) -> None:
    ner: Any = flat(nlp)
    ner.overwrite = True
    doc = nlp.make_doc(TEXTS[2])
    assert ("LOC", "南京") in entities(nlp(doc))
    lexicon_of(nlp).add(["南京市"], type="not_entity")
    assert not {"南京", "南京市", "京"} & {text for _, text in entities(nlp(doc))}


def test_a_known_word_that_is_none_keeps_its_type_for_the_network(nlp: Language) -> None:
    """Otherwise it would read another text, and find other entities beside the word."""
    ner: Any = flat(nlp)
    before = [column.tolist() for column in ner.featuriser.words_in(TEXTS).values()]
    with ner.with_words(dict.fromkeys(["南京", "上海"], "not_entity")):
        assert ner.lexicon.entry("南京").type == "not_entity"
        assert [c.tolist() for c in ner.featuriser.words_in(TEXTS).values()] == before
    with ner.with_words({"昨天去": "not_entity"}):  # the network never saw it
        assert [c.tolist() for c in ner.featuriser.words_in(TEXTS).values()] == before


def test_with_a_threshold_none_takes_the_place_of_a_word_that_is_none(nlp: Language) -> None:
    ner: Any = flat(nlp)
    ner.threshold, ner.temperature = 0.001, 5.0  # much is probable enough
    before = nlp("王小明昨天去了上海。")._.char_ents
    with ner.with_words({"上海": "not_entity"}):
        assert nlp("王小明昨天去了上海。")._.char_ents == [each for each in before if each.end < 9]
