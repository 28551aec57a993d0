"""Lexicons as bytes, pickled and copied; data of other versions."""

import copy
import json
import pickle
from typing import Any

import pytest

from spacy_flat.lexicon import Entry, Lexicon, storage
from spacy_flat.lexicon.snapshot import COLUMNS


def contents(lexicon: Lexicon) -> list[Any]:
    matches = vars(lexicon.match(["重庆药店在上海Ａ座", "𠀀京𠀀京"])).values()
    columns = [getattr(lexicon.snapshot, name) for name in COLUMNS]
    rest = [list(lexicon), lexicon.snapshot.type_names, lexicon.snapshot.simplifier]
    return [*(array.tolist() for array in (*matches, *columns)), *rest]


@pytest.fixture
def changed() -> Lexicon:
    entries = [Entry("重庆", 5, "地名"), Entry("药店"), Entry("𠀀京"), Entry("重庆"), Entry("店")]
    lexicon = Lexicon(entries, simplified="臺台")
    lexicon.add(["上海", "Ａ座"], "x", trust=0.5)
    lexicon.remove(["药店"])
    return lexicon


def resaved(data: bytes, **fields: object) -> bytes:
    """A lexicon's bytes with other fields in the header, as if it had been saved so."""
    header, _, arrays = data.partition(b"\n")
    return json.dumps(json.loads(header) | fields).encode() + b"\n" + arrays


@pytest.mark.parametrize("lexicon", ["changed", "empty"])
def test_copies_are_the_same_and_apart(lexicon: str, request: pytest.FixtureRequest) -> None:
    one = Lexicon() if lexicon == "empty" else request.getfixturevalue(lexicon)
    copies = [Lexicon.from_bytes(one.to_bytes()), pickle.loads(pickle.dumps(one))]
    for other in (*copies, copy.copy(one), copy.deepcopy(one)):
        assert contents(other) == contents(one)
        other.add(["北京"])
        assert other.index("北京") == one.snapshot.size
    assert "北京" not in one


def test_automata_of_another_daachorse_are_built_anew(
    changed: Lexicon, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = resaved(changed.to_bytes(), daachorse="0.0.1")
    monkeypatch.delattr(storage.Automaton, "load")
    assert contents(Lexicon.from_bytes(data)) == contents(changed)


SAVED = Lexicon([Entry("重庆")]).to_bytes()


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"hello", b"\xff\n", b"[1]\n", b"{}\n", b"[" * 100_000),
        *(SAVED[:-1], SAVED.partition(b"\n")[0] + b"\nhello", resaved(SAVED, format=4)),
        resaved(SAVED, settings=[]),
    ],
)
def test_data_that_is_no_lexicon(data: bytes) -> None:
    with pytest.raises(ValueError, match="F024"):
        Lexicon.from_bytes(data)
