"""Measure character language models: how well they expect held-out poems, and what they write.

    python benchmarks/generator.py CORPUS --pipelines DIR … [--parts scores speed poems samples]

CORPUS is a folder of train.spacy and dev.spacy, as written by `python -m spacy flat convert
--corpus`; the pipelines, each with a `char_generator`, were trained on its training part. Parts:

    scores   Perplexity of the dev part, a character, the end of each text as one, beside
             all Kneser–Ney 5-grams of the same keys: the vocabulary is the first pipeline's, and
             all unknown characters are one. Then of 500 sentences of the dev part,
             changed in one place, how often the true one has the higher probability: two
             neighbouring characters are swapped, or one is replaced by one of the most frequent.
    errors   --errors of these replaced sentences and the true ones; as many with a character
             replaced by one of the same syllable, as in texts typed in pinyin; and 60 of that kind
             written for this purpose (`assets/release/typos.tsv`). `doc._.suspicious`
             for several values of `suspicion`. Precision: how many of
             the suspicious characters were replaced. Recall: how many of the replaced ones are
             suspicious, and in how many the expected character is the true one. Alarms: suspicious
             characters in 1,000 of 250 unchanged dev texts.
    speed    Characters a second in training and in writing 1 and 64 texts of 200 characters, and
             texts a second in scoring, beside the plain loop (`plain_lm.py`) with the same sizes.
             Systems take turns on one thread; the median of --repeats counts, in seconds of the
             processor, which other programs disturb less than those of the clock. Training of
             a pipeline is `nlp.update` on batches of 32 texts, scoring `nlp.pipe`.
    poems    Of --samples poems of each form, asked for with rhyme and tones and without: how many
             have the form, rhyme and tones; and which share of their 4-grams and lines stands in
             the training texts, beside that of the dev texts.
    samples  Ten poems of each form, as they come, with rhyme and tones, with the seed 1.
"""

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, cast

import numpy as np
import plain_lm
import spacy
import torch
from numpy.typing import NDArray
from pypinyin import Style, pinyin
from report import environment, format_table
from spacy.language import Language
from spacy.tokens import DocBin
from spacy.training import Example

from spacy_flat.corpora.poems import LINE_ENDS, form_name
from spacy_flat.generator.component import CharGenerator
from spacy_flat.generator.featuriser import CharFeaturiser
from spacy_flat.generator.forms import FORMS, Tones
from spacy_flat.generator.model import network_of
from spacy_flat.generator.ngrams import MAX_ORDER, N_BEFORE, NGrams, count_ngrams
from spacy_flat.generator.poems import PoemTask, judge
from spacy_flat.generator.proofreading import Confusion, Suspicious
from spacy_flat.nn.optimizers import AdamW

NGRAMS = f"Kneser–Ney, {MAX_ORDER}-grams"
LENGTH = 200  # characters of a text that is written for its speed
SIDE_BY_SIDE = 64
FREQUENT = 100  # characters that may replace another
TONES: tuple[Tones, Tones] = ("平起", "仄起")


def main() -> None:
    arguments = parse_arguments()
    torch.set_num_threads(1)
    train, dev = (read_texts(arguments.corpus / f"{part}.spacy") for part in ("train", "dev"))
    pipelines = {str(path): spacy.load(path) for path in arguments.pipelines}
    print(f"{arguments.corpus}: {len(train)} and {len(dev)} texts; {environment()}")
    for part in arguments.parts:
        for table in PARTS[part](arguments, pipelines, train, dev):
            print(f"\n{table}", flush=True)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--pipelines", nargs="+", type=Path, required=True)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=["scores", "speed", "poems"])
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--errors", type=int, default=200)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--markdown", action="store_true", help="print tables as Markdown")
    return parser.parse_args()


def read_texts(path: Path) -> list[str]:
    docs = DocBin().from_disk(path).get_docs(spacy.blank("zh").vocab)
    return [doc.text for doc in docs]


def generator_of(nlp: Language) -> CharGenerator:
    return next(pipe for _, pipe in nlp.pipeline if isinstance(pipe, CharGenerator))


def encoder_of(nlp: Language) -> CharFeaturiser:
    return cast(CharFeaturiser, generator_of(nlp).model.attrs["featuriser"])


def percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"


# Scores

# Of each text, −ln P of each character and of the end.
Scorer = Callable[[Sequence[str]], list[NDArray[np.floating[Any]]]]


