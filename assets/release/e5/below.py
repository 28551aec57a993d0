"""Put an encoder below a trained flat_ner, to be trained further.

    python assets/release/e5/below.py PIPELINE ENCODER OUT

Lexicon, labels and weights stay, but the vectors of bigrams make room for the encoder, which counts
for nothing at first: the weights that read it are 0.
"""

import argparse
from dataclasses import replace

import spacy
import torch

from spacy_flat.ner.flat.component import FlatEntityRecognizer
from spacy_flat.nn.model import shim_of, tok2vec_of
from spacy_flat.text.vocabulary import KeyIndex

MODEL = {
    "@architectures": "spacy-flat.FLAT.v1",
    "tok2vec": {
        "@architectures": "spacy-flat.Encoder.v2",
        "fine_tune": True,
        "dropout": 0.1,
        "max_length": 254,
        "overlap": 60,
        "batch_size": 700,
    },
    "network": {
        "@misc": "spacy-flat.FLATOptions.v2",
        "head_dim": 20,
        "embed_dropout": 0.3,
        "lattice_dropout": 0.4,
        "output_dropout": 0.3,
    },
    "lattice": {
        "@misc": "spacy-flat.LatticeOptions.v2",
        "min_freq": 2,
        "variant": {"bigrams": False},
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipeline", help="name or path of a pipeline with flat_ner")
    parser.add_argument("encoder", help="folder of an encoder")
    parser.add_argument("out", help="folder of the pipeline to write")
    arguments = parser.parse_args()
    trained = spacy.load(arguments.pipeline)
    nlp = spacy.blank("zh", config={"nlp": {"tokenizer": trained.config["nlp"]["tokenizer"]}})
    model = {**MODEL, "tok2vec": {**MODEL["tok2vec"], "path": arguments.encoder}}
    pipe = nlp.add_pipe("flat_ner", config={"model": model})
    put_below(pipe, trained.get_pipe("flat_ner"))
    nlp.get_pipe_config("flat_ner")["model"]["tok2vec"]["path"] = None  # it is in the pipeline
    nlp.to_disk(arguments.out)


def put_below(pipe: FlatEntityRecognizer, trained: FlatEntityRecognizer) -> None:
    """Initialise `pipe`, which has an encoder, from `trained`, which has none."""
    encoder, attrs = tok2vec_of(pipe.model), pipe.model.attrs
    encoder.initialize()
    attrs["featuriser"] = replace(
        trained.featuriser, options=attrs["featuriser"].options, bigrams=KeyIndex.empty()
    )
    pipe.cfg["labels"] = [*trained.known_labels]
    old = shim_of(trained.model)
    sizes = {**old.config["sizes"], "upstream_width": encoder.get_dim("nO")}
    del sizes["bigrams"]
    network = shim_of(pipe.model).initialise({"options": attrs["options"].fixed(), "sizes": sizes})
    weights = network.state_dict()
    kept = sizes["chars"]["width"]
    with torch.no_grad():
        for name, value in old.module.state_dict().items():
            if name == "char_proj.weight":
                weights[name].zero_()[:, :kept] = value[:, :kept]
            elif name in weights:
                weights[name].copy_(value)


if __name__ == "__main__":
    main()
