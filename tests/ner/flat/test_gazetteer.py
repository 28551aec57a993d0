"""What a network is shown in training of words that will be added later."""

from collections.abc import Sequence

import pytest

from spacy_flat.lexicon import Entry, Lexicon
from spacy_flat.ner.flat.featuriser import LatticeFeaturiser, build_vocabulary
from spacy_flat.ner.flat.gazetteer import Gazetteer, WordColumns
from spacy_flat.ner.flat.options import LatticeOptions

from ..conftest import NETWORK, add_flat, blank, examples_of, train

MENTIONS = [("人和药店", "ORG"), ("重庆", "LOC"), ("重庆", "LOC"), ("重庆", "ORG"), ("王", "PER")]
TEXTS = ["人和药店在重庆开业", "", "重庆人和药店"]


def lexicon() -> Lexicon:
    return Lexicon([Entry("药店", 300, "n"), Entry("重庆", 2000, "ns"), Entry("开业", 90, "v")])


def encoder(
    rate: float, mentions: list[tuple[str, str]] | None = None, **options: bool
) -> LatticeFeaturiser:
    settings = LatticeOptions(gazetteer_rate=rate, **options)
    names = {"labels": ["LOC", "ORG"], "mentions": mentions or MENTIONS}
    return build_vocabulary(settings, TEXTS, lexicon(), **names).featuriser


def words(
    found: LatticeFeaturiser, nodes: WordColumns, texts: list[str]
) -> list[tuple[str, str, bool]]:
    """Of each word its text, its type and whether it has a vector."""
    names = found.lexicon.snapshot.type_names
    return [
        (texts[text][start : start + length], names[type], bool(key))
        for text, start, length, key, type in zip(
            *(nodes[name] for name in ("texts", "heads", "lengths", "words", "types")), strict=True
        )
    ]


def shown(found: LatticeFeaturiser, texts: list[str]) -> list[tuple[str, str, bool]]:
    assert found.gazetteer is not None
    rate = found.options.gazetteer_rate
    return words(found, found.gazetteer.show_some(found.words_in(texts), texts, rate), texts)


def test_a_share_of_the_names_is_shown_and_another_one_each_time() -> None:
    mentions = [(f"名{number:03}", "PER") for number in range(400)]
    texts = ["".join(name for name, _ in mentions)]
    found = encoder(0.25, mentions)

    draws = [{word for word, _, _ in shown(found, texts)} for _ in range(2)]

    assert [len(draw) for draw in draws] == pytest.approx([100, 100], abs=40)
    assert draws[0] != draws[1]


@pytest.mark.parametrize("only_known_words", [False, True])
def test_what_is_shown_is_what_a_user_adds(only_known_words: bool) -> None:
    """After adding the names, a trained pipeline sees the very nodes that training showed; also a
    loaded one, and ones that leave out other words without vectors."""
    found = encoder(1.0, only_known_words=only_known_words)
    training = shown(found, TEXTS)
    found = found.from_bytes(found.to_bytes())
    for name, label in [("人和药店", "ORG"), ("重庆", "LOC")]:
        found.lexicon.add([name], type=label)

    assert words(found, found.words_in(TEXTS), TEXTS) == training
    found.lexicon.add(["店在"])
    assert (("店在", "", False) in words(found, found.words_in(TEXTS), TEXTS)) != only_known_words


def test_an_update_shows_names_and_a_prediction_none(monkeypatch: pytest.MonkeyPatch) -> None:
    nlp = blank()
    ner = add_flat(nlp, {"model": {"network": NETWORK, "lattice": {"embed_width": 16}}})
    train(nlp, steps=0)
    rates: list[float] = []
    show_some = Gazetteer.show_some

    def spy(
        own: Gazetteer, known: WordColumns, pieces: Sequence[str], rate: float, noise: float
    ) -> WordColumns:
        rates.append(rate)
        return show_some(own, known, pieces, rate, noise)

    monkeypatch.setattr(Gazetteer, "show_some", spy)
    nlp("重庆人和药店")
    assert rates == []
    nlp.update(examples_of(nlp)[:1])
    assert rates == [0.3]  # by default
    assert "李雷" in ner.model.attrs["featuriser"].gazetteer.names  # an entity of the examples


def test_with_noise_a_type_is_a_hint() -> None:
    mentions = [(f"名{number:03}", ("PER", "ORG")[number % 2]) for number in range(400)]
    texts = ["药店开业".join(name for name, _ in mentions)]
    found = encoder(1.0, mentions)
    assert found.gazetteer is not None
    nodes = found.gazetteer.show_some(found.words_in(texts), texts, 1.0, 0.3)
    labels, given = dict(mentions), words(found, nodes, texts)
    names = [(word, type) for word, type, _ in given if word in labels]
    assert len(names) == 400
    assert sum(type == "" for _, type in names) == pytest.approx(80, abs=35)
    assert sum(type not in ("", labels[word]) for word, type in names) == pytest.approx(20, abs=18)
    others = [type for word, type, _ in given if word not in labels]
    assert sum(type in ("PER", "ORG") for type in others) == pytest.approx(240, abs=60)
