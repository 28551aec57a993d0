"""What is written has Hugging Face form."""

import json
from pathlib import Path
from string import ascii_letters
from typing import Any

import pytest
import spacy
import torch
from safetensors.torch import load_file, save_file

from spacy_flat.encoder.featuriser import MARKS, CharacterFeaturiser, lists_words
from spacy_flat.encoder.model import build_encoder
from spacy_flat.encoder.network import EPSILON
from spacy_flat.encoder.options import EncoderOptions
from spacy_flat.encoder.recipes import Objective
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
    assert model.config.layer_norm_eps == EPSILON
    layer = build_encoder(folder, max_length=18, overlap=0)
    layer.initialize()
    blank = spacy.blank("zh")
    featuriser = read_encoder(folder).featuriser
    assert isinstance(featuriser, CharacterFeaturiser)
    inputs = tokenizer(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        states = model(**inputs).last_hidden_state
    for row, text in enumerate(TEXTS):
        assert (
            inputs["input_ids"][row, 1 : len(text) + 1].tolist() == featuriser.keys(text).tolist()
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


@pytest.mark.parametrize("epsilon", [1e-12, 1e-5, 1e-2])
def test_another_bert_is_read(epsilon: float, tmp_path: Path) -> None:
    """One that `transformers` wrote, of two types of text, with capital letters unknown, and an
    epsilon of its own."""
    torch.manual_seed(1)
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"上海重庆nba##"]
    config = transformers.BertConfig(
        vocab_size=len(pieces),
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=12,
        max_position_embeddings=30,
        layer_norm_eps=epsilon,
    )
    model = transformers.BertModel(config).eval()
    model.save_pretrained(tmp_path)
    (tmp_path / "vocab.txt").write_text("\n".join(pieces), "utf-8")
    ids = torch.tensor([[2, 5, 6, 9, 1, 3]])
    with torch.no_grad():
        states = model(ids).last_hidden_state[0, 1:-1]
    doc = spacy.blank("zh").make_doc("上海N！")
    layer = layer_of(tmp_path)
    torch.testing.assert_close(torch.tensor(layer.predict([doc])[0]), states)
    saved = build_encoder(None, max_length=20, overlap=5).from_bytes(layer.to_bytes())
    torch.testing.assert_close(torch.tensor(saved.predict([doc])[0]), states)
    # As those are called that came from TensorFlow.
    weights = load_file(tmp_path / "model.safetensors")
    old = {
        name.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta"): tensor
        for name, tensor in weights.items()
    }
    assert old.keys() != weights.keys()
    save_file(old, tmp_path / "model.safetensors")
    torch.testing.assert_close(torch.tensor(layer_of(tmp_path).predict([doc])[0]), states)


def test_an_english_bert_is_read_in_pieces(tmp_path: Path) -> None:
    pieces = [*MARKS, "mary", "lives", "in", "lon", "##don", "."]
    config = transformers.BertConfig(
        vocab_size=len(pieces), hidden_size=8, num_attention_heads=2, num_hidden_layers=1
    )
    transformers.BertModel(config).save_pretrained(tmp_path)
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("\n".join(pieces), "utf-8")
    with pytest.raises(FileNotFoundError, match=r"F378.*tokenizer\.json"):
        read_encoder(tmp_path)
    transformers.AutoTokenizer.from_pretrained(tmp_path).save_pretrained(tmp_path)
    vocabulary.write_text("\n".join(pieces), "utf-8")
    featuriser = read_encoder(tmp_path).featuriser
    keys, *_ = featuriser.read(["Mary lives in London."], EncoderOptions())
    assert [pieces[key] for key in keys] == pieces[len(MARKS) :]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        # A Chinese BERT, a multilingual one, and an English one.
        (["the", "##ing", "上", "##上", "n", "##b", "[UNK]", "é", "12"], False),
        ([*["the", "##ing"] * 6, *"上海"], False),
        ([*["the", "##ing"] * 20, "上"], True),
        ([*MARKS, *ascii_letters], False),
    ],
)
def test_pieces_of_english_words(pieces: list[str], expected: bool) -> None:
    assert lists_words(pieces) == expected


def layer_of(folder: Path) -> Any:
    layer = build_encoder(folder, max_length=20, overlap=5)
    layer.initialize()
    return layer


@pytest.mark.parametrize("letters", ["nba", "nbaN"], ids=["small", "both"])
def test_tokenizer_reads_as_the_encoder_does(letters: str) -> None:
    """Without capital letters in the vocabulary, those of a text are read as small ones."""
    characters = CharacterFeaturiser([*MARKS, " ", *letters, *"上海é"])
    tokenizer = characters.tokenizer()
    spaces = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
    for text in ("NBA上海É", "nBa\n上", spaces):
        found = tokenizer.encode(text, add_special_tokens=False).ids
        assert found == characters.keys(text).tolist()


def test_what_can_not_be_read(pretrained: Pretrained, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"F382.*config\.json"):
        read_encoder(tmp_path)
    for file in pretrained("mlm").iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    config = json.loads((tmp_path / "config.json").read_text("utf-8"))
    for change in (
        {"hidden_size": 8},
        {"embedding_size": 8},
        {"num_hidden_layers": 3},
        {"hidden_act": "relu"},
        {"position_embedding_type": "relative_key"},
        {"model_type": "roberta"},
        {"layer_norm_eps": None},
        {"layer_norm_eps": "nan"},
        {"layer_norm_eps": "inf"},
        {"layer_norm_eps": 0.0},
        {"num_attention_heads": 0},
        {"num_attention_heads": 3},
        {"num_attention_heads": -1},
        {"num_attention_heads": 2.0},
        {"num_attention_heads": True},
        {"num_hidden_layers": -1},
        {"intermediate_size": -3},
        {"max_position_embeddings": -1},
    ):
        (tmp_path / "config.json").write_text(json.dumps({**config, **change}), "utf-8")
        with pytest.raises(ValueError, match="F383"):
            read_encoder(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    read_encoder(str(tmp_path))
    vocabulary = (tmp_path / "vocab.txt").read_text("utf-8")
    (tmp_path / "vocab.txt").write_text(vocabulary + "龘\n", "utf-8")
    with pytest.raises(ValueError, match=r"F383.*vocab\.txt has \d+ entries"):
        read_encoder(tmp_path)
    (tmp_path / "vocab.txt").write_text(vocabulary, "utf-8")
    weights = (tmp_path / "model.safetensors").read_bytes()
    (tmp_path / "model.safetensors").write_bytes(weights[:-5])
    with pytest.raises(ValueError, match="F383"):
        read_encoder(tmp_path)
