"""What the data can tell: every metric with its interval, every two systems with their test.

A run writes it as comparisons.json, and its page reads that. Reads: predictions, labels. Feeds:
experiment, compare, the page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import mean
from typing import Any

import numpy as np

from data.tasks import TASKS, Splits
from evaluation.intervals import LEVEL, Interval
from evaluation.paired_tests import Williams
from evaluation.scoring import labels_of
from evaluation.significance import Comparison, Estimate, Pair, Systems, adjusted, compare
from report.cell import Cell, best_known
from report.run_folder import RunFolder
from runtime.json_file import read_json

COMPARISONS = "comparisons.json"  # of a run folder

Place = tuple[str, str]  # task and split
Score = tuple[tuple[int, ...], float | None]  # seeds, and the mean over them


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
    families: dict[tuple[str, bool, bool], list[tuple[Place, Comparison]]] = {}
    for (task, split), found in systems.items():
        place = task, split
        for metric in TASKS[task].metrics:
            wanted = None if pairs is None else pairs[place]
            own, versus = compare(task, metric, found, labels[place], wanted)
            estimates[place] += own
            for one in versus:
                # Whether distilling helps is a question of its own: it must not change the answer
                # to the main one.
                distilled = "-distilled-" in f"{one.a}{one.b}"
                key = split, metric == TASKS[task].main_metric, distilled
                families.setdefault(key, []).append((place, one))
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


def read_judged(folder: RunFolder, cells: Sequence[Cell]) -> list[Judged] | None:
    """Return what a run wrote of its cells, from comparisons.json.

    Returns:
        None where the file is missing, damaged, of another version, or not of exactly these cells
        and their scores, as where a later command added cells to the folder: `judge_cells` tells
        the same from the predictions, in its own time.
    """
    try:
        judged = from_json(read_json(folder.path / COMPARISONS))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    stated = {
        (one.task, one.split, found.system, found.metric): _score(found.seeds, [found.mean])
        for one in judged
        for found in one.estimates
    }
    return judged if stated == _scores(cells) else None


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


def from_json(content: dict[str, Any]) -> list[Judged]:
    """Return what `to_json` was given, from the content of comparisons.json.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: it is not such a content.
    """
    if content["level"] != LEVEL:
        raise ValueError(f"intervals of {content['level']}")
    found: dict[Place, tuple[list[Any], list[Any]]] = {}  # estimates, comparisons
    for kind, (name, made) in enumerate((("estimates", Estimate), ("comparisons", Comparison))):
        for entry in content[name]:
            own = dict(entry)
            place = own.pop("task"), own.pop("split")
            # JSON has neither tuples nor classes.
            own["seeds"] = tuple(own["seeds"])
            for inner, of_inner in (("interval", Interval), ("williams", Williams)):
                if own.get(inner) is not None:
                    own[inner] = of_inner(**own[inner])
            found.setdefault(place, ([], []))[kind].append(made(**own))
    return [Judged(*place, tuple(own), tuple(versus)) for place, (own, versus) in found.items()]


def csv_rows(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """Return the comparisons as rows of one table, without objects inside."""
    rows = []
    for entry in to_json(judged)["comparisons"]:
        interval, williams = entry.pop("interval") or {}, entry.pop("williams") or {}
        entry["seeds"] = " ".join(map(str, entry["seeds"]))
        bounds = {"low": interval.get("low"), "high": interval.get("high")}
        rows.append(entry | bounds | {"williams_p": williams.get("p")})
    return rows


def _scores(cells: Sequence[Cell]) -> dict[tuple[str, ...], Score]:
    """Return the seeds of every system, and its mean over them in every metric."""
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.task, cell.split, cell.system), []).append(cell)
    return {
        (*place, metric): _score([cell.seed for cell in own], [c.metrics[metric] for c in own])
        for place, own in groups.items()
        for metric in TASKS[place[0]].metrics
    }


def _score(seeds: Sequence[int], values: Sequence[float | None]) -> Score:
    known = [value for value in values if value is not None]
    # Means of floats may differ in their last digits.
    return tuple(seeds), round(mean(known), 9) if len(known) == len(values) else None


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
