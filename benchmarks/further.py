"""Train a pipeline further for labels of one's own, and count what it forgets.

    python benchmarks/further.py [PIPELINE]
    python benchmarks/further.py ner

"ner" is spaCy's component, which learns from `assets/today` first, updated as spaCy's users do it,
with and without `nlp.rehearse`.

`benchmarks/further` has 80 sentences to train and 40 to test of each of three label sets, and 60
texts of other kinds without their entities. "kept": the share of what the pipeline found in
`assets/kinds` and in these that is still found. "false": new entities in 2,000 of their characters.
"""

import argparse
import io
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random

import spacy
from kinds import TEXTS, entity_labels, make_label_map, read_texts, score
from report import format_table
from spacy.cli.init_config import init_config
from spacy.language import Language
from spacy.scorer import PRFScore
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import load_config, load_config_from_str

from spacy_flat.corpora import ConvertOptions
from spacy_flat.corpora.convert import read_corpus
from spacy_flat.corpora.docs import new_docs
from spacy_flat.ner.spans import get_char_ents

ASSETS, FOLDER = TEXTS.parents[1], Path(__file__).parent / "further"
CONFIG = ASSETS.parent / "configs" / "further" / "zh_flat.cfg"
SETS, N_TRAIN = ("medicine", "contracts", "shop"), 80
STEPS, RAW_STEPS, NER_STEPS, BATCH = 200, 800, 2000, 16

Train = Callable[[list[Doc]], Language]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pipeline", nargs="?", default="zh_flat_general")
    name = parser.parse_args().pipeline
    raw = (ASSETS / "raw" / "texts.txt").read_text("utf-8").splitlines()
    with tempfile.TemporaryDirectory() as folder:
        ways: dict[str, Train]
        if name == "ner":
            name = spacys_ner(Path(folder))
            ways = {"corpus": partial(updated, name, []), "rehearse": partial(updated, name, raw)}
        else:
            ways = {
                "corpus": partial(trained, name, [], STEPS),
                "raw": partial(trained, name, raw, RAW_STEPS),
            }
        compare(spacy.load(name), ways)


def compare(base: Language, ways: dict[str, Train]) -> None:
    kinds, others = read_texts(TEXTS), (FOLDER / "others.txt").read_text("utf-8").splitlines()
    label_map = make_label_map(entity_labels(base), {})
    texts = [*(text.text for text in kinds), *others]
    before = [set(get_char_ents(doc)) for doc in base.pipe(texts)]
    rows = [
        ["", "before", "", "", f"{100 * score(base, kinds, label_map)['all']['f']:.1f}", "", ""]
    ]
    for corpus in SETS:
        docs = [*read_corpus(FOLDER / f"{corpus}.jsonl", ConvertOptions())[1]]
        labels = {ent.label_ for doc in docs for ent in doc.ents}
        for way, train_on in ways.items():
            start = time.process_time()
            nlp = train_on(docs[:N_TRAIN])
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


def trained(name: str, raw: list[str], steps: int, docs: list[Doc]) -> Language:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        save(docs, folder / "train.spacy")
        (folder / "raw.txt").write_text("\n".join(raw), "utf-8")
        overrides = {
            "paths.pipeline": name,
            **{f"paths.{part}": str(folder / "train.spacy") for part in ("train", "dev")},
            "paths.raw": str(folder / "raw.txt") if raw else None,
            "training.max_steps": steps,
            "training.eval_frequency": steps,
        }
        (folder / "out").mkdir()
        train(init_nlp(load_config(CONFIG, overrides)), folder / "out", stdout=io.StringIO())
        return spacy.load(folder / "out" / "model-last")


def spacys_ner(folder: Path) -> str:
    """The folder of a pipeline with spaCy's `ner`, trained on the texts of today."""
    for part in ("train", "dev"):
        docs = read_corpus(ASSETS / "today" / f"{part}.jsonl", ConvertOptions())[1]
        save(docs, folder / f"{part}.spacy")
    config = init_config(lang="zh", pipeline=["ner"], optimize="efficiency")
    overrides = {f"paths.{part}": str(folder / f"{part}.spacy") for part in ("train", "dev")}
    overrides |= {"training.max_steps": NER_STEPS, "training.eval_frequency": NER_STEPS}
    nlp = init_nlp(load_config_from_str(config.to_str(), overrides=overrides))
    train(nlp, folder, stdout=io.StringIO())
    return str(folder / "model-last")


def updated(name: str, raw: list[str], docs: list[Doc]) -> Language:
    """spaCy's loop: `nlp.update`, and with raw texts `nlp.rehearse` after it."""
    nlp = spacy.load(name)
    nlp.replace_listeners("tok2vec", "ner", ["model.tok2vec"])  # `rehearse` can't have them
    for label in {ent.label_ for doc in docs for ent in doc.ents}:
        nlp.get_pipe("ner").add_label(label)  # type: ignore[attr-defined]
    optimizer = nlp.resume_training()
    examples = forever([Example(nlp.make_doc(doc.text), doc) for doc in docs])
    plain = forever([Example(doc, doc.copy()) for doc in map(nlp.make_doc, raw)])
    for _ in range(STEPS):
        nlp.update([*islice(examples, BATCH)], sgd=optimizer)
        if raw:
            nlp.rehearse([*islice(plain, BATCH)], sgd=optimizer)
    return nlp


def save(docs: Iterable[Doc], path: Path) -> None:
    corpus = new_docs()
    for doc in docs:
        corpus.add(doc)
    corpus.to_disk(path)


def forever(examples: list[Example]) -> Iterator[Example]:
    random = Random(1)
    while examples:
        yield from random.sample(examples, len(examples))


if __name__ == "__main__":
    main()
