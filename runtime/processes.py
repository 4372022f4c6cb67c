"""Distributed runs: division of work, and joining of embeddings, gradients and files.

`torchrun --nproc_per_node N run_multitask.py ...` starts N processes (*ranks*) of one command.
All ranks take the same steps in the same order. Each reads only its share of every batch, and only
rank 0 writes and prints. Without torchrun there is one rank, and these functions do nothing.
"""

import logging
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from runtime.errors import MachineError, ProcessError
from runtime.torchrun import VARIABLES

Rows = TypeVar("Rows", np.ndarray, list[Any])

# Whether these functions joined a group. Groups of other code are not used.
_joined = False


def join_processes(device: str = "auto") -> None:
    """Join the processes that torchrun started; do nothing without it.

    They communicate through gloo, GPUs through NCCL; each process uses the GPU of its local rank.
    Only rank 0 prints.

    Raises:
        MachineError: more processes than GPUs here, or only some of torchrun's variables.
        ProcessError: another process ended before it joined.
    """
    global _joined
    if _joined or num_started() == 1:
        return
    missing = [name for name in VARIABLES if name not in os.environ]
    if missing:
        raise MachineError(f"WORLD_SIZE is set, {missing[0]} is not; start with torchrun")
    backend = "gloo"
    if device != "cpu" and torch.cuda.is_available():
        backend = "cpu:gloo,cuda:nccl"
        local_rank, count = int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()
        if local_rank >= count:
            raise MachineError(
                f"process {local_rank + 1} has no GPU, there are {count}; start fewer processes"
            )
        torch.cuda.set_device(local_rank)
    with _all_together():
        # The others wait without a limit for work of the first process. A process that has ended is
        # noticed by its closed connections, not by a timeout.
        dist.init_process_group(backend, timeout=timedelta(days=7))
    _joined = True
    if not is_main():
        sys.stdout = open(os.devnull, "w", encoding="utf-8", errors="replace")
        logging.disable(logging.WARNING)


def num_started() -> int:
    """Return how many processes torchrun started, joined or not; 1 without it.

    Raises:
        MachineError: WORLD_SIZE is not a number.
    """
    count = os.environ.get("WORLD_SIZE") or "1"
    if not count.isdecimal():
        raise MachineError(f"WORLD_SIZE is {count!r}, expected a number; unset it")
    return int(count)


def leave_processes() -> None:
    """Leave the group; this process becomes rank 0 of 1."""
    global _joined
    if _joined:
        dist.destroy_process_group()
        _joined = False


def rank() -> int:
    """Return this process's number, from 0."""
    return dist.get_rank() if _joined else 0


def world_size() -> int:
    """Return the number of processes."""
    return dist.get_world_size() if _joined else 1


@contextmanager
def apart() -> Iterator[None]:
    """Let this process be rank 0 of 1 inside the block, so it does not wait for the others.

    They wait at the next `barrier`; without this, the functions here would wait for them.
    """
    global _joined
    joined, _joined = _joined, False
    try:
        yield
    finally:
        _joined = joined


def draw_apart(seed: int) -> None:
    """Give each rank different random numbers from here on; a single process is not changed."""
    if world_size() > 1:
        torch.manual_seed(seed + 100_003 * rank())  # far from the other seeds of a series


def is_main() -> bool:
    """Return whether this process writes files and prints."""
    return rank() == 0


def share(rows: Rows) -> Rows:
    """Return this rank's part of `rows`: every world_size-th row."""
    return rows[rank() :: world_size()]


def join_shares(local: Tensor, count: int) -> Tensor:
    """Return the rows of all ranks in their common order; only this rank's carry gradient.

    Every rank computes the whole loss from the joint rows and differentiates it with respect to its
    local rows. The gradients of all ranks then add up to those of one process with all rows.

    Args:
        local: (n, ...), computed from `share` of `count` rows.

    Returns:
        (count, ...).
    """
    if not _joined:
        return local
    joint = local.new_zeros(count, *local.shape[1:])
    joint[rank() :: world_size()] = local.detach()
    with _all_together():
        dist.all_reduce(joint)  # each row is zero in all ranks but one: the sum gathers
    joint[rank() :: world_size()] = local
    return joint


def sum_over_ranks(values: Tensor) -> Tensor:
    """Return the elementwise sum of every rank's tensor, in place, without gradient."""
    if _joined:
        with _all_together():
            dist.all_reduce(values.detach())
    return values


def sum_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Replace each gradient by its sum over ranks; a rank without one counts as zero."""
    if not _joined:
        return
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    touched = torch.tensor([parameter.grad is not None for parameter in trained]).int()
    with _all_together():
        dist.all_reduce(touched)
        pending = []
        for parameter, ranks in zip(trained, touched.tolist(), strict=True):
            if ranks:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                pending.append(dist.all_reduce(parameter.grad, async_op=True))
        for work in pending:
            work.wait()


def gather_objects(local: Any) -> list[Any]:
    """Return every rank's object, in rank order."""
    if not _joined:
        return [local]
    gathered: list[Any] = [None] * world_size()
    with _all_together():
        dist.all_gather_object(gathered, local)
    return gathered


def main_decides(value: Any) -> Any:
    """Return rank 0's value, so that all ranks take the same branch (does a file exist?)."""
    return gather_objects(value)[0]


def barrier() -> None:
    """Wait until all ranks have arrived here."""
    if _joined:
        with _all_together():
            dist.barrier()


@contextmanager
def _all_together() -> Iterator[None]:
    """Turn torch's error for a collective call with an ended process into one line.

    The system closes the connections of a process when it ends for any reason, so the others' calls
    fail at once.

    Raises:
        ProcessError: another process has ended.
    """
    try:
        yield
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:200]
        raise ProcessError(
            "another process of this run has ended; start all of them again, with --resume "
            f"({reason})"
        ) from None


@contextmanager
def main_first() -> Iterator[None]:
    """Let rank 0 run the block before the others, which then use its files."""
    if not is_main():
        barrier()
    try:
        yield
    finally:  # also after an error, so the others do not wait
        if is_main():
            barrier()