def measure_scores(
    arguments: argparse.Namespace, pipelines: dict[str, Language], train: list[str], dev: list[str]
) -> Iterable[str]:
    encoder = encoder_of(next(iter(pipelines.values())))
    for nlp in pipelines.values():
        assert (encoder_of(nlp).chars.hashes == encoder.chars.hashes).all(), "other vocabulary"
    scorers = {name: scorer_of(nlp) for name, nlp in pipelines.items()}
    scorers[NGRAMS] = ngram_scorer(encoder, train)
    swapped, replaced, _ = change_sentences(train, dev, arguments.sentences)
    rows = []
    for name, scorer in scorers.items():
        surprisals = np.concatenate(scorer(dev))
        right = [share_right(scorer, pairs) for pairs in (swapped, replaced)]
        rows.append([name, f"{np.exp(surprisals.mean()):.1f}", *map(percent, right)])
    unknown = np.mean([key == 0 for text in dev for key in encoder.keys(text)])
    n = sum(map(len, dev))
    yield f"{n:,} characters to expect, of which {percent(unknown)} % are unknown"
    header = ("", "perplexity", f"{len(swapped)} swapped", f"{len(replaced)} replaced")
    yield format_table(header, rows, arguments.markdown)


def scorer_of(nlp: Language) -> Scorer:
    pipe = generator_of(nlp)
    return lambda texts: [
        score.surprisals for score in pipe.predict([nlp.make_doc(text) for text in texts])
    ]


def ngram_scorer(encoder: CharFeaturiser, train: Sequence[str]) -> Scorer:
    ngrams = all_ngrams(encoder, train)
    return lambda texts: [-ngrams.log_probs(encoder.marked(text, N_BEFORE)) for text in texts]


def all_ngrams(encoder: CharFeaturiser, train: Sequence[str]) -> NGrams:
    return count_ngrams([*map(encoder.keys, train)], len(encoder.strings), encoder.marks, 10**9)


Change = tuple[str, str]  # a sentence, and the same with a change


def change_sentences(
    train: Sequence[str], dev: Sequence[str], n: int
) -> tuple[list[Change], list[Change], list[Change]]:
    """Three changes of each of n sentences: neighbours swapped, a character replaced by a frequent
    one, and one by a homophone, each as often as it is frequent."""
    random = Random(1)
    counts = Counter(char for text in train for char in text if char not in LINE_ENDS)
    frequent = [char for char, _ in counts.most_common(FREQUENT)]
    alike: dict[str, list[str]] = {}
    for char in counts:
        for syllable in readings(char):
            alike.setdefault(syllable, []).append(char)

    def homophone(char: str) -> str:
        others = sorted({each for reading in readings(char) for each in alike.get(reading, [])})
        others = [each for each in others if each != char]
        return random.choices(others, [counts[each] for each in others])[0] if others else char

    sentences = sorted({f"{part}。" for text in dev for part in text.split("。") if len(part) > 4})
    random.shuffle(sentences)
    swapped, replaced, typed = [], [], []
    for sentence in sentences:
        places = [
            place
            for place, (one, other) in enumerate(pairwise(sentence))
            if one != other and not {one, other} & set(LINE_ENDS)
        ]
        if places and len(swapped) < n:
            at = random.choice(places)
            swapped.append(
                (sentence, sentence[:at] + sentence[at + 1] + sentence[at] + sentence[at + 2 :])
            )
            at = random.choice(places)
            other = random.choice([char for char in frequent if char != sentence[at]])
            replaced.append((sentence, sentence[:at] + other + sentence[at + 1 :]))
            typed.append((sentence, sentence[:at] + homophone(sentence[at]) + sentence[at + 1 :]))
    return swapped, replaced, [(true, changed) for true, changed in typed if true != changed]


def readings(char: str) -> list[str]:
    """The usual syllable of a character, without its tone; none of other characters."""
    found = pinyin(char, style=Style.NORMAL, errors="ignore")
    return found[0] if found else []


def share_right(scorer: Scorer, changes: Sequence[Change]) -> float:
    """How often the true sentence is the more probable one."""
    true, changed = ([part.sum() for part in scorer(side)] for side in zip(*changes, strict=True))
    return float(np.mean([one < other for one, other in zip(true, changed, strict=True)]))


# Errors


Finder = Callable[[str], list[Suspicious]]
LEAST = (2, 4, 6, 8, 10)
UNCHANGED = 250  # dev texts in which anything suspicious is a false alarm
TYPOS = Path(__file__).parents[1] / "assets/release/typos.tsv"


