"""What is written has Hugging Face form."""

import json
from pathlib import Path

import pytest
import spacy
import torch

from spacy_flat.encoder.model import build_encoder
from spacy_flat.encoder.options import Objective
from spacy_flat.encoder.storage import read_encoder

from .conftest import Pretrained

transformers = pytest.importorskip("transformers")

TEXTS = ["王经理昨天在重庆开会。", "NBA 2021\n😀龘", "李"]


@pytest.mark.parametrize("objective", ["mlm", "electra"])
def test_hidden_states_are_those_of_transformers(
    objective: Objective, pretrained: Pretrained
) -> None:
    folder = pretrained(objective)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    assert type(model).__name__ == {"mlm": "BertModel", "electra": "ElectraModel"}[objective]
    layer = build_encoder(folder, max_length=18, overlap=0)
    layer.initialize()
    blank = spacy.blank("zh")
    characters = read_encoder(folder).characters
    inputs = tokenizer(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        states = model(**inputs).last_hidden_state
    for row, text in enumerate(TEXTS):
        assert (
            inputs["input_ids"][row, 1 : len(text) + 1].tolist() == characters.keys(text).tolist()
        )
        doc = blank.make_doc(text)
        (vectors,) = layer.predict([doc])
        for token in doc:
            expected = states[row, 1 + token.idx : 1 + token.idx + len(token)].mean(0)
            torch.testing.assert_close(torch.tensor(vectors[token.i]), expected)


@pytest.mark.parametrize(
    ("objective", "name"),
    [("mlm", "AutoModelForMaskedLM"), ("electra", "AutoModelForPreTraining")],
)
def test_heads_are_written_too(objective: Objective, name: str, pretrained: Pretrained) -> None:
    _, info = getattr(transformers, name).from_pretrained(
        pretrained(objective), output_loading_info=True
    )
    assert not info["unexpected_keys"]
    assert not info["mismatched_keys"]
    assert not [key for key in info["missing_keys"] if "decoder" not in key]


def test_another_bert_is_read(tmp_path: Path) -> None:
    """One that `transformers` wrote, of two types of text, with capital letters unknown."""
    torch.manual_seed(1)
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"上海重庆nba##"]
    config = transformers.BertConfig(
        vocab_size=len(pieces),
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=12,
        max_position_embeddings=30,
    )
    model = transformers.BertModel(config).eval()
    model.save_pretrained(tmp_path)
    (tmp_path / "vocab.txt").write_text("\n".join(pieces), "utf-8")
    layer = build_encoder(tmp_path, max_length=20, overlap=5)
    layer.initialize()
    (vectors,) = layer.predict([spacy.blank("zh").make_doc("上海N！")])
    ids = torch.tensor([[2, 5, 6, 9, 1, 3]])
    with torch.no_grad():
        states = model(ids).last_hidden_state[0, 1:-1]
    torch.testing.assert_close(torch.tensor(vectors), states)


def test_what_can_not_be_read(pretrained: Pretrained, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"F382.*config\.json"):
        read_encoder(tmp_path)
    for file in pretrained("mlm").iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    config = json.loads((tmp_path / "config.json").read_text("utf-8"))
    for change in ({"hidden_size": 8}, {"embedding_size": 8}, {"num_hidden_layers": 3}):
        (tmp_path / "config.json").write_text(json.dumps({**config, **change}), "utf-8")
        with pytest.raises(ValueError, match="F383"):
            read_encoder(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    read_encoder(tmp_path)
    weights = (tmp_path / "model.safetensors").read_bytes()
    (tmp_path / "model.safetensors").write_bytes(weights[:-5])
    with pytest.raises(ValueError, match="F383"):
        read_encoder(tmp_path)
