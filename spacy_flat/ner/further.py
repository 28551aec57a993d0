"""How a trained recogniser is trained further: by its tutor, and by branches of its network.

The tutor is the model that `nlp.resume_training` copies. Labels that are added after it have a
branch of the network (see `ner/network.py`), which alone is trained; the tutor teaches the others
what it finds in raw texts, and in what the annotation leaves open.
"""

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from spacy.tokens import Doc

from ..errors import Errors, Warnings
from ..initialise import extend
from ..nn.model import shim_of, shims_of, tok2vec_of
from ..nn.optimizers import AdamW
from ..text.tok2vec import is_awaited, listeners
from ..text.units import EntitySpan
from .model import network_of
from .spans import Annotation

if TYPE_CHECKING:
    from .component import CRFEntityRecognizer

MANY = 10  # updates, after which the network has begun to forget


class FurtherTraining:
    """Of a component's network, until it is initialised anew.

    added: the labels that have been added since there is a tutor.
    """

    def __init__(self, pipe: "CRFEntityRecognizer") -> None:
        self.pipe = pipe
        self.added: set[str] = set()
        self.optimizer = AdamW(weight_decay=0.0)  # of rehearsals
        self._tutor: Any = None
        self._updates_alone = math.inf  # with entities of added labels only; inf: others, too
        self._updates_of_branch = 0  # with entities of its labels only
        self._has_warned = False  # of branches

    @property
    def tutor(self) -> Any:
        """The model as it was. It belongs to the component, and shares its featuriser and what
        training doesn't change."""
        return self._tutor

    @tutor.setter
    def tutor(self, model: Any) -> None:
        self._tutor, pipe = model, self.pipe
        if self._updates_alone != 0:  # labels that were learnt meanwhile are old ones now
            self.added, self._updates_alone = set(), math.inf
        if not pipe.is_initialised:
            return
        if model is not None:
            model.attrs["featuriser"] = pipe.featuriser
            buffers = dict(network_of(pipe.model).named_buffers())
            network_of(model).load_state_dict(buffers, strict=False, assign=True)
        self.extend(pipe.known_labels)

    def teach_with(self, model: Any) -> None:
        """See `CRFEntityRecognizer.rehearse_with`."""
        known, labels = self.pipe.known_labels, network_of(model).tags.labels
        if known[: len(labels)] != labels:
            raise ValueError(Errors.F243.format(name=self.pipe.name, labels=labels, known=known))
        if added := set(known[max([len(labels), *network_of(self.pipe.model).starts]) :]):
            self.added, self._updates_alone = added, 0
        self.tutor = model

    # Branches

    def extend(self, labels: Sequence[str]) -> None:
        """Add the new ones among labels, which are improbable until they are learnt. With a tutor,
        let them have a branch of the network, which alone is trained."""
        model, n_before = self.pipe.model, len(self.pipe.known_labels)
        starts, has_new = [*network_of(model).starts], len(labels) > n_before
        added = self.added | {*labels[n_before:]}
        is_alone, start = self._tutor is not None and bool(added), len(labels) - len(added)
        if branches_off := start not in starts and (is_alone or bool(has_new and starts)):
            starts.append(start)
        if has_new or branches_off:
            extend(model, labels=labels, branches=starts)
        network = network_of(model)
        if has_new:
            network.make_rare(n_before)
            self.added, self._updates_alone = added, 0
        if branches_off:
            network.start_branch()
        self.train_branch()

    def train_branch(self) -> bool:
        """Whether only added labels are learnt. A network that was copied or loaded meanwhile is
        told so."""
        network, is_alone = (
            network_of(self.pipe.model),
            self._tutor is not None and bool(self.added),
        )
        if network.trains_last_branch != is_alone:
            network.train_last_branch(is_alone)
        return is_alone

    def known_of(self, doc: Doc, given: Annotation) -> Annotation:
        """What is known of a text where added labels alone are learnt: raw texts have none."""
        if not given.is_of_raw_text(doc.text):
            return given
        old = [label for label in self.pipe.known_labels if label not in self.added]
        return Annotation([], [EntitySpan(0, len(doc.text), label) for label in old])

    # The tutor

    def tutor_of(self, docs: list[Doc], n_raw: int) -> Any:
        """The tutor, if it can advise on the Docs of a batch. Raises ValueError (F241) if it can't,
        although most of them are raw."""
        if (tutor := self._tutor) is None:
            return None
        own = self.pipe.model
        if shim_of(tutor).device != shim_of(own).device:
            for each, shim in zip(shims_of(own), shims_of(tutor), strict=True):
                shim.module.to(each.device)
        if (tok2vec := tok2vec_of(own)) and is_awaited(tok2vec, docs):
            if 2 * n_raw > len(docs):  # annotated corpora may have a few
                raise ValueError(Errors.F241.format(name=self.pipe.name))
            return None  # its advice is wrong once these vectors change
        return tutor

    def require_own_tok2vec(self) -> None:
        """Raises ValueError (F241) if the component listens to another one."""
        if (tok2vec := tok2vec_of(self.pipe.model)) and listeners(tok2vec):
            raise ValueError(Errors.F241.format(name=self.pipe.name))

    # Warnings

    def count_labels(self, labels: set[str]) -> None:
        """Note the labels of a batch, and warn once that some are not learnt beside added ones
        (W308), or that not only the branch learns that they have (W309)."""
        if not labels <= self.added:
            self._updates_alone = math.inf
        if not labels or not self.pipe.is_initialised:
            return
        network, shown, message = network_of(self.pipe.model), labels - self.added, Warnings.W308
        if not network.trains_last_branch:
            known = self.pipe.known_labels
            start = network.starts[-1] if network.starts else len(known)
            is_of_branch = labels <= set(known[start:])
            self._updates_of_branch += 1 if is_of_branch else -MANY
            shown, message = labels, Warnings.W309
            if self._updates_of_branch < MANY:
                return
        if shown and not self._has_warned:
            self._has_warned = True
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
                self._warn(Warnings.W307, self.added)

    def _warn(self, message: str, labels: set[str]) -> None:
        words = {"name": self.pipe.name, "labels": ", ".join(sorted(labels))}
        warnings.warn(message.format(**words), stacklevel=6)
