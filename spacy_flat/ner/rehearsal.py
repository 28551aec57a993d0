"""How a trained recogniser is trained further: by its teacher, and by branches of its network.

The teacher is the model that `nlp.resume_training` copies. Labels that are added after it have a
branch of the network (see `ner/network.py`), which alone is trained: neither the rest of it nor a
tok2vec of its own is stepped. A shared one that isn't frozen is spaCy's to step (W310). The teacher
teaches the other labels what it finds in raw texts, and in what the annotation leaves open.
"""

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from spacy.tokens import Doc

from ..errors import Errors, Warnings
from ..initialise import extend
from ..nn.optimizers import AdamW
from ..nn.shim import shim_of, shims_of, tok2vec_of
from ..text.spans import EntitySpan
from ..text.tok2vec import is_awaited
from .emissions import network_of
from .spans import Annotation

if TYPE_CHECKING:
    from .component import CRFEntityRecognizer

MANY = 10  # updates, after which the network has begun to forget


class FurtherTraining:
    """The state of a component's further training. `initialize` discards it.

    teacher: the model as it was, owned by the component. They share what training doesn't change.
    """

    def __init__(self, pipe: "CRFEntityRecognizer") -> None:
        self.pipe = pipe
        self.teacher: Any = None
        self.optimizer = AdamW(weight_decay=0.0)  # of rehearsals
        self._n_old: int | None = None  # labels older than the added ones; None: all are old
        self._updates_alone = math.inf  # with entities of added labels only; inf: others, too
        self._updates_of_branch = 0  # with entities of its labels only
        self._warned: set[str] = set()  # messages

    @property
    def added(self) -> tuple[str, ...]:
        """The labels that have been added since there is a teacher."""
        return () if self._n_old is None else self.pipe.known_labels[self._n_old :]

    def begin(self, teacher: Any, n_old: int | None = None) -> None:
        """Train with this teacher from now on, or with none.

        n_old: number of labels that are not to be learnt. By default all labels, except added ones
            that no update has seen yet.
        """
        pipe = self.pipe
        if teacher is not None and pipe.is_initialised:
            buffers = dict(network_of(pipe.model).named_buffers())
            network_of(teacher).load_state_dict(buffers, strict=False, assign=True)
            teacher.attrs["featuriser"] = pipe.featuriser
        self.teacher = teacher
        if n_old is not None:
            self._n_old, self._updates_alone = n_old, 0
        elif self._updates_alone != 0:
            self._n_old, self._updates_alone = None, math.inf
        if pipe.is_initialised:
            self.extend(pipe.known_labels)

    def teach_with(self, model: Any) -> None:
        self.pipe.require_initialised()
        known, labels = self.pipe.known_labels, network_of(model).tags.labels
        own, given = (shim_of(each).config["sizes"] for each in (self.pipe.model, model))
        tables = given.keys() - {"labels", "branches"}
        if known[: len(labels)] != labels or any(own.get(name) != given[name] for name in tables):
            raise ValueError(Errors.F243.format(name=self.pipe.name, labels=labels, known=known))
        starts = network_of(self.pipe.model).starts
        n_old = starts[-1] if starts else len(labels)  # a branch is learnt as a whole
        self.begin(model, n_old if len(labels) < len(known) else None)

    # Branches

    def extend(self, labels: Sequence[str]) -> None:
        """Add the new ones among labels, which are improbable until they are learnt. With a
        teacher, let them have a branch of the network, which alone is trained."""
        model, n_before = self.pipe.model, len(self.pipe.known_labels)
        starts, has_new = [*network_of(model).starts], len(labels) > n_before
        n_old = n_before if has_new and self._n_old is None else self._n_old
        is_alone = self.teacher is not None and n_old is not None
        branches_off = n_old not in (None, *starts) and (is_alone or bool(has_new and starts))
        if n_old is not None and branches_off:
            starts.append(n_old)
        if has_new or branches_off:
            extend(model, labels=labels, branches=starts)
        network = network_of(model)
        if has_new:
            network.make_rare(n_before)
            self._n_old, self._updates_alone = n_old, 0
        if branches_off:
            network.start_branch()
        self.learns_alone()

    def learns_alone(self) -> bool:
        """Whether only added labels are learnt. Tells a network that was copied or loaded."""
        network = network_of(self.pipe.model)
        is_alone = self.teacher is not None and self._n_old is not None
        if network.trains_last_branch != is_alone:
            network.train_last_branch(is_alone)
        return is_alone

    def known_of(self, doc: Doc, given: Annotation) -> Annotation:
        """What is known of a text where added labels alone are learnt: raw texts have none."""
        if not given.is_of_raw_text(doc.text):
            return given
        old = self.pipe.known_labels[: self._n_old]
        return Annotation([], [EntitySpan(0, len(doc.text), label) for label in old])

    # The teacher

    def teacher_of(self, docs: list[Doc], n_raw: int) -> Any:
        """The teacher, if it can score the Docs of a batch. Raises ValueError (F241) if it can't,
        although most of them are raw; warns (W310) once if old labels' scores won't stay."""
        if (teacher := self.teacher) is None:
            return None
        own = self.pipe.model
        if shim_of(teacher).device != shim_of(own).device:
            for each, shim in zip(shims_of(own), shims_of(teacher), strict=True):
                shim.module.to(each.device)
        if (tok2vec := tok2vec_of(own)) and is_awaited(tok2vec, docs):
            if 2 * n_raw > len(docs):  # annotated corpora may have a few
                raise ValueError(Errors.F241.format(name=self.pipe.name))
            if self.learns_alone():
                self._warn(Warnings.W310, {*self.added})
            return None  # its scores are wrong once these vectors change
        return teacher

    # Warnings

    def count_labels(self, labels: set[str]) -> None:
        """Note the labels of a batch, and warn once that some are not learnt beside added ones
        (W308), or that not only the branch learns that they have (W309)."""
        added = {*self.added}
        if not labels <= added:
            self._updates_alone = math.inf
        if not labels or not self.pipe.is_initialised:
            return
        shown, message = labels - added, Warnings.W308
        if not self.learns_alone():
            known, starts = self.pipe.known_labels, network_of(self.pipe.model).starts
            start = starts[-1] if starts else len(known)
            is_of_branch = labels <= set(known[start:])
            self._updates_of_branch += 1 if is_of_branch else -MANY
            shown, message = labels, Warnings.W309
            if self._updates_of_branch < MANY:
                return
        if shown:
            self._warn(message, shown)

    def count_update(self, known: Sequence[Annotation], keeps_old: bool) -> None:
        """Warn (W307) once if many updates had entities of added labels only, and no raw texts.

        keeps_old: whether something teaches what was known before.
        """
        if keeps_old:
            self._updates_alone = math.inf
        elif any(each.spans for each in known):
            self._updates_alone += 1
            if self._updates_alone == MANY:
                self._warn(Warnings.W307, {*self.added})

    def _warn(self, message: str, labels: set[str]) -> None:
        if message in self._warned:
            return
        self._warned.add(message)
        words = {"name": self.pipe.name, "labels": ", ".join(sorted(labels))}
        warnings.warn(message.format(**words), stacklevel=2)
