"""What spaCy sees of every component here: a pipe around a network, and its settings."""

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from spacy.pipeline import TrainablePipe
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer

from .errors import Errors
from .text.initialise import shim_of

if TYPE_CHECKING:
    from torch import Tensor

Self = TypeVar("Self", bound="NetworkPipe")


def setting(name: str, wanted: str, is_right: Callable[[object], bool]) -> Any:
    """A setting of the config that may be changed at run time, as a property of a pipe. A change is
    saved with the component. It counts until the config says something else than it said then.

    What `pipe.cfg` itself has comes first: there `spacy find-threshold` puts what it tries.

    wanted: what it must be, in words. Raises ValueError (F310) where `is_right` says that it isn't.
    """

    def get(pipe: "NetworkPipe") -> Any:
        if name in pipe.cfg:
            return pipe.cfg[name]
        before, value = pipe.cfg["changed"].get(name, (None, None))
        current = value if before == pipe.given[name] else pipe.given[name]
        # Not to be changed in place, which would not be saved.
        return tuple(current) if isinstance(current, list) else current

    def change(pipe: "NetworkPipe", value: Any) -> None:
        if not is_right(value):
            words = {"name": pipe.name, "setting": name, "value": value, "wanted": wanted}
            raise ValueError(Errors.F310.format(**words))
        pipe.cfg.pop(name, None)
        plain = list(value) if isinstance(value, tuple) else value
        pipe.cfg["changed"][name] = [pipe.given[name], plain]

    return property(get, change)


class NetworkPipe(TrainablePipe):  # type: ignore[misc]
    """A component whose model has a torch network, which `initialize` builds.

    settings: as given by the config; those that may change are properties made by `setting`.
    """

    def __init__(
        self,
        vocab: Vocab,
        model: Model[Any, Any],
        name: str,
        scorer: Callable[..., dict[str, Any]] | None,
        **settings: Any,
    ) -> None:
        self.vocab = vocab
        self.model = model
        self.name = name
        self.scorer = scorer
        self.given = settings
        self.cfg: dict[str, Any] = {"changed": {}}
        for each, value in settings.items():
            setattr(self, each, value)  # which checks it
        self.cfg["changed"].clear()

    @property
    def is_initialised(self) -> bool:
        """Whether there is a network."""
        return shim_of(self.model).is_initialised

    def require_initialised(self) -> None:
        """Raises ValueError (F303) where there is no network yet."""
        if not self.is_initialised:
            raise ValueError(Errors.F303.format(name=self.name))

    def learn(
        self,
        batch_losses: Iterable["Tensor"],
        losses: dict[str, float],
        sgd: Optimizer | None,
        backprop: Callable[[], object],
    ) -> dict[str, float]:
        """One step of training: the losses of batches go backward, each before the next one is
        computed.

        losses: the component's own is added up there.
        sgd: None to gather gradients for a later step.
        backprop: passes what has gathered meanwhile on to a tok2vec.
        """
        try:
            for loss in batch_losses:
                loss.backward()  # type: ignore[no-untyped-call]
                # The optimizer leaves out a step that is not finite and warns; spaCy's logger would
                # end the training.
                if math.isfinite(value := loss.item()):
                    losses[self.name] += value
        except BaseException:
            shim_of(self.model).module.zero_grad()  # half of a step is none
            raise
        backprop()
        if sgd is not None:
            self.finish_update(sgd)
        return losses

    def from_disk(self: Self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """Load what `to_disk` wrote.

        Raises ValueError that names the folder (F309), for damaged files (F200) and for a config
        that differs from that of the training (F307).
        """
        try:
            super().from_disk(path, exclude=exclude)
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise ValueError(Errors.F309.format(path=path, reason=error)) from error
        return self
