"""`doc._.suspicious`, beside a slow reference that scores each changed text as a whole."""

import sys
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import DocBin

from spacy_flat.generator import proofreading
from spacy_flat.generator.proofreading import (
    APART,
    CANDIDATES,
    REACH,
    Suspicious,
    homophones,
    syllables_of,
)

from .conftest import POEMS, Copy, generator, make
from .test_scoring import KINDS


@pytest.fixture(scope="module", params=["two layers of gru", "n-grams"])
def kind(request: pytest.FixtureRequest) -> Language:
    return make({**KINDS, "n-grams": {"ngrams": 1000}}[request.param], steps=15)


def gains(nlp: Language, text: str, margin: float) -> Iterator[Suspicious]:
    """The best replacement of each character."""
    pipe = generator(nlp)
    strings = [each for each in pipe.model.attrs["featuriser"].strings if each]
    network = pipe.model.shims[0].module

    def surprisals(texts: list[str]) -> list[list[float]]:
        return [score.surprisals.tolist() for score in pipe.predict(map(nlp.make_doc, texts))]

    (known,) = surprisals([text])
    for place, character in enumerate(text):
        alike = [each for each in strings if syllables_of(each) & syllables_of(character)]
        others = [each for each in alike if each != character]
        ngrams, network.ngrams = network.ngrams, None  # the network alone decides what is tried
        order = surprisals([text[:place] + each for each in others])
        network.ngrams = ngrams
        likely = sorted(zip(order, others, strict=True), key=lambda each: each[0][place])
        tried = [other for _, other in likely[:CANDIDATES]]
        changed = surprisals([text[:place] + each + text[place + 1 :] for each in tried])
        read = slice(place, place + REACH + 1)
        gain = {
            other: sum(known[read]) - sum(found[read])
            for other, found in zip(tried, changed, strict=True)
            if found[place] <= known[place] + margin
        }
        best = max(gain, key=lambda each: gain[each], default="")
        if gain and gain[best] > 0:
            yield Suspicious(place, character, best, gain[best])


@pytest.mark.parametrize("margin", [1.0, 9.0, -9.0])
@pytest.mark.parametrize("piece_length", [5, 100])
def test_gains_are_those_of_whole_texts(
    kind: Language, copy_of: Copy, piece_length: int, margin: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proofreading, "MARGIN", margin)
    nlp = copy_of(kind, piece_length=piece_length)
    text = "床前名月光。疑是地床千明夜光，一思口上双。春眠不绝晓"
    expected: list[Suspicious] = []
    for each in sorted(gains(nlp, text, margin), key=lambda each: -each.gain):
        if all(abs(each.start - other.start) >= APART for other in expected):
            expected.append(each)
    expected.sort()
    generator(nlp).suspicion = 0
    found = nlp(text)._.suspicious
    assert bool(found) == (margin > -9)
    assert [each[:3] for each in found] == [each[:3] for each in expected]
    gained = [each.gain for each in expected]
    assert [each.gain for each in found] == pytest.approx(gained, rel=1e-3, abs=1e-3)
    generator(nlp).suspicion = least = float(np.median([0, *(each.gain for each in found)]))
    assert nlp(text)._.suspicious == [each for each in found if each.gain >= least]


@given(
    gains=st.dictionaries(st.tuples(st.integers(0, 9), st.sampled_from("甲乙")), st.integers(1, 9)),
    least=st.integers(0, 9),
)
def test_the_most_suspicious_of_close_ones_counts(
    gains: dict[tuple[int, str], int], least: int
) -> None:
    """Beside one that takes the best again and again, and drops all less than APART from it."""
    left = [Suspicious(start, "丙", other, gain) for (start, other), gain in gains.items()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proofreading, "_replacements", lambda *_: iter(left))
        found = proofreading.suspicious_characters(None, "", np.zeros(1), least)  # type: ignore[arg-type]
    wanted = []
    left = [each for each in left if each.gain >= least]
    while left:
        best = max(left, key=lambda each: each.gain)
        wanted.append(best)
        left = [each for each in left if abs(each.start - best.start) >= 3]
    assert found == sorted(wanted)


def test_errors_are_found(
    trained: Language, copy_of: Copy, monkeypatch: pytest.MonkeyPatch
) -> None:
    nlp = copy_of(trained)
    assert nlp(POEMS[0])._.suspicious is None
    generator(nlp).suspicion = 6.0
    wrong = POEMS[0].replace("地上霜", "地上双").replace("故乡", "故香")
    clean, changed, other, empty, long = nlp.pipe(
        [POEMS[0], wrong, POEMS[0].replace("月光", "鸟光"), "", POEMS[1] * 9]
    )
    assert clean._.suspicious == clean.copy()._.suspicious == other._.suspicious == []
    assert [each[:3] for each in changed._.suspicious] == [(10, "双", "霜"), (22, "香", "乡")]
    assert empty._.suspicious is None
    assert len(long._.suspicious) < len(long)
    stored = DocBin(docs=[changed], store_user_data=True).to_bytes()
    (again,) = DocBin().from_bytes(stored).get_docs(nlp.vocab)
    assert again._.suspicious == changed._.suspicious
    assert again._.suspicious[0].expected == "霜"
    monkeypatch.setitem(sys.modules, "pypinyin", None)
    syllables_of.cache_clear()
    with pytest.raises(ImportError, match=r"\[F030\] suspicion needs .*\[poems\]"):
        nlp(POEMS[0])
    generator(nlp).suspicion = None
    assert generator(nlp)(again)._.suspicious is None


def test_homophones() -> None:
    assert syllables_of("重") >= {"zong", "cong"}
    assert syllables_of("中") & syllables_of("宗")
    assert syllables_of("声") & syllables_of("森")
    assert syllables_of("光") == {"guan"}
    assert syllables_of("方") == {"fan"}  # never wang, as hardly anyone reads it
    assert syllables_of("a") == syllables_of("，") == syllables_of("") == frozenset()
    known = homophones("种宗b", ["", "中", "重", "宗", "冲", "a"])
    assert [np.flatnonzero(row).tolist() for row in known] == [[1, 2, 3], [1, 2, 3], []]
