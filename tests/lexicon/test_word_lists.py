import gzip
import lzma
import time
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.util import registry

from spacy_flat.lexicon import (
    Entry,
    Lexicon,
    WordList,
    jieba_words,
    read_thuocl,
    read_words,
    sources,
    vector_words,
)
from spacy_flat.lexicon.readers import jieba_lexicon
from spacy_flat.lexicon.readers import lexicon as read_lexicon


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "words.txt"


def test_any_prefix_of_word_frequency_type(path: Path):
    path.write_text("重庆\n药店\t7\n\n 北京 \t 1.5 \t place\r\n上海\t\tplace", "utf-8")
    words = read_words(path)
    assert words.entries == [
        Entry("重庆", -1, "", "words.txt"),
        Entry("药店", 7, "", "words.txt"),
        Entry("北京", 1.5, "place", "words.txt"),
        Entry("上海", -1, "place", "words.txt"),
    ]
    assert list(words) == words.entries
    assert len(words) == 4
    assert words.skipped == ()


def test_words_with_spaces_and_other_separators(path: Path):
    path.write_text("New York\t3\n", "utf-8")
    assert read_words(path).entries[0].word == "New York"
    path.write_text("重庆 3 ns\n", "utf-8")
    assert read_words(path, separator=" ").entries == [Entry("重庆", 3, "ns", "words.txt")]


def test_a_user_dictionary_of_jieba(path: Path):
    path.write_text(
        "人和药店 10 nt\n云计算  5\r\n\n台中\n凱特琳 nz\n"
        "Edu Trust认证 2000\n好用 3.5 机构\n创新办 3 i\n",
        "utf-8",
    )
    assert [entry[:3] for entry in read_words(path, type="new")] == [
        ("人和药店", 10, "nt"),
        ("云计算", 5, "new"),
        ("台中", -1, "new"),
        ("凱特琳", -1, "nz"),
        ("Edu Trust认证", 2000, "new"),
        ("好用", 3.5, "机构"),
        ("创新办", 3, "i"),
    ]
    lexicon = Lexicon()
    assert lexicon.update(path) == 7
    assert "人和药店" in lexicon


@pytest.mark.parametrize(
    "text",
    [
        "人和药店 ORG",
        "人和药店 5 ORG\n新川公司 ORG",
        "人和药店  ORG\r\nNew York LOC\n新川公司 ORG",
    ],
)
def test_types_of_a_pipeline_after_a_space(path: Path, text: str):
    path.write_text(text, "utf-8")
    lexicon = Lexicon()
    lexicon.close_types(["ORG", "LOC", "c"])
    assert lexicon.update(path) == len(text.splitlines())
    for word, type in {"人和药店": "ORG", "New York": "LOC", "新川公司": "ORG"}.items():
        if word in lexicon:
            assert lexicon.type_names[lexicon.types[lexicon.index(word)]] == type
    assert {"人和药店", "新川公司", "New York", "重庆"}.issuperset(lexicon)


def test_one_type_after_a_space_may_be_a_mistake(path: Path):
    path.write_text("人和药店\n重庆\n新川公司 ORG", "utf-8")
    lexicon = Lexicon()
    lexicon.close_types(["ORG", "c"])
    with pytest.raises(ValueError, match=r"F035.*line 3: '新川公司 ORG'"):
        lexicon.update(path)
    path.write_text("vitamin c\n", "utf-8")
    assert lexicon.update(path) == 1
    assert "vitamin c" in lexicon


def test_a_user_dictionary_with_many_spaces_takes_no_longer(path: Path):
    """Seconds, were the time cubic in their number."""
    word = f"人{' ' * 8000}和"
    path.write_text(f"药店 7 n\n重庆 3 ns\n{word}\n", "utf-8")
    start = time.perf_counter()
    assert read_words(path).entries[2].word == word
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("iPhone 15", "F035"),
        ("人和药店 10 nt", "F035"),
        ("人和药店,ORG", "F045"),
        ("人和药店, 公司", "F045"),
        ("人和药店,10,nt", "F045"),
        ("人和药店,,ORG", "F045"),
        ("Air China,ORG", "F045"),
    ],
)
def test_a_line_that_may_be_a_word_or_columns(path: Path, line: str, code: str):
    path.write_text(f"重庆\n{line}\n", "utf-8")
    with pytest.raises(ValueError, match=rf"{code}.*line 2: '{line}'.*TAB"):
        read_words(path)
    assert read_words(path, skip_bad=True).skipped == (2,)
    assert [entry.word for entry in read_words(path, separator="\t")] == ["重庆", line]
    path.write_text(f"{line}\t\n", "utf-8")
    assert [entry.word for entry in read_words(path)] == [line]


