"""What words do that are added to a trained pipeline, without training it again.

    python benchmarks/new_words.py PIPELINE DEV.spacy

The list is made of the names, of two characters or more, that the pipeline misses wherever they
are entities of DEV. Compared on DEV are the pipeline as it is, with the list added to its lexicon,
without types, with their labels as types, and with these and several `trust`s, and with the same
list in spaCy's `entity_ruler` before it, which labels every occurrence.

"Gained" are entities that were missed before, "lost" those that are missed now; "false" are new
entities that are not in the annotation, "of the list" counts the listed names' mentions.
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import spacy
from report import format_table
from spacy.language import Language
from spacy.training import Corpus

TRUSTS = (0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999, 1.0)

Mention = tuple[int, int, int, str]  # text, start, end, label


@dataclass(frozen=True)
class Result:
    """Entities of DEV under one way to add the list."""

    way: str
    found_of_list: int
    gained: int
    lost: int
    false: int
    precision: float
    recall: float
    f1: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipeline", type=Path)
    parser.add_argument("dev", type=Path)
    arguments = parser.parse_args()

    nlp = spacy.load(arguments.pipeline)
    texts, gold = read_gold(nlp, arguments.dev)
    before = predict(nlp, texts)
    names = missed_names(texts, gold, before)
    lexicon = nlp.get_pipe("flat_ner").lexicon  # type: ignore[attr-defined]
    listed = {mention for mention in gold if surface(texts, mention) in names}
    new = sum(name not in lexicon for name in names)
    print(f"{len(names)} names ({new} not in the lexicon), {len(listed)} mentions\n")

    ways = {
        "as it is": before,
        "words, no type": predict(with_words(arguments.pipeline, dict.fromkeys(names, "")), texts),
        "words with types": predict(with_words(arguments.pipeline, names), texts),
        **{
            f"trust {trust}": predict(with_words(arguments.pipeline, names, trust), texts)
            for trust in TRUSTS
        },
        "entity_ruler": predict(with_ruler(arguments.pipeline, names), texts),
    }
    results = [compare(way, gold, listed, before, after) for way, after in ways.items()]
    print_results(results, len(listed))


def read_gold(nlp: Language, path: Path) -> tuple[list[str], set[Mention]]:
    """The texts of a corpus and its entities."""
    examples = list(Corpus(path)(nlp))
    gold = {
        (number, ent.start_char, ent.end_char, ent.label_)
        for number, example in enumerate(examples)
        for ent in example.reference.ents
    }
    return [example.text for example in examples], gold


def predict(nlp: Language, texts: Sequence[str]) -> set[Mention]:
    return {
        (number, ent.start_char, ent.end_char, ent.label_)
        for number, doc in enumerate(nlp.pipe(texts))
        for ent in doc.ents
    }


def surface(texts: Sequence[str], mention: Mention) -> str:
    text, start, end, _ = mention
    return texts[text][start:end]


def missed_names(
    texts: Sequence[str], gold: Iterable[Mention], found: set[Mention]
) -> dict[str, str]:
    """Names none of whose mentions is found, with their commonest label."""
    labels: defaultdict[str, Counter[str]] = defaultdict(Counter)
    met = set()
    for mention in sorted(gold):
        name = surface(texts, mention)
        labels[name][mention[3]] += 1
        if mention in found:
            met.add(name)
    return {
        name: counts.most_common(1)[0][0]
        for name, counts in labels.items()
        if name not in met and len(name) > 1
    }


def with_words(path: Path | str, types: Mapping[str, str], trust: float = 0.0) -> Language:
    """The pipeline with these words in its lexicon."""
    nlp = spacy.load(path)
    lexicon = nlp.get_pipe("flat_ner").lexicon  # type: ignore[attr-defined]
    for type in set(types.values()):
        lexicon.add([word for word in types if types[word] == type], type=type, trust=trust)
    return nlp


def with_ruler(path: Path | str, names: Mapping[str, str]) -> Language:
    """The pipeline with a ruler that labels every occurrence of the names."""
    nlp = spacy.load(path)
    ruler = nlp.add_pipe("entity_ruler", before="flat_ner")
    patterns = [{"label": label, "pattern": name} for name, label in names.items()]
    ruler.add_patterns(patterns)  # type: ignore[attr-defined]
    return nlp


def compare(
    way: str, gold: set[Mention], listed: set[Mention], before: set[Mention], after: set[Mention]
) -> Result:
    right = len(gold & after)
    precision, recall = right / max(1, len(after)), right / max(1, len(gold))
    return Result(
        way=way,
        found_of_list=len(listed & after),
        gained=len((gold & after) - before),
        lost=len((gold & before) - after),
        false=len(after - gold - before),
        precision=precision,
        recall=recall,
        f1=2 * precision * recall / max(1e-9, precision + recall),
    )


def print_results(results: Iterable[Result], mentions: int) -> None:
    header = ["", f"of the list ({mentions})", "gained", "lost", "false", "P", "R", "F1"]
    rows = [
        [
            result.way,
            *map(str, (result.found_of_list, result.gained, result.lost, result.false)),
            *(f"{100 * value:.1f}" for value in (result.precision, result.recall, result.f1)),
        ]
        for result in results
    ]
    print(format_table(header, rows, text_columns=1))


if __name__ == "__main__":
    main()
