"""An encoder's folder in Hugging Face form: config.json, model.safetensors and the files of a
tokenizer. With a vocab.txt of characters it is an encoder of characters, otherwise one of subword
pieces.

A Transformer is a BERT or ELECTRA there, with its pretraining head, which `transformers` loads.
LSTMs have the same files under a model type of this package.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Errors
from ..util.files import replacing
from ..util.options import is_a
from .featuriser import (
    MARKS,
    CharacterFeaturiser,
    EncoderFeaturiser,
    SubwordFeaturiser,
    lists_words,
)
from .network import EPSILON, EncoderSizes
from .recipes import NETWORKS, Recipe

if TYPE_CHECKING:
    from torch import Tensor, nn

CONFIG, WEIGHTS = "config.json", "model.safetensors"
VOCABULARY, TOKENIZER = "vocab.txt", "tokenizer.json"
PREFIXES = ("", *(f"{name}." for name in NETWORKS))
# Settings of a BERT that are fixed in `Bert`, and others that depend on nothing.
SUPPORTED = {"hidden_act": "gelu", "position_embedding_type": "absolute"}
DEFAULTS = {
    **SUPPORTED,
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "initializer_range": 0.02,
    "type_vocab_size": 1,
    "torch_dtype": "float32",
}


@dataclass(frozen=True)
class StoredEncoder:
    """The content of a folder; `weights` are those of the encoder without its head."""

    featuriser: EncoderFeaturiser
    sizes: EncoderSizes
    weights: dict[str, "Tensor"]


def write_encoder(
    folder: Path,
    recipe: Recipe,
    network: "nn.Module",
    sizes: EncoderSizes,
    featuriser: EncoderFeaturiser,
) -> None:
    """Write the files of a pretrained network, without ELECTRA's generator."""
    from safetensors.torch import save

    tensors = {}
    for name, tensor in network.state_dict().items():
        part, _, rest = name.partition(".")
        if part in ("encoder", "head"):
            prefix = recipe.model_type if part == "encoder" else recipe.head
            tensors[f"{prefix}.{rest}"] = tensor.detach().cpu().float().contiguous()
    files = {
        CONFIG: _json(_config(recipe, sizes, featuriser)),
        **_vocabulary_files(featuriser, sizes),
        WEIGHTS: save(tensors, {"format": "pt"}),
    }
    for name in {VOCABULARY} - files.keys():  # of characters, written before
        (folder / name).unlink(missing_ok=True)
    for name, data in files.items():
        with replacing(folder / name) as temporary:
            temporary.write_bytes(data)


def read_encoder(folder: Path | str) -> StoredEncoder:
    """Read what `write_encoder` wrote, or another BERT: a vocab.txt lists its characters; without
    one, or if it lists pieces of English words, a tokenizer.json divides texts into its pieces.

    Raises FileNotFoundError (F378, F382) for a missing file, ValueError (F383) for a damaged or
    unsupported one.
    """
    folder = Path(folder)
    vocabulary = _vocabulary(folder)
    for name in (CONFIG, WEIGHTS, vocabulary):
        if not (folder / name).is_file():
            raise FileNotFoundError(Errors.F382.format(path=folder, file=name))
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        config = json.loads((folder / CONFIG).read_text("utf-8"))
        sizes = _sizes(config)
        text = (folder / vocabulary).read_text("utf-8")
        if vocabulary == VOCABULARY:
            featuriser: EncoderFeaturiser = CharacterFeaturiser.from_text(text).checked()
        else:
            featuriser = SubwordFeaturiser(padding=config["pad_token_id"], tokenizer=text)
        if (n := len(featuriser)) > sizes.keys:
            raise ValueError(f"{vocabulary} has {n} entries, vocab_size is {sizes.keys}")
        return StoredEncoder(featuriser, sizes, _own(load_file(folder / WEIGHTS), sizes))
    except KeyError as error:
        reason = f"{error} is missing in {CONFIG}"
        raise ValueError(Errors.F383.format(path=folder, reason=reason)) from error
    except (SafetensorError, ValueError, TypeError) as error:
        raise ValueError(Errors.F383.format(path=folder, reason=error)) from error


def _vocabulary(folder: Path) -> str:
    """The file to read texts with. Raises FileNotFoundError (F378) if it is missing."""
    characters = folder / VOCABULARY
    has_tokenizer = (folder / TOKENIZER).is_file()
    if not characters.is_file():
        return TOKENIZER if has_tokenizer else VOCABULARY
    if not lists_words(characters.read_text("utf-8", errors="replace").splitlines()):
        return VOCABULARY
    if not has_tokenizer:
        raise FileNotFoundError(Errors.F378.format(path=folder))
    return TOKENIZER


