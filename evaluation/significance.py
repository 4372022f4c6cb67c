"""Is one better than the other, or can the data not tell? Systems on the same rows, two by two.

With one seed the tests are paired tests over rows: they speak of these trained systems on other
rows. With several, means over seeds are compared, and rows and seeds both vary: Student's t of
`intervals.over_seeds`. Rows of several seeds are not pooled, as one row's are not independent, and
a test over rows alone would take the luck of a seed for an effect.

Legend: K predictions of N rows each, S seeds, P pairs of systems, B resamples, J sums.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import scipy

from data.tasks import TASKS, Task
from evaluation.intervals import (
    FEWEST,
    SEED,
    Interval,
    bootstrap,
    exact_share,
    over_seeds,
    standardised,
    sum_metric,
    weighted_metric,
)
from evaluation.metrics import task_metrics

SIGNIFICANT = 0.05
LEAST = {"accuracy": 0, "f1": 0, "pearson": -1, "spearman": -1}  # the most is 1
MCNEMAR, SWAPS_TEST, STUDENT = "McNemar, exact", "paired permutation", "t over rows and seeds"
SWAPS = 5000  # the least p is 0.0004, so that Holm over a hundred pairs leaves something to find
IN_MEMORY = 2**21  # rows times resamples at once, 100 MB; scipy has a step per row and batch

Systems = Mapping[str, Mapping[int, np.ndarray]]  # name -> seed -> predictions (N,)
Pair = tuple[str, str]
Spread = tuple[Interval | None, float | None]  # and the p value of its number's being 0


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

    `p` is None where a metric is undefined or there are fewer than three rows. `p_holm` is adjusted
    to all comparisons made together; None until `adjusted` has seen them.
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
) -> tuple[list[Estimate], list[Comparison]]:
    """Return a metric of each system, and of each pair the difference with its test.

    All intervals come from the same resamples of the rows: those of differences are paired.

    Args:
        task: a name of data.tasks.TASKS.
        metric: one of its metrics.
        systems: their predictions of the same rows, by name and seed.
        labels: (N,).
        pairs: names; every two systems if None. Pairs without a common seed are left out.
    """
    n = len(labels)
    scores: dict[tuple[str, int], float] = {}  # NaN where a metric is undefined
    for name, runs in systems.items():
        for seed, predictions in runs.items():
            score = task_metrics(task, predictions, labels)[metric]
            scores[name, seed] = np.nan if score is None else score
    alone = [_Contrast(name, "", tuple(runs), scores) for name, runs in systems.items()]
    versus = []
    for a, b in combinations(systems, 2) if pairs is None else pairs:
        if common := tuple(seed for seed in systems[a] if seed in systems[b]):
            versus.append(_Contrast(a, b, common, scores))
    spreads = _spreads(task, metric, systems, labels, [*alone, *versus])

    estimates = [
        _estimate(metric, n, one, interval)
        for one, (interval, _) in zip(alone, spreads[: len(alone)], strict=True)
    ]
    p_values = _row_tests(task, metric, systems, labels, versus)
    comparisons = []
    for one, (interval, p) in zip(versus, spreads[len(alone) :], strict=True):
        test = STUDENT
        if len(one.seeds) == 1:
            test, p = MCNEMAR if metric == "accuracy" else SWAPS_TEST, p_values.get((one.a, one.b))
        comparisons.append(
            Comparison(one.a, one.b, metric, n, one.seeds, one.value, interval, test, p)
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
        why_not = f"{versus.n} rows" if defined else f"{versus.metric} is undefined"
        return f"{versus.a} and {versus.b} cannot be compared: {why_not}"
    p = f"p {_p(versus.p)}" + ("" if versus.p_holm is None else f", Holm {_p(versus.p_holm)}")
    test = f"({versus.test}, {p})"
    if not versus.decided:
        signed = f"{versus.difference:+.3f} {shown(versus.interval)}".rstrip()
        return f"the data cannot tell {versus.a} and {versus.b} apart: {signed} {test}"
    ahead = versus if versus.difference > 0 else turned(versus)
    size = f"{ahead.difference:.3f} {shown(ahead.interval)}".rstrip()
    return f"{ahead.a} is ahead of {ahead.b} by {size} {test}"


def shown(interval: Interval | None) -> str:
    """Return `[0.040, 0.080]`, "" where there is none."""
    return "" if interval is None else f"[{interval.low:.3f}, {interval.high:.3f}]"


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


def _estimate(metric: str, n: int, one: _Contrast, interval: Interval | None) -> Estimate:
    # Who is right on all rows, or on none, has an exact interval.
    if metric == "accuracy" and one.value in (0.0, 1.0) and n >= FEWEST:
        interval = exact_share(one.value, n)
    several = len(one.seeds) > 1 and one.value is not None
    deviation = float(one.values.std(ddof=1)) if several else None
    return Estimate(one.a, metric, n, one.seeds, one.value, deviation, interval)


def _spreads(
    task: str, metric: str, systems: Systems, labels: np.ndarray, contrasts: Sequence[_Contrast]
) -> list[Spread]:
    """Return the interval of each contrast and, of several seeds, the p of its being 0."""
    n = len(labels)
    if n < FEWEST:
        return [(None, None)] * len(contrasts)
    predictions = np.array([run for runs in systems.values() for run in runs.values()], np.float64)
    measure = weighted_metric(metric, TASKS[task], predictions, labels)
    design = np.array([one.weights for one in contrasts])
    accelerated = any(len(one.seeds) == 1 for one in contrasts)
    resampled = bootstrap(lambda weights: design @ measure(weights), n, accelerated)
    spreads: list[Spread] = []
    for k, one in enumerate(contrasts):
        if one.value is None:
            spreads.append((None, None))
        elif len(one.seeds) == 1:
            spreads.append((resampled.interval(k), None))
        else:
            interval, p = over_seeds(one.values, float(resampled.error[k]), n)
            # A difference reaches from the least minus the most to the most minus the least.
            least, most = (LEAST[metric] - 1, 1 - LEAST[metric]) if one.b else (LEAST[metric], 1)
            spreads.append((interval.within(least, most), p))
    return spreads


def _row_tests(
    task: str, metric: str, systems: Systems, labels: np.ndarray, contrasts: Sequence[_Contrast]
) -> dict[Pair, float]:
    """Return the p values of the tests over rows, for the pairs that have one seed."""
    single = [one for one in contrasts if len(one.seeds) == 1 and one.value is not None]
    if not single or len(labels) < FEWEST:
        return {}
    pairs = [(one.a, one.b) for one in single]
    a, b = (
        np.array(
            [systems[pair[side]][one.seeds[0]] for pair, one in zip(pairs, single, strict=True)]
        )
        for side in (0, 1)
    )
    if metric == "accuracy":
        right = zip(a == labels, b == labels, strict=True)
        p_values = [mcnemar(*sides) for sides in right]
    else:
        p_values = swap_test(metric, TASKS[task], a, b, labels).tolist()
    return dict(zip(pairs, p_values, strict=True))


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
    metric: str, task: Task, a: np.ndarray, b: np.ndarray, labels: np.ndarray
) -> np.ndarray:
    """Return the two-sided p of P differences in a metric, (P,), by a paired permutation test.

    If a and b were equally good, it would not matter which of them a row's predictions are from:
    how often is the difference as large when each row's change places by a coin? Correlations are
    of standardised predictions, or for Spearman of ranks, as scales differ between systems.

    Args:
        metric: accuracy, f1, pearson or spearman.
        task: its record decides which F1 it is.
        a, b: (P, N) predictions.
        labels: (N,).
    """
    if metric == "spearman":
        a, b, labels = (scipy.stats.rankdata(values, axis=-1) for values in (a, b, labels))
    if metric in ("pearson", "spearman"):
        a, b = standardised(a), standardised(b)
    sums = sum_metric(metric, task)
    terms_a, terms_b = sums.terms(a, labels), sums.terms(b, labels)
    change = terms_b - terms_a  # (J, P, N)

    def differences(signs: np.ndarray, axis: int) -> np.ndarray:
        """Return the differences, (B, P), if the rows of negative sign (B, N) change places."""
        moved = change @ (np.atleast_2d(signs) < 0).astype(np.float64).T  # (J, P, B)
        first = sums.finish(terms_a.sum(axis=-1, keepdims=True) + moved)
        second = sums.finish(terms_b.sum(axis=-1, keepdims=True) - moved)
        # Differences are equal up to rounding when the same rows have changed places.
        difference = (first - second).T.round(12)
        return difference if signs.ndim > 1 else difference[0]

    # One sample of "samples" means that its signs are flipped: each sign is a row's.
    result = scipy.stats.permutation_test(
        (np.ones(len(labels)),),
        differences,
        permutation_type="samples",
        vectorized=True,
        n_resamples=SWAPS,
        batch=max(1, IN_MEMORY // len(labels)),
        random_state=np.random.default_rng(SEED),
    )
    return np.asarray(result.pvalue)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return the p values adjusted by Holm (1979); None is no test and does not count."""
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - rank) * p))
        adjusted[place] = largest
    return adjusted
