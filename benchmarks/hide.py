"""Hide some of a corpus's training entities, to measure what missing annotation costs.

    python benchmarks/hide.py corpus/resume corpus/resume-50-missing --share 0.5 --as missing
    python benchmarks/hide.py corpus/resume corpus/resume-50-outside --share 0.5 --as outside
    python benchmarks/accuracy.py --corpus resume-50-missing resume-50-outside

As "missing", the tokens of a hidden entity say nothing (spaCy's "-"); as "outside", they say that
there is no entity. The development and the test part are copied as they are.
"""

import argparse
import random
import shutil
from pathlib import Path

import spacy
from spacy.tokens import Doc, DocBin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path, help="folder of train.spacy, dev.spacy …")
    parser.add_argument("out", type=Path, help="folder to write")
    parser.add_argument("--share", type=float, required=True, help="of the entities, 0 to 1")
    parser.add_argument("--as", dest="form", choices=["missing", "outside"], required=True)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for part in ("dev.spacy", "test.spacy"):
        if (arguments.corpus / part).exists():
            shutil.copy(arguments.corpus / part, arguments.out / part)
    # The same entities are hidden in both forms.
    draw = random.Random(arguments.seed)
    docs = list(
        DocBin().from_disk(arguments.corpus / "train.spacy").get_docs(spacy.blank("xx").vocab)
    )
    hidden = sum(hide(doc, arguments.share, arguments.form, draw) for doc in docs)
    DocBin(attrs=["ENT_IOB", "ENT_TYPE"], docs=docs).to_disk(arguments.out / "train.spacy")
    print(f"{arguments.out}: {hidden} entities hidden as {arguments.form}")


def hide(doc: Doc, share: float, form: str, draw: random.Random) -> int:
    """Hide some entities of a Doc; how many."""
    hidden = [ent for ent in doc.ents if draw.random() < share]
    shown = [ent for ent in doc.ents if ent not in hidden]
    doc.set_ents(shown, **{form: hidden}, default="unmodified")
    return len(hidden)


if __name__ == "__main__":
    main()
