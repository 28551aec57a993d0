"""Convert zh_flat_general_trf or en_tener_wikiann 0.1.2, which hold layers of multilingual-e5-small
in a format of an older spacy-flat, to pipelines with the component `transformer`.

    python assets/release/e5/convert.py PIPELINE FOLDER OUT

FOLDER is where the layers are written in Hugging Face's format. The weights stay the same.
"""

import argparse
import json
import zlib
from pathlib import Path
from typing import Any

import spacy
import srsly
from encoder import MARKS, TABLE, of_characters, with_pieces, with_traditional, write
from safetensors.torch import load
from spacy.language import Language
from tokenizers import Tokenizer

from spacy_flat.nn.model import shim_of
from spacy_flat.nn.weights import FORMAT, merge_scales

LISTENERS: dict[str, dict[str, Any]] = {
    "flat_ner": {"@architectures": "spacy-flat.CharacterListener.v1"},
    "tener_ner": {
        "@architectures": "spacy-transformers.TransformerListener.v1",
        "pooling": {"@layers": "reduce_mean.v1"},
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipeline", type=Path, help="folder of version 0.1.2")
    parser.add_argument("folder", type=Path, help="of the transformer in Hugging Face's format")
    parser.add_argument("out", type=Path, help="the pipeline's folder to write")
    arguments = parser.parse_args()
    config = spacy.util.load_config(arguments.pipeline / "config.cfg")
    (name,) = config["nlp"]["pipeline"]
    saved = nodes_of(arguments.pipeline / name / "model")
    component, encoder = zip(saved["attrs"], (shim for (shim,) in saved["shims"]), strict=True)
    write_transformer(arguments.folder, encoder[0]["featuriser"], encoder[1])
    nlp = assembled(config, name, arguments.folder)
    nlp.tokenizer.from_disk(arguments.pipeline / "tokenizer")
    nlp.vocab.from_disk(arguments.pipeline / "vocab")
    transformer: Any = nlp.get_pipe("transformer")
    transformer.model.initialize()
    shim_of(transformer.model).config["bits"] = header(encoder[1])["bits"]
    pipe: Any = nlp.get_pipe(name)
    pipe.cfg.update(srsly.read_json(arguments.pipeline / name / "cfg"))
    attrs = pipe.model.attrs
    attrs["featuriser"] = attrs["featuriser"].from_bytes(component[0]["featuriser"])
    shim_of(pipe.model).from_bytes(component[1])
    for model in (transformer.model, pipe.model):
        model.attrs["packed"] = True
    meta = srsly.read_json(arguments.pipeline / "meta.json")
    nlp.meta.update({key: meta[key] for key in ("lang", "name", "version", "performance")})
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    nlp.to_disk(arguments.out)


def nodes_of(path: Path) -> dict[str, Any]:
    """What a packed model holds: a line, a checksum of four bytes, and thinc's own form."""
    data = path.read_bytes()
    start = data.index(b"\n") + 1
    nodes: dict[str, Any] = srsly.msgpack_loads(zlib.decompress(data[start + 4 :]))
    return nodes


def header(weights: bytes) -> dict[str, Any]:
    length = int.from_bytes(weights[:8], "little")
    config: dict[str, Any] = json.loads(json.loads(weights[8 : 8 + length])["__metadata__"][FORMAT])
    return config


def write_transformer(folder: Path, featuriser: bytes, saved: bytes) -> None:
    weights = {
        name.removeprefix("encoder."): weight for name, weight in merge_scales(load(saved)).items()
    }
    sizes = header(saved)["sizes"]
    text = featuriser.decode("utf-8")
    if text.startswith("{"):
        tokenizer = with_pieces(Tokenizer.from_str(json.loads(text)["tokenizer"]))
    else:
        pieces = text.removesuffix("\n").split("\n")
        rows = with_traditional({piece: row for row, piece in enumerate(pieces)})
        tokenizer = of_characters([*rows])
        assert [*rows][: len(MARKS)] == MARKS
        weights[TABLE] = weights[TABLE][[*rows.values()]]
    config = {
        "hidden_size": sizes["width"],
        "num_hidden_layers": sizes["layers"],
        "num_attention_heads": sizes["heads"],
        "intermediate_size": sizes["ff"],
        "max_position_embeddings": sizes["positions"],
        "layer_norm_eps": sizes["epsilon"],
        "type_vocab_size": 1,
    }
    write(folder, config, weights, tokenizer)


def assembled(config: Any, name: str, folder: Path) -> Language:
    model = config["components"][name]["model"]
    old, model["tok2vec"] = model["tok2vec"], LISTENERS[name]
    kept = ("overlap", "batch_size", "fine_tune", "frozen_steps", "warmup_steps")
    network = {
        "@misc": "spacy-flat.CharacterTransformerOptions.v2",
        "tokenize": "characters" if name == "flat_ner" else "text",
        "window": old["max_length"],
        **{option: old[option] for option in kept},
    }
    config["components"]["transformer"] = {
        "factory": "transformer",
        "model": {
            "@architectures": "spacy-flat.CharacterTransformer.v1",
            "name": str(folder),
            "network": network,
            "tokenizer_config": {},
            "transformer_config": {},
        },
    }
    # The vectors of a text take more memory than the text.
    config["components"]["doc_cleaner"] = {
        "factory": "doc_cleaner",
        "attrs": {"_.trf_data": None},
    }
    if "encoder" in config["paths"]:
        config["paths"]["transformer"] = config["paths"].pop("encoder")
    config["nlp"]["pipeline"] = ["transformer", name, "doc_cleaner"]
    return spacy.util.load_model_from_config(config, auto_fill=True)


if __name__ == "__main__":
    main()
