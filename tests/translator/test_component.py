"""`seq2seq_translator` in a pipeline: what it writes."""

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import spacy
from learning import settle
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import fix_random_seed

from spacy_flat.text.scripts import HAN

from .conftest import NAMES, Copy, add, blank, examples_of, translator, with_ents

AMAZON = Path(__file__).parents[2] / "assets/demo_parallel/amazon.tsv"


def test_the_default_settings_learn_two_sentences() -> None:
    """The usual exercise: a bare `add_pipe`, with spaCy's own optimizer."""
    fix_random_seed(0)
    nlp = spacy.blank("zh")
    nlp.add_pipe("seq2seq_translator", config={"carry_names": False})
    pairs = [tuple(line.split("\t")) for line in AMAZON.read_text("utf-8").splitlines()]
    examples = examples_of(nlp, pairs)
    settle(nlp, examples, nlp.initialize(lambda: examples), 60)
    # Smoothed labels allow for no more than −0.1.
    assert nlp.evaluate(examples)["translation_log_prob"] > -0.2
    for source, translation in pairs:
        assert nlp(source)._.translation == translation
    assert not HAN.search(nlp("华为位于广东省深圳市。")._.translation)


# Texts of all kinds


def test_blank_texts(trained: Language) -> None:
    for text in ("", " ", "\n \t"):
        doc = trained(text)
        assert doc._.translation == ""
        assert doc._.translation_ents == ()


@pytest.mark.parametrize(
    ("text", "translation"),
    [
        *((text, text) for text in ("😀😀 👍🏽", "Hello, world: this is GPT-4!", "10:30", "C++")),
        *(("。", "."), ("，、！", ",,!"), ("（NBA） “3.5”", '(NBA) "3.5"'), ("Ｃ５", "Ｃ5")),
        *(("x<5", "x<5"), ("王芳北京 王芳😀", "Wang Fang Beijing Wang Fang😀")),
    ],
)
def test_what_is_copied(trained: Language, text: str, translation: str) -> None:
    """Words in Latin letters, digits, symbols and names, with English punctuation."""
    names = (("王芳", "PER"), ("北京", "LOC"), ("王芳", "PER")) if "王芳" in text else ()
    (found,) = translator(trained).translate([with_ents(trained, text, *names)])
    assert found.text == translation
    assert [found.text[ent.start : ent.end] for ent in found.ents] == [
        NAMES[name] for name, _ in names
    ]


def test_sentences_one_by_one(trained: Language) -> None:
    text = " 我喜欢茶。NBA很有名！\n\n王芳喜欢北京。 "
    (found,) = translator(trained).translate([text])
    assert found.text == "I like tea. The NBA is famous!\n\nWang Fang likes Beijing."
    parts = translator(trained).translate(text.split())
    assert found.score == pytest.approx(sum(part.score for part in parts), abs=1e-3)
    assert translator(trained).translate([]) == []


def test_characters_of_zero_width(trained: Language) -> None:
    """They are passed over; offsets are those of the text."""
    doc = with_ents(trained, "\ufeff王\u200b芳喜\u2060欢北\u00ad京。", ("王\u200b芳", "PER"))
    (found,) = translator(trained).translate([doc])
    assert found.text == "Wang Fang likes Beijing."
    assert [(ent.text, ent.source) for ent in found.ents] == [("Wang Fang", (1, 4))]
    again = Doc(doc.vocab).from_bytes(translator(trained)(doc).to_bytes())
    assert again._.translation_ents == found.ents


# Names


@pytest.mark.parametrize(
    ("text", "translation"),
    [
        ("【王芳】喜欢北京。", "[Wang Fang] likes Beijing."),
        ("〈王芳〉喜欢〔北京〕。", "'Wang Fang' likes [Beijing]."),
        ("「王芳」喜欢《北京》。", '"Wang Fang" likes "Beijing".'),
    ],
)
def test_brackets_around_names(trained: Language, text: str, translation: str) -> None:
    doc = with_ents(trained, text, ("王芳", "PER"), ("北京", "LOC"))
    (found,) = translator(trained).translate([doc])
    assert found.text == translation
    assert [found.text[ent.start : ent.end] for ent in found.ents] == ["Wang Fang", "Beijing"]
    assert [doc.text[slice(*ent.source)] for ent in found.ents] == ["王芳", "北京"]


def test_names_change_at_once(trained: Language, copy_of: Copy) -> None:
    pipe = translator(copy_of(trained))
    doc = with_ents(trained, "王芳喜欢北京。", ("王芳", "PER"))
    for name in ("Fang", "Ms. Wang"):
        pipe.names = {"王芳": name}
        assert pipe.translate([doc])[0].text.startswith(name)


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


def test_terms_of_a_glossary(trained: Language) -> None:
    """They are used in plain texts too, and where the entity is another one."""
    glossary = {" 茶": "green tea ", "北京城": "Old Peking", "王芳": "Fang Wang", "A": "no word"}
    doc = with_ents(trained, "王芳喜欢北京城。", ("王芳", "PER"), ("北京", "LOC"))
    texts = [doc, "我喜欢茶。王芳喜欢2020年1月5日，6比3。", "BA", "AB"]
    named, plain, *copied = translator(trained).translate(texts, glossary=glossary)
    assert "Fang Wang" in named.text
    assert "Old Peking" in named.text
    assert [(ent.text, ent.label) for ent in named.ents] == [("Fang Wang", "PER")]
    assert "green tea" in plain.text
    # Numbers are carried as well, but aren't entities.
    assert plain.text.count("January 5, 2020") == plain.text.count("6-3") == 1
    assert plain.ents == ()
    assert [each.text for each in copied] == texts[2:]


def test_errors(trained: Language) -> None:
    nlp = blank()
    new, translate = add(nlp), translator(trained).translate
    calls: list[tuple[str, Callable[[], object]]] = [
        ("F303", lambda: new.translate(["茶"])),
        ("F310.*names", lambda: setattr(new, "names", {"北京": "Bei\njing"})),
        ("F310.*beam", lambda: setattr(new, "beam", 101)),
        ("F341.*glossary", lambda: translate(["茶"], glossary={"茶": " "})),
        ("F026", lambda: translate("茶")),  # an iterable of characters
        ("F028", lambda: translate([3])),  # type: ignore[list-item]
    ]
    for code, call in calls:
        with pytest.raises((ValueError, TypeError), match=code):
            call()
