"""The results of an evaluation, and their tables for people.

A result is one number with its full description, in long form: one row per number, so no column
mixes different kinds of numbers.

Legend: K models, S sets.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import scipy

from evaluation.intervals import ROUNDING, TAILS, quantile
from evaluation.table import markdown

SUBCASE = "subcase "  # before the name of one of HANS's subcases, as a metric
AVERAGE, RANK = "average of", "rank"  # take the place of a set in results over several sets


@dataclass(frozen=True)
class Result:
    """A metric of one model on one part of a set.

    Attributes:
        model: the name of the checkpoint or baseline.
        suite, set: as on the command line and in data.suites.
        part: a subset of the set, or "all" (all subsets as one); "" where a set has no parts.
        metric: the name of the metric.
        value: None where it is undefined (the correlation of a constant).
        n: rows it was measured on.
        seen: the share of these rows with a sentence from the model's training or selection data,
            None where these are unknown; so is `unseen` then.
        unseen: the value on the other rows; None if there are none, or it is undefined.
        low, high: the 95% interval of the value over rows, or over sets for an average or a rank;
            None for metrics without an interval.
    """

    model: str
    suite: str
    set: str
    part: str
    metric: str
    value: float | None
    n: int
    seen: float | None = 0.0
    unseen: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def overlaps(self) -> bool:
        """Return whether enough rows overlap to also show the score on the others."""
        return self.value is not None and (self.seen or 0.0) >= 0.005

    def row(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in COLUMNS}


COLUMNS = tuple(column.name for column in fields(Result))  # of files of results


NO_OVERLAP = " (in brackets: on rows without train overlap)"


@dataclass(frozen=True)
class Shown:
    """A table of results for people: a row per model.

    Its columns are sets, with one metric each, or the metrics of one set. HANS has many metrics, so
    they are the rows of its table.
    """

    title: str
    metric: str = ""
    set: str = ""
    subcases: bool = False  # the metrics of HANS's subcases, or all others
    scale: float = 100.0
    averaged: tuple[str, ...] = ()  # the sets of which `averages` gives the mean

    def place(self, result: Result) -> tuple[str, str, str] | None:
        """Return the table, the row and the column of a result, None if it is not shown."""
        if self.metric:
            shown = result.metric == self.metric and result.part in ("", "all")
            return ("", result.model, result.set) if shown else None
        if result.set != self.set or result.metric.startswith(SUBCASE) != self.subcases:
            return None
        if result.suite != "hans":
            return "", result.model, result.metric
        # A table per encoder, a row per metric, so that it fits a terminal.
        encoder, _, judge = result.model.rpartition(", ")
        return encoder, result.metric.removeprefix(SUBCASE), judge

    def number(self, value: float | None) -> str:
        """Return a value as the table shows it."""
        if value is None:
            return "-"
        return f"{value * self.scale:.{1 if self.scale > 1 else 3}f}"

    def cell(self, result: Result | None) -> str:
        """Return `75.3`, or `75.3 (70.1)` with the value on rows without overlap if 0.5% overlap.

        An average is followed by its interval, `75.3 [70.2, 79.8]`, and so is a rank, `2 [1, 3]`.
        """
        if result is None or result.value is None:
            return "-"
        if result.set == RANK:
            return f"{result.value:.0f} [{result.low:.0f}, {result.high:.0f}]"
        text = self.number(result.value)
        if result.set.startswith(AVERAGE) and result.low is not None:
            text += f" [{self.number(result.low)}, {self.number(result.high)}]"
        if result.overlaps:
            text += f" ({self.number(result.unseen)})"
        return text


def shown_table(results: Sequence[Result], shown: Shown) -> str:
    """Return a Markdown table, "" if it would have no rows; of HANS one for each encoder."""
    tables: dict[str, dict[str, dict[str, Result]]] = {}  # table -> row -> header -> result
    for result in results:
        if place := shown.place(result):
            table, row, header = place
            tables.setdefault(table, {}).setdefault(row, {})[header] = result
    overlap = any(result.overlaps for result in results if shown.place(result))
    note = NO_OVERLAP if overlap else ""
    texts = [
        f"{shown.title}{f': {name}' if name else ''}{note}\n\n"
        + _table(cells, shown, "metric" if name else "model")
        for name, cells in tables.items()
    ]
    return "\n\n".join(texts)


def _table(cells: Mapping[str, Mapping[str, Result]], shown: Shown, first: str) -> str:
    """Return a table of results by row and header; `first` heads the rows."""
    headers = list(dict.fromkeys(header for row in cells.values() for header in row))
    rows = [
        [name, *(shown.cell(row.get(header)) for header in headers)] for name, row in cells.items()
    ]
    return markdown([first, *headers], rows)


def averages(results: Sequence[Result], shown: Shown) -> Iterator[Result]:
    """Yield the mean over the sets of a table and the rank by it, for models with all sets.

    The name contains the number of sets, so different averages are not confused. A single set has
    no average.
    """
    models: dict[str, list[Result]] = {}
    for result in results:
        if result.set in shown.averaged and shown.place(result):
            models.setdefault(result.model, []).append(result)
    sets = len({result.set for by_set in models.values() for result in by_set})
    models = {
        model: sorted(by_set, key=lambda result: result.set)
        for model, by_set in models.items()
        if sum(result.value is not None for result in by_set) == sets
    }
    if sets < 2 or not models:
        return
    values = np.array([[result.value for result in by_set] for by_set in models.values()], float)
    ends, ranks, places = over_sets(values)
    for k, (model, by_set) in enumerate(models.items()):
        rows = sum(result.n for result in by_set)
        unseen = [result.unseen for result in by_set if result.unseen is not None]
        mean = Result(
            model=model,
            suite=by_set[0].suite,
            set=f"{AVERAGE} {sets}",
            part="",
            metric=shown.metric,
            value=float(values[k].mean()),
            n=rows,
            seen=None
            if any(result.seen is None for result in by_set)
            else sum((result.seen or 0.0) * result.n for result in by_set) / rows,
            unseen=sum(unseen) / sets if len(unseen) == sets else None,
        )
        yield replace(mean, low=ends[k, 0], high=ends[k, 1])
        if len(models) > 1:
            rank = replace(mean, set=RANK, value=float(ranks[k]), seen=0.0, unseen=None)
            yield replace(rank, low=places[k, 0], high=places[k, 1])


def over_sets(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return intervals of the means over S sets of K models, ranks, and intervals of the ranks.

    Sets and their rows vary: Student's t over the values of the sets gives the 95% interval of a
    mean. Two models are compared by the t of their differences, so sets that are hard for all
    models do not make ranks uncertain. The best possible rank is one more than the number of
    significantly better models. The worst possible rank is ahead of only the significantly worse
    models. Both use Bonferroni's correction for the K - 1 other models.

    Args:
        values: (K, S), S of at least 2.

    Returns:
        (K, 2), (K,) and (K, 2).
    """
    models, sets = values.shape
    means = values.mean(axis=1)
    reach = quantile(TAILS[1], sets - 1) * _error(values)
    ends = np.stack([means - reach, means + reach], axis=1).clip(-1.0, 1.0)
    ranks = scipy.stats.rankdata(-means, method="min").astype(int)
    apart = values[:, None] - values  # (K, K, S)
    share = 1 - TAILS[0] / max(models - 1, 1)
    better = apart.mean(axis=-1) > quantile(share, sets - 1) * _error(apart) + ROUNDING  # (K, K)
    places = np.stack([1 + better.sum(axis=0), models - better.sum(axis=1)], axis=1)
    return ends, ranks, places


def _error(values: np.ndarray) -> np.ndarray:
    """Return the standard error of the mean over sets, (..., S) -> (...)."""
    return np.asarray(values.std(axis=-1, ddof=1) / values.shape[-1] ** 0.5)
