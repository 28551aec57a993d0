"""How several workers train one pipeline: each learns from a part of every batch, and the gradients
of all are added up before each step."""

from collections.abc import Sequence
from typing import Any

from spacy.language import Language
from spacy.training import Example

from ..errors import Errors
from ..nn.encoder_shim import EncoderShim
from ..nn.workers import Workers, broadcast, summed
from ..pipe import NetworkPipe
from .parameters import named_shims, parameters_of


def part_of(batch: Sequence[Example], workers: Workers) -> list[Example]:
    """This worker's examples of a batch: the longest first, each goes to the worker that has least
    to do. All workers come to the same parts."""
    if workers.size == 1:
        return list(batch)
    loads = [0] * workers.size
    part = []
    for example in sorted(batch, key=len, reverse=True):
        least = loads.index(min(loads))
        loads[least] += len(example)
        if least == workers.rank:
            part.append(example)
    return part


def broadcast_weights(nlp: Language, workers: Workers) -> None:
    """Give all workers the first one's weights.

    Raises ValueError (F443) where their networks have other sizes.
    """
    if workers.size == 1:
        return
    parameters = parameters_of(nlp)
    sizes = [(parameter.name, list(parameter.weights().shape)) for parameter in parameters]
    for rank, others in enumerate(workers.gathered(sizes)):
        if others != sizes:
            raise ValueError(Errors.F443.format(rank=workers.rank, other=rank))
    broadcast([parameter.weights() for parameter in parameters])


def register_labels(
    nlp: Language, batch: Sequence[Example], exclude: Sequence[str], workers: Workers
) -> None:
    """Let all workers know what is new in a batch, such as a label of one example."""
    if workers.size == 1:
        return
    pipes = _learning(nlp, exclude)
    before = [getattr(pipe, "labels", ()) for pipe in pipes]
    for pipe in pipes:
        pipe.register_labels(batch)
    if before != [getattr(pipe, "labels", ()) for pipe in pipes]:
        broadcast_weights(nlp, workers)


def add_up_gradients(nlp: Language, workers: Workers) -> None:
    """Give all workers the sums of their gradients."""
    if workers.size == 1:
        return
    for _, shim in named_shims(nlp):
        if isinstance(shim, EncoderShim):
            shim.await_nothing()  # of a part that taught nobody: all make the step
    parameters = parameters_of(nlp)
    gradients = [parameter.gradient() for parameter in parameters]
    sums = summed(gradients, [parameter.weights() for parameter in parameters])
    for parameter, gradient in zip(parameters, sums, strict=True):
        if gradient is not None:
            parameter.set_gradient(gradient)


def skip_steps(nlp: Language, exclude: Sequence[str]) -> None:
    """What a worker does that has no example of a small batch: answer when the others add up what
    their losses are means over."""
    for pipe in _learning(nlp, exclude):
        pipe.skip_step({})


def _learning(nlp: Language, exclude: Sequence[str]) -> list[NetworkPipe]:
    """This package's components that are not excluded."""
    pipes: list[tuple[str, Any]] = nlp.pipeline
    return [pipe for name, pipe in pipes if isinstance(pipe, NetworkPipe) and name not in exclude]
