"""`char_generator`: what spaCy sees of the character language model."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Config, Optimizer

from ..errors import Errors, Warnings
from ..nn.model import shim_of
from ..pipe import SWITCH, NetworkPipe, mean_loss
from ..util.arguments import require_count, require_switch
from ..vectors import VectorSource, check_sources
from .annotations import perplexity, set_scores
from .forms import Form, Tones, form_of
from .model import (
    CharLMModel,
    Predictions,
    TextScore,
    initialise,
    network_of,
    score_texts,
    whole_texts,
)
from .poems import Place, Poem, Task, compose, signs
from .sampling import Draws, Sampling, Seed, seeds_of_texts
from .vocabulary import build_vocabulary
from .writing import side_by_side, write

if TYPE_CHECKING:
    from torch import Tensor

DEFAULT_CONFIG = """
[model]
@architectures = "spacy-flat.CharLM.v1"

[model.network]
@misc = "spacy-flat.CharLMOptions.v1"

[model.text]
@misc = "spacy-flat.TextOptions.v1"
"""
DEFAULT_MODEL = Config().from_str(DEFAULT_CONFIG)["model"]


def score_perplexity(
    examples: Iterable[Example], count_end: bool = True, **kwargs: Any
) -> dict[str, Any]:
    """Scores of all texts as one: each character counts the same, whatever the length of its text.

    `char_log_prob` is the mean natural logarithm of a character's probability. It rises as the
    model gets better: training chooses the best pipeline by it. `perplexity` is
    exp(−char_log_prob), `oov_rate` the share of unknown characters, the ends of texts not counted.
    All are None where there is no text, which is warned of (W340).

    count_end: whether the end of a text is one of its characters.
    """
    docs = [example.predicted for example in examples]
    docs = [doc for doc in docs if doc._.log_prob is not None]
    n_chars = sum(len(doc.text) for doc in docs)
    if not n_chars:
        warnings.warn(Warnings.W340, stacklevel=2)
        return {"char_log_prob": None, "perplexity": None, "oov_rate": None}
    log_prob = sum(doc._.log_prob for doc in docs) / (n_chars + count_end * len(docs))
    return {
        "char_log_prob": log_prob,
        "perplexity": perplexity(log_prob),
        "oov_rate": sum(doc._.oov_rate * len(doc.text) for doc in docs) / n_chars,
    }


def make_scorer() -> Callable[..., dict[str, Any]]:
    """`spacy-flat.perplexity_scorer.v1`: perplexity over all characters of a corpus; see
    `score_perplexity`."""
    return score_perplexity


@Language.factory(
    "char_generator",
    assigns=[
        "doc._.perplexity",
        "doc._.log_prob",
        "doc._.oov_rate",
        "doc._.char_surprisal",
        "token._.surprisal",
    ],
    default_config={
        "model": DEFAULT_MODEL,
        "device": "auto",
        "count_end": True,
        "scorer": {"@scorers": "spacy-flat.perplexity_scorer.v1"},
    },
    # spaCy prints the scores that have a weight as percentages: a perplexity would mislead.
    default_score_weights={"char_log_prob": 1.0, "perplexity": None, "oov_rate": 0.0},
)
def make_char_generator(
    nlp: Language,
    name: str,
    model: CharLMModel,
    device: str,
    count_end: bool,
    scorer: Callable[..., dict[str, Any]] | None,
) -> "CharGenerator":
    """Build the character language model; the settings are those of `CharGenerator`."""
    return CharGenerator(nlp.vocab, model, name, device=device, count_end=count_end, scorer=scorer)


class CharGenerator(NetworkPipe):
    """Scores texts, and writes them, a character at a time.

    model: what predicts the next character, a registered architecture.
    device: what the network computes on: "auto" (the CPU, or the GPU that `spacy.prefer_gpu` or
        `--gpu-id` asked for), "cpu", "cuda", "cuda:1" and so on, or "mps" (Apple's GPUs).
    count_end: whether the end of a text is one of its characters in `doc._.log_prob`,
        `doc._.perplexity` and the scores of an evaluation.
    scorer: what gives the scores of an evaluation.
    """

    def __init__(
        self,
        vocab: Vocab,
        model: CharLMModel,
        name: str,
        *,
        device: str = "auto",
        count_end: bool = True,
        scorer: Callable[..., dict[str, Any]] | None = score_perplexity,
    ) -> None:
        super().__init__(vocab, model, name, scorer, device=device, count_end=count_end)

    count_end: bool
    checks: ClassVar = {"count_end": SWITCH}

    # Scoring

    def predict(self, docs: Iterable[Doc]) -> list[TextScore]:
        """How surprising each character of each Doc's text is."""
        self.require_initialised()
        return score_texts(self.model, list(docs))

    def set_annotations(self, docs: Iterable[Doc], scores: Sequence[TextScore]) -> None:
        """Write what `predict` found; nothing to a Doc without text."""
        for doc, score in zip(docs, scores, strict=True):
            set_scores(doc, score, self.count_end)

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """As the scorer does."""
        scores: dict[str, Any] = super().score(examples, count_end=self.count_end, **kwargs)
        return scores

    # Writing

    def generate(
        self,
        prompt: str = "",
        *,
        max_length: int = 200,
        n: int = 1,
        seed: int | None = None,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        repetition_penalty: float = 1.0,
    ) -> list[str]:
        """Write n texts, which are computed side by side. Each begins with the prompt, and ends
        where the network ends it, or after `max_length` further characters.

        seed: with the same seed the same texts on the same machine, of which the first ones are
            the same for any n; None for others every time.
        temperature, top_k, top_p, repetition_penalty: how characters are chosen; see `Sampling`.

        Raises ValueError (F303) without a network, (F341) for an argument that is out of range,
        TypeError (F028) for a prompt that is not a string.
        """
        sampling = Sampling(temperature, top_k, top_p, repetition_penalty)
        texts: list[str] = []
        for draws in side_by_side(self._seeds(prompt, n, max_length, seed)):
            steps = list(write(self.model, prompt, max_length, sampling, draws))
            texts += [prompt + "".join(step[i] for step in steps) for i in range(len(draws))]
        return texts

    def stream(
        self,
        prompt: str = "",
        *,
        max_length: int = 200,
        seed: int | None = None,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        repetition_penalty: float = 1.0,
    ) -> Iterator[str]:
        """The characters behind the prompt, each as soon as it is written: those that `generate`
        gives. Arguments and errors are as there."""
        sampling = Sampling(temperature, top_k, top_p, repetition_penalty)
        draws = Draws(self._seeds(prompt, 1, max_length, seed))
        return (str(step[0]) for step in write(self.model, prompt, max_length, sampling, draws))

    def poem(
        self,
        form: str | Form = "七绝",
        prompt: str = "",
        *,
        n: int = 1,
        rhyme: bool = False,
        tones: Tones | None = None,
        candidates: int = 4,
        seed: int | None = None,
        **sampling: float,
    ) -> list[Poem]:
        """Write n poems of a form that begin with the prompt.

        form: "五绝", "七绝", "五律", "七律", or a `Form`.
        rhyme: the even lines end on different characters of one rhyme (needs pypinyin).
        tones: "平起" or "仄起", the pattern of level and oblique tones, by the second character
            (needs pypinyin).
        candidates: each poem is the most probable one of so many.
        seed: as of `generate`.
        sampling: temperature, top_k, top_p, repetition_penalty; see `Sampling`.

        Raises ValueError for a form that there is not (F343), one whose lines have no tone pattern
        (F345), a prompt that is longer than the form (F346), a vocabulary without characters for
        lines (F347) and as `generate`, ImportError (F030) without pypinyin.
        """
        form, given = form_of(form), signs(_checked(prompt))
        room = form.lines * form.characters
        if len(given) > room:
            words = {"prompt": prompt, "found": len(given), "room": room}
            raise ValueError(Errors.F346.format(**words))
        places = {divmod(i, form.characters): character for i, character in enumerate(given)}
        return self._compose(form, places, n, rhyme, tones, candidates, seed, sampling)

    def acrostic(
        self,
        heads: str,
        form: str | Form = "七绝",
        *,
        n: int = 1,
        rhyme: bool = False,
        tones: Tones | None = None,
        candidates: int = 4,
        seed: int | None = None,
        **sampling: float,
    ) -> list[Poem]:
        """Write n poems of a form whose lines begin with these characters (藏头诗), also with such
        as the network has never seen. Other arguments and errors are as of `poem`.

        Raises ValueError (F344) where there are not as many characters as lines.
        """
        form, given = form_of(form), signs(_checked(heads))
        if len(given) != form.lines:
            words = {"heads": heads, "found": len(given), "lines": form.lines}
            raise ValueError(Errors.F344.format(**words))
        places = {(line, 0): character for line, character in enumerate(given)}
        return self._compose(form, places, n, rhyme, tones, candidates, seed, sampling)

    def _seeds(self, prompt: str, n: int, max_length: int, seed: int | None) -> list[Seed]:
        """The seeds of n texts, where all else is right, too."""
        self.require_initialised()
        _checked(prompt)
        require_count("n", n)
        require_count("max_length", max_length, 0)
        return seeds_of_texts(seed, n)

    def _compose(
        self,
        form: Form,
        given: dict[Place, str],
        n: int,
        rhyme: bool,
        tones: Tones | None,
        candidates: int,
        seed: int | None,
        sampling: dict[str, Any],
    ) -> list[Poem]:
        self.require_initialised()
        require_switch("rhyme", rhyme)
        require_count("n", n)
        require_count("candidates", candidates)
        task = Task(form, given, rhyme, None if tones is None else form.tones(tones))
        return compose(self.model, self.name, task, n, candidates, Sampling(**sampling), seed)

    # Training

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn from the texts of examples. The network has dropouts of its own: `drop` has no
        effect."""
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, "CharGenerator.update")
        self.require_initialised()
        docs = [example.predicted for example in examples if len(example.predicted)]
        if not docs:
            return self.skip_step(losses)
        texts = [doc.text for doc in docs]
        n_predicted = sum(len(text) + 1 for text in texts)  # with their ends
        share = self.share_of_step(n_predicted) / n_predicted
        featuriser = self.model.attrs["featuriser"]
        with shim_of(self.model).training():
            network = network_of(self.model)
            for batch in whole_texts(featuriser, texts, is_train=True):
                state = None
                for piece in featuriser.pieces(batch):
                    scores, state = network(piece, state)
                    self.backward(network.loss(scores, piece.targets) * share, losses)
        if sgd is not None:
            self.finish_update(sgd)
        return losses

    def get_loss(
        self, examples: Iterable[Example], scores: Predictions
    ) -> tuple[float, list["Tensor"]]:
        """Mean negative log-likelihood of a character of the texts, their ends among them, and its
        gradient for the scores of each piece. Nothing else changes."""
        network = network_of(self.model)
        found = [network.loss_gradient(part.scores, part.piece.targets) for part in scores.pieces]
        return mean_loss(found, scores.n_predicted)

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        char_vectors: VectorSource | None = None,
    ) -> None:
        """Build the network for the training texts.

        char_vectors: pretrained vectors of characters.

        Raises ValueError (F340) where there is no text, TypeError (F040) for vectors of another
        type.
        """
        check_sources(char_vectors=char_vectors)
        validate_get_examples(get_examples, "CharGenerator.initialize")
        docs = [example.predicted for example in get_examples() if len(example.predicted)]
        if not docs:
            raise ValueError(Errors.F340.format(name=self.name))
        options = self.model.attrs["featuriser"].options
        vocabulary = build_vocabulary(options, [doc.text for doc in docs], char_vectors)
        initialise(self.model, docs, vocabulary, self.name)


def _checked(text: str) -> str:
    """Raises TypeError (F028) for what is not a string."""
    if not isinstance(text, str):
        raise TypeError(Errors.F028.format(value=repr(text), type=type(text).__name__))
    return text
