"""`char_generator`: a spaCy component that scores and writes texts."""

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, Literal, cast

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Model

from ..errors import Errors
from ..pipe import NetworkPipe, Scorer, setting
from ..util.options import check_of, require, require_count, require_string
from ..vectors import VectorSource, check_sources
from .forms import Form, form_of
from .generation import write
from .model import initialise, network_of
from .poems import ANY, Poem, given_characters, signs, write_poems
from .proofreading import suspicious_characters
from .sampling import Sampling, seeds_of_texts
from .scores import TextScore, score_perplexity, score_texts, set_scores

DEFAULT_MODEL = """
[model]
@architectures = "spacy-flat.CharLM.v1"

[model.network]
@misc = "spacy-flat.CharLMOptions.v2"

[model.text]
@misc = "spacy-flat.TextOptions.v2"
"""


class CharGenerator(NetworkPipe):
    """Scores and writes texts, character by character.

    suspicion: list in `doc._.suspicious` the characters for which a homophone raises the text's
        log-probability by at least this many nats (needs pypinyin). null skips this, which takes up
        to 60 times as long.
    """

    suspicion: float | None = setting(None, min=0)

    def __init__(
        self, *args: Any, scorer: Scorer | None = score_perplexity, **settings: Any
    ) -> None:
        super().__init__(*args, scorer=scorer, **settings)

    # Scoring

    def predict(self, docs: Iterable[Doc]) -> list[TextScore]:
        """Score each character of each Doc's text and, with `suspicion`, find suspicious ones."""
        self.require_initialised()
        docs = list(docs)
        scores, suspicion = score_texts(self.model, docs), self.suspicion
        if suspicion is None:
            return scores
        found = (
            suspicious_characters(self.model, doc.text, score.surprisals, suspicion)
            for doc, score in zip(docs, scores, strict=True)
        )
        return [score._replace(suspicious=own) for score, own in zip(scores, found, strict=True)]

    def set_annotations(self, docs: Iterable[Doc], scores: Sequence[TextScore]) -> None:
        """Set the extension attributes, except for empty Docs."""
        for doc, score in zip(docs, scores, strict=True):
            set_scores(doc, score)

    # Writing

    def generate(
        self,
        prompt: str = "",
        *,
        max_length: int = 200,
        n: int = 1,
        seed: int | None = None,
        **sampling: float,
    ) -> list[str]:
        """Write n texts that start with the prompt. They end when the network ends them, or after
        `max_length` further characters.

        seed: the same seed gives the same texts on the same machine, and a higher n only adds more;
            None for different texts every time.
        sampling: temperature, top_k, top_p; see `Sampling`.

        Raises ValueError (F303) without a network, (F341) for an argument out of range, TypeError
        (F028) for a prompt that isn't a string.
        """
        self.require_initialised()
        require_string(prompt)
        require_count("n", n)
        require_count("max_length", max_length, 0)
        how = Sampling(**cast(Any, sampling))
        return [
            text
            for seeds in seeds_of_texts(seed, n)
            for text in write(self.model, prompt, max_length, how, seeds)
        ]

    def poem(
        self,
        form: str | Form = "七绝",
        prompt: str = "",
        *,
        n: int = 1,
        rhyme: bool = False,
        candidates: int = 4,
        seed: int | None = None,
        **sampling: float,
    ) -> list[Poem]:
        """Write n poems of a form that start with the prompt.

        form: "五绝", "七绝", "五律", "七律", or a `Form`.
        prompt: its first characters; "□" stands for any.
        rhyme: end the even lines on different characters of one rhyme (needs pypinyin).
        candidates: write this many and return the most probable one.
        seed: as in `generate`.
        sampling: temperature, top_k, top_p; see `Sampling`.

        Raises ValueError for an unknown form (F343), a prompt longer than the form (F346), a
        vocabulary without characters for lines (F347), ImportError (F030) as `generate`.
        """
        self.require_initialised()
        require("rhyme", rhyme, check_of(bool))
        require_count("n", n)
        require_count("candidates", candidates)
        form, how = form_of(form), Sampling(**cast(Any, sampling))
        given = given_characters(form, prompt)
        poems = [
            poem
            for seeds in seeds_of_texts(seed, n * candidates)
            for poem in write_poems(self.model, self.name, form, given, rhyme, how, seeds)
        ]
        best = attrgetter("log_prob")
        return [max(poems[i : i + candidates], key=best) for i in range(0, len(poems), candidates)]

    def acrostic(self, heads: str, form: str | Form = "七绝", **options: Any) -> list[Poem]:
        """Write poems whose lines start with these characters (藏头诗), known or unknown.

        options: n, rhyme and so on; these and the errors are those of `poem`.

        Raises ValueError (F344) if the number of characters differs from the number of lines.
        """
        form, given = form_of(form), signs(require_string(heads))
        if len(given) != form.lines:
            words = {"heads": heads, "found": len(given), "lines": form.lines}
            raise ValueError(Errors.F344.format(**words))
        return self.poem(form, (ANY * (form.characters - 1)).join(given), **options)

    # Training

    def _add_gradients(
        self, examples: list[Example], drop: float, losses: dict[str, float]
    ) -> bool:
        texts = [example.predicted.text for example in examples if len(example.predicted)]
        if not texts:
            return False
        n_predicted = sum(len(text) + 1 for text in texts)  # with their ends
        scale = self.loss_scale(n_predicted) / n_predicted
        state = None
        with self.shim.training():
            network = network_of(self.model)
            for piece in self.featuriser.pieces(texts):
                scores, state = network(piece, state)
                self.backward(network.loss(scores, piece.targets) * scale, losses)
        return True

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        char_vectors: VectorSource | None = None,
    ) -> None:
        """Build the network for the training texts.

        char_vectors: pretrained vectors of characters.

        Raises ValueError (F340) without texts, TypeError (F040) for vectors of another type.
        """
        check_sources(char_vectors=char_vectors)
        if self.lacks_examples(get_examples):
            return
        docs = [example.predicted for example in get_examples() if len(example.predicted)]
        if not docs:
            raise ValueError(Errors.F340.format(name=self.name))
        initialise(self.model, docs, char_vectors, self.name)


@Language.factory(
    "char_generator",
    assigns=[
        *("doc._.perplexity", "doc._.log_prob", "doc._.oov_rate"),
        *("doc._.char_surprisal", "doc._.suspicious"),
    ],
    default_config=CharGenerator.default_config(DEFAULT_MODEL, "spacy-flat.perplexity_scorer.v1")
    | {"count_end": True, "confusion": "homophones"},
    # spaCy prints the scores that have a weight as percentages: a perplexity would mislead.
    default_score_weights={"char_log_prob": 1.0, "perplexity": None, "oov_rate": 0.0},
)
def make_char_generator(
    nlp: Language,
    name: str,
    model: Model[Any, Any],
    scorer: Scorer | None,
    device: str,
    suspicion: float | None,
    count_end: Literal[True],  # in configs of earlier versions
    confusion: Literal["any", "homophones"],  # in configs of earlier versions
) -> CharGenerator:
    return CharGenerator(nlp.vocab, model, name, scorer=scorer, device=device, suspicion=suspicion)
