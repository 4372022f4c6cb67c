"""The results of an evaluation, and their tables for people.

A result is one number with all that is needed to read it, in long form: one row per number, so
that no two unlike numbers share a column.

Legend: K models, S sets, B resamples.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import scipy

from evaluation.intervals import SEED, TAILS
from evaluation.pairs import SUBCASE
from evaluation.table import markdown


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
        low, high: the 95 % interval of the value over rows; None of what is not averaged over sets.
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
        """Return the result as a row of a file, by COLUMNS."""
        return {name: getattr(self, name) for name in COLUMNS}


# Of files of results. Resamples are for the tables alone.
COLUMNS = tuple(each.name for each in fields(Result) if each.name != "resampled")


@dataclass(frozen=True)
class Shown:
    """A table of results for people: a row per model.

    Attributes:
        title: above the table.
        metric: the columns are the sets, with this metric of each; or else
        set: the columns are the metrics of this set; of HANS, whose metrics are many, the rows.
        subcases: whether its metrics are those of HANS's subcases, or all others.
        scale: what values are multiplied by.
        averaged: the columns of which to add the plain mean, for models that have them all. The
            header says of how many, so that nobody compares unlike with like.
    """

    title: str
    metric: str = ""
    set: str = ""
    subcases: bool = False
    scale: float = 100.0
    averaged: tuple[str, ...] = ()

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
        """Return `75.3`, or `75.3 (70.1 on the unseen 80%)` where 0.5 % or more was seen."""
        if result is None or result.value is None or result.seen < 0.005:
            return self.number(result.value if result else None)
        unseen = f"{self.number(result.unseen)} on the unseen {1 - result.seen:.0%}"
        return f"{self.number(result.value)} ({unseen})"


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
    averaged = [header for header in headers if header in shown.averaged]
    several = len(averaged) > 1
    found = over_sets(
        {name: [row[h] for h in averaged if h in row] for name, row in cells.items()},
        len(averaged) if several else 0,
    )
    ranked = ["rank"] if len(found) > 1 else []
    rows = []
    for model, row in cells.items():
        line = [model, *(shown.cell(row.get(header)) for header in headers)]
        if several:
            values = [row[h].value for h in averaged if h in row]
            known = [value for value in values if value is not None]
            whole = len(known) == len(averaged)
            average = shown.number(sum(known) / len(known) if whole else None)
            if own := found.get(model):
                average += f" [{shown.number(own.low)}, {shown.number(own.high)}]"
            line.append(average)
            if ranked:
                line.append(f"{own.rank} [{own.best}, {own.worst}]" if own else "-")
        rows.append(line)
    columns = [first, *headers, *([f"average of {len(averaged)}"] if several else []), *ranked]
    return markdown(columns, rows)


@dataclass(frozen=True)
class OverSets:
    """How far a model's average over sets, and its rank by that, could be off; 95 %."""

    low: float
    high: float
    rank: int
    best: int
    worst: int


def over_sets(results: Mapping[str, Sequence[Result]], sets: int) -> dict[str, OverSets]:
    """Return the intervals of averages over sets and of ranks, with other sets and other rows.

    Each resample draws sets, and rows of each of them, the same for all models: what is hard for
    all of them does not make ranks unsure.

    Args:
        results: of each model, in the order of the sets.
        sets: how many there are; models without an interval on one of them are left out.
    """
    whole = {
        model: [one.resampled for one in own if one.resampled is not None]
        for model, own in results.items()
    }
    whole = {model: own for model, own in whole.items() if len(own) == sets > 0}
    if not whole:
        return {}
    size = min(len(values) for own in whole.values() for values in own)
    values = np.array([[one[:size] for one in own] for own in whole.values()])  # (K, S, B)
    chosen = np.random.default_rng(SEED).integers(0, sets, (sets, size))
    averages = np.take_along_axis(values, chosen[None], axis=1).mean(axis=1)  # (K, B)
    ends = np.quantile(averages, TAILS, axis=1).T
    ranks = scipy.stats.rankdata(-averages, method="min", axis=0)
    between = np.quantile(ranks, TAILS, axis=1, method="inverted_cdf").T.astype(int)
    mean = [-sum(one.value or 0.0 for one in results[model]) for model in whole]
    own = scipy.stats.rankdata(mean, method="min").astype(int)
    return {
        model: OverSets(float(low), float(high), int(rank), int(best), int(worst))
        for model, (low, high), rank, (best, worst) in zip(whole, ends, own, between, strict=True)
    }
