"""How long work of a size takes: measured up to where a time budget ends, projected from there.

Feeds: cost.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

FIRST = 16  # the smallest size that is measured
FACTOR = 4  # from one size to the next: all the smaller ones together cost a third of the largest
ALONE = 9  # pieces of work that are timed one by one


@dataclass(frozen=True)
class Duration:
    """Seconds that work of one size takes, and whether they were measured or projected."""

    seconds: float
    measured: bool

    def __add__(self, other: "Duration") -> "Duration":
        """Return the duration of one after the other, measured only if both were."""
        return Duration(self.seconds + other.seconds, self.measured and other.measured)


@dataclass(frozen=True)
class Timing:
    """What work of some sizes took, and therefore what it would take at others.

    Attributes:
        seconds: of every size that was measured.
        growth: work of a size, in any unit; projections are in proportion to it.
    """

    seconds: dict[int, float]
    growth: Callable[[int], float]

    def of(self, size: int) -> Duration:
        """Return the duration of a size: measured, or projected from the largest measured one."""
        if size in self.seconds:
            return Duration(self.seconds[size], True)
        return Duration(self._per_unit() * self.growth(size), False)

    @property
    def rate(self) -> float:
        """Return units of work per second, by the largest measured size."""
        return 1 / self._per_unit()

    def _per_unit(self) -> float:
        largest = max(self.seconds)
        return self.seconds[largest] / self.growth(largest)


def measure_growing(
    run: Callable[[int], object],
    sizes: Sequence[int],
    budget: float,
    growth: Callable[[int], float] = float,
) -> Timing:
    """Time `run` at growing sizes until the next one would take longer than is left.

    Args:
        run: does work of a size; called once before anything is timed.
        sizes: to measure if the budget allows; smaller ones are measured on the way.
        budget: seconds; the smallest size is measured even if it takes longer.
        growth: see Timing.
    """
    started = time.perf_counter()
    steps = {FIRST}
    while FACTOR * max(steps) < max(sizes):
        steps.add(FACTOR * max(steps))
    run(FIRST)
    timing = Timing({}, growth)
    for size in sorted(steps | set(sizes)):
        left = budget - (time.perf_counter() - started)
        if timing.seconds and timing.of(size).seconds > left:
            break
        begun = time.perf_counter()
        run(size)
        # A clock may stand still during the smallest work.
        timing.seconds[size] = max(time.perf_counter() - begun, 1e-9)
    return timing


def seconds_alone(run: Callable[[int], object]) -> float:
    """Return the median seconds of `run(1)`, `run(2)`, ... after `run(0)`, a few pieces of work."""
    run(0)
    taken = []
    for number in range(1, ALONE + 1):
        begun = time.perf_counter()
        run(number)
        taken.append(time.perf_counter() - begun)
    return median(taken)
