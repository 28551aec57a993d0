"""An encoder of subword pieces under components."""

import json
from itertools import pairwise
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
import pytest
import spacy
import torch
from blocks import pipe_config
from learning import settle
from safetensors.torch import save_file
from spacy.tokens import Doc, Span
from spacy.training import Example
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from spacy_flat.encoder.featuriser import SubwordFeaturiser
from spacy_flat.encoder.model import build_encoder
from spacy_flat.encoder.network import Bert, EncoderSizes
from spacy_flat.encoder.storage import read_encoder
from spacy_flat.nn.optimizers import AdamW

WORDS = ["▁Mary", "▁lives", "▁in", "▁Lon", "don", "▁", "▁do", "n't", "ﬁ", "fi", "."]
LETTERS = sorted({*"".join(WORDS), *ascii_lowercase, *"南京"})
PIECES = ["<s>", "<pad>", "</s>", "<unk>", *dict.fromkeys([*WORDS, *LETTERS])]
WIDTH, PLACES = 16, 24
TEXTS = ["Mary lives in London.", "Bill  lives in 南京 😀", "don't", "", " ", "ﬁn\n"]


def tokenizer() -> Tokenizer:
    """As XLM-RoBERTa has it."""
    scores = [-2.0 - 5 * (len(piece) == 1) for piece in PIECES]
    made = Tokenizer(models.Unigram(list(zip(PIECES, scores, strict=True)), unk_id=3))
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.add_special_tokens(["<s>", "<pad>", "</s>"])
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of these pieces."""
    torch.manual_seed(1)
    path = tmp_path_factory.mktemp("encoders") / "pieces"
    path.mkdir()
    network = Bert(EncoderSizes("transformer", len(PIECES), WIDTH, 2, PLACES, 2, 24), 0.0)
    config = {
        "model_type": "bert",
        "vocab_size": len(PIECES),
        "hidden_size": WIDTH,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        "max_position_embeddings": PLACES,
        "layer_norm_eps": 1e-12,
        "pad_token_id": 1,
    }
    (path / "config.json").write_text(json.dumps(config), "utf-8")
    (path / "tokenizer.json").write_text(tokenizer().to_str(), "utf-8")
    save_file(network.state_dict(), path / "model.safetensors")
    return path


def layer(folder: Path | None, **options: Any) -> Any:
    made = build_encoder(folder, **{"max_length": PLACES - 2, "overlap": 4, **options})
    if folder is not None:
        made.initialize()
    return made


def docs() -> list[Doc]:
    nlp = spacy.blank("en")
    return [nlp.make_doc(text) for text in TEXTS]


def states_of_characters(folder: Path, text: str) -> list[torch.Tensor]:
    """The vector of each character, as a reader of the paper would compute it: that of its piece
    in the encoded text, zeros for none."""
    stored = read_encoder(folder)
    network = Bert(stored.sizes, 0.0).eval()
    network.load_state_dict(stored.weights)
    encoded = tokenizer().encode(text)
    with torch.no_grad():
        states = network(torch.tensor([encoded.ids]))[-1][0]
    found = [torch.zeros(WIDTH)] * len(text)
    for number, (start, end) in enumerate(encoded.offsets):
        for place in range(start, end):
            found[place] = states[number]
    return found


def test_a_token_is_the_mean_of_its_characters(folder: Path) -> None:
    encoder = layer(folder)
    for doc, vectors in zip(docs(), encoder.predict(docs()), strict=True):
        states = states_of_characters(folder, doc.text)
        assert len(vectors) == len(doc)
        for token in doc:
            wanted = torch.stack(states[token.idx : token.idx + len(token)]).mean(0)
            torch.testing.assert_close(torch.tensor(vectors[token.i]), wanted)


def test_a_character_has_its_pieces_vector(folder: Path) -> None:
    encoder = layer(folder)
    encoder.attrs["unit"] = "char"
    doc = docs()[0]
    (vectors,) = encoder.predict([doc])
    states = states_of_characters(folder, doc.text)
    inside = [place for place, letter in enumerate(doc.text) if letter != " "]
    torch.testing.assert_close(torch.tensor(vectors), torch.stack([states[n] for n in inside]))
    last = doc.text.index("don")
    assert np.array_equal(vectors[inside.index(last)], vectors[inside.index(last + 2)])


def test_long_texts_and_saved_ones(folder: Path) -> None:
    """Windows keep what the batch size can't change, and loading needs no folder."""
    text = "Mary lives in London. " * 300
    doc = spacy.blank("en").make_doc(text)
    encoder = layer(folder)
    (vectors,) = encoder.predict([doc])
    assert np.isfinite(vectors).all()
    assert np.abs(vectors).sum(axis=1).min() > 0
    (small,) = layer(folder, batch_size=20).predict([doc])
    np.testing.assert_allclose(small, vectors, atol=1e-5)
    loaded = layer(None).from_bytes(encoder.to_bytes())
    assert np.array_equal(loaded.predict([doc])[0], vectors)
    assert loaded.to_bytes() == encoder.to_bytes()


