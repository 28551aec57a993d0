"""Put an encoder below a trained seq2seq_translator, to be trained further.

    python assets/release/e5/below_translator.py PIPELINE ENCODER OUT

The encoder counts for nothing at first: the weights that read it are 0.
"""

import argparse

import spacy
import torch

from spacy_flat.nn.model import shim_of
from spacy_flat.translator.component import Seq2SeqTranslator
from spacy_flat.translator.model import initialise

MODEL = {
    "@architectures": "spacy-flat.Seq2Seq.v1",
    "tok2vec": {
        "@architectures": "spacy-flat.Encoder.v2",
        "fine_tune": False,
        "max_length": 254,
        "overlap": 60,
        "remember": 1500,
    },
    "network": {"@misc": "spacy-flat.Seq2SeqOptions.v2", "dropout": 0.3},
    "text": {"@misc": "spacy-flat.TranslationOptions.v2", "min_freq": 2},
}
SETTINGS = {"join_rate": 0.1, "char_dropout": 0.1}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipeline", help="name or path of a pipeline with seq2seq_translator")
    parser.add_argument("encoder", help="folder of an encoder")
    parser.add_argument("out", help="folder of the pipeline to write")
    arguments = parser.parse_args()
    trained = spacy.load(arguments.pipeline)
    nlp = spacy.blank("zh", config={"nlp": {"tokenizer": trained.config["nlp"]["tokenizer"]}})
    model = {**MODEL, "tok2vec": {**MODEL["tok2vec"], "path": arguments.encoder}}
    pipe = nlp.add_pipe("seq2seq_translator", config={"model": model, **SETTINGS})
    put_below(pipe, trained.get_pipe("seq2seq_translator"))
    nlp.get_pipe_config("seq2seq_translator")["model"]["tok2vec"]["path"] = None
    nlp.to_disk(arguments.out)


def put_below(pipe: Seq2SeqTranslator, trained: Seq2SeqTranslator) -> None:
    """Initialise `pipe`, which has an encoder, from `trained`, which has none."""
    featuriser = pipe.featuriser.from_bytes(trained.featuriser.to_bytes())
    initialise(pipe.model, featuriser, [])
    pipe.names = trained.names
    network = shim_of(pipe.model).module
    with torch.no_grad():
        network.from_tok2vec.weight.zero_()
    weights = shim_of(trained.model).module.state_dict()
    network.load_state_dict({**network.state_dict(), **weights})


if __name__ == "__main__":
    main()
