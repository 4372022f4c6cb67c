"""Paired tests of whether one system is better than another, on the same rows.

A difference, its interval and its p value come from one procedure: Student's t, with the standard
error of paired bootstrap resamples of clusters of rows. With one seed the result is about these
trained systems on new rows; with several, means over seeds are compared, and rows and seeds vary
(`intervals.over_seeds`). Rows of several seeds are not pooled, as one row's are not independent.

Holm's correction covers all comparisons of a family, and the interval of each has the level at
which Holm decided it. So an interval excludes 0 exactly if the difference is significant.

Legend: K predictions of N rows each, S seeds, B resamples.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from data.tasks import TASKS
from evaluation.clusters import alone, count
from evaluation.intervals import (
    FEWEST,
    LEAST,
    LEVEL,
    POWER,
    Interval,
    exact_share,
    over_seeds,
    percentiles,
    quantile,
    resampled,
    standard_error,
    weighted_metric,
    widened,
)
from evaluation.metrics import SHOWN, task_metrics

SIGNIFICANT = 0.05
ONE_SEED, SEVERAL_SEEDS = "t over rows", "t over rows and seeds"

Systems = Mapping[str, Mapping[int, np.ndarray]]  # name -> seed -> predictions (N,)
Pair = tuple[str, str]
Run = tuple[str, int]  # a system and a seed


@dataclass(frozen=True)
class Estimate:
    """A metric of one system: mean and standard deviation over seeds, and the mean's interval."""

    system: str
    metric: str
    n: int
    seeds: tuple[int, ...]
    mean: float | None  # None where the metric is undefined
    deviation: float | None  # None of a single seed
    interval: Interval | None


@dataclass(frozen=True)
class Comparison:
    """Two systems on the same n rows; `difference` is a minus b, over their common seeds.

    `p` is None if a metric is undefined or there are fewer than three clusters of rows. `p_holm` is
    adjusted for all comparisons of the family; None if one is tested separately. `level` is that of
    the interval: 95%, or more with other comparisons in the family. `freedom` is that of Student's
    t, None for a normal distribution. `findable` is the smallest difference that this test detects
    with 80% power, None if there is no test. `seeds_share` is the share of the difference's
    variance that is between seeds, None for one seed.
    """

    a: str
    b: str
    metric: str
    n: int
    seeds: tuple[int, ...]
    difference: float | None
    interval: Interval | None
    test: str
    p: float | None
    p_holm: float | None = None
    findable: float | None = None
    seeds_share: float | None = None
    level: float = LEVEL
    freedom: float | None = None

    def within(self, margin: float) -> bool:
        """Return whether the interval of the difference lies within ± `margin`: equivalence.

        Systems that answer alike have no interval.
        """
        ends = self.interval
        if ends is None:
            return self.difference == 0 and self.p is not None
        return -margin <= ends.low and ends.high <= margin

    @property
    def decided(self) -> bool:
        """Return whether the two differ significantly, after correction."""
        p = self.p if self.p_holm is None else self.p_holm
        return p is not None and p < SIGNIFICANT


