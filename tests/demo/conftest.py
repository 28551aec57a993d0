"""A released pipeline, unpacked, and one with all components."""

import zipfile
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.training import Example

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The released packages."""
    site = tmp_path_factory.mktemp("site")
    for name in ("zh_flat_msra", "zh_re2_questions"):
        (wheel,) = (ROOT / "assets/pipelines").glob(f"{name}-*.whl")
        zipfile.ZipFile(wheel).extractall(site)
    return site


@pytest.fixture(scope="package")
def released(site: Path) -> str:
    (config,) = site.glob("zh_flat_msra/*/config.cfg")
    return str(config.parent)


@pytest.fixture(scope="package")
def all_tasks(site: Path, released: str) -> str:
    """The released recogniser and questions, with a generator and a translator that have just been
    initialised."""
    (questions,) = site.glob("zh_re2_questions/*/config.cfg")
    nlp = spacy.load(questions.parent)
    nlp.add_pipe("flat_ner", source=spacy.load(released), first=True)
    text = nlp.make_doc("床前明月光，疑是地上霜。")
    for name in ("char_generator", "seq2seq_translator"):
        pipe: Any = nlp.add_pipe(name, config={"model": {"text": {"min_freq": 1}}})
        text._.translation = "The moon is bright."
        pipe.initialize(lambda: [Example(nlp.make_doc(text.text), text)], nlp=nlp)
    nlp.to_disk(site / "zh_all")
    return str(site / "zh_all")
