"""Device, precision of the matrix products, and memory."""

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch

from runtime.errors import MachineError

RELEASE_STEPS = 32  # steps of training or encoding between two calls of release_memory
# Bytes that `keep_memory` lets the C library keep, and those of the largest piece that it keeps.
KEPT_BYTES, KEPT_PIECE = 2**28, 2**25
# The names of these limits in glibc's malloc.h.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3

# One call of the process encodes at a time: kept weights and the model's mode belong to the
# encoder, not to a thread, and asynchronous callers encode from many threads.
ONE_AT_A_TIME = threading.RLock()


def _begin_as_child() -> None:
    """Let a forked child compute: OpenMP's threads exist only in the parent."""
    torch.set_num_threads(1)
    ONE_AT_A_TIME.release()


# A fork copies locks in their state, and only the forking thread. It waits until no thread encodes,
# so the child has no unfinished work and no held lock.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=ONE_AT_A_TIME.acquire,
        after_in_parent=ONE_AT_A_TIME.release,
        after_in_child=_begin_as_child,
    )


def choose_device(device: str = "auto") -> torch.device:
    """Return the named device; `auto` is a GPU if there is one.

    Raises:
        MachineError: `cuda` is asked for and there is none.
    """
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise MachineError(f"device {device}: no CUDA device is available here; use --device cpu")
    return torch.device(device)


def choose_precision(precision: str, device: torch.device) -> torch.dtype:
    """Return the dtype of matrix products; `auto` is bfloat16 where the hardware supports it.

    This depends on the processor's reported features, not on a timing, so runs are reproducible.
    """
    if precision != "auto":
        return {"float32": torch.float32, "bfloat16": torch.bfloat16}[precision]
    if device.type == "cuda":
        fast = torch.cuda.is_bf16_supported()
    else:
        fast = instructions() in ("amx_bf16", "avx512_bf16")
    return torch.bfloat16 if fast else torch.float32


def _capabilities() -> dict[str, Any]:
    # Older releases of torch do not report them; float32 always works.
    flags: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return flags


def instructions() -> str:
    """Return the processor's widest instructions for products; they decide the last digits."""
    return _widest("amx_bf16", "avx512_bf16", "avx512_vnni", "avx512_f", "avx2")


def byte_instructions() -> str:
    """Return the processor's widest instructions for products of bytes."""
    # avx_vnni: laptops since 2021, which have no AVX-512.
    return _widest("amx_int8", "avx512_vnni", "avx_vnni", "avx512_f", "avx2")


def _widest(*names: str) -> str:
    flags = _capabilities()
    return next((name for name in names if flags.get(name)), "other")


def has_vnni() -> bool:
    """Return whether the processor adds products of bytes in 32 bits: by VNNI, or by AMX."""
    return byte_instructions() in ("amx_int8", "avx512_vnni", "avx_vnni")


def autocast(device: torch.device, dtype: torch.dtype) -> AbstractContextManager[Any]:
    """Return the context in which matrix products run in `dtype`."""
    return torch.autocast(device.type, dtype=dtype, enabled=dtype != torch.float32)


@contextmanager
def one_thread(wanted: bool = True) -> Iterator[None]:
    """Compute with one thread inside the block, if `wanted`.

    Threads that share products of a few thousand numbers wait for each other longer than they
    compute, and on a busy machine for many times that long.
    """
    threads = torch.get_num_threads()
    if wanted:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def release_memory() -> None:
    """Give freed memory back to the system, where the C library can (glibc).

    Packed batches differ in size from step to step. The freed pieces of one rarely fit the next,
    and the memory that the library keeps grows to a gigabyte within about thirty steps. The call is
    fast, but the next step must map its pages again, which costs a tenth of a small encoder's step.
    So one call every RELEASE_STEPS is enough.
    """
    trim = _in_c_library("malloc_trim")
    if trim is not None:
        trim(0)


def keep_memory(most: int = KEPT_BYTES) -> None:
    """Let the C library (glibc) keep freed memory until `release_memory`, `most` bytes; -1: all.

    An encoder frees the arrays of a batch together. By default the library then returns them to the
    system, and the next batch must map its pages again.
    """
    mallopt = _in_c_library("mallopt")
    if mallopt is not None:
        mallopt(M_TRIM_THRESHOLD, most)
        mallopt(M_MMAP_THRESHOLD, KEPT_PIECE)


def _in_c_library(name: str) -> Any:
    """Return a function of the C library, None if it has no function of this name."""
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