def measure_errors(
    arguments: argparse.Namespace, pipelines: dict[str, Language], train: list[str], dev: list[str]
) -> Iterable[str]:
    _, replaced, typed = change_sentences(train, dev, arguments.errors)
    written = [line.split("\t") for line in TYPOS.read_text("utf-8").splitlines()]
    kinds: list[tuple[str, Confusion, list[Change]]] = [
        ("replaced", "any", replaced),
        ("homophones", "homophones", typed),
        ("written", "homophones", [(true, changed) for changed, true in written]),
    ]
    unchanged = Random(1).sample(dev, min(UNCHANGED, len(dev)))
    for kind, confusion, own in kinds:
        finders: dict[str, Finder] = {
            name: finder_of(nlp, confusion) for name, nlp in pipelines.items()
        }
        rows = [
            [name, str(least), *map(percent, shares), f"{alarms:.1f}"]
            for name, find in finders.items()
            for (least, *shares), alarms in zip(
                measure_finder(find, own), alarms_of(find, unchanged), strict=True
            )
        ]
        header = (f"{len(own)} {kind}", "suspicion", "precision", "recall", "mended", "alarms")
        yield format_table(header, rows, arguments.markdown)


def finder_of(nlp: Language, confusion: Confusion) -> Finder:
    def find(text: str) -> list[Suspicious]:
        pipe = generator_of(nlp)
        pipe.suspicion, pipe.confusion = LEAST[0], confusion
        (score,) = pipe.predict([nlp.make_doc(text)])
        pipe.suspicion = None
        return score.suspicious or []

    return find


def measure_finder(find: Finder, changes: Sequence[Change]) -> Iterator[tuple[float, ...]]:
    """Yield each suspicion with precision, recall, and the share mended."""
    clean = [each.gain for true, _ in changes for each in find(true)]
    found = [(true, each) for true, changed in changes for each in find(changed)]
    for least in LEAST:
        flagged = [(true, each) for true, each in found if each.gain >= least]
        right = [(true, each) for true, each in flagged if true[each.start] != each.found]
        mended = [each for true, each in right if true[each.start] == each.expected]
        n_flagged = len(flagged) + sum(gain >= least for gain in clean)
        n = max(1, len(changes))
        yield least, len(right) / max(1, n_flagged), len(right) / n, len(mended) / n


def alarms_of(find: Finder, texts: Sequence[str]) -> list[float]:
    """For each suspicion, suspicious characters in 1,000 of unchanged texts."""
    gains = [each.gain for text in texts for each in find(text)]
    n = sum(map(len, texts))
    return [1000 * sum(gain >= least for gain in gains) / n for least in LEAST]


# Speed


def measure_speed(
    arguments: argparse.Namespace, pipelines: dict[str, Language], train: list[str], dev: list[str]
) -> Iterable[str]:
    for name, nlp in pipelines.items():
        texts = Random(1).sample(train, min(160, len(train)))
        ours, plain = our_tasks(nlp, texts), plain_tasks(nlp, texts)
        rows = []
        for task, (work, size) in ours.items():
            plain_work, plain_size = plain[task]
            fast, slow = take_turns(work, plain_work, arguments.repeats)
            speeds = size / fast, plain_size / slow
            rows.append([task, *(f"{speed:,.0f}" for speed in speeds)])
            rows[-1].append(f"{speeds[0] / speeds[1]:.1f}")
        yield format_table((name, "ours", "plain loop", "times"), rows, arguments.markdown)


Work = tuple[Callable[[], object], int]  # what is timed, and how many units of it there are


def our_tasks(nlp: Language, texts: list[str]) -> dict[str, Work]:
    pipe = generator_of(nlp)
    examples = [Example(doc, doc) for doc in map(nlp.make_doc, texts)]
    optimizer = AdamW(0.0, use_averages=True)  # a full step, but the pipeline stays as it is

    def update() -> None:
        for start in range(0, len(examples), 32):
            nlp.update(examples[start : start + 32], sgd=optimizer)

    def write(n: int) -> None:
        with without_end(pipe):
            pipe.generate(n=n, max_length=LENGTH, seed=1)

    return {
        "training, characters/s": (update, sum(map(len, texts))),
        "writing 1 text, characters/s": (lambda: write(1), LENGTH),
        f"writing {SIDE_BY_SIDE} texts, characters/s": (
            lambda: write(SIDE_BY_SIDE),
            SIDE_BY_SIDE * LENGTH,
        ),
        "scoring, texts/s": (lambda: list(nlp.pipe(texts)), len(texts)),
    }


