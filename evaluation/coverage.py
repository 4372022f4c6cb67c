"""`python -m evaluation.coverage`: the coverage of the printed intervals, by simulation.

Thousands of times, rows are drawn from a population with known differences and judged like the rows
of a run. The counts: how often an interval contains the true difference, how often a significant
difference is false, and how often interval and decision disagree.

Legend: N rows, K systems, S sets or seeds.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np

from evaluation.intervals import over_seeds
from evaluation.metrics import task_metrics
from evaluation.significance import Comparison, adjusted, compare
from evaluation.suites.results import over_sets
from evaluation.table import csv_text, markdown
from runtime.commands import begin, exit_code
from runtime.files import write_text
from runtime.options import option, parse

RESAMPLES = 400  # of each trial; a run draws 1,000 or more
MANY = 400_000  # rows that represent the population
TEXTS = 4  # pairs of a cluster
COLUMNS = ("what", "n", "trials", "covered", "error", "disagree")

Draw = np.random.Generator
# N -> labels (N,) and predictions (K, N).
Population = Callable[[Draw, int], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Options:
    """The options of the command line."""

    trials: int = option(400, "trials per row", least=10, most=100_000)
    csv: Path | None = option(None, "also write the table to this file", metavar="FILE")


@dataclass(frozen=True)
class Line:
    """The counts of a simulation, as shares of intervals or trials.

    Attributes:
        what, n: the simulated systems, and their number of rows, sets or seeds.
        trials: number of trials.
        covered: intervals that contain the true value.
        error: trials with at least one false significant difference; None for ranks, averages and
            seeds.
        disagree: comparisons whose decision and interval disagree.
    """

    what: str
    n: int
    trials: int
    covered: float
    error: float | None = None
    disagree: float | None = None

    def row(self) -> list[str]:
        """Return the line as files have it, by COLUMNS; empty where nothing is counted."""
        shares = (self.covered, self.error, self.disagree)
        shown = ["" if share is None else f"{share:.3f}" for share in shares]
        return [self.what, str(self.n), str(self.trials), *shown]


# --- systems whose differences are known


def similarities(noise: Sequence[float], draw: Draw, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and K predictions: label plus noise, half of it shared, half independent."""
    gold = draw.normal(size=n)
    shared, single = draw.normal(size=n), draw.normal(size=(len(noise), n))
    return gold, gold + np.array(noise)[:, None] * (shared + single) / 2**0.5


