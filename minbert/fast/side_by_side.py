"""Encodes batches in parallel: on two cores, two batches, each computed by one core.

Threads that share the products of one batch wait for each other hundreds of times per batch, and
the operations between the products gain little from a second thread. Batches are independent.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache

import numpy as np
import torch
from torch import Tensor

from minbert.packing import PackedBatch, TokenSequences, batches_by_tokens

# Batches at a time. Python lets one thread at a time start an operation, so that more would wait
# for it; with more cores than this, several share a batch (an estimate, not measured).
AT_ONCE = 8
# From this hidden size on, products are large enough to be shared, and a batch needs much memory.
WIDE = 768
# Tokens of a batch that runs in parallel with others. The C library (glibc) keeps freed memory in
# pieces of 64 MB for every thread but the first, and gives all but one of them back. The arrays of
# a batch must fit in one piece.
APART_TOKENS = 2048
FEWEST_TOKENS = 512  # of a batch that is made smaller so that another core has one, too


def batches_at_once(device: torch.device, hidden_size: int) -> int:
    """Return how many batches of a model a device computes at a time."""
    narrow = device.type == "cpu" and hidden_size < WIDE
    return min(AT_ONCE, torch.get_num_threads()) if narrow else 1


def batches_for_cores(lengths: np.ndarray, batch_tokens: int, at_once: int) -> list[np.ndarray]:
    """Return row numbers, longest first, in batches that keep all cores busy to the end.

    `lengths` (N,) are those of all sequences; no batch has more than `batch_tokens` tokens.
    """
    if at_once > 1 and len(lengths):
        tokens = int(lengths.sum())
        batches = at_once * -(-tokens // (at_once * APART_TOKENS))
        # Room for one more sequence avoids a small leftover batch.
        fair = tokens // batches + int(lengths.max())
        batch_tokens = min(batch_tokens, max(FEWEST_TOKENS, fair))
    return list(batches_by_tokens(lengths, batch_tokens))


def embed_batches(
    sequences: TokenSequences,
    batches: Sequence[np.ndarray],
    embed: Callable[[PackedBatch], Tensor],
    at_once: int,
) -> Generator[tuple[np.ndarray, np.ndarray]]:
    """Yield every batch's rows and their result of `embed`, (B, ...), without gradient.

    After an error in `embed`, or when the iterator is closed, no further batch is started.
    """
    threads = torch.get_num_threads()
    most, at_once = at_once, max(1, min(at_once, len(batches)))

    def work(rows: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return np.asarray(embed(sequences.pack(rows)).cpu())

    def work_apart(rows: np.ndarray) -> np.ndarray:
        torch.set_num_threads(threads // at_once)  # of this thread, and of those to come
        return work(rows)

    if at_once == 1 and threading.current_thread() is threading.main_thread():
        yield from zip(batches, map(work, batches), strict=True)
        return
    embedded: deque[Future[np.ndarray]] = deque()
    try:
        for rows in batches:
            embedded.append(_kept_threads(most).submit(work_apart, rows))
        for rows in batches:
            yield rows, embedded[0].result()
            embedded.popleft()  # a future keeps its result as long as it lives
    finally:
        for future in embedded:
            future.cancel()
        wait(embedded)
        torch.set_num_threads(threads)


@cache
def _kept_threads(number: int) -> ThreadPoolExecutor:
    """Return threads that live as long as the process.

    A thread that ends gives MKL's memory back under a lock of MKL. A process forked at that moment
    inherits the held lock, and its first product would wait forever.
    """
    return ThreadPoolExecutor(number, thread_name_prefix="embed_batches")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_kept_threads.cache_clear)  # threads are not copied
