"""Measure seconds and memory of training `flat_ner` over a BERT of the size of bert-base-chinese.

    python benchmarks/bert.py [--encoder DIR] [--steps N] [--batch N] [--length N]

Without an --encoder, one with random weights is built in a temporary folder, laid out as
bert-base-chinese is (12 layers of 768, 21,128 pieces, 102 million parameters): the time does not
depend on the weights. Four systems, one thread, a process for each:

- "none": no BERT;
- "frozen": the BERT only reads (`fine_tune = false`);
- "tuned": it learns;
- "stock": it learns in spacy-transformers' own TransformerModel, whose optimizer step goes over the
  parameters one by one.

A step is `nlp.update` with all gradients and the optimizer's step; the median counts, after one
that is not counted. Seconds are the processor's, of the one thread. Memory is the highest resident
set of the process.
"""

import argparse
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import torch
from report import format_table
from sentences import cut_texts, draw_texts, make_examples
from spacy.language import Language
from spacy.util import load_config, load_model_from_config
from transformers import BertConfig, BertModel, BertTokenizerFast

from spacy_flat.nn.optimizers import AdamW

CONFIG = Path(__file__).parents[1] / "configs/zh_flat_bert.cfg"
SYSTEMS = ("none", "frozen", "tuned", "stock")
HEADER = ("System", "Training, s a step", "`nlp.pipe`, s", "Memory, MB")
PIECES = 21128
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
STOCK_MODEL = {
    "@architectures": "spacy-transformers.TransformerModel.v3",
    "get_spans": {"@span_getters": "spacy-transformers.doc_spans.v1"},
}
STOCK_LISTENER = {
    "@architectures": "spacy-transformers.TransformerListener.v1",
    "grad_factor": 1.0,
    "upstream": "*",
    "pooling": {"@layers": "reduce_mean.v1"},
}


def build_encoder(folder: Path) -> None:
    """A BERT with random weights in Hugging Face's form."""
    characters = [chr(0x4E00 + number) for number in range(PIECES - len(SPECIAL))]
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join([*SPECIAL, *characters]), "utf-8")
    BertTokenizerFast(str(vocabulary), model_max_length=512).save_pretrained(folder)
    BertModel(BertConfig(vocab_size=PIECES)).save_pretrained(folder)


def build_pipeline(system: str, encoder: str) -> Language:
    config = load_config(CONFIG, overrides={"paths.transformer": encoder})
    components = config["components"]
    network = components["transformer"]["model"]["network"]
    network |= {"frozen_steps": 0, "fine_tune": system != "frozen"}
    if system == "none":
        config["nlp"]["pipeline"] = ["flat_ner"]
        del components["transformer"]
        components["flat_ner"]["model"]["tok2vec"] = None
    if system == "stock":
        components["transformer"]["model"] = {"name": encoder, **STOCK_MODEL}
        components["flat_ner"]["model"]["tok2vec"] = STOCK_LISTENER
    return load_model_from_config(config, auto_fill=True)


def measure(system: str, encoder: str, steps: int, batch: int, length: int) -> list[str]:
    torch.set_num_threads(1)
    nlp = build_pipeline(system, encoder)
    examples = make_examples(nlp, cut_texts(draw_texts(batch), length, batch))
    for pipe in (pipe for _, pipe in nlp.pipeline):
        pipe.initialize(lambda: examples, nlp=nlp)
    sgd = AdamW(0.001, multipliers={"upstream": 0.03}, use_averages=True)
    times = []
    for _ in range(steps + 1):
        start = time.process_time()
        nlp.update(examples, sgd=False)
        for _, pipe in nlp.pipeline:
            pipe.finish_update(sgd)
        times.append(time.process_time() - start)
    start = time.process_time()
    list(nlp.pipe([example.text for example in examples]))
    reading = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [system, f"{median(times[1:]):.2f}", f"{reading:.2f}", f"{memory:,.0f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--encoder", type=Path, help="a folder in Hugging Face's form")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--batch", type=int, default=16, help="texts in a step")
    parser.add_argument("--length", type=int, default=50, help="characters of a text")
    args = parser.parse_args()
    with TemporaryDirectory() as folder:
        encoder = args.encoder or Path(folder)
        if args.encoder is None:
            build_encoder(encoder)
        rows = []
        for system in SYSTEMS:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                sizes = (args.steps, args.batch, args.length)
                rows.append(pool.submit(measure, system, str(encoder), *sizes).result())
                print(rows[-1], flush=True)
    print(format_table(HEADER, rows, markdown=True))


if __name__ == "__main__":
    main()
