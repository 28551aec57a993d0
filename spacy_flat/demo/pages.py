"""The page for the components of a pipeline."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from html import escape
from typing import Any

import spacy
import streamlit as st
from spacy import displacy
from spacy.language import Language
from spacy.tokens import Doc

from ..errors import Errors, is_coded
from ..generator.component import CharGenerator
from ..generator.forms import FORMS
from ..lexicon.word_lists import ADDED
from ..ner.component import CRFEntityRecognizer
from ..ner.flat.component import FlatEntityRecognizer
from ..similarity.component import PairClassifier
from ..translator.component import Seq2SeqTranslator
from ..viz.lattice import MAX_DRAWN

MAX_LENGTH = 5000  # characters of a text
TEXT = "人和药店在重庆开业，陈志远从浙江大学赶来。"
PAIR = ("怎么修改登录密码", "如何更改密码")
TRUSTS = (0, 0.9, 0.99, ADDED, 0.9999, 1)
QUESTIONS = "怎么修改登录密码\n怎么申请退款\n什么时候发货\n如何联系人工客服"


def show(sources: Sequence[str]) -> None:
    """The whole page.

    sources: pipelines, packages or folders.
    """
    st.set_page_config(page_title="spacy-flat", layout="wide")
    source: str = st.sidebar.selectbox("Pipeline", sources) or sources[0]
    nlp = load(source)
    pages = {
        title: (page, pipe)
        for _, pipe in nlp.pipeline
        for kind, own in PAGES.items()
        if isinstance(pipe, kind)
        for title, page in own.items()
    }
    if not pages:
        st.error(Errors.F166.format(name=source, components=", ".join(nlp.pipe_names) or "none"))
        return
    page, pipe = pages[st.sidebar.radio("Task", list(pages)) or next(iter(pages))]
    try:
        page(nlp, pipe)
    except Exception as error:
        if not is_coded(error):
            raise
        st.error(str(error))


@st.cache_resource(show_spinner="Loading the pipeline …")
def load(source: str) -> Language:
    nlp = spacy.load(source)
    for _, pipe in nlp.pipeline:
        if isinstance(pipe, CRFEntityRecognizer):
            pipe.confidence = True
    return nlp


# Entities


def show_entities(nlp: Language, pipe: CRFEntityRecognizer) -> None:
    text = st.text_area("Text", TEXT, max_chars=MAX_LENGTH)
    added: AbstractContextManager[None] = nullcontext()
    if isinstance(pipe, FlatEntityRecognizer):
        help_ = "Types: " + ", ".join(pipe.labels)
        words = words_of(st.text_area("Words to add, one a line: WORD=TYPE", help=help_))
        means = "0: the network decides; 0.999: odds a thousand times as high; 1: always"
        trust = st.select_slider("Trust in these words", TRUSTS, ADDED, help=means)
        added = pipe.with_words(words, trust)
    with added:
        doc = nlp(text)
        st.html(entities_html(doc))
        if doc.ents:
            st.dataframe(
                [
                    {"start": ent.start_char, "end": ent.end_char, "label": ent.label_}
                    | {"text": ent.text, "confidence": ent._.confidence}
                    for ent in doc.ents
                ],
                hide_index=True,
            )
        if isinstance(pipe, FlatEntityRecognizer) and 0 < len(text) <= MAX_DRAWN:
            st.subheader("Lattice", help="Underlined: the words of the lexicon, and entities")
            st.image(pipe.render_lattice(doc))


def entities_html(doc: Doc) -> str:
    """HTML of a text with its entities. displaCy doesn't escape labels, which may be anything."""
    ents = [
        {"start": ent.start_char, "end": ent.end_char, "label": escape(ent.label_)}
        for ent in doc.ents
    ]
    parsed = {"text": doc.text, "ents": ents, "title": None}
    return str(displacy.render(parsed, style="ent", manual=True, jupyter=False))


def words_of(lines: str) -> list[tuple[str, str]]:
    """Words and their types."""
    parts = (line.partition("=") for line in lines.splitlines() if line.strip())
    return [(word.strip(), label.strip()) for word, _, label in parts]


# Pairs of texts


def compare(nlp: Language, pipe: PairClassifier) -> None:
    left = st.text_area("Left text", PAIR[0], max_chars=MAX_LENGTH)
    right = st.text_area("Right text", PAIR[1], max_chars=MAX_LENGTH)
    st.metric("Similarity", f"{pipe.similarity(left, right):.3f}")
    st.image(pipe.align(left, right).to_svg())


def search(nlp: Language, pipe: PairClassifier) -> None:
    questions = st.text_area("Questions, one a line", QUESTIONS, height=200)
    query = st.text_input("Query", PAIR[1], max_chars=MAX_LENGTH)
    texts = list(filter(None, map(str.strip, questions.splitlines())))
    if query and texts:
        matches = pipe.index(texts).search(query)
        st.dataframe(
            [{"question": match.text, "similarity": match.similarity} for match in matches],
            hide_index=True,
        )


# Characters


def score_text(nlp: Language, pipe: CharGenerator) -> None:
    doc = nlp(st.text_area("Text", "床前明月光，疑是地上霜。", max_chars=MAX_LENGTH))
    st.metric("Perplexity", f"{doc._.perplexity:,.2f}")
    surprisal = doc._.char_surprisal.tolist()
    rows = [
        {"character": f"{place} {character}", "surprisal": value}
        for place, (character, value) in enumerate(zip(doc.text, surprisal, strict=True))
    ]
    st.bar_chart(rows, x="character", y="surprisal", sort=False)


def compose(nlp: Language, pipe: CharGenerator) -> None:
    form: str = st.selectbox("Form", list(FORMS)) or next(iter(FORMS))
    heads = st.text_input("Its lines begin with (藏头)")
    settings: dict[str, Any] = {
        "rhyme": st.checkbox("Rhyme"),
        "seed": int(st.number_input("Seed", 0, 2**31, 1)),
    }
    (poem,) = pipe.acrostic(heads, form, **settings) if heads else pipe.poem(form, **settings)
    st.text(str(poem))


# Translations


def translate(nlp: Language, pipe: Seq2SeqTranslator) -> None:
    doc = nlp(st.text_area("Text", "王小明住在上海。", max_chars=MAX_LENGTH))
    st.text(doc._.translation)
    if ents := doc._.translation_ents:
        rows = [
            {"text": ent.text, "label": ent.label, "source": doc.text[slice(*ent.source)]}
            for ent in ents
        ]
        st.dataframe(rows, hide_index=True)


Page = Callable[[Language, Any], None]
PAGES: dict[type, dict[str, Page]] = {
    CRFEntityRecognizer: {"Entities": show_entities},
    PairClassifier: {"Similarity": compare, "Search": search},
    CharGenerator: {"Probability": score_text, "Poems": compose},
    Seq2SeqTranslator: {"Translation": translate},
}