def test_words_with_commas(path: Path):
    words = ["1,2-二氯乙烷", "N,N-二甲基甲酰胺", "10,000", "Washington, D.C.", "你好，李焕英"]
    path.write_text("\n".join(words), "utf-8")
    assert [entry.word for entry in read_words(path)] == words


@pytest.mark.parametrize(("suffix", "opened"), [(".gz", gzip.open), (".xz", lzma.open)])
def test_packed_files_and_byte_order_mark(tmp_path: Path, suffix: str, opened):
    path = tmp_path / f"words.txt{suffix}"
    with opened(path, "wt", encoding="utf-8-sig") as stream:
        stream.write("重庆\t3\n")
    assert read_words(path).entries == [Entry("重庆", 3, "", path.name)]


@given(st.lists(st.text(st.characters(exclude_characters="\t\n", codec="utf-8"), min_size=1)))
def test_lines_are_cut_at_newlines_only(tmp_path_factory: pytest.TempPathFactory, given_words):
    path = tmp_path_factory.mktemp("lists") / "words.txt"
    path.write_bytes("\n".join(given_words).removeprefix("\ufeff").encode())
    expected = [word.strip() for word in "\n".join(given_words).removeprefix("\ufeff").split("\n")]
    words = [entry.word for entry in read_words(path, separator="\t")]
    assert words == [word for word in expected if word]


BAD_LINES = {
    "重庆\tmany": "F007",
    "重庆\t-1": "F007",
    "重庆\tnan": "F007",
    "重庆\t1e999": "F007",
    "重庆\t1\tplace\tmore": "F008",
    "\t1": "F006",
}


@pytest.mark.parametrize(("line", "code"), BAD_LINES.items())
def test_bad_lines_are_named_or_left_out(path: Path, line: str, code: str):
    path.write_text(f"药店\n{line}\n北京\n", "utf-8")
    with pytest.raises(ValueError, match=rf"{code}.*words\.txt, line 2"):
        read_words(path)
    words = read_words(path, skip_bad=True)
    assert [entry.word for entry in words] == ["药店", "北京"]
    assert words.skipped == (2,)


@pytest.mark.parametrize(
    ("read", "text", "code"),
    [
        (read_words, "人和药店 10 nt\n云计算 5\n药店\t7\n", "F036"),
        (read_thuocl, "字符串\t1\n条例\n\t2\n", "F006"),
    ],
)
def test_bad_lines_of_other_forms(path: Path, read, text: str, code: str):
    path.write_text(text, "utf-8")
    with pytest.raises(ValueError, match=f"{code}.*line 3"):
        read(path)
    assert read(path, skip_bad=True).skipped == (3,)
    path.write_text("", "utf-8")
    assert len(read(path)) == 0


@pytest.mark.parametrize("read", [read_words, read_thuocl])
def test_wrong_encoding(path: Path, read):
    path.write_bytes("药店\n".encode() + "北京\n".encode("gb18030"))
    with pytest.raises(ValueError, match=r"F004.*words\.txt, line 2: byte 0xb1 at offset 0"):
        read(path)
    assert read(path, skip_bad=True).skipped == (2,)


def test_files_that_cannot_be_read(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"F001.*none\.txt"):
        read_words(tmp_path / "none.txt")
    with pytest.raises(IsADirectoryError, match="F002"):
        read_words(tmp_path)
    for suffix in (".gz", ".xz"):
        path = tmp_path / f"plain{suffix}"
        path.write_text("重庆\n", "utf-8")
        with pytest.raises(ValueError, match=f"F003.*plain{suffix}, line 1"):
            read_words(path)


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_packed_file_that_is_cut_short(tmp_path: Path, suffix: str, compress):
    path = tmp_path / f"words{suffix}"
    data = compress("".join(f"词{n}\n" for n in range(50_000)).encode())
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(ValueError, match="F003"):
        read_words(path, skip_bad=True)