def test_it_learns_with_a_component(folder: Path, tmp_path: Path) -> None:
    block = {"@architectures": "spacy-flat.Encoder.v2", "path": str(folder)}
    tok2vec = {**block, "max_length": 10, "overlap": 4, "dropout": 0.0}
    sequence = {"@misc": "spacy-flat.SequenceOptions.v2", "unit": "token"}
    nlp = spacy.blank("en")
    nlp.add_pipe(
        "tener_ner", config=pipe_config("tener_ner", {"tok2vec": tok2vec, "sequence": sequence})
    )
    texts = {"Mary lives in London.": ["PER", "", "", "LOC", ""], "London lives": ["LOC", ""]}
    examples = []
    for text, labels in texts.items():
        doc = nlp.make_doc(text)
        named = [(token.i, label) for token, label in zip(doc, labels, strict=True) if label]
        doc.ents = [Span(doc, number, number + 1, label) for number, label in named]
        examples.append(Example(nlp.make_doc(text), doc))
    before = layer(folder).predict([examples[0].predicted])[0]
    settle(nlp, examples, nlp.initialize(lambda: examples, sgd=AdamW(0.005)), 100)
    found = [[(e.text, e.label_) for e in doc.ents] for doc in nlp.pipe(texts)]
    assert found == [[("Mary", "PER"), ("London", "LOC")], [("London", "LOC")]]
    after = nlp.get_pipe("tener_ner").model.layers[0].predict([examples[0].predicted])[0]  # type: ignore[attr-defined]
    assert np.abs(after - before).max() > 0.01
    nlp.to_disk(tmp_path / "trained")
    loaded = spacy.load(tmp_path / "trained")
    docs = loaded.pipe([*texts, *TEXTS] * 3, n_process=2, batch_size=2)
    assert [[(e.text, e.label_) for e in doc.ents] for doc in docs][:2] == found


def test_what_is_refused(folder: Path, tmp_path: Path) -> None:
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    read_encoder(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text("utf-8"))
    good = tokenizer()
    alone = tokenizer()
    alone.post_processor = processors.TemplateProcessing(single="$A", special_tokens=[])
    for text, reason in (("{}", "can't be read"), (alone.to_str(), "0 marks"), ("龘", "read")):
        (tmp_path / "tokenizer.json").write_text(text, "utf-8")
        with pytest.raises(ValueError, match=f"F383.*{reason}"):
            read_encoder(tmp_path)
    (tmp_path / "tokenizer.json").write_text(good.to_str(), "utf-8")
    for name, value, reason in (
        ("vocab_size", 9, "entries"),
        ("pad_token_id", None, "padding"),
        ("pad_token_id", -1, "padding"),
    ):
        (tmp_path / "config.json").write_text(json.dumps({**config, name: value}), "utf-8")
        with pytest.raises(ValueError, match=f"F383.*{reason}"):
            read_encoder(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"F382.*vocab\.txt"):
        read_encoder(tmp_path)


def test_settings_of_the_tokenizer_do_not_count() -> None:
    """Texts stay whole, and windows overlap as the options say."""
    cutting = tokenizer()
    cutting.enable_truncation(4)
    cutting.enable_padding(pad_id=1, pad_token="<pad>", length=30)
    featuriser = SubwordFeaturiser(padding=1, tokenizer=cutting.to_str())
    options = layer(None, max_length=10, overlap=4).attrs["options"]
    keys, windows, _ = featuriser.read(["Mary lives in London . " * 4], options)
    assert [PIECES[key] for key in keys[:5]] == ["▁Mary", "▁lives", "▁in", "▁Lon", "don"]
    assert len(keys) > 20
    assert 1 not in keys
    assert windows[-1].end == len(keys)
    assert all(left.end - right.start >= 4 for left, right in pairwise(windows))


def test_pieces_of_texts() -> None:
    """Each character belongs to the last piece that contains it."""
    featuriser = SubwordFeaturiser(padding=1, tokenizer=tokenizer().to_str())
    assert featuriser.marks == (0, 2, 1)
    assert len(featuriser) == len(PIECES)
    options = layer(None).attrs["options"]
    keys, windows, owners = featuriser.read(["London", "", "in"], options)
    assert owners is not None
    assert [PIECES[key] for key in keys] == ["▁Lon", "don", "▁in"]
    assert owners.tolist() == [0, 0, 0, 1, 1, 1, 2, 2]
    assert [(w.start, w.end) for w in windows] == [(0, 2), (2, 3)]


def test_texts_in_capitals_have_the_pieces_of_lower_case() -> None:
    featuriser = SubwordFeaturiser(padding=1, tokenizer=tokenizer().to_str())
    options = layer(None).attrs["options"]
    capitals, _, _ = featuriser.read(["MARY LIVES IN LONDON"], options)
    small, _, _ = featuriser.read(["mary lives in london"], options)
    assert capitals.tolist() == small.tolist()
    assert capitals.tolist() != featuriser.read(["Mary lives in London"], options).keys.tolist()
