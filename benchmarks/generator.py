"""Measure character language models: how well they expect held-out poems, and what they write.

    python benchmarks/generator.py CORPUS --pipelines DIR … [--parts scores errors speed poems]

CORPUS is a folder of train.spacy and dev.spacy; the pipelines, each with a `char_generator`, were
trained on its training part. Parts:

    scores   Perplexity of the dev part, beside all Kneser–Ney 5-grams of the same keys. Then of
             500 sentences of it, changed in one place, how often the true one is more probable: two
             neighbouring characters are swapped, or one is replaced by a frequent one.
    errors   `doc._.suspicious` on --errors of these sentences with a homophone, and on 60 of that
             kind written for it (`assets/release/typos.tsv`).
             Precision: how many of the suspicious characters were replaced. Recall: how many of the
             replaced ones are suspicious; mended: with the true one expected. Alarms: suspicious
             characters in 1,000 of 250 unchanged dev texts.
    speed    Characters a second in training and writing, texts a second in scoring, beside the
             plain loop (`plain_lm.py`) of the same sizes, in turns on one thread; the median of
             --repeats counts, in seconds of the processor.
    poems    Of --samples poems of each form, asked for with rhyme and without, and of the dev
             part: how many have the form and rhyme.
"""

import argparse
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import numpy as np
import plain_lm
import spacy
import torch
from report import environment, format_table
from spacy.language import Language
from spacy.tokens import DocBin
from spacy.training import Example

from spacy_flat.corpora.poems import LINE_ENDS
from spacy_flat.generator.component import CharGenerator
from spacy_flat.generator.featuriser import CharFeaturiser
from spacy_flat.generator.forms import FORMS
from spacy_flat.generator.model import network_of
from spacy_flat.generator.ngrams import N_BEFORE, count_ngrams
from spacy_flat.generator.proofreading import syllables_of
from spacy_flat.generator.rhymes import rhyme_of
from spacy_flat.nn.optimizers import AdamW

NGRAMS = "Kneser–Ney, 5-grams"
LENGTH = 200  # characters of a text that is written for its speed
SIDE_BY_SIDE = 64
FREQUENT = 100  # characters that may replace another
LEAST = (2, 4, 6, 8, 10)  # values of `suspicion`
UNCHANGED = 250  # dev texts in which anything suspicious is a false alarm
TYPOS = Path(__file__).parents[1] / "assets/release/typos.tsv"

Pipes = dict[str, Language]
Texts = list[str]
Change = tuple[str, str]  # a sentence, and the same with a change
Scorer = Callable[[Sequence[str]], list[Any]]  # of each text, −ln P of each character and the end
Work = tuple[Callable[[], object], int]  # what is timed, and how many units of it there are


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--pipelines", nargs="+", type=Path, required=True)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=["scores", "speed", "poems"])
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--errors", type=int, default=200)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    train, dev = (read_texts(arguments.corpus / f"{part}.spacy") for part in ("train", "dev"))
    pipes = {str(path): spacy.load(path) for path in arguments.pipelines}
    print(f"{arguments.corpus}: {len(train)} and {len(dev)} texts; {environment()}")
    for part in arguments.parts:
        for header, rows in PARTS[part](arguments, pipes, train, dev):
            print(f"\n{format_table(header, rows)}", flush=True)


def read_texts(path: Path) -> Texts:
    return [doc.text for doc in DocBin().from_disk(path).get_docs(spacy.blank("zh").vocab)]


def generator_of(nlp: Language) -> CharGenerator:
    return next(pipe for _, pipe in nlp.pipeline if isinstance(pipe, CharGenerator))


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


# Scores


def measure_scores(
    arguments: argparse.Namespace, pipes: Pipes, train: Texts, dev: Texts
) -> Iterable[Any]:
    featurisers: list[CharFeaturiser] = [generator_of(nlp).featuriser for nlp in pipes.values()]
    for other in featurisers:
        assert (other.chars.hashes == featurisers[0].chars.hashes).all(), "other vocabulary"
    scorers = {name: partial(scores_of, nlp) for name, nlp in pipes.items()}
    scorers[NGRAMS] = ngram_scorer(featurisers[0], train)
    changes = change_sentences(train, dev, arguments.sentences)[:2]
    rows = []
    for name, scorer in scorers.items():
        perplexity = np.exp(np.concatenate(scorer(dev)).mean())
        right = [share_right(scorer, pairs) for pairs in changes]
        rows.append([name, f"{perplexity:.1f}", *map(percent, right)])
    yield (
        (
            "",
            "perplexity",
            *(f"{len(c)} {k}" for c, k in zip(changes, ("swapped", "replaced"), strict=True)),
        ),
        rows,
    )