def compare(
    task: str,
    metric: str,
    systems: Systems,
    labels: np.ndarray,
    pairs: Sequence[Pair] | None = None,
    *,
    clusters: np.ndarray | None = None,
    total: int | None = None,
    wider: float = 1.0,
) -> tuple[list[Estimate], list[Comparison]]:
    """Return a metric of each system, and of each pair the difference with its test.

    All intervals come from the same resamples of the rows: those of differences are paired.

    Args:
        task: a name of data.tasks.TASKS.
        metric: one of its metrics.
        systems: their predictions for the same rows, by name and seed.
        labels: (N,).
        pairs: names; every two systems if None. Pairs without a common seed are left out.
        clusters: (N,) from `clusters_of`; None: every row is a cluster.
        total: resamples to draw; None: the number of `intervals.resamples`.
        wider: the factor of all standard errors and intervals.
    """
    n, least = len(labels), LEAST[metric]
    clusters = alone(n) if clusters is None else clusters
    units = count(clusters)
    runs = {(name, seed): run for name, by_seed in systems.items() for seed, run in by_seed.items()}
    predictions = np.array([*runs.values()], float)  # (K, N)
    scores: dict[Run, float | None] = {
        key: task_metrics(task, run, labels, [metric])[metric] for key, run in runs.items()
    }
    drawn: dict[Run, np.ndarray] = {}  # the scores in every resample, (B,); {} for too few clusters
    if units >= FEWEST:
        measure = weighted_metric(metric, TASKS[task], predictions, labels)
        drawn = dict(zip(runs, resampled([measure], clusters, total), strict=True))

    estimates = []
    for name, by_seed in systems.items():
        keys = [(name, seed) for seed in by_seed]
        values = np.array([scores[key] for key in keys], float)  # None becomes NaN
        mean = _mean(values)
        interval = None
        if drawn and mean is not None:
            if metric == "accuracy" and mean in (0.0, 1.0):
                interval = exact_share(mean, units)  # right on all rows, or on none
            elif len(keys) == 1:
                interval = widened(percentiles(drawn[keys[0]]), mean, wider, least)
            else:
                error = standard_error(np.mean([drawn[key] for key in keys], axis=0), units)
                error *= wider
                interval = over_seeds(values, error, units).interval().within(least, 1)
        deviation = float(values.std(ddof=1)) if len(values) > 1 and mean is not None else None
        estimates.append(Estimate(name, metric, n, tuple(by_seed), mean, deviation, interval))

    comparisons = []
    for a, b in combinations(systems, 2) if pairs is None else pairs:
        seeds = tuple(seed for seed in systems[a] if seed in systems[b])
        if not seeds:
            continue
        first, second = (np.array([scores[name, seed] for seed in seeds], float) for name in (a, b))
        test = ONE_SEED if len(seeds) == 1 else SEVERAL_SEEDS
        versus = Comparison(a, b, metric, n, seeds, _mean(first - second), None, test, None)
        if drawn and versus.difference is not None:
            apart = [drawn[a, seed] - drawn[b, seed] for seed in seeds]
            error = wider * standard_error(np.mean(apart, axis=0), units)
            # All resamples may agree on a difference; with G clusters, t is never above G.
            error = max(error, abs(versus.difference) / units)
            spread = over_seeds(first - second, error, units)
            versus = replace(
                versus,
                # A difference lies between minimum - maximum and maximum - minimum of the metric.
                interval=spread.interval().within(least - 1, 1 - least) if error else None,
                p=spread.p(),
                findable=spread.findable(),
                seeds_share=spread.seeds_share,
                freedom=spread.freedom,
            )
        comparisons.append(versus)
    return estimates, comparisons


def _mean(values: np.ndarray) -> float | None:
    """Return the mean over seeds, None where it is undefined for one of them."""
    return None if np.isnan(values).any() else float(values.mean())


# --- comparisons made together


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return the p values adjusted by Holm (1979); None means no test and is not counted."""
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - rank) * p))
        adjusted[place] = largest
    return adjusted


def holm_levels(p_values: Sequence[float | None]) -> list[float]:
    """Return the level at which Holm decides each of m p values: 1 - 0.05 / m for the smallest.

    The next smallest has 1 - 0.05 / (m - 1), and so on. From the first that is not significant, all
    others have its level. None (no test) has 95%.
    """
    adjusted = holm(p_values)
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    levels, left = [LEVEL] * len(p_values), len(known)
    for _, place in known:
        levels[place] = 1 - SIGNIFICANT / left
        if (p := adjusted[place]) is not None and p < SIGNIFICANT:
            left -= 1
    return levels


def adjusted(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return a family of comparisons with Holm's p values and intervals."""
    p_values = [versus.p for versus in comparisons]
    decided = zip(comparisons, holm(p_values), holm_levels(p_values), strict=True)
    return [replace(at_level(versus, level), p_holm=p) for versus, p, level in decided]


