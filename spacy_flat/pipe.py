"""The base of all components: a pipe around a network, and its settings."""

import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn, TypeAlias, TypeVar

import numpy as np
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Config, Model, Optimizer
from torch import Tensor

from .errors import Errors, Warnings
from .initialise import extend
from .nn.shim import TorchShim, shim_of, shims_of
from .nn.workers import all_reduce_sum
from .util.options import Check, check_of, plain

Self = TypeVar("Self", bound="NetworkPipe")
Scorer: TypeAlias = Callable[..., dict[str, Any]]

MADE_UP = ["x", "y", "z"]  # the text of spaCy's own example
FEW_TOKENS = 20
ALIKE = 1.35  # ratio of token lengths in texts of the same tokenizer
LATIN = 3.0  # characters of a token, where most are words in Latin letters

_DEVICE = re.compile(r"auto|cpu|cuda(:[0-9]+)?|mps")


class Setting:
    """A setting of a component: an attribute that is checked and saved. Without `__get__`, Python
    reads it from the component's `__dict__`.

    check: by default that of its type, within bounds `min` and `max`.
    """

    def __init__(self, default: Any, check: Check | None = None, **bounds: float) -> None:
        self.default, self._check, self._bounds = default, check, bounds

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        self.type = owner.__annotations__[name]
        self.check = self._check or check_of(self.type, **self._bounds)

    def __set__(self, pipe: "NetworkPipe", value: Any) -> None:
        """Raises ValueError (F310) for an invalid value."""
        if not self.check.accepts(value):
            pipe._reject(self.name, value, self.check.wanted)
        # Changing a list in place would not be saved.
        value = tuple(value) if isinstance(value, list) else value
        value = dict(value) if isinstance(value, dict) else value
        pipe.__dict__[self.name] = value
        pipe.cfg.pop(self.name, None)
        pipe.cfg["changed"][self.name] = [plain(pipe.given[self.name]), plain(value)]


setting: Any = Setting  # under the type of its values


