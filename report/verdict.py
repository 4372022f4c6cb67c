"""What the data can tell: every metric with its interval, every two systems with their test.

A run writes it as comparisons.json. Reads: predictions, labels. Feeds: experiment, compare.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from data.tasks import TASKS, Splits
from evaluation.intervals import LEVEL, Interval
from evaluation.scoring import labels_of
from evaluation.significance import Comparison, Estimate, Pair, Systems, adjusted, compare
from report.cell import Cell, best_known
from report.run_folder import RunFolder

Place = tuple[str, str]  # task and split


@dataclass(frozen=True)
class Judged:
    """The systems of one task on one split: all of its metrics."""

    task: str
    split: str
    estimates: tuple[Estimate, ...]
    comparisons: tuple[Comparison, ...]


def judge(
    systems: Mapping[Place, Systems],
    labels: Mapping[Place, np.ndarray],
    pairs: Mapping[Place, Sequence[Pair]] | None = None,
) -> list[Judged]:
    """Return all metrics of all systems, and all comparisons with p values adjusted by Holm.

    What is adjusted together: the comparisons of a split in the main metric of each task, and, as
    they repeat the same question, those in all other metrics.

    Args:
        systems: (task, split) -> predictions by name of the system and seed.
        labels: (task, split) -> (N,).
        pairs: (task, split) -> what to compare; every two systems if None.
    """
    estimates: dict[Place, list[Estimate]] = {place: [] for place in systems}
    families: dict[tuple[str, bool], list[tuple[Place, Comparison]]] = {}
    for (task, split), found in systems.items():
        place = task, split
        for metric in TASKS[task].metrics:
            wanted = None if pairs is None else pairs[place]
            own, versus = compare(task, metric, found, labels[place], wanted)
            estimates[place] += own
            family = families.setdefault((split, metric == TASKS[task].main_metric), [])
            family += [(place, one) for one in versus]
    compared: dict[Place, list[Comparison]] = {place: [] for place in systems}
    for family in families.values():
        corrected = adjusted([one for _, one in family])
        for (place, _), one in zip(family, corrected, strict=True):
            compared[place].append(one)
    return [Judged(*place, tuple(estimates[place]), tuple(compared[place])) for place in systems]


def judge_cells(
    cells: Sequence[Cell], splits: Mapping[str, Splits], folder: RunFolder
) -> list[Judged]:
    """Return what the data can tell of a run's cells, from the predictions in its folder.

    Raises:
        DataError: predictions are missing or damaged.
    """
    systems: dict[Place, dict[str, dict[int, np.ndarray]]] = {}
    labels: dict[Place, np.ndarray] = {}
    for cell in cells:
        place = cell.task, cell.split
        examples = getattr(splits[cell.task], cell.split)
        seeds = systems.setdefault(place, {}).setdefault(cell.system, {})
        seeds[cell.seed] = folder.predictions(cell, examples)
        labels[place] = labels_of(examples)
    return judge(systems, labels)


def verdicts(cells: Sequence[Cell], judged: Sequence[Judged]) -> list[str]:
    """Return a sentence per two encoders of one setting, in the task's main metric.

    The rows are those of the test split if it has labels, else those of the dev split.
    """
    settings = {
        (cell.task, cell.split, cell.system): (cell.encoder, cell.setting)
        for cell in best_known(cells)
    }
    found = []
    for one in judged:
        for versus in one.comparisons:
            a, b = (settings.get((one.task, one.split, name)) for name in (versus.a, versus.b))
            main = versus.metric == TASKS[one.task].main_metric
            if main and a and b and a[1] == b[1]:
                words = sentence(replace(versus, a=a[0], b=b[0]))
                found.append(f"{one.task} {one.split}, {a[1]}, {versus.metric}: {words}")
    return found


def to_json(judged: Sequence[Judged]) -> dict[str, Any]:
    """Return the content of comparisons.json: one flat list of estimates, one of comparisons."""
    return {
        "level": LEVEL,
        "estimates": [_flat(one, found) for one in judged for found in one.estimates],
        "comparisons": [_flat(one, found) for one in judged for found in one.comparisons],
    }


def csv_rows(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """Return the comparisons as rows of one table, without objects inside."""
    rows = []
    for entry in to_json(judged)["comparisons"]:
        interval, williams = entry.pop("interval") or {}, entry.pop("williams") or {}
        entry["seeds"] = " ".join(map(str, entry["seeds"]))
        bounds = {"low": interval.get("low"), "high": interval.get("high")}
        rows.append(entry | bounds | {"williams_p": williams.get("p")})
    return rows


def _flat(judged: Judged, found: Estimate | Comparison) -> dict[str, Any]:
    return {"task": judged.task, "split": judged.split, **asdict(found)}


def sentence(found: Comparison) -> str:
    """Return the verdict on two systems in plain words, with the numbers it rests on."""
    if found.difference is None or found.p is None:
        return f"{found.a} and {found.b} cannot be compared: {_why_not(found)}"
    p = f"p {_p(found.p)}" + ("" if found.p_holm is None else f", Holm {_p(found.p_holm)}")
    test = f"({found.test}, {p})"
    size = f"{abs(found.difference):.3f} {_turned(found)}".rstrip()
    if not found.decided:
        signed = f"{found.difference:+.3f} {shown(found.interval)}".rstrip()
        return f"the data cannot tell {found.a} and {found.b} apart: {signed} {test}"
    ahead, behind = (found.a, found.b) if found.difference > 0 else (found.b, found.a)
    return f"{ahead} is ahead of {behind} by {size} {test}"


def shown(interval: Interval | None) -> str:
    """Return `[0.040, 0.080]`, "" where there is none."""
    return "" if interval is None else f"[{interval.low:.3f}, {interval.high:.3f}]"


def _turned(found: Comparison) -> str:
    """Return the interval of the difference as who is ahead sees it."""
    if found.interval is None or (found.difference or 0) > 0:
        return shown(found.interval)
    return f"[{-found.interval.high:.3f}, {-found.interval.low:.3f}]"


def _why_not(found: Comparison) -> str:
    return f"{found.n} rows" if found.difference is not None else f"{found.metric} is undefined"


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"
