"""Is one better than the other, or can the data not tell? Systems on the same rows, two by two.

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
from typing import NamedTuple

import numpy as np
import scipy

from data.tasks import TASKS, Task
from evaluation.clusters import alone, count
from evaluation.intervals import (
    FEWEST,
    IN_MEMORY,
    POWER,
    SEED,
    Interval,
    bootstrap,
    exact_share,
    findable,
    over_seeds,
    standardised,
    sum_metric,
    weighted_metric,
)
from evaluation.metrics import task_metrics

SIGNIFICANT = 0.05
LEAST = {"accuracy": 0, "f1": 0, "pearson": -1, "spearman": -1}  # the most is 1
MCNEMAR, SWAPS_TEST, STUDENT = "McNemar, exact", "paired permutation", "t over rows and seeds"
SWAPS = 5000  # the least p is 0.0002, so that Holm over a hundred pairs leaves something to find

Systems = Mapping[str, Mapping[int, np.ndarray]]  # name -> seed -> predictions (N,)
Pair = tuple[str, str]


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
    is adjusted to all comparisons made together; None where one is tested by itself. `findable` is
    the smallest difference that this test would find with 80 % power, None where there is no test.
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
    n = len(labels)
    clusters = alone(n) if clusters is None else clusters
    scores: dict[tuple[str, int], float] = {}  # NaN where a metric is undefined
    for name, runs in systems.items():
        for seed, predictions in runs.items():
            score = task_metrics(task, predictions, labels, [metric])[metric]
            scores[name, seed] = np.nan if score is None else score
    singly = [_Contrast(name, "", tuple(runs), scores) for name, runs in systems.items()]
    versus = []
    for a, b in combinations(systems, 2) if pairs is None else pairs:
        if common := tuple(seed for seed in systems[a] if seed in systems[b]):
            versus.append(_Contrast(a, b, common, scores))
    spreads = _spreads(task, metric, systems, labels, clusters, [*singly, *versus])

    estimates = [
        _estimate(metric, n, count(clusters), one, spread.interval)
        for one, spread in zip(singly, spreads[: len(singly)], strict=True)
    ]
    single, p_values = _row_tests(task, metric, systems, labels, clusters, versus)
    comparisons = []
    for one, spread in zip(versus, spreads[len(singly) :], strict=True):
        test, p = STUDENT, spread.p
        if len(one.seeds) == 1:
            test, p = single, p_values.get((one.a, one.b))
        comparisons.append(
            Comparison(
                a=one.a,
                b=one.b,
                metric=metric,
                n=n,
                seeds=one.seeds,
                difference=one.value,
                interval=spread.interval,
                test=test,
                p=p,
                findable=spread.findable,
                seeds_share=spread.seeds_share,
            )
        )
    return estimates, comparisons


def adjusted(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return comparisons that were made together with their p values adjusted by Holm."""
    corrected = holm([one.p for one in comparisons])
    return [replace(one, p_holm=p) for one, p in zip(comparisons, corrected, strict=True)]


def sentence(versus: Comparison) -> str:
    """Return the verdict on two systems in plain words, with the numbers it rests on."""
    if versus.difference is None or versus.p is None:
        defined = versus.difference is not None
        why_not = (
            "fewer than three rows that share no text"
            if defined
            else f"{versus.metric} is undefined"
        )
        return f"{versus.a} and {versus.b} cannot be compared: {why_not}"
    p = f"p {_p(versus.p)}" + ("" if versus.p_holm is None else f", Holm {_p(versus.p_holm)}")
    test = f"({versus.test}, {p})"
    if not versus.decided:
        apart = f"the data cannot tell {versus.a} and {versus.b} apart: {signed(versus)} {test}"
        return apart + reach(versus)
    ahead = versus if versus.difference > 0 else turned(versus)
    size = f"{ahead.difference:.3f} {shown(ahead.interval)}".rstrip()
    return f"{ahead.a} is ahead of {ahead.b} by {size} {test}"


def reach(versus: Comparison) -> str:
    """Return ` (0.021 would be found with 80 % power)`, "" where that is not known."""
    if not versus.findable:
        return ""
    return f" ({versus.findable:.3f} would be found with {POWER:.0%} power)".replace("%", " %")


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


class _Contrast:
    """A system's mean over S seeds, or (b not "") the difference of two such means.

    `weights` (K,) adds it up from the metrics of all predictions; `values` (S,) are its seeds'.
    """

    def __init__(
        self, a: str, b: str, seeds: tuple[int, ...], scores: Mapping[tuple[str, int], float]
    ):
        self.a, self.b, self.seeds = a, b, seeds
        places = {key: place for place, key in enumerate(scores)}
        self.weights, self.values = np.zeros(len(scores)), np.zeros(len(seeds))
        for name, sign in ((a, 1.0), (b, -1.0)) if b else ((a, 1.0),):
            self.weights[[places[name, seed] for seed in seeds]] = sign / len(seeds)
            self.values += sign * np.array([scores[name, seed] for seed in seeds])
        # None where it is undefined for one of the seeds.
        self.value = None if np.isnan(self.values).any() else float(self.values.mean())


class _Spread(NamedTuple):
    """How far a number could be off; of several seeds with the p value of its being 0."""

    interval: Interval | None = None
    p: float | None = None
    findable: float | None = None
    seeds_share: float | None = None


