"""Where the encoders differ: a heat map of their errors' difference by what rows are like.

Reads: evaluation.slices. Feeds: making.
"""

from collections.abc import Sequence

import numpy as np

from data.tasks import Task
from evaluation.intervals import Interval
from evaluation.metrics import row_errors
from evaluation.ordinal import confusion
from evaluation.slices import Slice, groups, slices
from report.cell import Cell
from report.page.material import Material
from report.page.tables import Entry, Table, interval, number, shade, share, word

SIDES = ("bi", "cross")  # classes of shades: who makes fewer errors
FULL = {"score": 0.5}  # the difference that has the darkest shade; of shares of rows:
FULL_SHARE = 0.2


def heat_maps(material: Material) -> list[Table]:
    """Return a heat map for every task in which both encoders ran."""
    found = []
    for task in material.tasks:
        if duels := material.duels(task.name):
            found.append(_heat_map(task, duels, material))
    return found


def mean_errors(cells: Sequence[Cell], material: Material) -> np.ndarray:
    """Return each row's error, (N,), averaged over the seeds of a system."""
    labels = material.labels(cells[0])
    errors = [row_errors(cell.task, material.predictions(cell), labels) for cell in cells]
    return np.asarray(np.mean(errors, axis=0))


def _heat_map(task: Task, duels: dict[str, dict[str, list[Cell]]], material: Material) -> Table:
    columns: dict[str, list[Slice]] = {}
    same_rows = groups(material.examples(material.cells_of(task.name)[0]), task)
    for setting, kinds in duels.items():
        bi, cross = (mean_errors(kinds[kind], material) for kind in SIDES)
        columns[setting] = slices(same_rows, bi, cross)
    most = FULL.get(task.kind, FULL_SHARE)
    rows = []
    for same in zip(*columns.values(), strict=True):
        first = same[0]
        entries = [_difference(found, most) for found in same]
        rows.append([word(first.name), *entries, number(first.n, 0), word(first.by)])
    unit = "distance from the gold score" if task.kind == "score" else "share of wrong rows"
    return Table(
        f"{task.name}: errors of the bi-encoder minus those of the cross-encoder ({unit})",
        ("rows", *columns, "n", "by"),
        rows,
        "heat",
    )


def _difference(found: Slice, most: float) -> Entry:
    """Return an entry shaded by who is ahead; bold where the interval leaves out 0."""
    known = found.low is not None and found.high is not None
    # To mypy both may still be None where `known` is true.
    bounds = Interval(found.low, found.high, "") if known else None  # type: ignore[arg-type]
    strong = bounds is not None and not bounds.low <= 0 <= bounds.high
    plain = number(found.difference, 3, interval(bounds), sign=True)
    colour = shade(found.difference, most, SIDES) if known else ""  # of few rows: no claim
    return Entry(plain.text, plain.value, plain.note, colour, strong)


def confusions(material: Material) -> list[Table]:
    """Return, for tasks of ordered classes, what each system predicted for each gold class."""
    found = []
    for task in material.tasks:
        if task.kind == "classes":
            for system, cells in material.systems(task.name).items():
                found.append(_confusion(task, system, cells, material))
    return found


def _confusion(task: Task, system: str, cells: Sequence[Cell], material: Material) -> Table:
    predictions = np.concatenate([material.predictions(cell) for cell in cells])
    labels = np.concatenate([material.labels(cell) for cell in cells])
    one = confusion(predictions, labels, task.num_classes)
    rows = []
    for gold, counts in enumerate(one.matrix):
        total = max(1, sum(counts))
        shaded = [
            Entry(
                found.text, found.value, "", shade(found.value or 0, 1.0, ("", "share")), k == gold
            )
            for k, found in enumerate(share(count / total, 0) for count in counts)
        ]
        rows.append([word(gold), number(sum(counts) // len(cells), 0), *shaded])
    return Table(
        f"{system}: {one.accuracy:.1%} right, {one.within_one:.1%} at most one class off, "
        f"{one.mean_absolute_error:.2f} classes off on average",
        ("gold", "rows", *map(str, range(task.num_classes))),
        rows,
        "heat",
    )
