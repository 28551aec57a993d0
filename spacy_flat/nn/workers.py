"""Training in several processes at once, each with a part of every batch (data parallelism, as in
Li et al., 2020, "PyTorch Distributed"), which `torchrun` starts.

Every process has the whole network. What their parts give is added up, so that all make the same
step: the gradient of a batch is the sum over its parts. With one process, nothing here does
anything.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import PrefixStore, rendezvous  # type: ignore[attr-defined]

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
        names = ("RANK", "LOCAL_RANK", "WORLD_SIZE")
        workers = cls(
            *(int(os.environ.get(name, n)) for name, n in zip(names, (0, 0, 1), strict=True))
        )
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
        with together():
            dist.init_process_group(
                BACKENDS[use_gpu], store=store, rank=rank, world_size=size, timeout=PATIENCE
            )
        _is_shared = True

    def leave(self) -> None:
        """Leave the group."""
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
    with together():
        dist.all_reduce(kinds, dist.ReduceOp.MAX)
        sums = list(gradients)
        dense, sparse = ([n for n, kind in enumerate(kinds.tolist()) if kind == k] for k in (1, 2))
        known = ((gradients[n], like[n]) for n in dense)
        filled = [torch.zeros_like(own) if each is None else each for each, own in known]
        for n, tensor in zip(dense, _sums_of_dense(filled), strict=True):
            sums[n] = tensor
        for n in sparse:
            sums[n] = _sum_of_rows(gradients[n], like[n])
    return sums


def _sums_of_dense(tensors: Sequence[Tensor]) -> list[Tensor]:
    """All of one device and type in one message."""
    sums: dict[int, Tensor] = {}
    for place in dict.fromkeys((tensor.device, tensor.dtype) for tensor in tensors):
        own = [n for n, tensor in enumerate(tensors) if (tensor.device, tensor.dtype) == place]
        message = torch.cat([tensors[n].reshape(-1) for n in own])
        dist.all_reduce(message)
        parts = torch.split(message, [tensors[n].numel() for n in own])
        sums |= {n: part.view(tensors[n].shape) for n, part in zip(own, parts, strict=True)}
    return [sums[n] for n in range(len(tensors))]


def _sum_of_rows(gradient: Tensor | None, like: Tensor) -> Tensor:
    """Workers have different numbers of rows: they send as many as the one with the most."""
    rows, values = _rows(gradient, like)
    counts = [torch.zeros(1, dtype=torch.long) for _ in range(dist.get_world_size())]
    dist.all_gather(counts, torch.tensor([len(rows)]))
    sizes = [int(count) for count in counts]
    all_rows, all_values = _all_gather_rows(rows, sizes), _all_gather_rows(values, sizes)
    return torch.sparse_coo_tensor(
        all_rows[None], all_values, like.shape, check_invariants=False
    ).coalesce()


def _rows(gradient: Tensor | None, like: Tensor) -> tuple[Tensor, Tensor]:
    """Numbers [n] of rows and their gradients [n, D], none of them without a gradient."""
    if gradient is None:
        return like.new_zeros(0, dtype=torch.long), like[:0]
    gradient = gradient.coalesce()
    return gradient.indices()[0], gradient.values()


def _all_gather_rows(tensor: Tensor, sizes: Sequence[int]) -> Tensor:
    """The tensors of all workers, concatenated."""
    padded = tensor.new_zeros(max(1, *sizes), *tensor.shape[1:])
    padded[: len(tensor)] = tensor
    parts = [torch.empty_like(padded) for _ in sizes]
    dist.all_gather(parts, padded)
    return torch.cat([part[:size] for part, size in zip(parts, sizes, strict=True)])
