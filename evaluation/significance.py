"""Is one system better than the other? Paired tests of systems on the same rows, two by two.

With one seed the tests are paired tests over rows: they speak of these trained systems on other
rows. Rows that share a text are drawn, and change sides, together. With several seeds, means over
seeds are compared, and rows and seeds both vary: Student's t of `intervals.over_seeds`. Rows of
several seeds are not pooled, as one row's are not independent, and a test over rows alone would
take the luck of a seed for an effect.

Legend: K predictions of N rows each, G clusters, S seeds, P pairs of systems, B resamples, J sums.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import scipy

from data.tasks import TASKS, Task
from evaluation.clusters import alone, count
from evaluation.intervals import (
    FEWEST,
    IN_MEMORY,
    LEVEL,
    POWER,
    SEED,
    Interval,
    Spread,
    exact_share,
    findable,
    over_seeds,
    percentiles,
    resampled,
    standard_error,
    standardised,
    sum_metric,
    weighted_metric,
)
from evaluation.metrics import SHOWN, task_metrics

SIGNIFICANT = 0.05
LEAST = {"accuracy": 0, "f1": 0, "pearson": -1, "spearman": -1}  # the most is 1
MCNEMAR, SWAPS_TEST, STUDENT = "McNemar, exact", "paired permutation", "t over rows and seeds"
SWAPS = 5000  # the least p is 0.0002, so that Holm over a hundred pairs leaves something to find

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
    """Two systems on the same n rows; `difference` is that of a minus b, over their common seeds.

    `p` is None where a metric is undefined or there are fewer than three clusters of rows. `p_holm`
    is adjusted to all comparisons made together; None where one is tested separately. `findable` is
    the smallest difference that this test would find with 80% power, None where there is no test.
    `seeds_share` is how much of the difference's variance is that between seeds, None of one seed.
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

    @property
    def decided(self) -> bool:
        """Return whether the two differ significantly, all comparisons made together considered."""
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
) -> tuple[list[Estimate], list[Comparison]]:
    """Return a metric of each system, and of each pair the difference with its test.

    All intervals come from the same resamples of the rows: those of differences are paired.

    Args:
        task: a name of data.tasks.TASKS.
        metric: one of its metrics.
        systems: their predictions of the same rows, by name and seed.
        labels: (N,).
        pairs: names; every two systems if None. Pairs without a common seed are left out.
        clusters: (N,) as of `clusters_of`; None: every row by itself.
    """
    n, least = len(labels), LEAST[metric]
    clusters = alone(n) if clusters is None else clusters
    units = count(clusters)
    runs = {(name, seed): run for name, by_seed in systems.items() for seed, run in by_seed.items()}
    places = {key: place for place, key in enumerate(runs)}
    predictions = np.array([*runs.values()], float)  # (K, N)
    scores: dict[Run, float | None] = {
        key: task_metrics(task, run, labels, [metric])[metric] for key, run in runs.items()
    }
    drawn: dict[Run, np.ndarray] = {}  # the scores in every resample, (B,); {} of too few clusters
    if units >= FEWEST:
        measure = weighted_metric(metric, TASKS[task], predictions, labels)
        drawn = dict(zip(runs, resampled([measure], clusters), strict=True))

    estimates = []
    for name, by_seed in systems.items():
        keys = [(name, seed) for seed in by_seed]
        values = np.array([scores[key] for key in keys], float)  # None becomes NaN
        mean = _mean(values)
        interval = None
        if drawn and mean is not None:
            interval = _spread(values, [drawn[key] for key in keys], units, (least, 1)).interval
            # A system that is right on all rows, or on none, has an exact interval.
            if metric == "accuracy" and mean in (0.0, 1.0):
                interval = exact_share(mean, units)
        deviation = float(values.std(ddof=1)) if len(values) > 1 and mean is not None else None
        estimates.append(Estimate(name, metric, n, tuple(by_seed), mean, deviation, interval))

    comparisons = []
    of_one_seed: dict[Pair, tuple[int, int]] = {}  # -> their places among the predictions
    for a, b in combinations(systems, 2) if pairs is None else pairs:
        seeds = tuple(seed for seed in systems[a] if seed in systems[b])
        if not seeds:
            continue
        first, second = (np.array([scores[name, seed] for seed in seeds], float) for name in (a, b))
        difference = _mean(first - second)
        spread = Spread()
        if drawn and difference is not None:
            apart = [drawn[a, seed] - drawn[b, seed] for seed in seeds]
            # It reaches from the least minus the most to the most minus the least.
            spread = _spread(first - second, apart, units, (least - 1, 1 - least))
            if len(seeds) == 1:
                of_one_seed[a, b] = places[a, seeds[0]], places[b, seeds[0]]
        comparisons.append(
            Comparison(
                a=a,
                b=b,
                metric=metric,
                n=n,
                seeds=seeds,
                difference=difference,
                interval=spread.interval,
                test=STUDENT,
                p=spread.p,
                findable=spread.findable,
                seeds_share=spread.seeds_share,
            )
        )
    tested = [*of_one_seed.values()]
    # McNemar's coins are independent only where no text is shared.
    if metric == "accuracy" and units == n:
        right, test = predictions == labels, MCNEMAR
        p_values = [mcnemar(right[a], right[b]) for a, b in tested]
    else:
        swaps = swap_test(metric, TASKS[task], predictions, labels, pairs=tested, clusters=clusters)
        p_values, test = swaps.tolist(), SWAPS_TEST
    by_pair = dict(zip(of_one_seed, p_values, strict=True))
    return estimates, [
        replace(c, test=test, p=by_pair.get((c.a, c.b))) if len(c.seeds) == 1 else c
        for c in comparisons
    ]


