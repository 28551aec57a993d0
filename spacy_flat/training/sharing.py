"""Training with several workers, each with a part of every batch; their gradients are summed."""

from collections.abc import Iterator, Sequence
from typing import Any

from spacy.language import Language
from spacy.training import Example

from ..errors import Errors
from ..nn.workers import Workers, all_reduce_gradients, broadcast
from ..pipe import NetworkPipe
from .parameters import parameters_of


def part_of(batch: Sequence[Example], workers: Workers) -> list[Example]:
    """This worker's examples: the longest first, each for the worker with the least work."""
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
    """Copy the first worker's weights to all. Raises ValueError (F443) if their sizes differ."""
    if workers.size == 1:
        return
    parameters = parameters_of(nlp)
    sizes = [(parameter.name, list(parameter.weights().shape)) for parameter in parameters]
    for rank, others in enumerate(workers.all_gather(sizes)):
        if others != sizes:
            raise ValueError(Errors.F443.format(rank=workers.rank, other=rank))
    broadcast([parameter.weights() for parameter in parameters])


def add_labels(
    nlp: Language, batch: Sequence[Example], exclude: Sequence[str], workers: Workers
) -> None:
    """Add the new labels of the whole batch before it is split, with equal weights in all."""
    if workers.size == 1:
        return
    pipes = [pipe for pipe in _training_pipes(nlp, exclude) if hasattr(pipe, "register_labels")]
    before = [pipe.labels for pipe in pipes]
    for pipe in pipes:
        pipe.register_labels(batch)
    if before != [pipe.labels for pipe in pipes]:
        broadcast_weights(nlp, workers)


def sum_gradients(nlp: Language, workers: Workers) -> None:
    if workers.size == 1:
        return
    parameters = parameters_of(nlp)
    gradients = [parameter.gradient() for parameter in parameters]
    sums = all_reduce_gradients(gradients, [parameter.weights() for parameter in parameters])
    for parameter, gradient in zip(parameters, sums, strict=True):
        if gradient is not None:
            parameter.set_gradient(gradient)


def update_without_examples(nlp: Language, exclude: Sequence[str]) -> None:
    """Take part in the sums over workers without an example."""
    for pipe in _training_pipes(nlp, exclude):
        pipe.loss_scale(0)


def _training_pipes(nlp: Language, exclude: Sequence[str]) -> Iterator[Any]:
    pipes: list[tuple[str, Any]] = nlp.pipeline
    return (pipe for name, pipe in pipes if isinstance(pipe, NetworkPipe) and name not in exclude)