def _estimate(
    metric: str, n: int, units: int, one: _Contrast, interval: Interval | None
) -> Estimate:
    # Who is right on all rows, or on none, has an exact interval.
    if metric == "accuracy" and one.value in (0.0, 1.0) and units >= FEWEST:
        interval = exact_share(one.value, units)
    several = len(one.seeds) > 1 and one.value is not None
    deviation = float(one.values.std(ddof=1)) if several else None
    return Estimate(one.a, metric, n, one.seeds, one.value, deviation, interval)


def _spreads(
    task: str,
    metric: str,
    systems: Systems,
    labels: np.ndarray,
    clusters: np.ndarray,
    contrasts: Sequence[_Contrast],
) -> list[_Spread]:
    """Return how far each contrast could be off."""
    if count(clusters) < FEWEST:
        return [_Spread()] * len(contrasts)
    predictions = np.array([run for runs in systems.values() for run in runs.values()], np.float64)
    measure = weighted_metric(metric, TASKS[task], predictions, labels)
    design = np.array([one.weights for one in contrasts])
    accelerated = any(len(one.seeds) == 1 for one in contrasts)
    resampled = bootstrap(lambda weights: design @ measure(weights), clusters, accelerated)
    spreads = []
    for k, one in enumerate(contrasts):
        error = float(resampled.error[k])
        if one.value is None:
            spreads.append(_Spread())
        elif len(one.seeds) == 1:
            spreads.append(_Spread(resampled.interval(k), None, findable(error)))
        else:
            found = over_seeds(one.values, error, count(clusters))
            # A difference reaches from the least minus the most to the most minus the least.
            least, most = (LEAST[metric] - 1, 1 - LEAST[metric]) if one.b else (LEAST[metric], 1)
            interval = found.interval.within(least, most)
            spreads.append(_Spread(interval, found.p, found.findable, found.seeds_share))
    return spreads


def _row_tests(
    task: str,
    metric: str,
    systems: Systems,
    labels: np.ndarray,
    clusters: np.ndarray,
    contrasts: Sequence[_Contrast],
) -> tuple[str, dict[Pair, float]]:
    """Return the name of the test over rows, and its p values for the pairs that have one seed."""
    # McNemar's coins are independent only where no text is shared.
    exact = metric == "accuracy" and count(clusters) == len(labels)
    test = MCNEMAR if exact else SWAPS_TEST
    single = [one for one in contrasts if len(one.seeds) == 1 and one.value is not None]
    if not single or count(clusters) < FEWEST:
        return test, {}
    runs: dict[tuple[str, int], np.ndarray] = {}
    for one in single:
        runs |= {(name, one.seeds[0]): systems[name][one.seeds[0]] for name in (one.a, one.b)}
    if exact:
        right = {key: found == labels for key, found in runs.items()}
        p_values = [
            mcnemar(*(right[name, one.seeds[0]] for name in (one.a, one.b))) for one in single
        ]
    else:
        places = {key: place for place, key in enumerate(runs)}
        pairs = [[places[name, one.seeds[0]] for name in (one.a, one.b)] for one in single]
        found = np.array(list(runs.values()))
        p_values = swap_test(metric, TASKS[task], found, labels, pairs, clusters).tolist()
    return test, {(one.a, one.b): p for one, p in zip(single, p_values, strict=True)}


# --- paired tests over rows


def mcnemar(right_a: np.ndarray, right_b: np.ndarray) -> float:
    """Return the exact two-sided p of McNemar's test: rows that only one has right are a coin's.

    Args:
        right_a, right_b: (N,) bool.
    """
    only_a, only_b = int((right_a & ~right_b).sum()), int((~right_a & right_b).sum())
    discordant = only_a + only_b
    return float(scipy.stats.binomtest(only_a, discordant).pvalue) if discordant else 1.0


def swap_test(
    metric: str,
    task: Task,
    predictions: np.ndarray,
    labels: np.ndarray,
    pairs: Sequence[Sequence[int]],
    clusters: np.ndarray,
) -> np.ndarray:
    """Return the two-sided p of P differences in a metric, (P,), by a paired permutation test.

    If a and b were equally good, it would not matter which of them a row's predictions are from:
    how often is the difference as large when each cluster of rows changes places by a coin? Few
    clusters fall in every way that they can, and the p is exact. Correlations are of standardised
    predictions, or for Spearman of ranks, as scales differ between systems.

    Args:
        metric: accuracy, f1, pearson or spearman.
        task: its record decides which F1 it is.
        predictions: (K, N).
        labels: (N,).
        pairs: (P, 2) which of the predictions are a and b.
        clusters: (N,).
    """
    if metric == "spearman":
        predictions, labels = (scipy.stats.rankdata(own, axis=-1) for own in (predictions, labels))
    if metric in ("pearson", "spearman"):
        predictions = standardised(predictions)
    sums = sum_metric(metric, task)
    terms = sums.terms(predictions, labels)  # (J, K, N)
    a, b = np.array(pairs).T
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


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return the p values adjusted by Holm (1979); None is no test and does not count."""
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - rank) * p))
        adjusted[place] = largest
    return adjusted
