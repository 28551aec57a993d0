"""`seq2seq_translator` in a pipeline: how it is made, saved, copied and run, and what it writes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import spacy
from spacy.language import Language

from spacy_flat.translator.names import Protected

from .conftest import (
    PAIRS,
    TEXTS,
    add,
    blank,
    translator,
    with_ents,
)

Copy = Callable[[Language], Language]


def test_it_has_learnt_the_pairs(trained: Language) -> None:
    for source, target in PAIRS:
        doc = trained(source)
        assert doc._.translation == target
        assert doc._.translation_sents == (((0, len(source)), (0, len(target))),)


# Texts of all kinds


def test_texts_without_anything_to_translate(trained: Language) -> None:
    for text in ("", " ", "\n \t"):
        assert trained(text)._.translation == ""
        assert trained(text)._.translation_ents == trained(text)._.translation_sents == ()
    for text in ("😀", "😀😀 👍🏽", "Hello, world: this is GPT-4!", "10:30"):
        assert trained(text)._.translation == text
    for text, marks in (("。", "."), ("，、！", ",,!"), ("（NBA） “3.5”", '(NBA) "3.5"')):
        assert trained(text)._.translation == marks
    doc = with_ents(trained, "王芳北京 王芳😀", ("王芳", "PER"), ("北京", "LOC"), ("王芳", "PER"))
    (found,) = translator(trained).translate([doc])[0]
    assert found.text == "Wang Fang Beijing Wang Fang😀"
    assert [found.text[ent.start : ent.end] for ent in found.ents] == [
        "Wang Fang",
        "Beijing",
        "Wang Fang",
    ]


def test_sentences_one_by_one(trained: Language) -> None:
    text = " 我喜欢茶。NBA很有名！\n\n王芳喜欢北京。 "
    doc = trained(text)
    assert doc._.translation == "I like tea. The NBA is famous!\n\nWang Fang likes Beijing."
    pairs = [
        (doc.text[slice(*source)], doc._.translation[slice(*target)])
        for source, target in doc._.translation_sents
    ]
    assert pairs == [PAIRS[0], PAIRS[4], PAIRS[2]]


# Names


def test_without_a_recogniser_before_it(trained: Language, copy_of: Copy) -> None:
    """It makes up names: a warning says once what to put before it."""
    nlp = copy_of(trained)
    translator(nlp)._warned = False
    with pytest.warns(UserWarning, match=r"W403.*seq2seq_translator.*zh_flat_msra") as told:
        list(nlp.pipe(["我喜欢茶。", "你好。"]))
    assert len(told) == 1
    for ents, carry_names in (([], True), (None, False)):
        translator(nlp)._warned = False
        translator(nlp).carry_names = carry_names
        doc = nlp.make_doc("我喜欢茶。")
        if ents is not None:
            doc.set_ents(ents)  # by a recogniser that found none
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            translator(nlp)(doc)


def test_numbers_are_carried(trained: Language) -> None:
    """They aren't entities; the full stop of one also ends the sentence."""
    (found,) = translator(trained).translate(["王芳喜欢2020年1月5日，6比3。"])[0]
    assert found.text.count("January 5, 2020") == found.text.count("6-3") == 1
    assert found.ents == ()
    encoder = translator(trained).model.attrs["featuriser"]
    ids = [*encoder.target_ids("tea ")[1:-1], 3, *encoder.target_ids(".")[1:-1]]
    assert encoder.spell(ids, [Protected(0, 1, "3 p.m.")])[0] == "tea 3 p.m."


# n-best


def test_n_best(trained: Language) -> None:
    (found,) = translator(trained).translate(["我喜欢茶。王芳喜欢北京。"], n_best=4, beam=6)
    assert len(found) == 4
    assert found[0].text == "I like tea. Wang Fang likes Beijing."
    assert len({each.text for each in found}) == 4
    scores = [each.score for each in found]
    assert scores == sorted(scores, reverse=True)
    parts = [translator(trained).translate([t], beam=6)[0][0] for t in ("我喜欢茶。", TEXTS[2])]
    assert found[0].score == pytest.approx(sum(part.score for part in parts), abs=1e-3)
    assert translator(trained).translate([]) == []


