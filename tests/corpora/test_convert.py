"""From a file to a DocBin: formats, paths, options, and Docs as spaCy sees them."""

import json
from pathlib import Path

import pytest
from converted import BROKEN, TOWER, convert, entities
from hypothesis import given
from hypothesis import strategies as st
from spacy.vocab import Vocab

from spacy_flat.corpora import ConvertOptions, convert_file
from spacy_flat.corpora.columns import Sentence
from spacy_flat.corpora.convert import FORMATS, find_format
from spacy_flat.corpora.docs import read_docs
from spacy_flat.corpora.entities import annotated
from spacy_flat.text.spans import EntitySpan


def detect(folder: Path, text: str) -> str:
    (folder / "corpus").write_text(text, "utf-8")
    return find_format(folder / "corpus", ConvertOptions())


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("# text = 甲\n-DOCSTART- -X- O O\n\n甲 NN B-LOC\n", "bio"),
        ("1\t王\tNR\tB-PER\n2\t芳\tNR\tI-PER\n", "bio"),
        ("EU NNP I-NP B-ORG\nrejects VBZ I-VP O\n", "bio"),
        (" \tO\n\u3000\tO\n王\tB-PER\n", "bio"),
        ("  O\n王 B-PER\n", "bio"),
        ("\n\na B-X\nb M-X\nc E-X\n", "bmes"),
        ("王0 B-PER\n。1 O\n！！0 O\n", "bio"),
        ("a B-X\nb I-X\nc E-X\n", "bioes"),
        (f'\n{{"title": "无题", "lines": ["{TOWER}"]}}', "poems-jsonl"),
        ('[{"paragraphs": ["山。"]}]', "poems-jsonl"),
        ('{"tokens": ["王", "芳"], "ner_tags": [1, 2]}', "tokens"),
        ('{"tokenized_text": ["王", "芳"], "ner": [[0, 1, "PER"]]}', "gliner"),
        ('{"content": "王芳", "prompt": "人名", "result_list": []}', "uie"),
        ("# text = 王芳\n1\t王芳\t_\t_\t_\t_\t0\t_\t_\tB-PER\n", "conllu"),
        ("[中共/j  中央/n]nt  说/v", "natures"),
        ("EU NNP B-NP B-ORG\n  NN O O\n", "bio"),
    ],
)
def test_formats_are_detected_where_one_fits(tmp_path: Path, text: str, form: str) -> None:
    assert detect(tmp_path, text) == form


NOTHING = [{"label": None}, {"labels": []}, {"label": {}}, {"spans": [], "answer": "reject"}]
MARKED = [
    {"text": "王芳去", "label": {"PER": {"王芳": [[0, 1]]}}},
    {"text": "王芳去", "label": [[0, 2, "PER"]]},
    ["王芳去", {"entities": [[0, 2, "PER"]]}],
]


@pytest.mark.parametrize("marked", MARKED)
def test_layouts_of_entities_may_mix(tmp_path: Path, marked: object) -> None:
    """Records without entities may have any."""
    records = [*({"text": "好", **each} for each in NOTHING), marked]
    docs, summary = convert(tmp_path, "\n".join(map(json.dumps, records)))
    assert [entities(doc) for doc in docs] == [[], [], [("王芳", "PER")]]
    assert summary.skipped == 2


WRONG = {
    "sentence with tags after a TAB": "王 芳 去\tB-PER I-PER O\n北 京\tB-LOC I-LOC\n",
    "Kaggle's table": "sentence_id,word,tag\n1,王,B-PER\n1,芳,I-PER\n2,去,O\n",
    "sentence with a tag": "王芳在北京大学。\tB-ORG\n李雷来了。\tB-PER\n",
    "sentence on a line": "王 B-PER 芳 I-PER 去 O\n北 B-LOC 京 I-LOC 好 O\n",
    "sentence and tags beside it": "王 芳 去 ||| B-PER I-PER O\n北 京 ||| B-LOC I-LOC\n",
    "types alone": "王\tPER\n芳\tPER\n去\tO\n",
    "slashes": "王/B-PER 芳/I-PER 去/O\n",
    "marks without a name": "{{person_name:王芳}}去北京\n",
    "swapped columns": "O\t我\nB-PER\t王\nI-PER\t芳\n",
    "poems without a name": BROKEN,
    "pairs": "sentence1,sentence2,label\n甲,乙,1\n",
    "texts with classes": "很好看\t1\n不好看\t0\n",
    "classes in JSON": '{"text": "很好看", "label": "1"}\n',
    "surfaces without offsets": '{"text": "王芳", "label": {"PER": ["王芳"]}}\n',
    "tags in JSON": '{"words": ["王", "芳"], "ner_tags": [1, 2]}\n',
}


@pytest.mark.parametrize("shape", WRONG)
def test_files_of_another_shape_are_not_guessed(tmp_path: Path, shape: str) -> None:
    """The error shows the line as it is, and the formats of its kind with an example each."""
    text = WRONG[shape]
    is_json = text.startswith('{"')
    with pytest.raises(ValueError, match=r"F150.*corpus: line \d, .*, doesn't fit ") as error:
        detect(tmp_path, text)
    _, *listed = str(error.value).split("\n")
    examples = [form.example for form in FORMATS.values()]
    assert [line.partition(": ")[2] for line in listed] == [
        example for example in examples if example.startswith(("[", '{"')) == is_json
    ] * bool(listed)
    assert any(repr(line[:50]) in str(error.value) for line in text.splitlines())


