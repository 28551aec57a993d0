"""Score pipelines on the texts of `assets/kinds`, by kind of text.

    python benchmarks/kinds.py PIPELINE … [--map LABEL=GOLD …] [--texts FILE]

`--texts assets/kinds_en/kinds.jsonl` has English texts.

An entity is right where its characters and its label are. GPE counts as LOC, COMPANY and GOVERNMENT
count as ORG; the last rows keep those apart that a pipeline has. "found" is the share of gold
entities whose characters the pipeline has under any label.

`--map` says which gold label one of a pipeline stands for, `LABEL=` that it isn't scored. The gold
labels themselves and those of CLUENER and OntoNotes are known; all others aren't scored.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import spacy
from report import format_table
from spacy.language import Language
from spacy.scorer import PRFScore

from spacy_flat.corpora.offsets import parse
from spacy_flat.ner.spans import get_char_ents
from spacy_flat.text.spans import EntitySpan

TEXTS = Path(__file__).parents[1] / "assets" / "kinds" / "kinds.jsonl"
COARSE = {
    "PER": "PER",
    "LOC": "LOC",
    "GPE": "LOC",
    "ORG": "ORG",
    "COMPANY": "ORG",
    "GOVERNMENT": "ORG",
}
GOLD_LABELS = {
    **{label: label for label in COARSE},
    "PERSON": "PER",
    "NAME": "PER",
    "FAC": "LOC",
    "ADDRESS": "LOC",
    "SCENE": "LOC",
    "ORGANIZATION": "ORG",
}


Scores = dict[str, float]  # of a row: precision, recall …


@dataclass(frozen=True)
class Text:
    text: str
    kind: str
    entities: list[EntitySpan]


@dataclass
class Row:
    """Scores of some texts or of one label, and how many gold entities are found at all."""

    counts: PRFScore = field(default_factory=PRFScore)
    n_gold: int = 0
    n_found: int = 0

    def add(
        self, predicted: set[EntitySpan], gold: set[EntitySpan], found: set[tuple[int, int]]
    ) -> None:
        self.counts.score_set(predicted, gold)
        self.n_gold += len(gold)
        self.n_found += sum((entity.start, entity.end) in found for entity in gold)

    def scores(self) -> Scores:
        return {
            "gold": self.n_gold,
            "p": self.counts.precision,
            "r": self.counts.recall,
            "f": self.counts.fscore,
            "found": self.n_found / max(1, self.n_gold),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pipelines", nargs="+", metavar="PIPELINE", help="name or path")
    parser.add_argument("--map", action="append", default=[], metavar="LABEL=GOLD")
    parser.add_argument("--texts", type=Path, default=TEXTS)
    arguments = parser.parse_args()
    chosen = dict(pair.split("=", 1) for pair in arguments.map)
    if unknown := set(chosen.values()) - {*COARSE, ""}:
        parser.error(f"--map: {', '.join(unknown)} not among {', '.join(COARSE)}")
    texts = read_texts(arguments.texts)
    results, rows = {}, {}
    for name in arguments.pipelines:
        nlp = spacy.load(name)
        label_map = make_label_map(entity_labels(nlp), chosen)
        print(f"{name}: {show_map(label_map)}", file=sys.stderr, flush=True)
        rows[name] = score(nlp, texts, label_map)
        results[name] = {"labels": label_map, "rows": rows[name]}
    print(show_table(rows))


def read_texts(path: Path) -> list[Text]:
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    parsed = [(record["kind"], *parse(record)) for record in records]
    return [
        Text(text, kind, [EntitySpan(m.start, m.end + m.inclusive, m.label) for m in mentions])
        for kind, text, mentions in parsed
    ]


def entity_labels(nlp: Language) -> list[str]:
    """The labels of all components that write `doc.ents`."""
    writers = [name for name in nlp.pipe_names if "doc.ents" in nlp.get_pipe_meta(name).assigns]
    return sorted({label for name in writers for label in nlp.pipe_labels.get(name, ())})


def make_label_map(labels: Iterable[str], chosen: Mapping[str, str]) -> dict[str, str]:
    """The gold label of each; "" where it isn't scored."""
    return {label: chosen.get(label, GOLD_LABELS.get(label.upper(), "")) for label in labels}


def show_map(label_map: Mapping[str, str]) -> str:
    return ", ".join(f"{label} → {gold or 'not scored'}" for label, gold in label_map.items())


def score(nlp: Language, texts: list[Text], label_map: Mapping[str, str]) -> dict[str, Scores]:
    """Scores by kind, of all texts, and by label: "PER", "LOC", "ORG", and those that the pipeline
    keeps apart as "LOC: GPE"."""
    # A finer label that the pipeline lacks is its coarse one.
    own = {gold: gold if gold in label_map.values() else coarse for gold, coarse in COARSE.items()}
    split = {coarse for gold, coarse in COARSE.items() if own[gold] != coarse}
    fine = [label for label in COARSE if label in own.values() and COARSE[label] in split]
    kinds = dict.fromkeys(text.kind for text in texts)
    rows = {name: Row() for name in (*kinds, "all", *dict.fromkeys(COARSE.values()))}
    rows |= {f"{COARSE[label]}: {label}": Row() for label in fine}
    for text, doc in zip(texts, nlp.pipe(text.text for text in texts), strict=True):
        found = get_char_ents(doc)
        characters = {(entity.start, entity.end) for entity in found}
        scored = [
            entity._replace(label=label_map[entity.label])
            for entity in found
            if label_map.get(entity.label)
        ]
        predicted, gold = (
            {entity._replace(label=COARSE[entity.label]) for entity in entities}
            for entities in (scored, text.entities)
        )
        rows[text.kind].add(predicted, gold, characters)
        rows["all"].add(predicted, gold, characters)
        for label in dict.fromkeys(COARSE.values()):
            rows[label].add(of(label, predicted), of(label, gold), characters)
        fine_gold = [entity._replace(label=own[entity.label]) for entity in text.entities]
        for label in fine:
            row = rows[f"{COARSE[label]}: {label}"]
            row.add(of(label, scored), of(label, fine_gold), characters)
    return {name: row.scores() for name, row in rows.items()}


def of(label: str, entities: Iterable[EntitySpan]) -> set[EntitySpan]:
    return {entity for entity in entities if entity.label == label}


def show_table(results: Mapping[str, Mapping[str, Scores]]) -> str:
    """A row a kind and a label, four columns a pipeline."""
    header = ["", "entities"]
    for name in results:
        header += [f"{name}: P", "R", "F1", "found"]
    lines = []
    for row in dict.fromkeys(row for rows in results.values() for row in rows):
        scores = [rows.get(row) for rows in results.values()]
        line = [row, str(next(each["gold"] for each in scores if each))]
        for each in scores:
            columns = ("p", "r", "f", "found")
            line += [f"{100 * each[key]:.1f}" if each else "" for key in columns]
        lines.append(line)
    return format_table(header, lines)


if __name__ == "__main__":
    main()
