"""Components over a transformer: what they learn, share, save and pass back."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import torch
from blocks import pipe_config
from learning import settle
from ner.conftest import GOLD, TEXTS, blank, check_known, examples_of, found
from release import keep_tensors
from spacy.language import Language
from spacy.training import Example

from .conftest import LISTENER, STOCK, add_ner, add_transformer, learn, make, save_encoder, start

PATH = ["model.tok2vec"]


@pytest.fixture(scope="module")
def trained(tiny_bert: Path) -> Language:
    """Knows the ten sentences. Not to be changed."""
    nlp = make(tiny_bert)
    learn(nlp, start(nlp), 25)
    check_known(nlp)
    return nlp


def encoder(nlp: Language) -> Any:
    """The shim of the transformer."""
    return nlp.get_pipe("transformer").model.shims[0]  # type: ignore[attr-defined]


def weights(nlp: Language) -> dict[str, torch.Tensor]:
    return {name: w.detach().clone() for name, w in encoder(nlp).module.named_parameters()}


def changed(nlp: Language, before: dict[str, torch.Tensor]) -> bool:
    return any(not torch.equal(weight, before[name]) for name, weight in weights(nlp).items())


def vectors(nlp: Language, text: str) -> np.ndarray:
    (found,) = nlp(text)._.trf_data.model_output.last_hidden_state
    return found  # type: ignore[no-any-return]


# Learning


def test_ten_sentences_are_learnt(tiny_bert: Path) -> None:
    """Also in a loop that calls `nlp.update` alone, in which the transformer is asked for its step
    before it has a gradient; entities within a token too. A new training begins anew."""
    nlp = make(tiny_bert, "jieba")
    sgd = start(nlp)
    before = weights(nlp)
    settle(nlp, examples_of(nlp), sgd, 25)
    check_known(nlp)
    assert found(nlp, ["", " ", *TEXTS]) == [[], [], *GOLD]
    assert changed(nlp, before)
    start(nlp)
    assert not changed(nlp, before)


def test_gradient_of_the_vectors(tiny_bert: Path) -> None:
    """What flows into the encoder is the derivative of the loss."""
    nlp = make(tiny_bert, "jieba")
    start(nlp)
    for module in encoder(nlp).module.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    transformer, ner = nlp.get_pipe("transformer"), nlp.get_pipe("flat_ner")
    examples = examples_of(nlp)[6:8]  # with spaces between words
    nlp.update(examples, sgd=False)  # type: ignore[arg-type]
    weight = encoder(nlp).module.encoder.encoder.layer[0].output.dense.weight
    step = 0.05 * weight.grad / weight.grad.abs().max()

    def loss() -> float:
        for example in examples:
            transformer(example.predicted)  # type: ignore[operator]
        docs = [example.predicted for example in examples]
        emissions = ner.model.predict(docs)  # type: ignore[attr-defined]
        return float(ner.get_loss(examples, emissions)[0])  # type: ignore[attr-defined]

    slope = float((weight.grad * step).sum())
    with torch.no_grad():
        weight += step
        higher = loss()
        weight -= 2 * step
        lower = loss()
    assert (higher - lower) / 2 == pytest.approx(slope, rel=0.05)


# Sharing


@pytest.mark.parametrize("tok2vec", [LISTENER, STOCK], ids=["characters", "tokens"])
def test_a_text_without_tokens_among_others(tiny_bert: Path, tok2vec: Any) -> None:
    nlp = blank("char")
    add_transformer(nlp, tiny_bert)
    ner = add_ner(nlp, tok2vec=tok2vec)
    sgd = start(nlp)
    examples = examples_of(nlp)[:2]
    examples.insert(1, Example(nlp.make_doc(""), nlp.make_doc("")))
    assert nlp.update(examples, sgd=sgd)["flat_ner"] > 0
    tok2vec = ner.model.layers[0]
    docs = list(nlp.pipe([TEXTS[0], "", TEXTS[1]]))
    assert list(map(len, tok2vec.predict(docs))) == list(map(len, docs))


@pytest.mark.parametrize("tok2vec", [LISTENER, STOCK], ids=["characters", "tokens"])
def test_replaced_listeners(tiny_bert: Path, tmp_path: Path, tok2vec: Any) -> None:
    nlp = blank("char")
    add_transformer(nlp, tiny_bert)
    ner = add_ner(nlp, tok2vec={**tok2vec, "grad_factor": 0.75})
    learn(nlp, start(nlp), 1)
    before = ner.model.layers[0].predict([nlp(TEXTS[0])])
    nlp.replace_listeners("transformer", "flat_ner", PATH)
    nlp.remove_pipe("transformer")
    nlp.to_disk(tmp_path)
    again = spacy.load(tmp_path)
    model = again.get_pipe("flat_ner").model  # type: ignore[attr-defined]
    after = model.layers[0].predict([nlp.make_doc(TEXTS[0])])
    np.testing.assert_allclose(after[0], before[0], atol=1e-6)
    saved = again.config["components"]["flat_ner"]["model"]["tok2vec"]
    assert saved["@architectures"] == "spacy-flat.CharacterTok2Vec.v1"
    assert saved["grad_factor"] == 0.75
    (node,) = [node for node in model.walk() if node.name == "character_transformer"]
    weights_before = node.to_bytes()
    again.update(examples_of(again), sgd=again.resume_training())
    assert node.to_bytes() != weights_before


# Saving and running


def test_what_is_saved(trained: Language, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the original folder is needed, and no pickle is read."""
    expected = vectors(trained, TEXTS[0])
    trained.to_disk(tmp_path)
    config = trained.config.copy()
    config["components"]["transformer"]["model"]["name"] = "nowhere"
    monkeypatch.setattr(torch, "load", None)
    monkeypatch.setattr(pickle, "loads", None)
    nlp = spacy.load(tmp_path, config={"components": config["components"]})
    assert found(nlp) == GOLD
    assert np.array_equal(vectors(nlp, TEXTS[0]), expected)


