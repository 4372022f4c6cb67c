"""The timing: all sides do the same work in turns, in one process; figures are medians of rounds.

The first round of a side is a warm-up and is not timed, so the figures are those of long runs. A
figure is a ratio to a peer and a share of the machine's measured limit. Floating-point operations
are counted only on real tokens, not on padding.

A round that other programs disturbed is repeated, a few times per side. Figures that remain
disturbed are marked.
"""

import gc
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import torch
from torch.nn.functional import linear

from benchmarks.quiet import Others, is_quiet
from minbert.fast.linear import Linear, kept_weights
from runtime.device import autocast, release_memory

Item = TypeVar("Item")

MIB = 2**20
BATCH_SIZES = (16, 32, 64)
GPU_BATCH_SIZES = (128, 256, 512, 1024)
REPEATS = 3  # of disturbed rounds, per side
MATMUL_SHAPES = ((4096, 768, 3072), (4096, 3072, 768), (2048, 2048, 2048))


@dataclass(frozen=True)
class Side:
    """One implementation of the work of a round; the first side of a work is ours."""

    name: str
    run: Callable[[int], Any]
    dtype: torch.dtype | None = None  # of the matrix products, if the share of the peak is measured
    times: int = 1  # how often the measured piece occurs in the whole work
    flops: Sequence[float] | None = None  # of every round, if fewer than those of the work
    quality: str | None = None  # of its results compared with the reference, if they may differ
    rounds: int | None = None  # at most this many, the first included, for long rounds


@dataclass(frozen=True)
class Work:
    """Work for several sides."""

    title: str
    unit: str  # what the amounts count
    amounts: Sequence[int]  # of every round
    sides: Sequence[Side]
    flops: Sequence[float] | None = None  # of every round, on real tokens
    skipped: Sequence[str] = ()  # missing sides with the reason


@dataclass(frozen=True)
class Figure:
    """The measurements of one side."""

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
    memory_mib: float | None  # highest additional memory
    rounds: int  # that were timed
    quality: str | None = None  # compared with the reference
    others: float | None = None  # cores that other programs took in the worst round; None: unknown

    @property
    def disturbed(self) -> bool:
        """Whether other programs used the machine in a timed round."""
        return not is_quiet(self.others)


def measure(work: Work, device: torch.device) -> list[Figure]:
    """Return a figure per side; sides take turns within a round, beginning with a different one.

    A side's first round measures its memory, after freed memory has been returned to the system.
    Its time counts only if there is no other round.
    """
    seconds: dict[str, list[float]] = {side.name: [] for side in work.sides}
    assert len(seconds) == len(work.sides), "two sides of one name"
    others: dict[str, list[float | None]] = {side.name: [] for side in work.sides}
    repeats = dict.fromkeys(seconds, REPEATS)  # that are left
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
            taken, cores = _timed(side, number, device)
            if number == 0:
                memory[side.name] = peak.rise()
            # The first round is timed again only if it counts.
            counts = number > 0 or side.rounds == 1 or len(work.amounts) == 1
            while counts and repeats[side.name] and not is_quiet(cores):
                repeats[side.name] -= 1
                taken, cores = min((taken, cores), _timed(side, number, device), key=_disturbance)
            seconds[side.name].append(taken)
            others[side.name].append(cores)

    def rate(amounts: Sequence[float], side: Side) -> float:
        taken = seconds[side.name]
        return median(_warm([n / s for n, s in zip(amounts, taken, strict=False)]))

    ours = rate(work.amounts, work.sides[0])
    figures = []
    for side in work.sides:
        timed = _warm(seconds[side.name])
        known = [cores for cores in _warm(others[side.name]) if cores is not None]
        flops = side.flops or work.flops
        share = None
        if flops is not None and side.dtype is not None:
            share = rate(flops, side) / matmul_peak(side.dtype, device, torch.get_num_threads())
        figures.append(
            Figure(
                work=work.title,
                side=side.name,
                seconds=median(timed),
                fastest=min(timed),
                slowest=max(timed),
                amount=median(work.amounts),
                rate=rate(work.amounts, side),
                unit=work.unit,
                ratio=ours / rate(work.amounts, side),
                peak_share=share,
                memory_mib=memory[side.name],
                rounds=len(timed),
                quality=side.quality,
                others=max(known, default=None),
            )
        )
    return figures


def _timed(side: Side, number: int, device: torch.device) -> tuple[float, float | None]:
    """Return the measurements of a side's round, and the cores that other programs used."""
    others = Others()
    seconds = _seconds(partial(side.run, number), device) * side.times
    return seconds, others.cores()


def _disturbance(timed: tuple[float, float | None]) -> float:
    return timed[1] or 0.0


def _warm(rounds: list[Item]) -> list[Item]:
    """Return all rounds except the first, or only the first if there is no other."""
    return rounds[1:] or rounds


@cache
def matmul_peak(dtype: torch.dtype, device: torch.device, threads: int) -> float:
    """Return the highest floating-point operations per second of some large products.

    It is that of PyTorch's product or of `minbert.fast.linear`, whichever is faster.
    """
    best = 0.0
    for rows, inner, columns in MATMUL_SHAPES:
        layer = Linear(inner, columns, bias=False).eval().to(device)
        x = torch.randn(rows, inner, device=device).to(dtype)
        weight = layer.weight.detach().to(dtype)
        kept = kept_weights(layer, device, dtype)
        with torch.inference_mode(), autocast(device, dtype), kept:
            for product in (partial(linear, x, weight), partial(layer, x)):
                seconds = [_seconds(product, device) for _ in range(12)]
                best = max(best, 2 * rows * inner * columns / median(seconds[2:]))
    return best


def best_batch_size(run: Callable[[int], Any], device: torch.device) -> int:
    """Return the batch size with which a peer's warm `run(size)` is fastest, each tried twice."""
    sizes = GPU_BATCH_SIZES if device.type == "cuda" else BATCH_SIZES
    seconds = dict.fromkeys(sizes, math.inf)
    # In turns, so that a disturbance of one trial does not decide.
    for size in (*sizes, *sizes):
        seconds[size] = min(seconds[size], _seconds(partial(run, size), device))
    return min(sizes, key=lambda size: seconds[size])


def _seconds(run: Callable[[], Any], device: torch.device) -> float:
    """Return the seconds of a call, including the work on a GPU."""
    started = time.perf_counter()
    run()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - started


class PeakMemory:
    """The peak memory of the process or GPU since creation, minus the memory at creation."""

    def __init__(self, device: torch.device):
        self.device = device
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
            self.before = float(torch.cuda.memory_allocated(device))
            return
        try:
            Path("/proc/self/clear_refs").write_text("5")  # reset the peak (Linux)
        except OSError:
            pass
        self.before = _resident("VmRSS")

    def rise(self) -> float | None:
        """Return it in MiB; None if the system does not report it."""
        if self.device.type == "cuda":
            peak = float(torch.cuda.max_memory_allocated(self.device))
        else:
            peak = _resident("VmHWM")
        return (peak - self.before) / MIB if peak else None


def _resident(field: str) -> float:
    """Return a field of /proc/self/status in bytes, 0 if there is no such file."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((1024.0 * int(x.split()[1]) for x in lines if x.startswith(field)), 0.0)


def expect(same: bool, what: str) -> None:
    """Raise AssertionError, also under `python -O`, if the sides did not compute the same thing."""
    if not same:
        raise AssertionError(f"the sides differ: {what}")