def at_level(versus: Comparison, level: float) -> Comparison:
    """Return a comparison with its interval, and what it can detect, at another level."""
    shares = (1 + versus.level) / 2, (1 + level) / 2, POWER
    now, then, power = (quantile(share, versus.freedom) for share in shares)
    interval, findable = versus.interval, versus.findable
    if interval is not None and versus.difference is not None:
        low, high = (
            versus.difference + (end - versus.difference) * then / now
            for end in (interval.low, interval.high)
        )
        least = LEAST.get(versus.metric, -1)
        interval = Interval(low, high, interval.method).within(least - 1, 1 - least)
    if findable is not None:
        findable *= (then + power) / (now + power)
    return replace(versus, level=level, interval=interval, findable=findable)


# --- comparisons in words


SMALLEST, MOST_TIMES = 0.0005, 100  # of a difference in words, and of the rows it would take


def sentence(versus: Comparison) -> str:
    """Return the verdict on two systems in plain words, with its numbers."""
    metric = SHOWN.get(versus.metric, versus.metric)
    if versus.difference is None or versus.p is None:
        reason = f"{metric} is undefined for one of them"
        if versus.difference is not None:
            reason = "there are fewer than three rows that share no text"
        return f"{versus.a} and {versus.b} cannot be compared: {reason}."
    test = f"{versus.test}, p {_p(versus.p)}"
    if versus.p_holm is not None:
        test += f", Holm p {_p(versus.p_holm)}"
    if versus.decided and versus.difference < 0:
        versus = turned(versus)
    if versus.interval:
        test = f"{percent(versus.level)} CI {shown(versus.interval)}; {test}"
    # Rounded first: the format would leave a sign on zero.
    difference = round(versus.difference or 0.0, 3) + 0.0
    if versus.decided:
        return f"{versus.a} beats {versus.b} by {difference:.3f} {metric} ({test})."
    words = f"{versus.a} and {versus.b} differ by {difference:+.3f} {metric} ({test}"
    words += "; not significant)."
    return f"{words} {unknown(versus)}" if versus.findable else words


def unknown(versus: Comparison, noun: str = "rows") -> str:
    """Return what a comparison that decided nothing could have found, and what it would take.

    The error of a difference falls with the root of the number of rows.
    """
    assert versus.findable is not None
    words = (
        f"With {versus.n:,} {noun}, differences below about {versus.findable:.2g} will often be "
        "missed: read this as unknown, not as equal."
    )
    size = abs(versus.difference or 0.0)
    needed = versus.n * (versus.findable / size) ** 2 if size >= SMALLEST else 0.0
    if versus.n < needed <= MOST_TIMES * versus.n:
        rows = f"{float(f'{needed:.2g}'):,.0f} {noun}"
        words += f" About {rows} would show a difference of {size:.3f}, as measured here."
    return words


def shown(interval: Interval | None) -> str:
    """Return `[0.040, 0.080]`, "" where there is none."""
    return "" if interval is None else f"[{interval.low:.3f}, {interval.high:.3f}]"


def percent(level: float) -> str:
    """Return a level as it is printed: `95%`, `98.33%`."""
    return f"{100 * level:.4g}%"


def signed(versus: Comparison) -> str:
    """Return a known difference and its interval: `+0.060 [0.040, 0.080]`.

    A level other than 95% is added: `(98.33% CI)`.
    """
    assert versus.difference is not None
    # Rounded first: the format would leave a sign on zero.
    words = f"{round(versus.difference, 3) + 0.0:+.3f}"
    if versus.interval is not None:
        words += f" {shown(versus.interval)}"
        words += "" if versus.level == LEVEL else f" ({percent(versus.level)} CI)"
    return words


def turned(versus: Comparison) -> Comparison:
    """Return the comparison of b with a."""
    interval, difference = versus.interval, versus.difference
    if interval is not None:
        interval = Interval(-interval.high, -interval.low, interval.method)
    difference = None if difference is None else -difference
    return replace(versus, a=versus.b, b=versus.a, difference=difference, interval=interval)


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"
