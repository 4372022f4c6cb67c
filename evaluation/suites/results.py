"""The results of an evaluation, and their tables for people.

A result is one number with all that is needed to read it, in long form: one row per number, so
that no two unlike numbers share a column.

Legend: K models, S sets, B resamples.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import scipy

from evaluation.intervals import SEED, TAILS
from evaluation.table import markdown

SUBCASE = "subcase "  # before the name of one of HANS's subcases, as a metric
AVERAGE, RANK = "average of", "rank"  # what stands for a set in results over several sets


@dataclass(frozen=True)
class Result:
    """A metric of one model on one part of a set.

    Attributes:
        model: the name of the checkpoint or baseline.
        suite, set: as on the command line and in data.suites.
        part: a subset of the set, or "all" (all subsets as one); "" where a set has no parts.
        metric: what was measured.
        value: None where it is undefined (the correlation of a constant).
        n: rows it was measured on.
        seen: the share of these rows with a sentence that the model was trained on or selected by.
        unseen: the value on the other rows; None if there are none, or it is undefined.
        low, high: the 95% interval of the value over rows, of an average and a rank over sets and
            rows; None of what is not averaged over sets.
        resampled: (B,) the value in each resample of the rows, the same for all models; not kept.
    """

    model: str
    suite: str
    set: str
    part: str
    metric: str
    value: float | None
    n: int
    seen: float = 0.0
    unseen: float | None = None
    low: float | None = None
    high: float | None = None
    resampled: np.ndarray | None = field(default=None, repr=False, compare=False)

    def row(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in COLUMNS}


# Of files of results. Resamples are for the tables alone.
COLUMNS = tuple(column.name for column in fields(Result) if column.name != "resampled")


@dataclass(frozen=True)
class Shown:
    """A table of results for people: a row per model.

    Its columns are the sets, with a metric of each, or the metrics of a set; of HANS, whose metrics
    are many, these are the rows.
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
        """Return `75.3`, or `75.3 (70.1 on the unseen 80%)` where 0.5% or more was seen.

        An average has its interval behind it, `75.3 [70.2, 79.8]`, and so has a rank, `2 [1, 3]`.
        """
        if result is None or result.value is None:
            return "-"
        if result.set == RANK:
            return f"{result.value:.0f} [{result.low:.0f}, {result.high:.0f}]"
        text = self.number(result.value)
        if result.set.startswith(AVERAGE) and result.low is not None:
            text += f" [{self.number(result.low)}, {self.number(result.high)}]"
        if result.seen >= 0.005:
            text += f" ({self.number(result.unseen)} on the unseen {1 - result.seen:.0%})"
        return text


def shown_table(results: Sequence[Result], shown: Shown) -> str:
    """Return a Markdown table, "" if it would have no rows; of HANS one for each encoder."""
    tables: dict[str, dict[str, dict[str, Result]]] = {}  # table -> row -> header -> result
    for result in results:
        if place := shown.place(result):
            table, row, header = place
            tables.setdefault(table, {}).setdefault(row, {})[header] = result
    texts = [
        f"{shown.title}{f': {name}' if name else ''}\n\n"
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
    """Yield the mean over the sets of a table, and the rank by it, of models that have them all.

    Its name says of how many sets, so that nobody compares unlike with like; of one there is none.
    """
    models: dict[str, list[Result]] = {}
    for result in results:
        if result.set in shown.averaged and shown.place(result):
            models.setdefault(result.model, []).append(result)
    sets = len({result.set for by_set in models.values() for result in by_set})
    if sets < 2:
        return
    models = {
        model: by_set
        for model, by_set in models.items()
        if sum(result.value is not None for result in by_set) == sets
    }
    spreads = over_sets(models)
    for model, by_set in models.items():
        rows = sum(result.n for result in by_set)
        unseen = [result.unseen for result in by_set if result.unseen is not None]
        mean = Result(
            model=model,
            suite=by_set[0].suite,
            set=f"{AVERAGE} {sets}",
            part="",
            metric=shown.metric,
            value=_mean_of(by_set),
            n=rows,
            seen=sum(result.seen * result.n for result in by_set) / rows,
            unseen=sum(unseen) / sets if len(unseen) == sets else None,
        )
        if model not in spreads:
            yield mean
            continue
        (low, high), rank, (best, worst) = spreads[model]
        yield replace(mean, low=low, high=high)
        if len(spreads) > 1:
            place = replace(mean, set=RANK, value=rank, seen=0.0, unseen=None)
            yield replace(place, low=best, high=worst)


def _mean_of(by_set: Sequence[Result]) -> float:
    return sum(result.value or 0.0 for result in by_set) / len(by_set)


def over_sets(
    results: Mapping[str, Sequence[Result]],
) -> dict[str, tuple[list[float], int, list[int]]]:
    """Return each average's interval over sets and rows, its rank, and the rank's interval.

    Each resample draws sets, and rows of each of them, the same for all models: what is hard for
    all of them does not make ranks unsure. Resamples of a few sets vary too little; they are spread
    as Student's t asks of S sets: by t(S - 1) / z, and by sqrt(S / (S - 1)) for the variance.

    Args:
        results: of each model, of the same sets in the same order; models without an interval on
            one of them are left out.
    """
    drawn = {
        model: [result.resampled for result in by_set if result.resampled is not None]
        for model, by_set in results.items()
    }
    drawn = {model: rows for model, rows in drawn.items() if len(rows) == len(results[model])}
    if not drawn:
        return {}
    size = min(len(values) for rows in drawn.values() for values in rows)
    values = np.array([[values[:size] for values in rows] for rows in drawn.values()])  # (K, S, B)
    sets = values.shape[1]
    chosen = np.random.default_rng(SEED).integers(0, sets, (sets, size))
    averaged = np.take_along_axis(values, chosen[None], axis=1).mean(axis=1)  # (K, B)
    mean = np.array([_mean_of(results[model]) for model in drawn])
    quantile = scipy.stats.t.ppf(TAILS[1], sets - 1) / scipy.stats.norm.ppf(TAILS[1])
    spread = quantile * np.sqrt(sets / (sets - 1)) * (averaged - mean[:, None])  # (K, B)
    averaged = mean[:, None] + spread
    ends = np.quantile(averaged, TAILS, axis=1).T.clip(-1.0, 1.0)
    ranks = scipy.stats.rankdata(-averaged, method="min", axis=0)
    between = np.quantile(ranks, TAILS, axis=1, method="inverted_cdf").T.astype(int)
    places = scipy.stats.rankdata(-mean, method="min").astype(int)
    spreads = zip(ends.tolist(), places.tolist(), between.tolist(), strict=True)
    return dict(zip(drawn, spreads, strict=True))