# Other encoders


@pytest.mark.parametrize("kind", ["electra", "albert"])
def test_kinds_of_encoders(kind: str, tmp_path: Path) -> None:
    """RoBERTa-wwm and MacBERT are of the kind bert."""
    nlp = blank()
    add_transformer(nlp, save_encoder(tmp_path / kind, kind))
    start(nlp)
    nlp.to_disk(tmp_path / "nlp")
    expected = vectors(nlp, TEXTS[0])
    assert np.array_equal(vectors(spacy.load(tmp_path / "nlp"), TEXTS[0]), expected)


@pytest.mark.parametrize(("bfloat16", "atol"), [(False, 1e-5), (True, 0.05)])
def test_weights_are_those_of_the_folder(tiny_bert: Path, bfloat16: bool, atol: float) -> None:
    from transformers import AutoModel, AutoTokenizer

    nlp = make(tiny_bert, bfloat16=bfloat16)
    start(nlp)
    tokens = ["[CLS]", *"上海", "[SEP]"]
    pieces = AutoTokenizer.from_pretrained(tiny_bert).convert_tokens_to_ids(tokens)
    model = AutoModel.from_pretrained(tiny_bert).eval()
    expected = model(torch.tensor([pieces])).last_hidden_state[0, 1:-1]
    np.testing.assert_allclose(vectors(nlp, "上海"), expected.detach(), atol=atol)


# What can't be


def test_no_transformer_before_a_listener() -> None:
    nlp = blank()
    add_ner(nlp)
    with pytest.raises(ValueError, match="F365"):
        start(nlp)


def test_vectors_of_no_transformer(trained: Language, tiny_bert: Path) -> None:
    """Of none, of another architecture, and for a component of spaCy's, which wants vectors of
    tokens."""
    with (
        trained.select_pipes(disable=["transformer"]),
        pytest.raises(ValueError, match=r"F366.*上海.*add_pipe\(.transformer., source"),
    ):
        trained("上海")
    nlp = blank()
    nlp.add_pipe("transformer", config={"model": {"name": str(tiny_bert)}})
    add_ner(nlp)
    sgd = start(nlp)
    with pytest.raises(ValueError, match="F379"):
        nlp.update(examples_of(nlp), sgd=sgd)
    nlp = blank()
    add_transformer(nlp, tiny_bert)
    nlp.add_pipe("ner", config=pipe_config("ner", {"tok2vec": LISTENER}))
    with pytest.raises(ValueError, match=r"F366.*spacy-transformers\.TransformerListener\.v1"):
        nlp.initialize(lambda: examples_of(nlp))


def test_vectors_of_docs_after_a_cleaner(trained: Language, tmp_path: Path) -> None:
    """spaCy's fails to compute them once `doc.tensor` is None, which a release keeps it from."""
    nlp = pickle.loads(pickle.dumps(trained))
    nlp.add_pipe("doc_cleaner")
    doc = nlp(TEXTS[0])
    assert doc.tensor is doc._.trf_data is None
    assert doc.vector.tolist() == doc.copy().vector.tolist() == []
    assert nlp(doc).vector.size == 0
    nlp.to_disk(tmp_path)
    keep_tensors(tmp_path)
    doc = spacy.load(tmp_path)(TEXTS[0])
    assert doc._.trf_data is None
    assert doc[0].vector.size == doc[:2].vector.size == 0
    assert not doc.has_vector