class NetworkPipe(TrainablePipe):  # type: ignore[misc]
    """A component whose model has a torch network, which `initialize` builds.

    model: a registered architecture.
    device: where the network runs: "auto" (where spaCy runs), "cpu", "cuda", "cuda:1" … or "mps".
    scorer: the function that scores an evaluation.
    settings: those of the class, as attributes. Changes are checked and saved with the component,
        and last until the value in the config changes.
    """

    def __init__(
        self,
        vocab: Vocab,
        model: Model[Any, Any],
        name: str,
        *,
        scorer: Scorer | None = None,
        device: str = "auto",
        **settings: Any,
    ) -> None:
        self.vocab = vocab
        self.model = model
        self.name = name
        self.scorer = scorer
        self.given = {own.name: settings.pop(own.name, own.default) for own in self.settings()}
        if settings:
            raise TypeError(f"{type(self).__name__} has no settings {[*settings]}")
        self.cfg: dict[str, Any] = {"changed": {}}
        self.device = device
        self._apply_settings()

    @classmethod
    def settings(cls) -> list[Setting]:
        """The settings of the class and its bases."""
        found = (each for base in reversed(cls.__mro__) for each in vars(base).values())
        # A subclass may override a setting.
        return list({each.name: each for each in found if isinstance(each, Setting)}.values())

    @classmethod
    def default_config(cls, model: str, scorer: str) -> dict[str, Any]:
        """For a factory. model: the config of the model. scorer: a registered name."""
        settings = {own.name: plain(own.default) for own in cls.settings()}
        return {
            **Config().from_str(model),
            "scorer": {"@scorers": scorer},
            "device": "auto",
            **settings,
        }

    def _apply_settings(self) -> None:
        """Apply the config, and the changes of a saved component that still count."""
        changed = dict(self.cfg["changed"])
        for name, given in self.given.items():
            before, value = changed.get(name, (None, given))
            setattr(self, name, value if _is_same(before, plain(given)) else given)
        self.cfg["changed"] = changed

    def write_settings(self, config: dict[str, Any]) -> None:
        """Write changed settings into the component's config, so that it shows and decides them."""
        for name, (_, value) in self.cfg["changed"].items():
            self.given[name] = config[name] = value
            self.cfg["changed"][name] = [value, value]

    def _reject(self, setting: str, value: object, wanted: str) -> NoReturn:
        words = {"name": self.name, "setting": setting, "value": value, "wanted": wanted}
        raise ValueError(Errors.F310.format(**words))

    @property
    def shim(self) -> TorchShim:
        """Holds the network."""
        return shim_of(self.model)

    @property
    def featuriser(self) -> Any:
        """Turns Docs into the network's input."""
        return self.model.attrs["featuriser"]

    @property
    def device(self) -> str:
        """The device of the network and of its own encoder. Setting it moves them. It isn't saved,
        since the next machine may have another device.

        Raises ValueError for an unknown name (F310), and if there is a network but no such device
        (F350).
        """
        return self.shim.device_name

    @device.setter
    def device(self, value: str) -> None:
        if not (isinstance(value, str) and _DEVICE.fullmatch(value)):
            self._reject("device", value, 'one of "auto", "cpu", "cuda", "cuda:0" ..., or "mps"')
        for shim in shims_of(self.model):
            shim.to(value)

    @property
    def is_initialised(self) -> bool:
        """Whether there is a network."""
        return self.shim.is_initialised

    def require_initialised(self) -> None:
        """Raises ValueError (F303) if there is no network yet."""
        if not self.is_initialised:
            raise ValueError(Errors.F303.format(name=self.name))

    def lacks_examples(self, get_examples: Callable[[], Iterable[Example]]) -> bool:
        """Whether `nlp.initialize()` was called without examples, as by `spacy assemble`, so that
        it made up one to infer shapes from. Warns (W306) if so."""
        validate_get_examples(get_examples, f"{type(self).__name__}.initialize")
        first = islice(get_examples(), 2)
        if [[token.text for token in each.reference] for each in first] != [MADE_UP]:
            return False
        warnings.warn(Warnings.W306.format(name=self.name), stacklevel=3)
        return True

    def loss_scale(self, count: int) -> float:
        """The weight of a mean over `count` items in the loss of a step: 1, or the share of this
        worker if several workers split the batch. Each must call it in each step."""
        return count / max(1.0, all_reduce_sum(count))

    def backward(self, loss: Tensor, losses: dict[str, float]) -> None:
        """Backpropagate the loss of a part of a batch, and add it to the component's loss."""
        loss.backward()  # type: ignore[no-untyped-call]
        # The optimizer skips a step that isn't finite. spaCy's logger would stop the training.
        if math.isfinite(value := loss.item()):
            losses[self.name] += value

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn from the examples that have gold annotation for the component. `drop` only applies
        to a tok2vec: the network's dropouts are options."""
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, f"{type(self).__name__}.update")
        self.require_initialised()
        if not self._add_gradients(examples, drop, losses):
            self.loss_scale(0)
        elif sgd is not None:
            self.finish_update(sgd)
        return losses

    def get_loss(self, examples: Iterable[Example], scores: Any) -> tuple[float, list[Tensor]]:
        """The mean loss of predictions, and its gradient for the scores of each batch. Doesn't
        change the component.

        scores: batches, with their targets, and scores for them, as the model predicts.
        """
        network: Any = self.shim.module
        found, n_predicted = [], 0
        for batch, logits in scores:
            found.append(network.loss_gradient(logits, batch.targets))
            n_predicted += len(batch.targets)
        mean = sum(loss for loss, _ in found) / max(1, n_predicted)
        return mean, [gradient / n_predicted for _, gradient in found]

    def _add_gradients(
        self, examples: list[Example], drop: float, losses: dict[str, float]
    ) -> bool:
        """Backpropagate the loss of examples. Returns False if there is nothing to learn from."""
        raise NotImplementedError

    def from_disk(self: Self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """Load what `to_disk` wrote.

        Raises ValueError (F309) for damaged files (F200) and for a config that differs from that of
        the training (F307).
        """
        with self._loading(str(path), exclude):
            super().from_disk(path, exclude=exclude)
        return self

    def from_bytes(self: Self, data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """Load what `to_bytes` gave; errors as in `from_disk`."""
        with self._loading(self.name, exclude):
            super().from_bytes(data, exclude=exclude)
        return self

    @contextmanager
    def _loading(self, source: str, exclude: Iterable[str]) -> Iterator[None]:
        if "cfg" not in exclude:
            self.cfg["changed"] = None  # until it is read
        try:
            yield
            if not isinstance(self.cfg["changed"], dict):
                raise ValueError("cfg is missing or damaged.")
            self._apply_settings()
        except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
            raise ValueError(Errors.F309.format(path=source, reason=error)) from error


class LabelledPipe(NetworkPipe):
    """A component whose network knows labels: entity types, or classes."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.cfg["labels"] = []
        self._tokens_seen = np.zeros(2, np.int64)  # their characters, and tokens

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that Docs get."""
        return self.known_labels

    @property
    def known_labels(self) -> tuple[str, ...]:
        """The labels, in the order of the network."""
        # The network's own if there is one: `cfg` is a separate file.
        config = self.shim.config
        return tuple(config["sizes"]["labels"] if config else self.cfg["labels"])

    @property
    def label_data(self) -> tuple[str, ...]:
        """For `spacy init labels`, read by `initialize`."""
        return self.known_labels

    def add_label(self, label: str) -> int:
        """Add a label, also to a trained network. Returns 0 if the component already has it.

        Raises ValueError (F302) for an invalid label.
        """
        if self._checked(label) in self.known_labels:
            return 0
        self.add_labels([label])
        return 1

    def add_labels(self, labels: Sequence[str]) -> None:
        """Add new labels, all at once, since the network is rebuilt for them.

        Raises ValueError (F302) for an invalid label.
        """
        if labels:
            known = [*self.known_labels, *map(self._checked, labels)]
            if self.is_initialised:
                self._extend(known)
            self.cfg["labels"] = known

    def _extend(self, labels: Sequence[str]) -> None:
        """Extend the network by the new ones among labels."""
        extend(self.model, labels=labels)

    def learn_tokens(self, docs: Iterable[Doc]) -> None:
        """Save the mean length of tokens for `check_tokens`. Needs at least one Doc."""
        lengths = [(len(doc.text), len(doc)) for doc in docs]
        characters, tokens = map(sum, zip(*lengths, strict=True))
        self.cfg["token_length"] = round(characters / max(1, tokens), 3)

    def check_tokens(self, docs: Iterable[Doc]) -> None:
        """Warn (W304) once if tokens are much shorter or longer than in training."""
        if not (learnt := self.cfg.get("token_length")) or self._tokens_seen[1] >= FEW_TOKENS:
            return
        for doc in docs:
            # Words in Latin letters are longer than Chinese ones, whatever the tokenizer.
            counted = [len(token) for token in doc if learnt > LATIN or not token.is_ascii]
            self._tokens_seen += sum(counted), len(counted)
        characters, tokens = self._tokens_seen.tolist()
        if tokens >= FEW_TOKENS and not 1 / ALIKE < characters / tokens / learnt < ALIKE:
            self._warn_of_tokens(characters / tokens, f"but had {learnt:.2f} in training")

    def _warn_of_tokens(self, length: float, instead: str) -> None:
        words = {"name": self.name, "here": length, "instead": instead}
        warnings.warn(Warnings.W304.format(**words), stacklevel=3)

    def merged_labels(self, found: Iterable[str], given: Sequence[str] | None) -> list[str]:
        """The labels to initialise with: those given or else found, and those added before.

        Raises TypeError (F026) for a single string, ValueError (F302) for invalid labels.
        """
        if isinstance(given, str):
            raise TypeError(Errors.F026.format(value=repr(given)))
        labels = found if given is None else given
        return [self._checked(label) for label in dict.fromkeys([*labels, *self.known_labels])]

    def _checked(self, label: str) -> str:
        """Check a label, and add it to the vocabulary's strings."""
        if not isinstance(label, str) or not label or label != label.strip():
            raise ValueError(Errors.F302.format(label=label))
        self.vocab.strings.add(label)
        return label


def _is_same(saved: Any, given: Any) -> bool:
    """Whether values are equal. Reading JSON may change the last bit of a number."""
    if isinstance(saved, list) and isinstance(given, list):
        return len(saved) == len(given) and all(map(_is_same, saved, given))
    if isinstance(saved, dict) and isinstance(given, dict):
        return saved.keys() == given.keys() and all(_is_same(saved[k], given[k]) for k in given)
    if isinstance(saved, float) and isinstance(given, float):
        return math.isclose(saved, given)
    return bool(saved == given)
