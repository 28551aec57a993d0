"""Score pipelines on texts in traditional characters.

    python benchmarks/traditional.py PIPELINE DEV.spacy SCORE [--texts N]

The texts are respelled by OpenCC (s2t). Prints SCORE, such as ents_f, for the texts as they are, in
traditional characters, and in these without the pipeline's `Simplifier`.
"""

import argparse
from pathlib import Path
from unittest.mock import patch

import spacy
from report import environment, format_table
from spacy.training import Example

from spacy_flat.corpora.docs import read_docs
from spacy_flat.corpora.edits import respelled
from spacy_flat.util.simplified import Simplifier, converter


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pipeline")
    parser.add_argument("dev", type=Path, metavar="DEV.spacy")
    parser.add_argument("score")
    parser.add_argument("--texts", type=int, help="only the first N")
    arguments = parser.parse_args()
    nlp = spacy.load(arguments.pipeline)
    docs = read_docs(arguments.dev, nlp.vocab)[: arguments.texts]
    convert = converter("s2t").convert
    traditional = [respelled(doc, "".join(map(convert, doc.text))) for doc in docs]

    def score(references: list[spacy.tokens.Doc]) -> float:
        examples = [Example(nlp.make_doc(doc.text), doc) for doc in references]
        return float(nlp.evaluate(examples)[arguments.score])

    scores = [score(docs), score(traditional)]
    with patch.object(Simplifier, "__call__", lambda _, text: text):
        scores.append(score(traditional))
    print(environment())
    header = ("", "texts", arguments.score, "traditional", "without Simplifier")
    row = (arguments.pipeline, str(len(docs)), *(f"{each:.4f}" for each in scores))
    print(format_table(header, [row], markdown=False))


if __name__ == "__main__":
    main()
