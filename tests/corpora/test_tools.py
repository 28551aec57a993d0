"""What other tools and corpora write: what is read, and what is said of defects."""

from pathlib import Path

import pytest
from converted import convert, load

from spacy_flat.corpora import ConvertOptions, convert_file

GOLD = [("王芳去北京", [(0, 2, "PER"), (3, 5, "LOC")])]
LABELS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
CONLLU = "# text = 王芳去北京\n1-2\t王芳\t_\t_\t_\t_\t_\t_\t_\t_\n"
CONLLU += "1\t王\t_\t_\t_\t_\t0\t_\t_\tNER=B-PER\n"
CONLLU += "2\t芳\t_\t_\t_\t_\t0\t_\t_\tNER=I-PER|SpaceAfter=No\n3\t去\t_\t_\t_\t_\t0\t_\t_\t_\n"
CONLLU += "4\t北京\t_\t_\t_\t_\t0\t_\t_\tX=1|NE=B-LOC\n\n"
UIE = '{"content": "王芳去北京", "prompt": "%s", "result_list": [%s]}\n'
UIE = (
    UIE % ("PER", '{"text": "王芳", "start": 0, "end": 2}')
    + UIE % (*("LOC", '{"text": "北京", "start": 3, "end": 5}'),)
    + UIE % ("王芳的出生地", "")
)
RASA = (
    '{"text": "王芳去北京", "entities": [{"start": 0, "end": 2, "value": "芳姐", "entity": "PER"}, '
)
RASA += '{"start": 3, "end": 5, "value": "北京", "entity": "LOC"}]}'
SPANS = '[{"start": 0, "end": 2, "label": "PER"}, {"start": 3, "end": 5, "label": "LOC"}]'


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (
            "1\t王芳\tB-PER\t-\tann\n2\t去\tO\t-\tann\n3\t北京\tB-LOC\t-\tann\n",
            {"columns": ["2", "3"]},
        ),
        (CONLLU, {}),
        ("Sentence #,Word,POS,Tag\n1,王芳,N,B-PER\n,去,V,O\n,北京,N,B-LOC\n", {"format": "table"}),
        (
            "x\ty\tz\nB-PER\t王芳\t1\nO\t去\t1\nB-LOC\t北京\t1\n",
            {"format": "table", "columns": "321"},
        ),
        (
            '{"tokens": ["王", "芳", "去", "北京"], "ner_tags": [1, 2, 0, 3], "id": "0"}',
            {"tags": LABELS},
        ),
        ('{"tokens": ["王芳", "去", "北", "京"], "tags": ["S-PER", "O", "B-LOC", "E-LOC"]}', {}),
        ('{"data": "王芳去北京", "label": [[0, 2, "PER"], [3, 5, "LOC"]]}', {}),
        (f'{{"text": "王芳去北京", "entities": {SPANS}, "relations": [{{"id": 1}}]}}', {}),
        (f'{{"q": "王芳去北京", "text": "", "entities": {SPANS}}}', {"text": "q"}),
        (
            '{"tokenized_text": ["王芳", "去", "北京"], "ner": [[0, 0, "PER"], [2, 2, "LOC"]]}',
            {},
        ),
        (UIE, {}),
        ("{{PER:王芳}}去{{ LOC:北京}}\n", {"format": "boson"}),
        (
            '## intent:go\n- [王芳](PER)去[北京]{"entity": "LOC"}\n## lookup:x\n- y\n',
            {"format": "rasa"},
        ),
        (f'{{\n"rasa_nlu_data": {{"common_examples": [{RASA}]}}}}', {}),
        ("王/PER  芳/n  去/v  北京/LOC\n".replace("王/PER  芳/n", "[王/n  芳/n]PER"), {}),
    ],
)
def test_formats(tmp_path: Path, text: str, options: dict[str, object]) -> None:
    docs, summary = convert(tmp_path, text, **options)
    found = [(d.text, [(e.start_char, e.end_char, e.label_) for e in d.ents]) for d in docs]
    assert found == GOLD
    assert not summary.repairs
    assert all(token.ent_iob for token in docs[0])


def test_prompts_that_are_not_asked_are_unannotated(tmp_path: Path) -> None:
    other = '{"content": "李雷", "prompt": "PER", "result_list": []}\n'
    docs, summary = convert(tmp_path, UIE + other, unannotated=["ORG"])
    assert [list(doc._.unannotated_labels) for doc in docs] == [["ORG"], ["LOC", "ORG"]]
    assert summary.skipped == 1  # the relation


def test_natures(tmp_path: Path) -> None:
    """A surname and the given name after it are one name."""
    text = "李/nr 鹏/nr 朱/nr 镕基/nr 访/v 司马/nr 光/nr ，/w 阿里/nr 波特/nr //w"
    text = f"19980101-01-001-001/m {text}"
    docs, _ = convert(tmp_path, text)
    assert docs[0].text == "李鹏朱镕基访司马光，阿里波特/"
    assert [ent.text for ent in docs[0].ents] == ["李鹏", "朱镕基", "司马光", "阿里", "波特"]


