"""Components that share an encoder, in steps that teach some of them nothing."""

from pathlib import Path

from ner.conftest import TEXTS, blank
from similarity.conftest import add_re2
from spacy.language import Language
from spacy.tokens import Span
from spacy.training import Example
from thinc.api import fix_random_seed

from spacy_flat.nn.optimizers import AdamW
from spacy_flat.similarity.pairs import join_pair

from .conftest import LISTENER, STOCK, add_ner, add_transformer

PAIR = join_pair("上海", "北京")
COMPONENTS = ["flat_ner", "tener_ner", "re2_similarity"]


def make(tiny_bert: Path, *names: str) -> Language:
    """A pipeline of an encoder, spaCy's tagger, and the components that are named."""
    nlp = blank()
    add_transformer(nlp, tiny_bert)
    nlp.add_pipe("tagger", config={"model": {"tok2vec": STOCK}})
    for name in names:
        if name == "re2_similarity":
            add_re2(nlp, tok2vec=LISTENER)
        else:
            add_ner(nlp, name)
    initialise(nlp)
    return nlp


def with_tags(nlp: Language) -> list[Example]:
    """Nothing is known of entities, and not which texts are alike."""
    examples = [Example(nlp.make_doc(text), nlp.make_doc(text)) for text in (PAIR, *TEXTS[:2])]
    for example in examples:
        for token in example.reference:
            token.tag_ = "odd" if token.i % 2 else "even"
    return examples


def with_everything(nlp: Language) -> list[Example]:
    examples = with_tags(nlp)
    for example in examples:
        example.reference.set_ents([Span(example.reference, 0, 2, "LOC")])
        example.reference.cats = {"same": 0.0, "different": 1.0}
    return examples


def initialise(nlp: Language) -> None:
    if "flat_ner" in nlp.pipe_names:
        nlp.config["initialize"]["components"]["flat_ner"] = {"lexicon": {"@misc": "test.lexicon"}}
    fix_random_seed(0)
    nlp.initialize(lambda: with_everything(nlp))


def learn(nlp: Language) -> list[bytes]:
    """The weights of the encoder and of the components after steps that teach the tagger alone."""
    fix_random_seed(0)
    before = weights(nlp)
    sgd = AdamW(0.01)
    for _ in range(3):
        nlp.update(with_tags(nlp), sgd=sgd)
    after = weights(nlp)
    assert after[0] != before[0]
    assert after[2:] == before[2:]
    return after


def weights(nlp: Language) -> list[bytes]:
    return [pipe.model.to_bytes() for _, pipe in nlp.pipeline]  # type: ignore[attr-defined]


def test_what_learns_nothing_keeps_nothing_back(tiny_bert: Path) -> None:
    """The components pass on what the tagger has taught the encoder: as if they weren't there."""
    alone, shared = make(tiny_bert), make(tiny_bert, *COMPONENTS)
    assert learn(alone)[0] == learn(shared)[0]
