"""Train a pipeline further for labels of one's own, and count what it forgets.

    python benchmarks/further.py [PIPELINE]

`benchmarks/further` has 80 sentences to train and 40 to test of each of three label sets, and 60
texts of other kinds without their entities. "kept": the share of what the pipeline found in
`assets/kinds` and in these that is still found. "false": new entities in 2,000 of their characters.
"""

import argparse
import io
import tempfile
import time
from pathlib import Path

import spacy
from kinds import TEXTS, entity_labels, make_label_map, read_texts, score
from report import format_table
from spacy.language import Language
from spacy.scorer import PRFScore
from spacy.tokens import Doc
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import load_config

from spacy_flat.corpora import ConvertOptions
from spacy_flat.corpora.convert import read_corpus
from spacy_flat.corpora.docs import new_docs
from spacy_flat.ner.spans import get_char_ents

ASSETS, FOLDER = TEXTS.parents[1], Path(__file__).parent / "further"
CONFIG = ASSETS.parent / "configs" / "further" / "zh_flat.cfg"
SETS, N_TRAIN = ("medicine", "contracts", "shop"), 80
# Steps, and whether there are raw texts, and old labels are unannotated, in the corpus.
WAYS = {"corpus": (200, False, False), "unannotated": (200, False, True), "raw": (1000, True, True)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pipeline", nargs="?", default="zh_flat_general")
    name = parser.parse_args().pipeline
    base, kinds = spacy.load(name), read_texts(TEXTS)
    label_map = make_label_map(entity_labels(base), {})
    others = (FOLDER / "others.txt").read_text("utf-8").splitlines()
    texts = [*(text.text for text in kinds), *others]
    before = [set(get_char_ents(doc)) for doc in base.pipe(texts)]
    raw = (ASSETS / "raw" / "texts.txt").read_text("utf-8").splitlines()
    rows = [
        ["", "before", "", "", f"{100 * score(base, kinds, label_map)['all']['f']:.1f}", "", ""]
    ]
    for corpus in SETS:
        docs = [*read_corpus(FOLDER / f"{corpus}.jsonl", ConvertOptions())[1]]
        labels = {ent.label_ for doc in docs for ent in doc.ents}
        for way, (steps, has_raw, partial) in WAYS.items():
            start = time.process_time()
            nlp = trained(name, docs[:N_TRAIN], raw if has_raw else [], steps, partial)
            seconds = time.process_time() - start
            after = [set(get_char_ents(doc)) for doc in nlp.pipe(texts)]
            kept = sum(len(one & two) for one, two in zip(before, after, strict=True))
            f_old = score(nlp, kinds, label_map)["all"]["f"]
            shares = [f_new(nlp, docs[N_TRAIN:], labels), kept / sum(map(len, before)), f_old]
            n_false = sum(s.label in labels for each in after[len(kinds) :] for s in each)
            false = f"{2000 * n_false / sum(map(len, others)):.1f}"
            rows.append([corpus, way, *(f"{100 * each:.1f}" for each in shares), false])
            rows[-1].append(f"{seconds:.0f}")
            print(*rows[-1], flush=True)
    header = ["labels", "trained with", "new F1", "kept", "F1 on kinds", "false", "CPU s"]
    print(format_table(header, rows, text_columns=2))


def f_new(nlp: Language, docs: list[Doc], labels: set[str]) -> float:
    counts = PRFScore()
    for gold, doc in zip(docs, nlp.pipe(doc.text for doc in docs), strict=True):
        found = {span for span in get_char_ents(doc) if span.label in labels}
        counts.score_set(found, set(get_char_ents(gold)))
    return counts.fscore


def trained(name: str, docs: list[Doc], raw: list[str], steps: int, partial: bool) -> Language:
    with tempfile.TemporaryDirectory() as temporary:
        folder, corpus = Path(temporary), new_docs()
        for doc in docs:
            corpus.add(doc)
        corpus.to_disk(folder / "train.spacy")
        (folder / "raw.txt").write_text("\n".join(raw), "utf-8")
        overrides = {
            "paths.pipeline": name,
            **{f"paths.{part}": str(folder / "train.spacy") for part in ("train", "dev")},
            "paths.raw": str(folder / "raw.txt") if raw else None,
            "corpora.train.partial": partial,
            "training.max_steps": steps,
            "training.eval_frequency": steps,
        }
        (folder / "out").mkdir()
        train(init_nlp(load_config(CONFIG, overrides)), folder / "out", stdout=io.StringIO())
        return spacy.load(folder / "out" / "model-last")


if __name__ == "__main__":
    main()