@pytest.mark.parametrize(
    ("good", "bad", "said"),
    [
        ("王\tB-PER", "芳", r"'芳', doesn't fit the format bio or bioes or bmes of the lines"),
        ("王\tM-PER", "芳\tI-PER", r"'芳\\tI-PER', doesn't fit the format bmes of"),
        ("EU NNP B-ORG", "EU B-ORG", "'EU B-ORG', doesn't fit the format bio"),
    ],
)
def test_the_line_that_does_not_fit_is_named(
    tmp_path: Path, good: str, bad: str, said: str
) -> None:
    with pytest.raises(ValueError, match=f"F150.*corpus: line 501, {said}"):
        detect(tmp_path, f"{good}\n" * 500 + f"{bad}\n" + f"{good}\n" * 500)


def test_a_file_that_could_be_two(tmp_path: Path) -> None:
    both = '{"tokens": ["王"], "ner_tags": ["O"], "text": "王", "label": []}\n'
    with pytest.raises(ValueError, match=r"F150.*corpus: it could be tokens or cluener or doccano"):
        detect(tmp_path, both)


@pytest.mark.parametrize("form", ["bio", "bmes"])
def test_json_is_no_columns(tmp_path: Path, form: str) -> None:
    for text in (WRONG["tags in JSON"], '[\n {"text": "a b", "label": {}}\n]\n'):
        with pytest.raises(ValueError, match=r"F129.*corpus: it is JSON"):
            convert(tmp_path, text, format=form)


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ('{"text": ', "can't read it"),
        ('{"lines": ["a"]}', 'it has no "text"'),
        ('{"text": "a", "label": [[0, 1, ""]]}', "an entity has no type"),
    ],
)
def test_what_is_wrong_with_a_record(tmp_path: Path, record: str, problem: str) -> None:
    with pytest.raises(ValueError, match=rf"F156.*line 2.*{problem}"):
        convert(tmp_path, f'{{"text": "a", "label": {{}}}}\n{record}\n')


LINES = {
    "bio": "王\tB-PER\n芳\tI-PER\n\n去\tO\n",
    "doccano": '{"text": "王芳去", "label": [[0, 2, "PER"]]}\n{"text": "好", "label": []}\n',
    "spacy": '[\n["王芳去", {"entities": [[0, 2, "PER"]]}]\n]',
    "pairs-csv": 'sentence1,sentence2,label\n甲,"乙,",1\n丙,丁,0\n',
    "parallel-tsv": "他来了。\tHe came.\n\n好\tGood\n",
    "poems": f"{TOWER[:12]}\n{TOWER[12:]}\n\n{TOWER}\n",
    "lines": "甲\n\n乙",
}


@pytest.mark.parametrize("form", LINES)
@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_how_lines_end(tmp_path: Path, form: str, end: str) -> None:
    expected, ends = (
        [(doc.text, entities(doc), doc.cats) for doc in convert(tmp_path, text, format=form)[0]]
        for text in (LINES[form], LINES[form].replace("\n", end))
    )
    assert ends == expected


# What is wrong with files


@pytest.mark.parametrize("form", ["auto", *FORMATS])
def test_an_empty_file_is_an_error(tmp_path: Path, form: str) -> None:
    for text in ("", "\n \n\n"):
        with pytest.raises(ValueError, match=r"\[F010\] .*corpus: no sentence"):
            convert(tmp_path, text, format=form, repair=True)


def test_a_failed_conversion_leaves_the_old_file(tmp_path: Path) -> None:
    source, target = tmp_path / "corpus", tmp_path / "corpus.spacy"
    target.write_bytes(b"old")
    source.write_text("a O\n\nb I-X\n", "utf-8")
    with pytest.raises(ValueError, match="F104"):
        convert_file(source, target, ConvertOptions(format="bio"))
    assert target.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 2
    with pytest.raises(ValueError, match="F142"):
        convert_file(source, tmp_path / "corpus.bin", ConvertOptions())


@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        ('{"text": "a", "label": {}}', {"words": True}, "F174.*--words has no effect on .*corpus"),
        ("好 O\n", {"scores": True}, "F174.*--scores"),
        ("好 O\n", {"format": "conll"}, r"F118.*'conll'.*auto, bio, bmes"),
    ],
)
def test_options_that_have_no_effect(
    tmp_path: Path, text: str, options: dict[str, object], code: str
) -> None:
    with pytest.raises(ValueError, match=code):
        convert(tmp_path, text, **options)
    assert not (tmp_path / "new").exists()


# Docs


@given(st.text("甲乙 😀", min_size=1, max_size=20), st.data())
def test_a_doc_has_the_exact_text_and_annotation(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    unknown = sorted(data.draw(st.sets(st.integers(0, len(text) - 1))))
    is_spaced = text[start].isspace() or text[end - 1].isspace()
    spans = [] if is_spaced else [EntitySpan(start, end, "X")]
    doc = annotated(Vocab(), Sentence(list(text), spans, unknown))
    assert doc.text == text
    assert [(e.start_char, e.end_char, e.label_) for e in doc.ents] == spans
    inside = {i for each in spans for i in range(each.start, each.end)}
    found = {token.idx for token in doc if token.ent_iob == 0 and not token.text.isspace()}
    assert found == {i for i in unknown if not text[i].isspace()} - inside


def test_what_is_no_docbin(tmp_path: Path) -> None:
    (tmp_path / "train.spacy").write_bytes(b"no docs")
    with pytest.raises(ValueError, match=r"F134.*incorrect header"):
        read_docs(tmp_path / "train.spacy", Vocab())
    with pytest.raises(FileNotFoundError, match="F001"):
        read_docs(tmp_path / "none.spacy", Vocab())
