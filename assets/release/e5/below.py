"""Put a transformer below a trained flat_ner, to be trained further.

    python assets/release/e5/below.py PIPELINE FOLDER OUT

Lexicon, labels and weights stay, but the vectors of bigrams make room for the transformer, which
counts for nothing at first: the weights that read it are 0.
"""

import argparse
from dataclasses import replace

import spacy
import torch

from spacy_flat.ner.flat.component import FlatEntityRecognizer
from spacy_flat.nn.model import shim_of, tok2vec_of
from spacy_flat.text.vocabulary import TableVocab

MODEL = {
    "@architectures": "spacy-flat.FLAT.v1",
    "tok2vec": {"@architectures": "spacy-flat.CharacterListener.v1"},
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

TRANSFORMER = {
    "@architectures": "spacy-flat.CharacterTransformer.v1",
    "network": {
        "@misc": "spacy-flat.CharacterTransformerOptions.v2",
        "window": 254,
        "overlap": 60,
        "batch_size": 700,
    },
    "tokenizer_config": {},
    "transformer_config": {},
}
CLEANER = {"attrs": {"tensor": None, "_.trf_data": None}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipeline", help="name or path of a pipeline with flat_ner")
    parser.add_argument("folder", help="a transformer in Hugging Face's format")
    parser.add_argument("out", help="folder of the pipeline to write")
    arguments = parser.parse_args()
    trained = spacy.load(arguments.pipeline)
    nlp = spacy.blank("zh", config={"nlp": {"tokenizer": trained.config["nlp"]["tokenizer"]}})
    transformer = nlp.add_pipe(
        "transformer", config={"model": {**TRANSFORMER, "name": arguments.folder}}
    )
    pipe = nlp.add_pipe("flat_ner", config={"model": MODEL})
    nlp.add_pipe("doc_cleaner", config=CLEANER)
    transformer.initialize(list, nlp=nlp)
    put_below(pipe, trained.get_pipe("flat_ner"))
    nlp.to_disk(arguments.out)


def put_below(pipe: FlatEntityRecognizer, trained: FlatEntityRecognizer) -> None:
    """Initialise `pipe`, which listens to a transformer, from `trained`, which doesn't."""
    listener, attrs = tok2vec_of(pipe.model), pipe.model.attrs
    listener.initialize()
    attrs["featuriser"] = replace(
        trained.featuriser, options=attrs["featuriser"].options, bigrams=TableVocab.empty()
    )
    pipe.cfg["labels"] = [*trained.known_labels]
    old = shim_of(trained.model)
    sizes = {**old.config["sizes"], "upstream_width": listener.get_dim("nO")}
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