def scores_of(nlp: Language, texts: Sequence[str]) -> list[Any]:
    return [each.surprisals for each in generator_of(nlp).predict(map(nlp.make_doc, texts))]


def ngram_scorer(featuriser: CharFeaturiser, train: Texts) -> Scorer:
    keys, n_keys = list(map(featuriser.keys, train)), len(featuriser.strings)
    ngrams = count_ngrams(keys, n_keys, featuriser.marks, 10**9)
    return lambda texts: [-ngrams.log_probs(featuriser.marked(text, N_BEFORE)) for text in texts]


def change_sentences(train: Texts, dev: Texts, n: int) -> list[list[Change]]:
    """Three changes of n sentences: neighbours swapped, a character replaced by a frequent one, and
    one by a homophone, each as often as it is frequent."""
    random = Random(1)
    counts = Counter(char for text in train for char in text if char not in LINE_ENDS)
    frequent = [char for char, _ in counts.most_common(FREQUENT)]
    sentences = sorted({f"{part}。" for text in dev for part in text.split("。") if len(part) > 4})
    random.shuffle(sentences)
    changes: list[list[Change]] = [[], [], []]
    for old in sentences:
        places = [
            place
            for place, (one, other) in enumerate(pairwise(old))
            if one != other and not {one, other} & set(LINE_ENDS)
        ]
        if not places or len(changes[0]) == n:
            continue
        at = random.choice(places)
        changes[0].append((old, old[:at] + old[at + 1] + old[at] + old[at + 2 :]))
        at = random.choice(places)
        alike = [c for c in counts if c != old[at] and syllables_of(c) & syllables_of(old[at])]
        others = [random.choice([char for char in frequent if char != old[at]])]
        others += random.choices(alike, [counts[each] for each in alike]) if alike else []
        for found, other in zip(changes[1:], others, strict=False):
            found.append((old, old[:at] + other + old[at + 1 :]))
    return changes


def share_right(scorer: Scorer, changes: Sequence[Change]) -> float:
    """How often the true sentence is the more probable one."""
    true, changed = ([part.sum() for part in scorer(side)] for side in zip(*changes, strict=True))
    return float(np.mean([one < other for one, other in zip(true, changed, strict=True)]))


# Errors


def measure_errors(
    arguments: argparse.Namespace, pipes: Pipes, train: Texts, dev: Texts
) -> Iterable[Any]:
    *_, typed = change_sentences(train, dev, arguments.errors)
    written = [line.split("\t") for line in TYPOS.read_text("utf-8").splitlines()]
    kinds = {"homophones": typed, "written": [(true, changed) for changed, true in written]}
    unchanged = Random(1).sample(dev, min(UNCHANGED, len(dev)))
    n = sum(map(len, unchanged))
    for kind, changes in kinds.items():
        rows = []
        for name, nlp in pipes.items():
            find = partial(suspicious, nlp)
            gains = [each.gain for found in find(unchanged) for each in found]
            for least, *shares in measure_finder(find, changes):
                alarms = 1000 * sum(gain >= least for gain in gains) / n
                rows.append([name, str(least), *map(percent, shares), f"{alarms:.1f}"])
        header = (f"{len(changes)} {kind}", "suspicion", "precision", "recall", "mended", "alarms")
        yield header, rows


def suspicious(nlp: Language, texts: Iterable[str]) -> list[Any]:
    pipe = generator_of(nlp)
    pipe.suspicion = LEAST[0]
    found = [score.suspicious for score in pipe.predict(map(nlp.make_doc, texts))]
    pipe.suspicion = None
    return found


def measure_finder(
    find: Callable[[Iterable[str]], list[Any]], changes: Sequence[Change]
) -> Iterator[tuple[float, ...]]:
    """Yield each suspicion with precision, recall, and the share mended."""
    true, changed = zip(*changes, strict=True)
    clean = [each.gain for found in find(true) for each in found]
    found = [(text, each) for text, own in zip(true, find(changed), strict=True) for each in own]
    for least in LEAST:
        flagged = [(text, each) for text, each in found if each.gain >= least]
        right = [(text, each) for text, each in flagged if text[each.start] != each.found]
        mended = sum(text[each.start] == each.expected for text, each in right)
        n_flagged = len(flagged) + sum(gain >= least for gain in clean)
        yield least, len(right) / max(1, n_flagged), len(right) / len(true), mended / len(true)


# Speed


def measure_speed(
    arguments: argparse.Namespace, pipes: Pipes, train: Texts, dev: Texts
) -> Iterable[Any]:
    for name, nlp in pipes.items():
        texts = Random(1).sample(train, min(160, len(train)))
        plain = plain_tasks(nlp, texts)
        rows = []
        for task, (work, size) in our_tasks(nlp, texts).items():
            plain_work, plain_size = plain[task]
            fast, slow = take_turns(work, plain_work, arguments.repeats)
            ours, theirs = size / fast, plain_size / slow
            rows.append([task, f"{ours:,.0f}", f"{theirs:,.0f}", f"{ours / theirs:.1f}"])
        yield (name, "ours", "plain loop", "times"), rows


