"""What word lists do that are added to the lexicon of a trained pipeline with `lexicon.update`.

    python benchmarks/lists.py PIPELINE [FILE=TYPE …] [--names DEV.spacy]

F1 on the texts of `assets/kinds_dev` without and with each list, such as THUOCL's places, and with
the names of assets/names/companies.txt, many of which are ordinary words. With --names, the names
that the pipeline misses wherever they are entities of DEV, and these with one tenth of ordinary
words: how many of their mentions are found.
"""

import argparse
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import spacy
from kinds import entity_labels, make_label_map, read_texts, score
from new_words import missed_names, predict, read_gold, surface
from report import format_table
from spacy.language import Language

from spacy_flat.lexicon import jieba_words, read_words

ASSETS = Path(__file__).parents[1] / "assets"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipeline", type=Path)
    parser.add_argument("lists", nargs="*", metavar="FILE=TYPE")
    parser.add_argument("--names", type=Path, metavar="DEV.spacy")
    arguments = parser.parse_args()
    nlp = spacy.load(arguments.pipeline)
    given = [each.rpartition("=")[::2] for each in arguments.lists]
    companies = [word.word for word in read_words(ASSETS / "names" / "companies.txt")]
    with TemporaryDirectory() as folder:
        plain = Path(folder) / "companies"
        plain.write_text("\n".join(companies), "utf-8")
        rows = [["no list", f"{100 * f1(nlp):.1f}"]]
        for path, type in [*given, (plain, "COMPANY")]:
            with_list = updated(arguments.pipeline, [(Path(path), type)])
            rows.append([Path(path).stem, f"{100 * f1(with_list):.1f}"])
        print(format_table(["list", "F1"], rows))
        if arguments.names:
            header = ["list", "mentions", "found", "new false entities"]
            print(format_table(header, [*names(arguments, nlp, Path(folder))]))


def f1(nlp: Language) -> float:
    texts = read_texts(ASSETS / "kinds_dev" / "kinds.jsonl")
    return score(nlp, texts, make_label_map(entity_labels(nlp), {}))["all"]["f"]


def updated(pipeline: Path, lists: list[tuple[Path, str]], trust: float | None = None) -> Language:
    nlp = spacy.load(pipeline)
    lexicon = nlp.get_pipe("flat_ner").lexicon  # type: ignore[attr-defined]
    for path, type in lists:
        lexicon.update(path, type=type, trust=trust)
    return nlp


def names(given: argparse.Namespace, nlp: Language, folder: Path) -> Iterator[list[str]]:
    texts, gold = read_gold(nlp, given.names)
    labels = nlp.get_pipe("flat_ner").labels  # type: ignore[attr-defined]
    gold = {mention for mention in gold if mention[3] in labels}
    before = predict(nlp, texts)
    missed = missed_names(texts, gold, before)
    listed = {mention for mention in gold if surface(texts, mention) in missed}
    by_type: defaultdict[str, list[str]] = defaultdict(list)
    for name, type in missed.items():
        by_type[type].append(name)
    ordinary = [each.word for each in jieba_words() if each.type in ("n", "v", "a")]
    draw = random.Random(0).sample
    noisy = {type: [*own, *draw(ordinary, -(-len(own) // 9))] for type, own in by_type.items()}
    ways: dict[str, tuple[dict[str, list[str]], float | None]] = {
        "names that it misses": (by_type, None),
        "the same, all trusted with 0.9": (by_type, 0.9),
        "with one tenth of ordinary words": (noisy, None),
        "the same, all trusted with 0.9 ": (noisy, 0.9),
    }
    for way, (lists, trust) in ways.items():
        for type, words in lists.items():
            (folder / type).write_text("\n".join(words), "utf-8")
        paths = [(folder / type, type) for type in lists]
        after = predict(updated(given.pipeline, paths, trust), texts)
        false = len((after - gold) - before)
        yield [way, str(len(listed)), str(len(listed & after)), str(false)]


if __name__ == "__main__":
    main()
