"""How things are timed: the same work by every side, in turns, in one process; medians of rounds.

A side's first round warms it up: what is timed is what a long run does. A figure is a ratio to a
peer and a share of the machine's limit, which is measured too. Floating-point operations are
counted on real tokens only: what a side spends on padding is its own affair.
"""

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch.nn.functional import linear

from minbert.fast.linear import Linear, kept_weights
from runtime.device import autocast, release_memory

MIB = 2**20
BATCH_SIZES = (16, 32, 64)
GPU_BATCH_SIZES = (128, 256, 512, 1024)
MATMUL_SHAPES = ((4096, 768, 3072), (4096, 3072, 768), (2048, 2048, 2048))


@dataclass(frozen=True)
class Side:
    """One way to do the work of a round; the first side of a work is ours."""

    name: str
    run: Callable[[int], Any]
    dtype: torch.dtype | None = None  # of the matrix products, where a share of the peak is asked
    times: int = 1  # how often the measured piece occurs in the whole work
    flops: Sequence[float] | None = None  # of every round, where they are fewer than the work's
    quality: str | None = None  # of its results beside the reference's, where it is a question
    rounds: int | None = None  # at most that many with the first one, where they are long


@dataclass(frozen=True)
class Work:
    """Work for several sides."""

    title: str
    unit: str  # what the amounts count
    amounts: Sequence[int]  # of every round
    sides: Sequence[Side]
    flops: Sequence[float] | None = None  # of every round, on real tokens
    skipped: Sequence[str] = ()  # sides that are not there, and why


@dataclass(frozen=True)
class Figure:
    """What one side took."""

    work: str
    side: str
    seconds: float  # median over the rounds
    fastest: float
    slowest: float
    amount: float  # of the work in a round, median
    rate: float  # amount per second, median
    unit: str
    ratio: float  # our rate / this rate: above 1 we are faster
    peak_share: float | None  # of the measured matmul peak
    memory_mib: float | None  # highest above what was there before
    rounds: int  # that were timed
    quality: str | None = None  # beside the reference's


def measure(work: Work, device: torch.device) -> list[Figure]:
    """Return a figure per side; within a round the sides take turns, and the first one changes.

    A side's first round tells its memory, after all that was freed went back to the system. Its
    time counts only where there is no other.
    """
    seconds: dict[str, list[float]] = {side.name: [] for side in work.sides}
    assert len(seconds) == len(work.sides), "two sides of one name"
    memory: dict[str, float | None] = {}
    for number in range(len(work.amounts)):
        shift = number % len(work.sides)
        for side in [*work.sides[shift:], *work.sides[:shift]]:
            if side.rounds is not None and number >= side.rounds:
                continue
            gc.collect()
            if number == 0:
                release_memory()
            peak = PeakMemory(device)
            started = time.perf_counter()
            side.run(number)
            synchronize(device)
            seconds[side.name].append((time.perf_counter() - started) * side.times)
            if number == 0:
                memory[side.name] = peak.rise()
    rates = {name: _rates(work.amounts, taken) for name, taken in seconds.items()}
    ours = median(rates[work.sides[0].name])
    return [
        Figure(
            work.title,
            side.name,
            median(timed := _warm(seconds[side.name])),
            min(timed),
            max(timed),
            median(work.amounts),
            median(rates[side.name]),
            work.unit,
            ours / median(rates[side.name]),
            _peak_share(work, side, seconds[side.name], device),
            memory[side.name],
            len(timed),
            side.quality,
        )
        for side in work.sides
    ]


def _warm(rounds: list[float]) -> list[float]:
    """Return all rounds but the first, or that one alone."""
    return rounds[1:] or rounds


def _rates(amounts: Sequence[float], seconds: Sequence[float]) -> list[float]:
    """Return the amount per second of every round that counts."""
    return _warm([amount / taken for amount, taken in zip(amounts, seconds, strict=False)])


def _peak_share(
    work: Work, side: Side, seconds: Sequence[float], device: torch.device
) -> float | None:
    counts = side.flops or work.flops
    if counts is None or side.dtype is None:
        return None
    return median(_rates(counts, seconds)) / matmul_peak(side.dtype, device)


def matmul_peak(dtype: torch.dtype, device: torch.device) -> float:
    """Return the floating-point operations per second of the best of some large products."""
    return _matmul_peak(dtype, device, torch.get_num_threads())


@cache
def _matmul_peak(dtype: torch.dtype, device: torch.device, threads: int) -> float:
    """Return that of PyTorch's own product or of `minbert.fast.linear`'s, whichever is faster."""
    best = 0.0
    for rows, inner, columns in MATMUL_SHAPES:
        layer = Linear(inner, columns, bias=False).eval().to(device)
        x = torch.randn(rows, inner, device=device).to(dtype)
        weight = layer.weight.detach().to(dtype)
        kept = kept_weights(layer, device, dtype)
        with torch.inference_mode(), autocast(device, dtype), kept:
            for product in (partial(linear, x, weight), partial(layer, x)):
                taken = _median_seconds(product, device)
                best = max(best, 2 * rows * inner * columns / taken)
    return best


def _median_seconds(run: Callable[[], Any], device: torch.device) -> float:
    """Return the median of ten calls after two."""
    seconds = []
    for _ in range(12):
        started = time.perf_counter()
        run()
        synchronize(device)
        seconds.append(time.perf_counter() - started)
    return median(seconds[2:])


def synchronize(device: torch.device) -> None:
    """Wait for a GPU; a CPU is done when it says so."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


class PeakMemory:
    """The highest memory since creation above that at creation: the process's, or the GPU's."""

    def __init__(self, device: torch.device):
        self.device = device
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
            self.before = float(torch.cuda.memory_allocated(device))
            return
        try:
            Path("/proc/self/clear_refs").write_text("5")  # forget the highest so far (Linux)
        except OSError:
            pass
        self.before = _resident("VmRSS")

    def rise(self) -> float | None:
        """Return it in MiB; None where the system does not tell."""
        if self.device.type == "cuda":
            peak = float(torch.cuda.max_memory_allocated(self.device))
        else:
            peak = _resident("VmHWM")
        return (peak - self.before) / MIB if peak else None


def _resident(field: str) -> float:
    """Return a field of /proc/self/status in bytes, 0 where there is no such file."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((1024.0 * int(x.split()[1]) for x in lines if x.startswith(field)), 0.0)


def expect(same: bool, what: str) -> None:
    """Stop a benchmark whose sides did not compute the same thing.

    Raises:
        AssertionError: they did not; also under `python -O`.
    """
    if not same:
        raise AssertionError(f"the sides differ: {what}")


def best_batch_size(run: Callable[[int], Any], device: torch.device) -> int:
    """Return the batch size with which a peer's warm `run(size)` is fastest."""
    taken = {}
    for size in GPU_BATCH_SIZES if device.type == "cuda" else BATCH_SIZES:
        started = time.perf_counter()
        run(size)
        synchronize(device)
        taken[size] = time.perf_counter() - started
    return min(taken, key=lambda size: taken[size])