def _mean(values: np.ndarray) -> float | None:
    """Return the mean over seeds, None where it is undefined for one of them."""
    return None if np.isnan(values).any() else float(values.mean())


def _spread(
    values: np.ndarray, drawn: Sequence[np.ndarray], units: int, bounds: tuple[float, float]
) -> Spread:
    """Return how far the mean of `values` (S,), in resamples `drawn` (S, B), could be off."""
    means = np.mean(drawn, axis=0)  # (B,)
    error = standard_error(means)
    if len(values) == 1:
        return Spread(percentiles(means), findable(error))
    spread = over_seeds(values, error, units)
    assert spread.interval is not None
    return replace(spread, interval=spread.interval.within(*bounds))


# --- paired tests over rows


def mcnemar(right_a: np.ndarray, right_b: np.ndarray) -> float:
    """Return the exact two-sided p of McNemar's test: rows that only one has right are a coin's."""
    only_a, only_b = int((right_a & ~right_b).sum()), int((~right_a & right_b).sum())
    discordant = only_a + only_b
    return float(scipy.stats.binomtest(only_a, discordant).pvalue) if discordant else 1.0


def swap_test(
    metric: str,
    task: Task,
    predictions: np.ndarray,
    labels: np.ndarray,
    *,
    pairs: Sequence[Sequence[int]],
    clusters: np.ndarray,
) -> np.ndarray:
    """Return the two-sided p of P differences in a metric, (P,), by a paired permutation test.

    If a and b were equally good, it would not matter which of them a row's predictions are from:
    how often is the difference as large when each cluster of rows changes places by a coin? Few
    clusters fall in every way that they can, and the p is exact. Correlations are of standardised
    predictions, or for Spearman of ranks, as scales differ between systems.

    Args:
        metric: one of METRICS.
        task: its record decides which F1 it is.
        predictions: (K, N).
        labels, clusters: (N,).
        pairs: which of the predictions are a and b, P of them.
    """
    if not pairs:
        return np.empty(0)
    compared, places = np.unique(pairs, return_inverse=True)
    predictions, (a, b) = predictions[compared], places.reshape(-1, 2).T
    if metric == "spearman":
        predictions, labels = (
            scipy.stats.rankdata(values, axis=-1) for values in (predictions, labels)
        )
    if metric in ("pearson", "spearman"):
        predictions = standardised(predictions)
    sums = sum_metric(metric, task)
    terms = sums.terms(predictions, labels)  # (J, K, N)
    total = terms.sum(axis=-1, keepdims=True)

    def differences(changed: np.ndarray) -> np.ndarray:
        """Return the differences (P, B) if clusters (G, B) change places."""
        moved = terms @ changed[clusters].astype(np.float64)  # (J, K, B)
        change = moved[:, b] - moved[:, a]
        first, second = sums.finish(total[:, a] + change), sums.finish(total[:, b] - change)
        # Differences are equal up to rounding when the same rows have changed places.
        return (first - second).round(12)

    units = count(clusters)
    exact = 2**units <= SWAPS
    seen = np.abs(differences(np.zeros((units, 1), bool)))
    draw, extreme, left = np.random.default_rng(SEED), 0, 2**units if exact else SWAPS
    while left:
        # In fours, as random bytes are: coins do not depend on how many fall at once.
        size = min(left, max(4, IN_MEMORY // len(labels) // 4 * 4))
        left -= size
        if exact:
            # Number by number, whose bits are the clusters.
            changed = (np.arange(left, left + size) >> np.arange(units)[:, None]) & 1
        else:
            changed = draw.integers(0, 2, (size, units), np.uint8).T
        extreme = extreme + (np.abs(differences(changed)) >= seen).sum(axis=1)
    return np.asarray(extreme / 2**units if exact else (extreme + 1) / (SWAPS + 1))


# --- comparisons made together


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return the p values adjusted by Holm (1979); None is no test and does not count."""
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - rank) * p))
        adjusted[place] = largest
    return adjusted


def adjusted(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return comparisons that were made together with their p values adjusted by Holm."""
    corrected = holm([versus.p for versus in comparisons])
    return [replace(versus, p_holm=p) for versus, p in zip(comparisons, corrected, strict=True)]


# --- comparisons in words


def sentence(versus: Comparison) -> str:
    """Return the verdict on two systems in plain words, with the numbers it rests on."""
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
        test = f"{LEVEL:.0%} CI {shown(versus.interval)}; {test}"
    # Rounded first: the format would leave a sign on zero.
    difference = round(versus.difference or 0.0, 3) + 0.0
    if versus.decided:
        return f"{versus.a} beats {versus.b} by {difference:.3f} {metric} ({test})."
    words = f"{versus.a} and {versus.b} differ by {difference:+.3f} {metric} ({test}"
    words += "; not significant)."
    if versus.findable:
        detected = f"{versus.findable:.3f} with {POWER:.0%} power"
        words += f" This test set can detect a difference of {detected}."
    return words


def shown(interval: Interval | None) -> str:
    """Return `[0.040, 0.080]`, "" where there is none."""
    return "" if interval is None else f"[{interval.low:.3f}, {interval.high:.3f}]"


def signed(versus: Comparison) -> str:
    """Return a known difference and its interval: `+0.060 [0.040, 0.080]`."""
    assert versus.difference is not None
    # Rounded first: the format would leave a sign on zero.
    difference = round(versus.difference, 3) + 0.0
    return f"{difference:+.3f} {shown(versus.interval)}".rstrip()


def turned(versus: Comparison) -> Comparison:
    """Return the comparison of b with a."""
    interval, difference = versus.interval, versus.difference
    if interval is not None:
        interval = Interval(-interval.high, -interval.low, interval.method)
    difference = None if difference is None else -difference
    return replace(versus, a=versus.b, b=versus.a, difference=difference, interval=interval)


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"