TRAINING, ONE = "training, characters/s", "writing 1 text, characters/s"
MANY, SCORING = f"writing {SIDE_BY_SIDE} texts, characters/s", "scoring, texts/s"


def our_tasks(nlp: Language, texts: Texts) -> dict[str, Work]:
    pipe = generator_of(nlp)
    examples = [Example(doc, doc) for doc in map(nlp.make_doc, texts)]
    optimizer = AdamW(0.0, use_averages=True)  # a full step, but the pipeline stays as it is

    def update() -> None:
        for start in range(0, len(examples), 32):
            nlp.update(examples[start : start + 32], sgd=optimizer)

    def write(n: int) -> None:
        bias, end = network_of(pipe.model).bias.data, pipe.featuriser.marks[1]
        before = bias[end].item()
        bias[end] = -1e9  # no text ends early
        pipe.generate(n=n, max_length=LENGTH, seed=1)
        bias[end] = before

    return {
        TRAINING: (update, sum(map(len, texts))),
        ONE: (partial(write, 1), LENGTH),
        MANY: (partial(write, SIDE_BY_SIDE), SIDE_BY_SIDE * LENGTH),
        SCORING: (lambda: list(nlp.pipe(texts)), len(texts)),
    }


def plain_tasks(nlp: Language, texts: Texts) -> dict[str, Work]:
    pipe = generator_of(nlp)
    featuriser, network = pipe.featuriser, pipe.model.attrs["options"]
    keys = [torch.from_numpy(featuriser.marked(text)) for text in texts]
    torch.manual_seed(1)
    width, n_keys = featuriser.options.embed_width, len(featuriser.strings)
    model = plain_lm.PlainLM(n_keys, width, network.width, network.cell)
    write: Work = (lambda: plain_lm.generate(model, featuriser.marks[0], LENGTH), LENGTH)
    return {
        TRAINING: (lambda: plain_lm.train(model, keys), sum(map(len, texts))),
        ONE: write,
        MANY: write,  # one after the other
        SCORING: (lambda: plain_lm.score(model, keys), len(texts)),
    }


def take_turns(one: Callable[[], object], other: Callable[[], object], n: int) -> list[float]:
    """The median seconds of two, of n runs after one to warm up."""
    seconds: list[list[float]] = [[], []]
    for _ in range(n + 1):
        for work, found in zip((one, other), seconds, strict=True):
            begin = time.process_time()
            work()
            found.append(time.process_time() - begin)
    return [median(found[1:]) for found in seconds]


# Poems


def measure_poems(
    arguments: argparse.Namespace, pipes: Pipes, train: Texts, dev: Texts
) -> Iterable[Any]:
    n = arguments.samples
    for name, nlp in pipes.items():
        pipe, rows = generator_of(nlp), []
        for form in FORMS:
            length = FORMS[form].lines * (FORMS[form].characters + 1)  # with single marks
            kinds = {
                "asked for": [poem.text for poem in pipe.poem(form, n=n, rhyme=True, seed=1)],
                "not asked for": [poem.text for poem in pipe.poem(form, n=n, seed=1)],
                "dev part": [t for t in dev if has_form(form, t) and len(t) == length],
            }
            for kind, texts in kinds.items():
                if texts:
                    shares = np.mean([meets(form, text) for text in texts], axis=0)
                    rows.append([f"{form}, {kind}", str(len(texts)), *map(percent, shares)])
        yield (name, "texts", "form", "rhyme"), rows


def has_form(form: str, text: str) -> bool:
    """Whether a text has the lines of the form, whatever marks end them."""
    lengths = [len(line) for line in re.split(f"[{LINE_ENDS}]+", text)[:-1]]
    return lengths == [FORMS[form].characters] * FORMS[form].lines


def meets(form: str, text: str) -> tuple[bool, bool]:
    """Whether a text has the form, and its even lines end on different characters of one rhyme."""
    length = FORMS[form].characters + 1
    ends = text[2 * length - 2 :: 2 * length]
    rhymes = {rhyme_of(end) for end in ends}
    is_rhymed = len(rhymes) == 1 and "" not in rhymes and len(set(ends)) == len(ends)
    return has_form(form, text), is_rhymed


PARTS = {
    "scores": measure_scores,
    "errors": measure_errors,
    "speed": measure_speed,
    "poems": measure_poems,
}


if __name__ == "__main__":
    main()