@pytest.mark.parametrize("damage", [b"", b"{}\n", None])
def test_a_lexicon_of_jiebas_words_is_cached(
    few_words: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes | None
):
    """Until the dictionary changes; where the cache is damaged or is no folder, it is built."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    built = jieba_lexicon()
    (cache,) = (tmp_path / "cache").rglob("lexicon.bin")
    with monkeypatch.context() as without_words:
        without_words.delattr(sources, "read_words")
        assert jieba_lexicon().to_bytes() == built.to_bytes()
    if damage is None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    else:
        cache.write_bytes(damage)
    assert jieba_lexicon().to_bytes() == built.to_bytes()
    assert damage is None or cache.read_bytes() == built.to_bytes()
    assert read_lexicon({"jieba": jieba_words()}, full_width=True).full_width
    (tmp_path / "dict.txt").write_text("重庆 3 ns\n", "utf-8")
    spec = ModuleSpec("jieba", None, origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(sources, "find_spec", lambda name: spec)
    assert list(jieba_lexicon()) == ["重庆"]


def test_without_jieba(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sources, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"F005.*pip install jieba"):
        jieba_words()


def test_thuocl_lines_with_odd_frequencies(path: Path):
    path.write_text("字符串 \t 395499\n村\t3?\n丁香\t125472s\n条例\t\n\n 狗\n", "utf-8")
    words = read_thuocl(path, type="it")
    assert [(entry.word, entry.frequency) for entry in words] == [
        ("字符串", 395499),
        ("村", 3),
        ("丁香", 125472),
        ("条例", -1),
        ("狗", -1),
    ]
    assert {entry.type for entry in words} == {"it"}


def test_keys_of_vectors_as_words(path: Path):
    path.write_text("重庆 1 2\n北京 3 nan\n上海 5\n", "utf-8")
    with pytest.raises(ValueError, match="F011"):
        vector_words(path)
    words = vector_words(path, type="place", skip_bad=True)
    assert words.entries == [Entry(word, -1, "place", "words.txt") for word in ("重庆", "北京")]
    assert words.skipped == (3,)


def test_a_weight_multiplies_known_frequencies(path: Path):
    path.write_text("重庆\t200\n药店\n", "utf-8")
    words = read_words(str(path), type="place", origin="mine").weighted(0.5)
    assert words.entries == [
        Entry("重庆", 100, "place", "mine"),
        Entry("药店", -1, "place", "mine"),
    ]
    for weight in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="F341"):
            words.weighted(weight)


def test_sources_of_a_config_have_types_weights_and_origins(path: Path):
    path.write_text("重庆\t200\n药店\t10\tn\n", "utf-8")
    other = path.with_name("other.txt")
    other.write_text("重庆\t7\n开业\n", "utf-8")
    config = {
        "@readers": "spacy-flat.Lexicon.v1",
        "sources": {
            "places": {"@readers": "spacy-flat.Words.v1", "path": str(path), "type": "place"},
            "more": {"@readers": "spacy-flat.Words.v1", "path": str(other), "weight": 3.0},
        },
    }
    lexicon = registry.resolve({"lexicon": config})["lexicon"]
    found = [
        (word, lexicon.type_names[type], frequency, lexicon.origin_names[origin])
        for word, type, frequency, origin in zip(
            lexicon, lexicon.types, lexicon.frequencies, lexicon.origins, strict=True
        )
    ]
    assert found == [
        ("重庆", "place", 200, "places"),
        ("药店", "n", 10, "places"),
        ("开业", "", -1, "more"),
    ]


@pytest.mark.parametrize(
    ("entries", "count"), [([], 0), ([Entry("店")], 1), ([Entry("重庆"), Entry("重庆")], 2)]
)
def test_a_source_without_words_of_its_own_is_reported(entries: list[Entry], count: int):
    sources = {"places": WordList([Entry("重庆")]), "mine": WordList(entries)}
    with pytest.warns(UserWarning, match=rf"W002.*'mine'.*all of its {count} entries"):
        lexicon = read_lexicon(sources)
    assert list(lexicon) == ["重庆"]


def test_lists_of_names_have_labels_of_zh_flat_general() -> None:
    """`configs/zh_flat_general.cfg` has them in its lexicon: a wrong label would only warn."""
    folder = Path(__file__).parents[2] / "assets" / "names"
    labels: dict[str, str] = {}
    for path in sorted({*folder.glob("*.txt")} - {folder / "ordinary.txt"}):
        entries = read_words(path).entries
        words = [entry.word for entry in entries]
        assert len(words) == len(set(words)), path
        assert min(map(len, words)) > 1, path
        for entry in entries:
            assert labels.setdefault(entry.word, entry.type) == entry.type, entry.word
    assert {*labels.values()} == {"PER", "GPE", "LOC", "SCENE", "ORG", "COMPANY", "GOVERNMENT"}
