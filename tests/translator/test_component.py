"""`seq2seq_translator` in a pipeline: how it is made, saved, copied and run, and what it writes."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
import spacy
from spacy.language import Language

from spacy_flat.translator.annotations import TranslationEnt
from spacy_flat.translator.entities import with_found
from spacy_flat.translator.names import Protected
from spacy_flat.translator.sentences import split

from .conftest import (
    PAIRS,
    TEXTS,
    add,
    blank,
    examples_of,
    translator,
    with_ents,
)

Copy = Callable[[Language], Language]


def test_it_has_learnt_the_pairs(trained: Language) -> None:
    for source, target in PAIRS:
        doc = trained(source)
        assert doc._.translation == target
        assert doc._.translation_sents == (((0, len(source)), (0, len(target))),)


# Saving and copying


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


def test_no_chinese_that_translations_of_training_do_not_have() -> None:
    """A network that has learnt nothing may write any bytes."""
    chinese = list(range(0x4E00, 0x4E40))
    for target, expected in (("I like tea.", []), ("一 is one", ["一"])):
        nlp = blank()
        add(nlp, carry_names=False)
        nlp.initialize(partial(examples_of, nlp, [("我喜欢茶。", target)]))
        again = pickle.loads(pickle.dumps(nlp))
        encoder = translator(again).model.attrs["featuriser"]
        keys = encoder.target_ids("".join(map(chr, chinese)) + "!")[1:-1].tolist()
        assert encoder.spell(keys, []) == ("".join([*expected, "!"]), [])
        older = replace(encoder, chinese=None)  # of which no one knows
        assert older.from_bytes(older.to_bytes()).spell(keys, [])[0].startswith("一丁")


@pytest.mark.parametrize("word", ["NASA", "SNB", "NBA2", "2N0B2A6", "NéB"])
def test_words_that_are_partly_known_are_copied_whole(trained: Language, word: str) -> None:
    """N, B and A are known. What is Chinese is left to the network."""
    encoder = translator(trained).model.attrs["featuriser"]
    text = f"{word}很有名！NBA很有名！"
    names = [name for part in split(text, (), encoder) for name in part.names]
    assert [(name.start, name.text) for name in names] == [(0, word), (len(word) + 4, "NBA")]
    assert trained(text)._.translation.count(word) == 1
    # An entity within a word keeps its own place.
    entity = Protected(1, 2, "Li", "PER")
    names = [name for part in split(text, (entity,), encoder) for name in part.names]
    assert all(before.end <= after.start for before, after in pairwise(names))
    assert entity in names


def test_sentences_one_by_one(trained: Language) -> None:
    text = " 我喜欢茶。NBA很有名！\n\n王芳喜欢北京。 "
    doc = trained(text)
    assert doc._.translation == "I like tea. The NBA is famous!\n\nWang Fang likes Beijing."
    pairs = [
        (doc.text[slice(*source)], doc._.translation[slice(*target)])
        for source, target in doc._.translation_sents
    ]
    assert pairs == [PAIRS[0], PAIRS[4], PAIRS[2]]


@pytest.mark.parametrize("unit", ["我喜欢茶", "我喜欢茶，", "😀", "N😀", "我喜欢茶。"])
def test_long_texts(trained: Language, copy_of: Copy, unit: str) -> None:
    """Cut where they are too long; what is unknown still comes through, each once."""
    nlp = copy_of(trained)
    translator(nlp).max_ratio = 0.1
    text = unit * (20_000 // len(unit))
    doc = nlp(text)
    sents = doc._.translation_sents
    for before, after in pairwise(sents):
        assert before.source[1] <= after.source[0]
        assert before.target[1] + 1 == after.target[0]
    if unit not in ("😀", "N😀"):  # nothing but what is copied
        assert all(end - start <= 100 for (start, end), _ in sents)
    assert sum(end - start for (start, end), _ in sents) == len(text)
    assert doc._.translation.count("😀") == text.count("😀")


# Names


def test_names_are_carried(trained: Language) -> None:
    """Of a list, and in pinyin; also such as were never seen."""
    doc = with_ents(trained, "李小明喜欢北京。", ("李小明", "PER"), ("北京", "LOC"))
    doc = trained.get_pipe("seq2seq_translator")(doc)
    ents = doc._.translation_ents
    assert sorted((ent.text, ent.label, ent.source) for ent in ents) == [
        ("Beijing", "LOC", (5, 7)),
        ("Li Xiaoming", "PER", (0, 3)),
    ]
    for ent in ents:
        assert doc._.translation[ent.start : ent.end] == ent.text
        assert doc._.translation.count(ent.text) == 1
    assert doc._.translation == "Li Xiaoming likes Beijing."


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
    for wrong in ({"茶": " "}, {"茶": 1}, ["茶"]):
        with pytest.raises(ValueError, match=r"F341.*glossary"):
            translator(trained).translate(["茶"], glossary=wrong)  # type: ignore[arg-type]


def test_names_and_terms_in_traditional_characters(trained: Language) -> None:
    """Are known as those in simplified ones, which the network reads them as."""
    doc = with_ents(trained, "他住在臺北。", ("臺北", "LOC"))
    translate = translator(trained).translate
    ((named,),) = translate([doc])
    assert [(ent.text, ent.source) for ent in named.ents] == [("Taipei", (3, 5))]
    for text, term in (("我喜歡書。", "书"), ("我喜欢书。", "書")):
        ((found,),) = translate([text], glossary={term: "old books"})
        assert "old books" in found.text


def test_settings_and_arguments_have_the_same_range(trained: Language, copy_of: Copy) -> None:
    pipe = translator(copy_of(trained))
    ranges = {"beam": (1, 100), "length_penalty": (0, 10), "max_ratio": (0.01, 100)}
    for name, limits in ranges.items():
        for limit in limits:
            setattr(pipe, name, limit)
            assert pipe.translate([""], **{name: limit})  # type: ignore[arg-type]


# Entities of the translation


def english() -> Language:
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns(  # type: ignore[attr-defined]
        [{"label": "GPE", "pattern": "Beijing"}, {"label": "DRINK", "pattern": "tea"}]
    )
    return nlp


def test_entities_by_another_pipeline(trained: Language, copy_of: Copy, tmp_path: Path) -> None:
    nlp = copy_of(trained)
    text = "王芳喜欢北京。我喜欢茶。"
    expected = [("Wang Fang", "PER", (0, 2)), ("Beijing", "GPE", None), ("tea", "DRINK", None)]
    english().to_disk(tmp_path / "en")
    for entities in (english(), str(tmp_path / "en"), tmp_path / "en"):
        translator(nlp).entities = entities
        for again in (nlp, copy_of(nlp)):
            doc = translator(again)(with_ents(again, text, ("王芳", "PER")))
            ents = doc._.translation_ents
            assert [(ent.text, ent.label, ent.source) for ent in ents] == expected
            for ent in ents:
                assert doc._.translation[ent.start : ent.end] == ent.text
    # What was carried through is not found a second time.
    doc = translator(nlp)(with_ents(nlp, text, ("北京", "LOC")))
    labels = [(ent.text, ent.label, ent.source) for ent in doc._.translation_ents]
    assert labels == [("Beijing", "LOC", (4, 6)), ("tea", "DRINK", None)]
    translator(nlp).entities = None
    assert nlp(text)._.translation_ents == ()


def test_entities_right_beside_what_was_carried() -> None:
    """They overlap nothing."""
    reader = spacy.blank("en")
    ruler = reader.add_pipe("entity_ruler")
    ruler.add_patterns(  # type: ignore[attr-defined]
        [{"label": "GPE", "pattern": city} for city in ("Beijing", "Tianjin")]
    )
    carried = TranslationEnt("-", "SIGN", 7, 8, (2, 3))
    (found,) = with_found(reader, ["Beijing-Tianjin"], [[carried]])
    assert found == [
        carried,
        TranslationEnt("Beijing", "GPE", 0, 7),
        TranslationEnt("Tianjin", "GPE", 8, 15),
    ]


def test_entities_by_a_pipeline_without_a_recogniser(
    trained: Language, copy_of: Copy, tmp_path: Path
) -> None:
    reader = english()
    reader.disable_pipe("entity_ruler")
    reader.add_pipe("sentencizer")
    reader.to_disk(tmp_path / "en")
    nlp = copy_of(trained)
    for entities, shown in ((reader, "en_pipeline"), (str(tmp_path / "en"), str(tmp_path / "en"))):
        translator(nlp).entities = entities
        with pytest.warns(UserWarning, match=rf"W406.*'{shown}'.*components: sentencizer\)"):
            nlp("我喜欢茶。")
    reader.enable_pipe("entity_ruler")
    translator(nlp).entities = reader
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp("我喜欢茶。")


def test_entities_by_a_pipeline_that_translates(
    trained: Language, copy_of: Copy, tmp_path: Path
) -> None:
    """It would ask itself without end."""
    nlp = copy_of(trained)
    match = r"F405.*'seq2seq_translator'.*would never end"
    with pytest.raises(ValueError, match=match):
        translator(nlp).entities = nlp
    assert translator(nlp).entities is None
    translator(nlp).entities = tmp_path  # itself, before it is saved there
    nlp.to_disk(tmp_path)
    for again in (nlp, spacy.load(tmp_path)):
        with pytest.raises(ValueError, match=match):
            translator(again).translate(["我喜欢茶。"])
