import re
from pathlib import Path

import pytest
from spacy.util import registry

from spacy_flat.lexicon import Entry, Lexicon, read_words, readers
from spacy_flat.lexicon.readers import jieba_lexicon
from spacy_flat.lexicon.word_lists import cedict_words


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "words.txt"


def test_any_prefix_of_word_frequency_type(path: Path):
    text = "\ufeff#名\n  # 城市\n重庆\nNew York\t7\n\n 北京 \t 1.5 \t place\r\n上海\t\tplace"
    path.write_text(text, "utf-8")
    assert list(read_words(path, trust=0.5)) == [
        Entry("重庆", trust=0.5),
        Entry("New York", 7, trust=0.5),
        Entry("北京", 1.5, "place", 0.5),
        Entry("上海", -1, "place", 0.5),
    ]


def test_a_user_dictionary_of_jieba(path: Path):
    path.write_text(
        "人和药店 10 nt\r重庆 3\r云计算  5\r\n\n台中\n凱特琳 nz\n"
        "Edu Trust认证 2000\n好用 3.5 机构\n创新办 3 i\n上海 市\t4\n",
        "utf-8",
    )
    assert [entry[:3] for entry in read_words(path, type="new")] == [
        ("人和药店", 10, "nt"),
        ("重庆", 3, "new"),
        ("云计算", 5, "new"),
        ("台中", -1, "new"),
        ("凱特琳", -1, "nz"),
        ("Edu Trust认证", 2000, "new"),
        ("好用", 3.5, "机构"),
        ("创新办", 3, "i"),
        ("上海 市", 4, "new"),
    ]
    lexicon = Lexicon()
    assert lexicon.update(path) == 9
    assert "人和药店" in lexicon


def test_a_user_dictionary_of_words_with_spaces(path: Path):
    path.write_text("Edu Trust认证 2000\nVisual Studio 3 nz\n凱特琳\n", "utf-8")
    assert [entry[:3] for entry in read_words(path)] == [
        ("Edu Trust认证", 2000, ""),
        ("Visual Studio", 3, "nz"),
        ("凱特琳", -1, ""),
    ]
    path.write_text("甲；乙 3\n上海 3\n人和药店；福满楼\n", "utf-8")
    with pytest.raises(ValueError, match=r"^\[F045.*line 3.*TAB.$"):
        read_words(path)
    path.write_text("重庆\nEdu Trust认证 2000\n北京\n", "utf-8")
    with pytest.raises(ValueError, match=r"F035.*line 2.*'Edu Trust认证 2000'"):
        read_words(path)


@pytest.mark.parametrize(
    "text",
    [
        "人和药店 ORG",
        "人和药店\u3000ORG\u3000",
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
            assert lexicon.entry(word).type == type
    assert {"人和药店", "新川公司", "New York", "重庆"}.issuperset(lexicon)


def test_a_type_of_one_letter_may_end_a_word(path: Path):
    path.write_text("人和药店 ORG\n新川公司 ORG\n维生素 C", "utf-8")
    (lexicon := Lexicon()).close_types(["ORG", "C"])
    lexicon.update(path)
    assert [*lexicon] == ["人和药店", "新川公司", "维生素 C"]


def test_a_comma_between_digits_belongs_to_the_word(path: Path):
    words = ["1,2-二氯乙烷", "N,N-二甲基甲酰胺", "Washington, D.C.", "MF1,2"]
    path.write_text("\n".join(words), "utf-8")
    assert [entry.word for entry in read_words(path)] == words


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
        ("王芳；李雷", "F045"),
        ("人和药店|ORG", "F045"),
    ],
)
def test_a_line_that_may_be_a_word_or_columns(path: Path, line: str, code: str):
    path.write_text(f"重庆\n{line}\n", "utf-8")
    with pytest.raises(ValueError, match=rf"{code}.*line 2: '{re.escape(line)}'.*TAB"):
        read_words(path)
    path.write_text(f"{line}\t\n", "utf-8")
    assert [entry.word for entry in read_words(path)] == [line]


BAD_LINES = {
    "重庆\tmany": "F007",
    "重庆\t-1": "F007",
    "重庆\tnan": "F007",
    "重庆\t1e999": "F007",
    "重庆\t1_000": "F007",
    "重庆\t５": "F007",
    "重庆\t1\tplace\tmore": "F008",
    "\t1": "F006",
}


@pytest.mark.parametrize(("line", "code"), BAD_LINES.items())
def test_bad_lines_are_named_or_left_out(path: Path, line: str, code: str):
    path.write_text(f"药店\n{line}\n北京\n", "utf-8")
    with pytest.raises(ValueError, match=rf"{code}.*words\.txt, line 2"):
        read_words(path)


def test_the_default_lexicon_is_built_once(few_words: None, monkeypatch: pytest.MonkeyPatch):
    first = jieba_lexicon()
    first.add(["人和药店人和"])
    monkeypatch.delattr(readers, "read_words")
    assert "人和药店人和" not in jieba_lexicon()
    assert first.entry("重庆") == jieba_lexicon().entry("重庆") != None  # noqa: E711


def test_sources_of_a_config_have_types_and_trust(path: Path):
    path.write_text("重庆\t200\n药店\t10\tn\n", "utf-8")
    other = path.with_name("other.txt")
    other.write_text("重庆\t7\n开业\n", "utf-8")
    config = {
        "@readers": "spacy-flat.Lexicon.v1",
        "sources": {
            "places": {"@readers": "spacy-flat.Words.v1", "path": str(path), "type": "place"},
            "more": {"@readers": "spacy-flat.Words.v1", "path": str(other), "trust": 0.5},
        },
    }
    lexicon = registry.resolve({"lexicon": config})["lexicon"]
    assert list(map(lexicon.entry, lexicon)) == [
        Entry("重庆", 200, "place"),
        Entry("药店", 10, "n"),
        Entry("开业", -1, "", 0.5),
    ]


def test_lists_of_names_have_labels_of_zh_flat_general() -> None:
    """zh_flat_general has them in its lexicon: a wrong label would only warn."""
    folder = Path(__file__).parents[2] / "assets" / "names"
    labels: dict[str, str] = {}
    for path in sorted({*folder.glob("*.txt")} - {folder / "ordinary.txt"}):
        entries = read_words(path)
        words = [entry.word for entry in entries]
        assert len(words) == len(set(words)), path
        assert min(map(len, words)) > 1, path
        for entry in entries:
            assert labels.setdefault(entry.word, entry.type) == entry.type, entry.word
    assert {*labels.values()} == {"PER", "GPE", "LOC", "SCENE", "ORG", "COMPANY", "GOVERNMENT"}


def test_ordinary_words_of_cedict_have_a_short_translation_and_names_are_left_out() -> None:
    words = {entry.word: entry.type for entry in cedict_words()}
    expected = {"会议": "meeting", "下班": "finish work", "榴莲": "durian fruit"}
    # Without an article; of two entries of a word, the first (the other is "to boil noodles").
    expected |= {"一眼": "glance", "干尸": "mummy", "中间": "middle", "下面": "below"}
    assert expected.items() <= words.items()
    # A name, also a name, a single character, only a long translation, a name without pinyin.
    assert not words.keys() & {"宜家", "大理", "吃", "提车", "IP地址"}
    assert len(words) > 50_000
    assert all(translation.islower() for translation in words.values())