def calls(right: Sequence[float], draw: Draw, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return labels 0 and 1 and K correlated predictions with these shares of correct rows."""
    gold = draw.integers(0, 2, n).astype(float)
    together = draw.random(n) < 0.5
    luck = np.where(together, draw.random(n), draw.random((len(right), n)))
    return gold, np.where(luck < np.array(right)[:, None], gold, 1 - gold)


def in_clusters(population: Population, draw: Draw, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows in which every row is repeated four times."""
    gold, predictions = population(draw, n // TEXTS)
    return np.repeat(gold, TEXTS), np.repeat(predictions, TEXTS, axis=1)


# --- counts


def of_differences(
    what: str, task: str, metric: str, population: Population, n: int, trials: int, each: int = 1
) -> Line:
    """Return how often the jointly corrected comparisons of K systems are right."""
    draw = np.random.default_rng(n)
    gold, predictions = population(draw, MANY)
    scores = [task_metrics(task, run, gold, [metric])[metric] or 0.0 for run in predictions]
    truth = [first - second for first, second in combinations(scores, 2)]
    # Equally good systems differ only by chance in the population.
    truth = [0.0 if abs(difference) < 0.005 else difference for difference in truth]
    covered, errors, disagree = [], [], []
    for _ in range(trials):
        gold, predictions = population(draw, n)
        found = judged(task, metric, gold, predictions, np.arange(n) // each)
        inside = [holds(versus, true) for versus, true in zip(found, truth, strict=True)]
        covered += inside
        errors.append(any(v.decided for v, true in zip(found, truth, strict=True) if not true))
        disagree += [v.decided == holds(v, 0.0) for v in found]
    error = float(np.mean(errors)) if 0.0 in truth else None
    return Line(what, n, trials, float(np.mean(covered)), error, float(np.mean(disagree)))


def judged(
    task: str,
    metric: str,
    gold: np.ndarray,
    predictions: np.ndarray,
    clusters: np.ndarray | None = None,
) -> list[Comparison]:
    """Return the comparisons of every two of K systems, with Holm's correction."""
    systems = {str(k): {0: run} for k, run in enumerate(predictions)}
    _, comparisons = compare(task, metric, systems, gold, clusters=clusters, total=RESAMPLES)
    return adjusted(comparisons)


def holds(versus: Comparison, truth: float) -> bool:
    """Return whether an interval contains a difference; no interval means that it is 0."""
    if versus.interval is None:
        return truth == 0
    return versus.interval.low <= truth <= versus.interval.high


def of_averages(sets: int, trials: int, gap: float, models: int = 10) -> list[Line]:
    """Return how often intervals of averages over S sets, and of ranks, are right.

    Consecutive models differ by `gap`. Sets differ in difficulty for all models, each set favours
    each model a little more or less, and rows add noise.
    """
    draw = np.random.default_rng(sets)
    means = 0.7 - gap * np.arange(models)
    averages, ranks = [], []
    for _ in range(trials):
        values = means[:, None] + draw.normal(0, 0.1, sets) + draw.normal(0, 0.03, (models, sets))
        ends, _, places = over_sets(values)
        averages.append((ends[:, 0] <= means) & (means <= ends[:, 1]))
        if gap:
            true = np.arange(1, models + 1)
            ranks.append((places[:, 0] <= true) & (true <= places[:, 1]))
        else:  # equal models may have any rank
            ranks.append((places[:, 0] == 1) & (places[:, 1] == models))
    words = "different" if gap else "equal"
    rank = Line(f"rank over sets, {words} models", sets, trials, float(np.mean(ranks)))
    # The interval of an average does not depend on the other models.
    average = Line("average over sets", sets, trials, float(np.mean(averages)))
    return [rank] if gap else [average, rank]


def of_seeds(seeds: int, share: float, trials: int, rows: int = 1000) -> Line:
    """Return how often the interval of a mean over S seeds is right.

    The true variance between seeds is `share` of the variance of the mean; the rest is between
    rows, whose standard error is known well. An interval only has S numbers to learn the former
    from.
    """
    draw = np.random.default_rng(seeds)
    of_rows, of_each_seed = (1 - share) ** 0.5, (share * seeds) ** 0.5
    inside = []
    for _ in range(trials):
        of_seed = draw.normal(0, of_each_seed, seeds)
        interval = over_seeds(draw.normal(0, of_rows) + of_seed, of_rows, rows).interval()
        inside.append(interval.low <= 0 <= interval.high)
    what = f"{seeds} seeds, {share:.0%} of the variance"
    return Line(what, seeds, trials, float(np.mean(inside)))


def measure(trials: int) -> list[Line]:
    """Return all lines of the table."""
    three = partial(similarities, (0.9, 0.9, 0.9))
    ahead = partial(similarities, (0.7, 0.9, 1.1))
    lines = [
        of_differences("Pearson, 3 equal", "sts", "pearson", three, 100, trials),
        of_differences("Pearson, 3 equal", "sts", "pearson", three, 400, trials),
        of_differences("Pearson, 3 different", "sts", "pearson", ahead, 400, trials),
        of_differences(
            "Pearson, 3 equal, clusters of 4",
            "sts",
            "pearson",
            partial(in_clusters, three),
            400,
            trials,
            TEXTS,
        ),
        of_differences("Spearman, 3 equal", "sts", "spearman", three, 400, trials),
        of_differences(
            "Pearson, 6 equal", "sts", "pearson", partial(similarities, (0.9,) * 6), 400, trials
        ),
    ]
    for right in ((0.8, 0.8, 0.8), (0.8, 0.75, 0.7)):
        words = "equal" if right[0] == right[-1] else "different"
        population = partial(calls, right)
        for metric in ("accuracy", "f1"):
            name = f"{metric}, 3 {words}"
            lines.append(of_differences(name, "para", metric, population, 400, trials))
    for sets in (2, 4, 7):
        for gap in (0.0, 0.05):
            lines += of_averages(sets, 10 * trials, gap)
    for seeds in (2, 3, 5):
        lines += [of_seeds(seeds, share, 25 * trials) for share in (0.2, 0.6, 0.8)]
    return lines


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; return its exit code."""
    about = {
        "prog": "python -m evaluation.coverage",
        "description": "Simulate how often printed intervals and decisions hold.",
    }
    options = parse(Options, argv, **about)

    def run() -> int:
        rows = [line.row() for line in measure(options.trials)]
        print(markdown(COLUMNS, [[cell or "-" for cell in row] for row in rows]))
        if options.csv:
            write_text(options.csv, csv_text(COLUMNS, rows))
        return 0

    return exit_code(run)


if __name__ == "__main__":
    begin()
    sys.exit(main())
