"""Which differences are significant: every metric with its interval, every two systems with a test.

A run writes this as comparisons.json, with the question that it asks of each task: which reader's
best system is better, and what SimCSE changed. `report.verdict` makes sentences from it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from statistics import mean
from typing import Any

import numpy as np

from data.tasks import TASKS, Splits
from evaluation.clusters import clusters_of
from evaluation.intervals import LEVEL, Interval
from evaluation.metrics import labels_of
from evaluation.significance import Comparison, Estimate, Pair, adjusted, compare, turned
from heads.config import READERS
from report.cell import COSINE, Cell, best_known, by_system
from report.run_folder import COMPARISONS, RunFolder
from runtime.files import read_json
from runtime.progress import progress

# Families of comparisons that are adjusted together, by Holm, on each split.
CHANGED, MAIN, OTHER = "changed", "main", "other"

Runs = dict[str, dict[int, np.ndarray]]  # system -> seed -> predictions (N,)


@dataclass(frozen=True)
class Scored:
    """The predictions that are compared on one split of a task."""

    task: str
    split: str
    systems: Runs
    labels: np.ndarray  # (N,)
    clusters: np.ndarray  # (N,) as of `clusters_of`
    pairs: Sequence[Pair] | None = None  # which systems to compare; every two if None
    cosines: Runs = field(default_factory=dict)  # of bi-encoders, without any head


@dataclass(frozen=True)
class System:
    """What the sentences need to know of a system."""

    pretrain: str
    encoder: str
    tune: str


@dataclass(frozen=True)
class Question:
    """What a run asks of a task, on the split that the verdict is about; empty elsewhere."""

    systems: dict[str, System] = field(default_factory=dict)  # by name
    best: dict[str, str] = field(default_factory=dict)  # reader -> its best system on dev
    chosen_on: str = ""  # the split that the best were chosen on, "" if every reader has one system
    # The frozen bi-encoder's systems before and after each contrastive stage.
    changes: tuple[Pair, ...] = ()


@dataclass(frozen=True)
class Judged:
    """The systems of one task on one split: metrics, comparisons, and perhaps the question."""

    task: str
    split: str
    estimates: tuple[Estimate, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    question: Question = Question()

    @property
    def main_metric(self) -> str:
        return TASKS[self.task].main_metric

    def scores(self, metric: str) -> dict[str, Estimate]:
        return {e.system: e for e in self.estimates if e.metric == metric}

    def between(self, a: str, b: str, metric: str) -> Comparison | None:
        """Return the comparison of two systems, a minus b; None where they were not compared."""
        for versus in self.comparisons:
            if versus.metric == metric and {versus.a, versus.b} == {a, b}:
                return versus if versus.a == a else turned(versus)
        return None

    def family(self, versus: Comparison) -> str:
        """Return what a comparison is adjusted together with; "" if it is tested by itself.

        The question of a run of two readers, whose best system is better, is tested by itself;
        three readers make three such comparisons. The families are: what the contrastive stages
        changed in the bi-encoder's heads, which a run asks from the start; all other comparisons in
        a task's main metric; as they repeat the same questions, those in all other metrics; and
        those of cosine similarities.
        """
        if versus.metric == COSINE:
            return COSINE
        if versus.metric != self.main_metric:
            return OTHER
        pair = {versus.a, versus.b}
        if pair == set(self.question.best.values()):
            return ""
        return CHANGED if pair in map(set, self.question.changes) else MAIN


def judge(scored: Sequence[Scored], cells: Sequence[Cell] = ()) -> list[Judged]:
    """Return all metrics of all systems, and all comparisons with their tests.

    Args:
        scored: the systems, by task and split.
        cells: those of a run, which asks a question; none for other systems.
    """
    judged = []
    with progress("compare", len(scored), "split", delay=2) as bar:
        for place in scored:
            metrics = [(name, name, place.systems) for name in TASKS[place.task].metrics]
            if place.cosines:
                metrics.append((COSINE, "spearman", place.cosines))
            estimates: list[Estimate] = []
            comparisons: list[Comparison] = []
            for name, metric, runs in metrics:
                scores, differences = compare(
                    place.task, metric, runs, place.labels, place.pairs, clusters=place.clusters
                )
                estimates += [replace(score, metric=name) for score in scores]
                comparisons += [replace(versus, metric=name) for versus in differences]
            judged.append(Judged(place.task, place.split, tuple(estimates), tuple(comparisons)))
            bar.update()
    return _adjusted(with_questions(judged, cells))


def _adjusted(judged: Sequence[Judged]) -> list[Judged]:
    """Return what was judged with the p values of each family adjusted."""
    families: dict[tuple[str, str], list[Comparison]] = {}
    for place in judged:
        for versus in place.comparisons:
            if family := place.family(versus):
                families.setdefault((place.split, family), []).append(versus)
    corrected: dict[int, Comparison] = {}  # equal comparisons may occur on several splits
    for members in families.values():
        corrected |= zip(map(id, members), adjusted(members), strict=True)
    return [
        replace(place, comparisons=tuple(corrected.get(id(v), v) for v in place.comparisons))
        for place in judged
    ]


def with_questions(judged: Sequence[Judged], cells: Sequence[Cell]) -> list[Judged]:
    """Return what was judged with the questions of a run's cells, a question for each task.

    The best system of a reader is that with the best dev score (test, without a dev split). The
    question is about the test split if that has labels.
    """
    places = {(place.task, place.split): place for place in judged}
    known = best_known(cells)
    for task in dict.fromkeys(cell.task for cell in known):
        final = [cell for cell in known if cell.task == task]
        key = task, final[0].split
        chosen_on = "dev" if (task, "dev") in places else final[0].split
        scores = places[task, chosen_on].scores(TASKS[task].main_metric)
        systems = {c.system: System(c.pretrain, c.encoder, c.tune) for c in final}
        best = {}
        for reader in READERS:
            if rivals := [name for name, system in systems.items() if system.encoder == reader]:
                best[reader] = max(rivals, key=partial(_mean, scores))  # the first of equals
        frozen = {c.pretrain: c.system for c in final if (c.encoder, c.tune) == ("bi", "frozen")}
        before = frozen.pop("none", None)
        question = Question(
            systems,
            best,
            chosen_on=chosen_on if len(best) < len(systems) else "",
            changes=tuple((before, after) for after in frozen.values()) if before else (),
        )
        places[key] = replace(places[key], question=question)
    return list(places.values())


def _mean(scores: Mapping[str, Estimate], system: str) -> float:
    score = scores[system].mean
    return -2.0 if score is None else score


def judge_cells(
    cells: Sequence[Cell], splits: Mapping[str, Splits], folder: RunFolder
) -> list[Judged]:
    """Return what a run's cells show, from the predictions in its folder.

    Raises:
        DataError: predictions are missing or damaged.
    """
    scored: dict[tuple[str, str], Scored] = {}
    for cell in cells:
        of_task = splits[cell.task]
        examples = getattr(of_task, cell.split)
        place = cell.task, cell.split
        if place not in scored:
            scored[place] = Scored(*place, {}, labels_of(examples), clusters_of(examples))
        seeds = scored[place].systems.setdefault(cell.system, {})
        seeds[cell.seed] = folder.predictions(cell, examples, of_task.task)
        behind = folder.soft(cell, examples) if cell.tune == "frozen" else {}
        if "cosines" in behind:
            scored[place].cosines.setdefault(cell.system, {})[cell.seed] = behind["cosines"]
    return judge(list(scored.values()), cells)


# The content of comparisons.json.


def to_json(judged: Sequence[Judged]) -> dict[str, Any]:
    """Return the content of comparisons.json: flat lists of estimates, comparisons, questions."""

    def flat(entries_of: Callable[[Judged], Sequence[Any]]) -> list[dict[str, Any]]:
        return [
            {"task": place.task, "split": place.split, **asdict(entry)}
            for place in judged
            for entry in entries_of(place)
        ]

    return {
        "level": LEVEL,
        "estimates": flat(lambda place: place.estimates),
        "comparisons": flat(lambda place: place.comparisons),
        "questions": flat(lambda place: [place.question] if place.question.best else []),
    }


def from_json(content: dict[str, Any]) -> list[Judged]:
    """Return what `to_json` was given, from the content of comparisons.json.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: it is not such a content.
    """
    if content["level"] != LEVEL:
        raise ValueError(f"intervals of {content['level']}")
    places: dict[tuple[str, str], dict[str, list[Any]]] = {}
    for name in ("estimates", "comparisons", "questions"):
        for entry in content[name]:
            fields = dict(entry)
            lists = places.setdefault(
                (fields.pop("task"), fields.pop("split")),
                {"estimates": [], "comparisons": [], "questions": [Question()]},
            )
            lists[name].append(_restored(name, fields))
    return [
        Judged(
            *place, tuple(lists["estimates"]), tuple(lists["comparisons"]), lists["questions"][-1]
        )
        for place, lists in places.items()
    ]


def _restored(name: str, fields: dict[str, Any]) -> Estimate | Comparison | Question:
    # JSON has neither tuples nor classes.
    if name == "questions":
        systems = {name: System(**system) for name, system in fields["systems"].items()}
        changes = tuple(map(tuple, fields["changes"]))
        return Question(**fields | {"systems": systems, "changes": changes})
    interval = fields["interval"] and Interval(**fields["interval"])
    fields |= {"seeds": tuple(fields["seeds"]), "interval": interval}
    return Estimate(**fields) if name == "estimates" else Comparison(**fields)


def read_judged(folder: RunFolder, cells: Sequence[Cell]) -> list[Judged] | None:
    """Return what a run wrote of its cells, from comparisons.json.

    None where the file is of 1.0, missing, damaged, or not of exactly these cells and their scores,
    as after an interrupted second run: `judge_cells` returns the same from the predictions.
    """
    try:
        judged = from_json(read_json(folder.path / COMPARISONS))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    stated = {
        (place.task, place.split, e.system, e.metric): (e.seeds, _rounded(e.mean))
        for place in judged
        for e in place.estimates
        if e.metric != COSINE
    }
    wanted = {}
    for seeds in by_system(cells):
        first, numbers = seeds[0], tuple(cell.seed for cell in seeds)
        for metric in TASKS[first.task].metrics:
            score = mean_of_all([cell.metrics[metric] for cell in seeds])
            wanted[first.task, first.split, first.system, metric] = numbers, _rounded(score)
    return judged if stated == wanted else None


def mean_of_all(values: Sequence[float | None]) -> float | None:
    """Return the mean, None if one of the values is."""
    known = [value for value in values if value is not None]
    return mean(known) if len(known) == len(values) else None


def _rounded(score: float | None) -> float | None:
    # Means of floats may differ in their last digits.
    return None if score is None else round(score, 9)