def longest_text(folder: Path) -> int:
    """How many characters the encoder in a folder reads at once; 0 if that isn't known."""
    try:
        config = json.loads((folder / CONFIG).read_text("utf-8"))
        return _number(config, "max_position_embeddings") - 2
    except (OSError, ValueError, TypeError, KeyError):
        return 0  # `read_encoder` reports the error


def _vocabulary_files(featuriser: EncoderFeaturiser, sizes: EncoderSizes) -> dict[str, bytes]:
    if isinstance(featuriser, CharacterFeaturiser):
        return {
            VOCABULARY: featuriser.to_bytes(),
            TOKENIZER: featuriser.tokenizer().to_str(pretty=True).encode("utf-8"),
            "tokenizer_config.json": _json(_tokenizer_config(sizes)),
        }
    assert isinstance(featuriser, SubwordFeaturiser)
    return {TOKENIZER: featuriser.json.encode("utf-8")}


def _config(recipe: Recipe, sizes: EncoderSizes, featuriser: EncoderFeaturiser) -> dict[str, Any]:
    shared = {
        "model_type": recipe.model_type,
        "architectures": [recipe.architecture],
        "vocab_size": sizes.keys,
        "hidden_size": sizes.width,
        "num_hidden_layers": sizes.layers,
        "max_position_embeddings": sizes.positions,
        "pad_token_id": featuriser.marks[2],
    }
    of_transformer = {
        "embedding_size": sizes.width,
        "num_attention_heads": sizes.heads,
        "intermediate_size": sizes.ff,
        "layer_norm_eps": sizes.epsilon,
        **DEFAULTS,
    }
    return shared if recipe.network == "lstm" else {**shared, **of_transformer}


def _tokenizer_config(sizes: EncoderSizes) -> dict[str, Any]:
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": sizes.positions,
        "clean_up_tokenization_spaces": False,
        **dict(zip(names, MARKS, strict=True)),
    }


def _sizes(config: Mapping[str, Any]) -> EncoderSizes:
    if config["model_type"] not in NETWORKS:
        raise ValueError(f"its model_type is {config['model_type']}")
    for name, value in SUPPORTED.items():
        if config.get(name, value) != value:
            raise ValueError(f"its {name} is {config[name]}, not {value}")
    names = ("vocab_size", "hidden_size", "num_hidden_layers", "max_position_embeddings")
    network = NETWORKS[config["model_type"]]
    keys, width, layers, positions = (_number(config, name) for name in names)
    if network == "lstm":
        return EncoderSizes(network, keys, width, layers, positions)
    if config.get("embedding_size", width) != width:
        raise ValueError("its embeddings are narrower than its layers")
    heads, ff = _number(config, "num_attention_heads"), _number(config, "intermediate_size")
    if width % heads:
        raise ValueError(f"its width {width} is not a multiple of {heads} heads")
    epsilon = float(config.get("layer_norm_eps", EPSILON))
    if not 0 < epsilon < math.inf:
        raise ValueError(f"its layer_norm_eps is {epsilon}")
    return EncoderSizes(network, keys, width, layers, positions, heads, ff, epsilon)


def _number(config: Mapping[str, Any], name: str) -> int:
    number: int = config[name]
    if not is_a(number, int) or number < 1:
        raise ValueError(f"its {name} is {number!r}")
    return number


def _own(stored: Mapping[str, "Tensor"], sizes: EncoderSizes) -> dict[str, "Tensor"]:
    """The encoder's tensors, under its own names."""
    import torch

    from .network import make_encoder

    with torch.device("meta"):
        expected = make_encoder(sizes, 0.0).state_dict()
    # BERTs that were converted from TensorFlow have older names.
    stored = {
        name.replace("Norm.gamma", "Norm.weight").replace("Norm.beta", "Norm.bias"): tensor
        for name, tensor in stored.items()
    }
    found = {}
    for name, wanted in expected.items():
        places = [prefix + name for prefix in PREFIXES if prefix + name in stored]
        if not places:
            raise ValueError(f"{name} is missing in {WEIGHTS}")
        tensor = stored[places[0]]
        if "token_type" in name:
            tensor = tensor[:1]  # BERT has two types
        if tensor.shape != wanted.shape:
            raise ValueError(f"{name} has the shape {list(tensor.shape)}, not {list(wanted.shape)}")
        found[name] = tensor.float()
    return found


def _json(data: Mapping[str, Any]) -> bytes:
    return (json.dumps(data, ensure_ascii=False, indent=1) + "\n").encode("utf-8")