@contextmanager
def without_end(pipe: CharGenerator) -> Iterator[None]:
    """Let no text end, so that all have the same length."""
    bias, end = network_of(pipe.model).bias.data, pipe.model.attrs["featuriser"].marks[1]
    before = bias[end].item()
    bias[end] = -1e9
    yield
    bias[end] = before


def plain_tasks(nlp: Language, texts: list[str]) -> dict[str, Work]:
    encoder, network = encoder_of(nlp), generator_of(nlp).model.attrs["options"]
    start, end = encoder.marks
    keys = [torch.tensor([start, *encoder.keys(text).tolist(), end]) for text in texts]
    torch.manual_seed(1)
    width = encoder.options.embed_width
    model = plain_lm.PlainLM(len(encoder.strings), width, network.width, network.cell)

    def write(n: int) -> None:
        for _ in range(n):
            plain_lm.generate(model, start, LENGTH)

    few = 2  # texts that stand for 64, one after the other
    return {
        "training, characters/s": (lambda: plain_lm.train(model, keys), sum(map(len, texts))),
        "writing 1 text, characters/s": (lambda: write(1), LENGTH),
        f"writing {SIDE_BY_SIDE} texts, characters/s": (lambda: write(few), few * LENGTH),
        "scoring, texts/s": (lambda: plain_lm.score(model, keys), len(texts)),
    }


def take_turns(*works: Any) -> tuple[float, float]:
    """The median seconds of two, of so many runs after one to warm up."""
    *both, repeats = works
    seconds: tuple[list[float], list[float]] = ([], [])
    for number in range(repeats + 1):
        for work, found in zip(both, seconds, strict=True):
            begin = time.process_time()
            work()
            if number:
                found.append(time.process_time() - begin)
    return median(seconds[0]), median(seconds[1])


# Poems


def measure_poems(
    arguments: argparse.Namespace, pipelines: dict[str, Language], train: list[str], dev: list[str]
) -> Iterable[str]:
    header = ("", "texts", "form", "rhyme", "tones")
    for name, nlp in pipelines.items():
        pipe, rows = generator_of(nlp), []
        for form in FORMS:
            half = arguments.samples // 2
            asked = [
                poem.text
                for tones in TONES
                for poem in pipe.poem(form, n=half, rhyme=True, tones=tones, seed=1)
            ]
            free = [poem.text for poem in pipe.poem(form, n=2 * half, seed=1)]
            length = FORMS[form].lines * (FORMS[form].characters + 1)  # with single marks
            real = [text for text in dev if form_name(text) == form and len(text) == length]
            for kind, texts in (("asked for", asked), ("not asked for", free), ("dev part", real)):
                if texts:
                    rows.append([f"{form}, {kind}", *row_of(form, texts)])
        print(f"\n{name}")
        yield format_table(header, rows, arguments.markdown)


def row_of(form: str, texts: Sequence[str]) -> list[str]:
    """How many texts there are, and which shares of them have form, rhyme, and tones."""
    rhymed, toned = zip(*(meets(form, text) for text in texts), strict=True)
    has_form = [form_name(text) == form for text in texts]
    shares = [float(np.mean(found)) for found in (has_form, rhymed, toned)]
    return [str(len(texts)), *map(percent, shares)]


def meets(form: str, text: str) -> tuple[bool, bool]:
    """Whether a text has rhyme, and tones by one of the two patterns."""
    judged = [
        judge(PoemTask(FORMS[form], {}, True, FORMS[form].tones(tones)), text, 0.0)
        for tones in TONES
    ]
    return bool(judged[0].rhymes), any(not poem.misplaced for poem in judged)


def show_samples(
    arguments: argparse.Namespace, pipelines: dict[str, Language], train: list[str], dev: list[str]
) -> Iterable[str]:
    for name, nlp in pipelines.items():
        for form in FORMS:
            poems = generator_of(nlp).poem(form, n=10, rhyme=True, tones="仄起", seed=1)
            yield "\n\n".join([f"{name}: {form}", *map(str, poems)])


PARTS = {
    "scores": measure_scores,
    "errors": measure_errors,
    "speed": measure_speed,
    "poems": measure_poems,
    "samples": show_samples,
}


if __name__ == "__main__":
    main()