def test_terms_of_a_glossary(trained: Language) -> None:
    """They are used in plain texts too, and where the entity is another one."""
    glossary = {" 茶": "green tea ", "北京城": "Old Peking", "王芳": "Fang Wang", "A": "no word"}
    doc = with_ents(trained, "王芳喜欢北京城。", ("王芳", "PER"), ("北京", "LOC"))
    texts = [doc, "我喜欢茶。", "BA", "AB"]
    (named,), (plain,), *copied = translator(trained).translate(texts, glossary=glossary)
    assert "Fang Wang" in named.text
    assert "Old Peking" in named.text
    assert [(ent.text, ent.label) for ent in named.ents] == [("Fang Wang", "PER")]
    assert "green tea" in plain.text
    assert [each.text for (each,) in copied] == texts[2:]


# Entities of the translation


def test_entities_by_another_pipeline(trained: Language, copy_of: Copy, tmp_path: Path) -> None:
    reader = spacy.blank("en")
    reader.add_pipe("entity_ruler").add_patterns(  # type: ignore[attr-defined]
        [{"label": "GPE", "pattern": "Beijing"}, {"label": "DRINK", "pattern": "tea"}]
    )
    reader.to_disk(tmp_path / "en")
    nlp = copy_of(trained)
    text = "王芳喜欢北京。我喜欢茶。"
    expected = [("Wang Fang", "PER", (0, 2)), ("Beijing", "GPE", None), ("tea", "DRINK", None)]
    for entities in (reader, str(tmp_path / "en"), tmp_path / "en"):
        translator(nlp).entities = entities
        for again in (nlp, copy_of(nlp)):
            doc = translator(again)(with_ents(again, text, ("王芳", "PER")))
            ents = doc._.translation_ents
            assert [(ent.text, ent.label, ent.source) for ent in ents] == expected
            assert [doc._.translation[ent.start : ent.end] for ent in ents] == [
                ent.text for ent in ents
            ]
    # What was carried through is not found a second time.
    doc = translator(nlp)(with_ents(nlp, text, ("北京", "LOC")))
    labels = [(ent.text, ent.label, ent.source) for ent in doc._.translation_ents]
    assert labels == [("Beijing", "LOC", (4, 6)), ("tea", "DRINK", None)]


def test_entities_that_nothing_finds(trained: Language, copy_of: Copy, tmp_path: Path) -> None:
    """A pipeline without a recogniser, one that translates and would never end, a missing one."""
    nlp = copy_of(trained)
    translator(nlp).entities = spacy.blank("en")
    with pytest.warns(UserWarning, match=r"W406.*'en_pipeline'.*components: none\)"):
        nlp("我喜欢茶。")
    translator(nlp).entities = tmp_path / "zh"  # itself, before it is saved there
    with pytest.raises(OSError, match=r"F404.*zh"):
        nlp("我喜欢茶。")
    nlp.to_disk(tmp_path / "zh")
    for reader in (nlp, spacy.load(tmp_path / "zh")):
        translator(nlp).entities = reader
        with pytest.raises(ValueError, match=r"F405.*'seq2seq_translator'.*would never end"):
            nlp("我喜欢茶。")


def test_errors(trained: Language) -> None:
    nlp = blank()
    new, translate = add(nlp), translator(trained).translate
    calls: list[tuple[str, Callable[[], object]]] = [
        ("F303", lambda: new.translate(["茶"])),
        ("F310.*names", lambda: setattr(new, "names", {"北京": "Bei\njing"})),
        ("F310.*entities", lambda: setattr(new, "entities", " ")),
        ("F341.*beam", lambda: translate(["茶"], beam=101)),
        ("F341.*max_ratio", lambda: translate(["茶"], max_ratio=0)),
        ("F341.*n_best = 2 .* beam", lambda: translate(["茶"], n_best=2)),
        ("F341.*glossary", lambda: translate(["茶"], glossary={"茶": " "})),
        ("F026", lambda: translate("茶")),  # an iterable of characters
        ("F028", lambda: translate([3])),  # type: ignore[list-item]
        ("greedy", lambda: translate(["茶"], greedy=1)),
    ]
    for code, call in calls:
        with pytest.raises((ValueError, TypeError), match=code):
            call()
