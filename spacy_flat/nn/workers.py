"""Training in several processes at once, each with a part of every batch (data parallelism, as in
Li et al., 2020, "PyTorch Distributed"), which `torchrun` starts.

Every process has the whole network. What their parts give is added up, so that all make the same
step: the gradient of a batch is the sum over its parts. One process does nothing here.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import PrefixStore, rendezvous  # type: ignore[attr-defined]
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from ..errors import Errors

# While the first evaluates, the others wait.
PATIENCE = timedelta(hours=24)
BACKENDS = {False: "gloo", True: "cpu:gloo,cuda:nccl"}  # by whether there are GPUs

T = TypeVar("T")

_is_shared = False  # whether this process is one of several workers


@dataclass(frozen=True)
class Workers:
    """rank: of this process, from 0. local_rank: on its machine. size: how many there are."""

    rank: int = 0
    local_rank: int = 0
    size: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this worker evaluates, logs and saves."""
        return self.rank == 0

    @classmethod
    def from_environment(cls) -> "Workers":
        """From the environment variables of torchrun.

        Raises ValueError (F446) for a rank that no worker can have.
        """
        defaults = {"RANK": 0, "LOCAL_RANK": 0, "WORLD_SIZE": 1}
        workers = cls(*(int(os.environ.get(name, n)) for name, n in defaults.items()))
        if not 0 <= workers.rank < workers.size:
            raise ValueError(Errors.F446.format(rank=workers.rank, size=workers.size))
        return workers

    def join(self, use_gpu: bool) -> None:
        """Wait for the others, where there are others.

        torchrun keeps its store of the workers' addresses when it starts them again: on one
        machine, where all count the starts alike, each start gets a part of its own.
        """
        global _is_shared
        if self.size == 1:
            return
        with together():
            store, rank, size = next(rendezvous("env://", timeout=PATIENCE))
            if os.environ.get("LOCAL_WORLD_SIZE") == str(size):
                store = PrefixStore(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"), store)
            dist.init_process_group(
                BACKENDS[use_gpu], store=store, rank=rank, world_size=size, timeout=PATIENCE
            )
        _is_shared = True

    def leave(self) -> None:
        global _is_shared
        _is_shared = False
        if dist.is_initialized():
            dist.destroy_process_group()

    def all_gather(self, value: T) -> list[T]:
        """The value of each worker, by rank."""
        if self.size == 1:
            return [value]
        values: list[T | None] = [None] * self.size
        with together():
            dist.all_gather_object(values, value)
        return values  # type: ignore[return-value]


@contextmanager
def together() -> Iterator[None]:
    """Raises ConnectionError (F444) where another worker does not take part."""
    try:
        yield
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[0]
        raise ConnectionError(Errors.F444.format(reason=reason)) from error


def all_reduce_sum(n: float) -> float:
    """The sum over all workers. Each must call it as often as the others."""
    if not _is_shared:
        return n
    number = torch.tensor(n, dtype=torch.float64)
    with together():
        dist.all_reduce(number)
    return float(number)


def broadcast(tensors: Sequence[Tensor]) -> None:
    """Give all workers the values of the first's, in place."""
    with together():
        for tensor in tensors:
            dist.broadcast(tensor, 0)


def all_reduce_gradients(
    gradients: Sequence[Tensor | None], like: Sequence[Tensor]
) -> list[Tensor | None]:
    """The sums of all workers' gradients; None for what no worker has.

    A gradient is dense, or sparse, with some rows of a table.

    like: a tensor of the shape and device of each.
    """
    kinds = torch.tensor([0 if each is None else 1 + each.is_sparse for each in gradients])
    sums = list(gradients)
    with together():
        dist.all_reduce(kinds, dist.ReduceOp.MAX)
        for n, kind in enumerate(kinds.tolist()):
            if kind == 1 and sums[n] is None:
                sums[n] = torch.zeros_like(like[n])
            if kind == 2:
                sums[n] = _sum_of_rows(gradients[n], like[n])
        _add_dense([each for each in sums if each is not None and not each.is_sparse])
    return sums


def _add_dense(gradients: Sequence[Tensor]) -> None:
    """Add in place, all of one device and type in one message."""
    for place in dict.fromkeys((each.device, each.dtype) for each in gradients):
        own = [each for each in gradients if (each.device, each.dtype) == place]
        message = parameters_to_vector(own)
        dist.all_reduce(message)
        vector_to_parameters(message, own)


def _sum_of_rows(gradient: Tensor | None, like: Tensor) -> Tensor:
    """Workers have different rows."""
    own = None if gradient is None else gradient.coalesce().cpu()
    all_own: list[Tensor | None] = [None] * dist.get_world_size()
    dist.all_gather_object(all_own, own)
    total = reduce(torch.add, [each for each in all_own if each is not None])
    return total.coalesce().to(like.device)
