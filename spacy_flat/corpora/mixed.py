"""Mix several training corpora."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from random import Random

from spacy.language import Language
from spacy.training import Corpus, Example

from ..errors import Errors
from ..ner.component import CRFEntityRecognizer
from ..ner.spans import labels_in
from ..util.files import suffix_of
from ..util.options import require_number
from .docs import look_up_once, read_texts
from .pieces import can_edit, example_of, pieces_of


def mixed_corpus(
    paths: dict[str, Path | None],
    weights: dict[str, float] | None = None,
    seed: int = 0,
    max_length: int = 0,
    join: float = 0.0,
    augmenter: Callable[[Language, Example], Iterator[Example]] | None = None,
    partial: bool = False,
) -> Callable[[Language], Iterator[Example]]:
    """`spacy-flat.MixedCorpus.v1`: several corpora, shuffled together. The same seed gives the same
    examples in the same order. The reader stops after an epoch, like `spacy.Corpus.v1`.

    paths: .spacy files, or folders of them, by name; null leaves one out. The lines of .txt files
        have no annotation: a pipeline trained further keeps its predictions on them.
    weights: occurrences of each Doc in an epoch, by corpus; 2.5 reads all Docs twice and a random
        half again. By default 1; beside .txt files, annotated corpora get the weight that makes
        half of all Docs annotated.
    seed: of the order and the random choice.
    max_length: maximum length of a Doc, in tokens; 0 for any.
    join: share of examples to join with one to three others of their corpus, after augmentation.
    augmenter: changes the examples, differently on every pass.
    partial: a corpus doesn't annotate labels that it lacks, of the pipeline or other corpora.

    Raises ValueError for weights of other names, or below 0 (F165), for a `join` that isn't from 0
    to 1 (F341), for other files (F169), for a .txt file without texts (F010), and if no corpus is
    annotated (F171).
    """
    require_number("join", join, 0, 1)
    weights = weights or {}
    for name, weight in weights.items():
        if name not in paths or not 0 <= weight < float("inf"):
            words = {"name": name, "weight": weight, "names": ", ".join(paths)}
            raise ValueError(Errors.F165.format(**words))

    def read(nlp: Language) -> Iterator[Example]:
        look_up_once()
        random = Random(seed)
        mixed: list[Example] = []
        given = {name: Path(path) for name, path in paths.items() if path is not None}
        corpora = {name: _read(nlp, path, max_length) for name, path in given.items()}
        raw = [name for name, path in given.items() if suffix_of(path) == ".txt"]
        annotated = [examples for name, examples in corpora.items() if name not in raw]
        if not any(annotated):
            shown = ", ".join(f"{name} = {path}" for name, path in paths.items())
            raise ValueError(Errors.F171.format(paths=shown))
        if partial:
            _mark_lacking(nlp, annotated)
        n_raw = sum(weights.get(name, 1.0) * len(corpora[name]) for name in raw)
        usual = max(1.0, n_raw / max(1, sum(map(len, annotated))))
        for name, plain in corpora.items():
            weight, examples = weights.get(name, 1.0 if name in raw else usual), plain
            while weight > 0:
                if augmenter:
                    examples = [new for each in plain for new in augmenter(nlp, each)]
                chosen = random.sample(examples, round(min(weight, 1) * len(examples)))
                mixed += _joined(nlp, chosen, join, random)
                weight -= 1
        random.shuffle(mixed)
        yield from mixed

    return read


def _read(nlp: Language, path: Path, max_length: int) -> list[Example]:
    """The examples of a corpus, or of the lines of a text file that aren't blank."""
    if suffix_of(path) == ".txt":
        if not (docs := [nlp.make_doc(text) for text in map(str.strip, read_texts(path)) if text]):
            raise ValueError(Errors.F010.format(path=path, what="text"))
        return [Example(doc.copy(), doc) for doc in docs if not 0 < max_length <= len(doc)]
    if path.suffix != ".spacy" and not any(path.glob("**/*.spacy")):
        raise ValueError(Errors.F169.format(path=path))
    return list(Corpus(path, max_length=max_length)(nlp))


def _mark_lacking(nlp: Language, corpora: list[list[Example]]) -> None:
    """Say of each corpus that it doesn't annotate those labels that only the pipeline or another
    corpus has."""
    pipes = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, CRFEntityRecognizer)]
    docs_of = [[example.reference for example in corpus] for corpus in corpora]
    of_each = [labels_in(docs) for docs in docs_of]
    labels = {label for pipe in pipes for label in pipe.known_labels}.union(*of_each)
    for docs, own in zip(docs_of, of_each, strict=True):
        for doc in docs if labels - own else ():
            doc._.unannotated_labels = sorted(labels - own | {*(doc._.unannotated_labels or ())})


def _joined(
    nlp: Language, examples: list[Example], share: float, random: Random
) -> Iterator[Example]:
    """Examples of a corpus, some with those after them in one."""
    remaining = iter(examples)
    for first in remaining:
        others = islice(remaining, random.randint(1, 3)) if random.random() < share else ()
        joined = [first, *others]
        docs = [example.reference for example in joined]
        is_alike = all(doc.user_data == docs[0].user_data for doc in docs)  # labels that lack
        is_plain = all(can_edit(doc) and not doc.has_unknown_spaces for doc in docs)
        if len(docs) > 1 and is_alike and is_plain:
            label = "" if docs[0].has_annotation("ENT_IOB") else None
            between = (random.choice(("", "", " ", "\n")), label)
            pieces = [piece for doc in docs for piece in (*pieces_of(doc), between)]
            yield example_of(nlp, pieces[:-1], docs[0])
        else:
            yield from joined
