"""One number of an evaluation, with all that is needed to read it. Feeds: the command line.

Long form: one row per number, so that no two unlike numbers share a column.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from typing import Any

from evaluation.table import csv_text, markdown


@dataclass(frozen=True)
class Result:
    """A metric of one model on one part of a set.

    Attributes:
        model: the name of the checkpoint or baseline.
        suite, set: as on the command line and in data.suites.
        part: a subset of the set; "all" (all subsets as one), "mean" or "wmean" (the mean over
            subsets, plain or weighted by rows); "" where a set has no parts.
        metric: what was measured.
        value: None where it is undefined (the correlation of a constant).
        n: rows it was measured on.
        seen: the share of these rows with a sentence that the model was trained on or selected by.
        unseen: the value on the other rows; None if there are none, or it is undefined.
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


def to_csv(results: Sequence[Result]) -> str:
    """Return all results as a CSV table with a header."""
    header = [field.name for field in fields(Result)]
    return csv_text(header, [astuple(result) for result in results])


def to_json(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return all results as JSON objects."""
    return [asdict(result) for result in results]


@dataclass(frozen=True)
class Shown:
    """A table of results for people: a row per model.

    Attributes:
        title: above the table.
        column: the header under which a result stands; None leaves it out.
        scale: what values are multiplied by.
        averaged: the columns of which to add the plain mean, for models that have them all. The
            header says of how many, so that nobody compares unlike with like.
    """

    title: str
    column: Callable[[Result], str | None]
    scale: float = 100.0
    averaged: tuple[str, ...] = ()


def shown_table(results: Sequence[Result], shown: Shown) -> str:
    """Return a Markdown table, "" if it would have no rows."""
    cells: dict[str, dict[str, Result]] = {}  # model -> header -> result
    for result in results:
        if header := shown.column(result):
            cells.setdefault(result.model, {})[header] = result
    if not cells:
        return ""
    headers = list(dict.fromkeys(header for row in cells.values() for header in row))
    averaged = [header for header in headers if header in shown.averaged]
    average = [f"average of {len(averaged)}"] if len(averaged) > 1 else []
    rows = []
    for model, row in cells.items():
        values = [_shown(row.get(header), shown) for header in headers]
        mean = _mean([row[h].value if h in row else None for h in averaged], shown)
        rows.append([model, *values, *([mean] if average else [])])
    table = markdown(["model", *headers, *average], rows)
    return f"{shown.title}\n\n{table}"


def _mean(values: Sequence[float | None], shown: Shown) -> str:
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return "-"
    return _number(sum(known) / len(known), shown)


def _shown(result: Result | None, shown: Shown) -> str:
    """Return `75.3`, or `75.3 (70.1 on the unseen 80%)` where the model has seen 0.5 % or more."""
    if result is None or result.value is None:
        return "-"
    text = _number(result.value, shown)
    if result.seen < 0.005:
        return text
    unseen = "-" if result.unseen is None else _number(result.unseen, shown)
    return f"{text} ({unseen} on the unseen {1 - result.seen:.0%})"


def _number(value: float, shown: Shown) -> str:
    return f"{value * shown.scale:.{1 if shown.scale > 1 else 3}f}"
