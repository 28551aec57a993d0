"""Training from a config, with everything that `[initialize]` can be given."""

from pathlib import Path

import pytest
from spacy.tokens import DocBin
from spacy.training.initialize import init_nlp
from spacy.util import load_config

from .conftest import blank, examples_of

CONFIGS = Path(__file__).parents[2] / "configs"


@pytest.fixture
def files(tmp_path):
    """A corpus, a word list and vectors of two characters, a bigram and a word."""
    gold = [example.reference for example in examples_of(blank())]
    DocBin(docs=gold).to_disk(tmp_path / "train.spacy")
    (tmp_path / "words.txt").write_text("重庆\n大学\n", encoding="utf-8")
    (tmp_path / "char.vec").write_text("重 1 0 2\n庆 3 0 4\n", encoding="utf-8")
    (tmp_path / "bigram.vec").write_text("重庆 3 4\n", encoding="utf-8")
    (tmp_path / "word.vec").write_text("重庆 0 0 0 5\n", encoding="utf-8")
    return tmp_path


def test_a_config_reads_vectors_and_words(files):
    config = load_config(
        CONFIGS / "zh_flat.cfg",
        overrides={
            "paths.train": str(files / "train.spacy"),
            "paths.dev": str(files / "train.spacy"),
            "paths.char_vectors": str(files / "char.vec"),
            "paths.bigram_vectors": str(files / "bigram.vec"),
            "paths.word_vectors": str(files / "word.vec"),
        },
    )
    sources = config["initialize"]["components"]["flat_ner"]["lexicon"]["sources"]
    del sources["jieba"]
    sources["mine"] = {"@readers": "spacy-flat.Words.v1", "path": str(files / "words.txt")}
    pipe = init_nlp(config).get_pipe("flat_ner")
    assert list(pipe.lexicon) == ["重庆", "大学"]
    network = pipe.model.shims[0].module
    assert network.chars.pretrained.shape[1] == 3
    assert network.bigrams.pretrained.shape[1] == 2
    assert network.words.pretrained.norm(dim=1).max() == pytest.approx(1)  # scaled to unit length
