"""What every stage asks of the machine: device, precision, seeds, optimizer, progress bar."""

import ctypes
import math
import random
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR
from tqdm import tqdm

from minbert.distributed import MachineError, is_main, world_size

RELEASE_STEPS = 8  # training steps between two calls of release_memory


class TrainingError(ValueError):
    """Training cannot go on; the message is one line with what to change."""


def choose_device(device: str = "auto") -> torch.device:
    """Return the named device; `auto` takes a GPU where there is one.

    Raises:
        MachineError: `cuda` asked for where there is none.
    """
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise MachineError(f"device {device}: no CUDA device is available here; use --device cpu")
    return torch.device(device)


def choose_precision(precision: str, device: torch.device) -> torch.dtype:
    """Return the dtype of matrix products; `auto` is bfloat16 where the hardware multiplies it.

    Decided by what the processor says it has, not by a timing, so that runs repeat.
    """
    if precision != "auto":
        return {"float32": torch.float32, "bfloat16": torch.bfloat16}[precision]
    if device.type == "cuda":
        fast = torch.cuda.is_bf16_supported()
    else:
        # Older releases of torch cannot tell; float32 is always right.
        flags: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
        fast = bool(flags.get("avx512_bf16") or flags.get("amx_bf16"))
    return torch.bfloat16 if fast else torch.float32


def autocast(device: torch.device, dtype: torch.dtype) -> AbstractContextManager[Any]:
    """Return the context in which matrix products run in `dtype`."""
    return torch.autocast(device.type, dtype=dtype, enabled=dtype != torch.float32)


def set_seed(seed: int) -> None:
    """Seed every generator in use."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def random_state() -> dict[str, Any]:
    """Return the states of torch's generators, which draw dropout and masking."""
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    return {"cpu": torch.get_rng_state(), "cuda": cuda}


def restore_random_state(state: dict[str, Any]) -> None:
    """Undo everything drawn since `random_state` was taken."""
    torch.set_rng_state(state["cpu"])
    if state["cuda"]:
        torch.cuda.set_rng_state_all(state["cuda"])


UNDECAYED = ("LayerNorm", "position_embeddings", "token_type_embeddings")


def adamw(modules: Iterable[tuple[nn.Module, float]], weight_decay: float) -> torch.optim.AdamW:
    """AdamW over (module, learning rate) pairs.

    Matrices are decayed; biases and layer norms are not (BERT's own rule), nor are embeddings of
    positions and token types: what a corpus never uses would fade away.
    """
    groups = []
    for module, learning_rate in modules:
        decayed: list[nn.Parameter] = []
        plain: list[nn.Parameter] = []
        for name, parameter in module.named_parameters():
            if parameter.requires_grad:
                bare = name.endswith("bias") or any(part in name for part in UNDECAYED)
                (plain if bare else decayed).append(parameter)
        groups.append({"params": decayed, "lr": learning_rate, "weight_decay": weight_decay})
        groups.append({"params": plain, "lr": learning_rate, "weight_decay": 0.0})
    return torch.optim.AdamW(groups, eps=1e-8, fused=True)


def linear_schedule(
    optimizer: torch.optim.Optimizer,
    num_steps: int,
    warmup_ratio: float,
    decay_ratio: float = 1.0,
) -> LambdaLR:
    """Rise linearly to the learning rate over the warm-up, stay there, fall linearly to 0.

    The fall takes the last `decay_ratio` of the steps; 1 lets it begin where the warm-up ends.
    """
    warmup = round(num_steps * warmup_ratio)
    decay = min(round(num_steps * decay_ratio), max(0, num_steps - warmup))

    def factor(step: int) -> float:
        if step < warmup:
            return (step + 1) / (warmup + 1)
        return min(1.0, max(0, num_steps - step) / max(1, decay))

    return LambdaLR(optimizer, factor)


def steps_per_epoch(count: int, batch_size: int) -> int:
    """Return the number of batches of `count` examples, in each of which every process has a share.

    A last batch with fewer examples than processes is left out; the next epoch's order is another.

    Raises:
        TrainingError: no batch has that many examples.
    """
    if min(count, batch_size) < world_size():
        raise TrainingError(
            f"batches of {min(count, batch_size)} cannot feed {world_size()} processes"
        )
    return math.ceil((count - world_size() + 1) / batch_size)


def batch_rows(step: int, count: int, batch_size: int, seed: int) -> np.ndarray:
    """Return the rows of a step: every epoch reads the `count` of them in its own seeded order."""
    epoch, position = divmod(step, steps_per_epoch(count, batch_size))
    return _epoch_order(count, seed, epoch)[position * batch_size :][:batch_size]


@lru_cache(maxsize=2)  # pre-training reads rows in two orders
def _epoch_order(count: int, seed: int, epoch: int) -> np.ndarray:
    return np.random.default_rng([seed, epoch]).permutation(count)


def check_finite(value: float, step: int) -> None:
    """Stop a training that has diverged, before it costs hours.

    Raises:
        TrainingError: a loss or a logit is infinite or not a number.
    """
    if not math.isfinite(value):
        raise TrainingError(f"training diverged to {value} at step {step}; lower the learning rate")


def release_memory() -> None:
    """Give freed memory back to the system, where the C library can (glibc).

    Packed batches differ in size from step to step; the freed pieces of one rarely fit the next,
    and what the library keeps for later grows to a gigabyte within some thirty steps. The call is
    quick, but the next step must fetch its pages anew, a tenth of a small encoder's step: every
    RELEASE_STEPS is often enough.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def progress(
    description: str, total: int | None, unit: str, show: bool | None = None, delay: float = 0.0
) -> "tqdm[Any]":
    """Return a progress bar on stderr; by default only where stderr is a terminal.

    With a `delay` in seconds, work that is done sooner shows none.
    """
    quiet = not (sys.stderr.isatty() if show is None else show) or not is_main()
    return tqdm(desc=description, total=total, unit=unit, disable=quiet, smoothing=0.1, delay=delay)