def write_brat(folder: Path, annotation: str, text: str = "😂王芳\r\n去北京") -> None:
    (folder / "in/sub").mkdir(parents=True, exist_ok=True)
    (folder / "in/sub/a.txt").write_text(text, "utf-8", newline="")
    (folder / "in/sub/a.ann").write_text(annotation, "utf-8")
    (folder / "in/notes.txt").write_text("没有标注", "utf-8")


def test_brat(tmp_path: Path) -> None:
    """Line ends count in offsets. What has no annotation isn't read."""
    write_brat(
        tmp_path, "T1\tPER 1 3\t王芳\nR1\tgo Arg1:T1 Arg2:T2\nT2\tLOC 6 8\t北京\n#1\tNote T1\tx\n"
    )
    convert_file(tmp_path / "in", tmp_path / "out.spacy", ConvertOptions())
    (doc,) = load(tmp_path / "out.spacy")
    assert doc.text == "😂王芳\r\n去北京"
    assert [(ent.text, ent.label_) for ent in doc.ents] == [("王芳", "PER"), ("北京", "LOC")]


@pytest.mark.parametrize(
    ("annotation", "said"),
    [
        ("T1 PER 1 3 王芳\n", r"F111.*a\.ann, line 1: expected an entity such as T1"),
        (
            "T1\tPER 1 3\t李雷\n",
            r"F108.*in, line of sub/a\.ann: the PER entity at \[1, 3\] is '李雷'",
        ),
        ("#\nT1\tPER 1 2;6 7\t王 北\n", r"F110.*a\.ann, line 2: the PER entity at 1 2;6 7 "),
    ],
)
def test_defects_of_brat(tmp_path: Path, annotation: str, said: str) -> None:
    write_brat(tmp_path, annotation)
    with pytest.raises(ValueError, match=said):
        convert_file(tmp_path / "in", tmp_path / "out.spacy", ConvertOptions())
    assert not (tmp_path / "out.spacy").exists()
    if "F110" in said:
        summary = convert_file(tmp_path / "in", tmp_path / "out.spacy", ConvertOptions(repair=True))
        assert summary.repairs == {"entity of several parts made whole": 1}


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (
            '{"tokens": ["王"], "ner_tags": [7]}',
            {"tags": ["O"]},
            "F156.*line 1: .* 7 is not a token",
        ),
        ('{"tokens": ["王"], "ner_tags": ["I-X"]}', {}, "F104.*line 1"),
        ('{"tokens": ["王"], "ner_tags": []}', {"format": "tokens"}, "F156.*as many tags as"),
        ('{"tokens": ["Ann", "Lee"], "ner_tags": ["O", "O"]}', {}, "F115"),
        ('{"tokenized_text": ["王"], "ner": [[0, 1, "X"]]}', {"format": "gliner"}, "F156.*line 1"),
        ('{"tokenized_text": ["王"], "ner": [[0, 0, "X"], [0, 0, "Y"]]}', {}, "F109.*line 1"),
        ('{"content": "王", "prompt": "x"}', {"format": "uie"}, "F156.*line 1"),
        ('{"q": "王芳", "entities": []}', {}, "F150.*--text names another key"),
        ("好\n{{x:王}}去{{y:北京", {"format": "boson"}, "F111.*line 2: .*'王去{{y:北京'"),
        ("- [王](x)好[a](", {"format": "rasa"}, "F111.*line 1"),
        ("王/nr 去\n", {"format": "natures"}, "F111.*line 1: .*'去'"),
        ("王/nr 去/v]nt\n", {"format": "natures"}, "F111.*line 1"),
        ("a,b\n1,2\n", {"format": "table"}, "F151.*line 1: 2 columns.*sentence_id, word and tag"),
        ('id,word,tag\n1,"王,O\n', {"format": "table"}, "F152.*line 2"),
        ("id,word,tag\n1,王,PER\n", {"format": "table"}, "F103.*line 2"),
        ("id,word,tag\n", {"format": "table", "columns": ["1", "x"]}, "F175"),
        ("1\t王\n", {"format": "conllu"}, "F111.*line 1: expected ten columns"),
        ("1\t他\t_\t_\t_\t_\t0\t_\t_\t_\n", {}, "F010.*no tag, such as NER=B-PER"),
        ("王 O\n", {"format": "bio", "columns": ["2", "5"]}, "F102.*line 1"),
        ("王 O\n", {"format": "bio", "columns": ["2"]}, "F175"),
    ],
)
def test_defects(tmp_path: Path, text: str, options: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        convert(tmp_path, text, **options)
    assert not list((tmp_path / "new").rglob("*"))
