"""The plain loop of spaCy's docs: load a pipeline, resume_training(), nlp.update."""

from pathlib import Path

import pytest
import spacy
from thinc.api import Config, fix_random_seed

from spacy_flat.nn.optimizers import AdamW

from .conftest import add_flat, blank, char_example, examples_of, found

CONFIG = Path(__file__).parents[2] / "configs" / "zh_flat.cfg"
TEXT, ENTITIES = "周杰伦在成都唱歌。", [(0, 3, "PER"), (4, 6, "LOC")]


@pytest.mark.parametrize("seed", range(2))
def test_one_new_example_is_learnt(seed: int, tmp_path: Path) -> None:
    fix_random_seed(seed)
    nlp = blank()
    add_flat(nlp, {})
    nlp.config["training"] = Config().from_disk(CONFIG, interpolate=False)["training"]
    nlp.config["initialize"]["components"]["flat_ner"] = {"lexicon": {"@misc": "test.lexicon"}}
    examples = examples_of(nlp)
    optimizer = nlp.initialize(lambda: examples, sgd=AdamW(0.003))
    for _ in range(20):
        nlp.update(examples, sgd=optimizer)
    nlp.to_disk(tmp_path)

    nlp = spacy.load(tmp_path)
    optimizer = nlp.resume_training()
    assert found(nlp, [TEXT]) != [ENTITIES]
    for _ in range(40):
        nlp.update([char_example(nlp, TEXT, ENTITIES)], sgd=optimizer)
    assert found(nlp, [TEXT]) == [ENTITIES]
