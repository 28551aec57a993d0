"""Lexicons as bytes, on disk, pickled and copied; damaged and foreign data."""

import copy
import json
import pickle
from importlib.metadata import version
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_flat.lexicon import Entry, Lexicon, storage
from spacy_flat.lexicon.snapshot import COLUMNS

words = st.lists(st.text("京大学A１Ａ1　 𠀀😀\0", max_size=5), max_size=12)


def found(lexicon: Lexicon, texts: list[str]) -> list[list[int]]:
    return [column.tolist() for column in vars(lexicon.match(texts)).values()]


def assert_same(one: Lexicon, other: Lexicon) -> None:
    text = ["重庆药店在上海Ａ座", "𠀀京𠀀京"]
    assert list(one) == list(other)
    assert found(one, text) == found(other, text)
    one, other = one.snapshot, other.snapshot
    for column in COLUMNS:
        assert getattr(one, column).tolist() == getattr(other, column).tolist()
    for setting in ("type_names", "ignore_case", "simplifier"):
        assert getattr(one, setting) == getattr(other, setting)


def make_changed() -> Lexicon:
    entries = [Entry("重庆", 5, "地名"), Entry("药店"), Entry("𠀀京"), Entry("重庆"), Entry("店")]
    lexicon = Lexicon(entries, ignore_case=False)
    lexicon.add(["上海", "Ａ座"], "x", trust=0.5)
    lexicon.remove(["药店"])
    return lexicon


@pytest.fixture
def changed() -> Lexicon:
    return make_changed()


def signed(data: bytes, **fields: object) -> bytes:
    """A lexicon's bytes with other fields in the header, as if it had been saved so."""
    header, _, arrays = data.partition(b"\n")
    old = json.loads(header)
    del old["checksum"]
    new = {name: value for name, value in {**old, **fields}.items() if value is not None}
    return storage._header(new, arrays) + b"\n" + arrays


def test_bytes_disk_pickle_and_copy_give_the_same(changed: Lexicon, tmp_path: Path):
    changed.to_disk(tmp_path / "new" / "lexicon")
    copies = [
        Lexicon.from_bytes(changed.to_bytes()),
        Lexicon.from_disk(tmp_path / "new" / "lexicon"),
        pickle.loads(pickle.dumps(changed)),
        copy.copy(changed),
        copy.deepcopy(changed),
    ]
    for other in copies:
        assert_same(changed, other)
        other.add(["北京"])
        assert other.index("北京") == changed.snapshot.size
    assert "北京" not in changed


@pytest.mark.filterwarnings("ignore:.*W001")
@given(words, words)
def test_any_lexicon_survives_bytes(given_words, added):
    lexicon = Lexicon(map(Entry, given_words))
    lexicon.add(added)
    assert_same(lexicon, Lexicon.from_bytes(lexicon.to_bytes()))


def test_automata_of_another_daachorse_are_built_anew(
    changed: Lexicon, monkeypatch: pytest.MonkeyPatch
):
    data = changed.to_bytes()
    monkeypatch.delattr(storage.Automaton, "load")
    assert json.loads(data.partition(b"\n")[0])["daachorse"] == version("daachorse")
    assert_same(changed, Lexicon.from_bytes(signed(data, daachorse="0.0.1")))


SAVED = make_changed().to_bytes()


@given(st.lists(st.tuples(st.integers(0, len(SAVED) - 1), st.integers(1, 255)), min_size=1))
def test_bytes_damaged_anywhere(flips: list[tuple[int, int]]):
    data = bytearray(SAVED)
    for place, bits in flips:
        data[place] ^= bits
    if data == SAVED:
        return
    with pytest.raises(ValueError, match="F024"):
        Lexicon.from_bytes(bytes(data))


WRONG = [
    *(("F024", data) for data in (b"", b"hello", b"\xff\n", b"[1]\n", b"[" * 100_000)),
    ("F024", SAVED + b"more"),
    ("F024", Lexicon().to_bytes().partition(b"\n")[0] + b"\n" + SAVED.partition(b"\n")[2]),
    ("F024.*type_names", signed(SAVED, type_names=None)),
    ("F024.*full_width", signed(SAVED, settings={"full_width": True, "min_length": 2})),
    ("F024", signed(SAVED.partition(b"\n")[0] + b"\nhello")),
    ("F025", signed(SAVED, format=storage.FORMAT + 1)),
    ("F025", signed(SAVED, format=None)),
]


@pytest.mark.parametrize(("code", "data"), WRONG)
def test_data_that_is_no_lexicon(code: str, data: bytes, tmp_path: Path):
    with pytest.raises(ValueError, match=code):
        Lexicon.from_bytes(data)
    with pytest.raises(FileNotFoundError, match="F023"):
        Lexicon.from_disk(tmp_path)


def test_words_saved_before_there_was_trust_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before:
        before.setattr(storage, "COLUMNS", storage.COLUMNS[:-1])
        data = Lexicon([Entry("重庆", trust=1.0)]).to_bytes()
    old = signed(data, settings={"full_width": False, "min_length": 2, "simplified": ""})
    assert Lexicon.from_bytes(old).entry("重庆") == Entry("重庆")
