"""`re2_similarity` over a BERT: each text of a pair is read alone, in training as in prediction."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ner.conftest import blank
from similarity.conftest import GOLD, TEXTS, add_re2, cats_of, examples_of
from thinc.api import fix_random_seed

from spacy_flat.nn.optimizers import AdamW

from .conftest import LISTENER, STOCK, add_transformer


@pytest.mark.parametrize("listener", [LISTENER, STOCK], ids=["characters", "tokens"])
def test_predict_pairs_is_what_is_trained_and_evaluated(tiny_bert: Path, listener: Any) -> None:
    fix_random_seed(0)
    nlp = blank()
    add_transformer(nlp, tiny_bert)
    pipe = add_re2(nlp, tok2vec=listener)
    examples = examples_of(nlp)
    sgd = nlp.initialize(lambda: examples, sgd=AdamW(0.01))
    for _ in range(3):
        nlp.update(examples, sgd=sgd)
    found = pipe.predict_pairs(TEXTS)
    np.testing.assert_allclose(found, cats_of(nlp), rtol=1e-4, atol=1e-5)
    right = found.argmax(1) == GOLD.argmax(1)
    assert nlp.evaluate(examples)["pairs_acc"] == pytest.approx(right.mean())
    assert pipe.align("", "").left == [""]  # spacy-transformers can't read texts without tokens
