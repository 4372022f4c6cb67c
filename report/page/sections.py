"""The tables of a run's page, and the examples on which its readers disagree."""

from collections.abc import Sequence
from itertools import zip_longest
from statistics import mean
from typing import Any

import numpy as np

from data.tasks import EVERY_ROW, TASKS, Task
from evaluation.metrics import AVERAGE_PRECISION, COSINE, labels_of
from evaluation.significance import Comparison, percent, turned
from heads.config import READERS
from report.cell import Cell, by_system, rows_of
from report.costs import SEARCHED, in_words, is_busy, search_seconds
from report.finished import DUEL, FinishedRun
from report.floors import is_floor
from report.judging import mean_of_all
from report.page.tables import Entry, Table, filled, interval, number, share, word
from report.verdict import metric_name, sentence_case, setting, task_name

MOST = 10  # examples where each reader is better, of each task and setting


# The answer: each reader's best system.


def summary_table(run: FinishedRun, costs: dict[str, Any] | None) -> Table | None:
    """Return a row per task and reader with score and cost; None without a question.

    Raises:
        KeyError, TypeError: these are not a run's costs.
    """
    cost_of = {
        (cell["task"], cell["cost"]["reader"], cell.get("model", "")): cell["cost"]
        for cell in (costs["cells"] if costs else ())
    }
    asked = [place for place in run.judged if place.question.best]
    metrics = {metric_name(place.main_metric) for place in asked}
    several = len({cell.tune for cell in run.cells}) > 1
    item = "one pair" if all(task.is_pair for task in run.tasks) else "one example"
    rows = []
    for place in asked:
        for reader, system in place.question.best.items():
            score = place.scores(place.main_metric)[system]
            of = place.question.systems[system]
            cost = cost_of.get((place.task, reader, of.model))
            seconds = search_seconds(cost) if cost else None
            name = sentence_case(READERS[reader])
            if len(asked) > 1:
                name = f"{sentence_case(task_name(place.task))}: {READERS[reader]}"
            about = setting(of.pretrain, of.tune if several else "")
            rows.append(
                [
                    Entry(name, note=about if place.question.chosen_on else ""),
                    number(score.mean, 3, interval(score.interval)),
                    word(None if len(metrics) == 1 else metric_name(place.main_metric)),
                    word(None) if cost is None else _duration(cost["milliseconds"] / 1000),
                    word(None) if seconds is None else _duration(seconds, "~"),
                ]
            )
        prefix = f"{sentence_case(task_name(place.task))}: " if len(asked) > 1 else ""
        for floor, score in place.scores(place.main_metric).items():
            if is_floor(floor):
                rows.append(
                    [
                        Entry(sentence_case(f"{prefix}{floor}"), note="no trained head"),
                        number(score.mean, 3, interval(score.interval)),
                        *[word(None)] * 3,
                    ]
                )
    if not rows:
        return None
    score_name = metrics.pop() if len(metrics) == 1 else "score"
    header = ("", score_name, "metric", item, f"search {SEARCHED:,} texts")
    scored = rows_of(asked[0].split)
    if len(asked) == 1:
        n = f"{asked[0].estimates[0].n:,}"
        scored = f"all {n} rows" if asked[0].split == EVERY_ROW else f"{n} {scored} rows"
    caption = f"Score on {scored}, with its 95% confidence interval"
    if costs:
        busy = ", which was busy: rough figures" if is_busy(costs) else ""
        caption += f"; times on this machine{busy} (~ = extrapolated)"
    return filled(Table(caption, header, rows))


def _duration(seconds: float, sign: str = "") -> Entry:
    return Entry(f"{sign}{in_words(seconds)}", seconds)


# Scores and comparisons.


def score_tables(run: FinishedRun) -> list[Table]:
    """Return all metrics of all systems, a table for each task."""
    return [_scores(task, [c for c in run.shown if c.task == task.name], run) for task in run.tasks]


def _floor_rows(task: Task, split: str, run: FinishedRun) -> list[list[Entry]]:
    """Return the rows of what needs no trained head, of a search that of BM25."""
    rows = []
    for place in run.judged:
        for floor in filter(is_floor, place.scores(task.main_metric)):
            if (place.task, place.split) == (task.name, split):
                scores = [place.scores(metric)[floor] for metric in task.metrics]
                values = [number(score.mean, 3, interval(score.interval)) for score in scores]
                rest = [*[number(None)] * 5, number(scores[0].n, 0)]
                rows.append([word(floor), *values, *rest])
    return rows


def _scores(task: Task, cells: Sequence[Cell], run: FinishedRun) -> Table:
    rows = []
    for seeds in by_system(cells):
        row = [word(run.label(seeds[0]))]
        for metric in (*task.metrics, AVERAGE_PRECISION, COSINE):
            estimate = run.estimate(seeds[0], metric)
            if estimate is None:  # no results
                row.append(number(mean_of_all([cell.metrics.get(metric) for cell in seeds])))
            else:
                spread = "" if estimate.deviation is None else f" ± {estimate.deviation:.3f}"
                note = f"{interval(estimate.interval)}{spread}".strip()
                row.append(number(estimate.mean, 3, note))
        rest = [cell.overlap["metrics_on_rest"].get(task.main_metric) for cell in seeds]
        row += [
            number(mean_of_all([cell.cls_cosine for cell in seeds])),
            share(mean(cell.overlap["sentences"] for cell in seeds)),
            number(mean_of_all(rest)),
            number(seeds[0].n, 0),
        ]
        rows.append(row)
    rows += _floor_rows(task, cells[0].split, run)
    metrics = [metric_name(metric) for metric in task.metrics]
    cosines = ("cosine (Spearman)", "cosine at [CLS]")
    header = (
        "system",
        *metrics,
        metric_name(AVERAGE_PRECISION),
        *cosines,
        "train overlap",
        "no overlap",
        "examples",
    )
    name = sentence_case(task_name(task.name))
    caption = f"{name}, {rows_of(cells[0].split)}: {task.about}, with 95% confidence intervals"
    return filled(Table(caption, header, rows))


SURE = (0.5, 0.6, 0.7, 0.8, 0.9)  # the lower ends of ranges of confidence


def reliability_tables(run: FinishedRun) -> list[Table]:
    """Return for each task with classes how often each system is right when it is so sure."""
    tables = []
    for task in run.tasks:
        systems = [s for s in by_system(run.shown) if s[0].task == task.name and s[0].calibration]
        columns = []
        for seeds in systems:
            bins = [one for cell in seeds for one in cell.calibration["bins"]]
            # Bins of 15 equal widths: each belongs to the range of its mean.
            places = np.searchsorted(SURE, [one["confidence"] for one in bins], side="right") - 1
            columns.append(
                [
                    [one for one, at in zip(bins, places, strict=True) if max(at, 0) == k]
                    for k in range(len(SURE))
                ]
            )
        rows = []
        for k, low in enumerate(SURE):
            row = [word(f"{low:.1f} to {low + 0.1:.1f}" if k else "up to 0.6")]
            for column in columns:
                n = sum(one["n"] for one in column[k])
                right = sum(one["n"] * one["accuracy"] for one in column[k]) / n if n else None
                row.append(number(right, 3, f"{n:,} examples" if n else ""))
            rows.append(row)
        if columns:
            header = ("probability of the answer", *(run.label(seeds[0]) for seeds in systems))
            about = f"{sentence_case(task_name(task.name))}: how often an answer is right"
            tables.append(Table(about, header, rows))
    return tables


def comparison_table(run: FinishedRun) -> Table:
    """Return every two systems of a task, compared in the main metric and without a head."""
    rows = []
    labels = {cell.system: run.label(cell) for cell in run.cells}
    places = {(cell.task, cell.split) for cell in run.shown}
    for place in run.judged:
        if (place.task, place.split) not in places:
            continue
        for metric in (place.main_metric, COSINE):
            for versus in place.comparisons:
                if (versus.a, versus.b) in place.question.changes:
                    versus = turned(versus)  # after SimCSE minus before, as in the figure
                if versus.metric == metric:
                    a, b = (labels.get(name, name) for name in (versus.a, versus.b))
                    what = "no head, Spearman" if metric == COSINE else metric_name(metric)
                    name = f"{sentence_case(task_name(place.task))}: {a} − {b}"
                    entry = Entry(name, note=f"{what}, {rows_of(place.split)}")
                    rows.append([entry, *_comparison(versus, a, b)])
    header = ("A minus B", "difference", "CI", "better", "p (Holm)", "p", "test")
    return Table("Pairwise comparisons on the same examples", header, rows)


def _comparison(versus: Comparison, a: str, b: str) -> list[Entry]:
    better = "undefined" if versus.p is None else "not significant"
    if versus.decided and versus.difference:
        better = a if versus.difference > 0 else b
    difference = number(versus.difference, 3, interval(versus.interval), sign=True)
    p_values = [
        # No p value is zero.
        Entry("< 0.0001", p) if p is not None and p < 0.0001 else number(p, 4)
        for p in (versus.p_holm, versus.p)
    ]
    return [difference, word(percent(versus.level)), word(better), *p_values, word(versus.test)]


def cost_table(costs: dict[str, Any]) -> Table:
    """Return the cost of each measured head.

    Raises:
        KeyError, TypeError: these are not a run's costs.
    """
    rows = []
    for cell in costs["cells"]:
        cost = cell["cost"]
        seconds = search_seconds(cost)
        search = word(None) if seconds is None else Entry(f"~{in_words(seconds)}", seconds)
        rows.append(
            [
                word(f"{sentence_case(task_name(cell['task']))}: {READERS[cost['reader']]}"),
                Entry(in_words(cost["milliseconds"] / 1000), cost["milliseconds"]),
                number(cost["examples_per_second"], 0),
                search,
                number(cost["passes"], 0),
                number(cost["flops"] / 1e6, 1),
            ]
        )
    header = ("head", "one example", "examples/s", f"search {SEARCHED:,} texts", "passes", "MFLOP")
    return Table("Cost of one head per task and reader (~ = extrapolated)", header, rows)


# Where the readers differ.


def disagreements(run: FinishedRun) -> list[dict[str, Any]]:
    """Return the rows on which both readers disagree most, by task and setting, in words.

    Probabilities and scores are averaged over seeds. Runs that did not store them have no examples.
    """
    shown = []
    for task in run.tasks:
        for name, readers in run.duels(task).items():
            examples = run.examples(readers["bi"][0])
            bi, cross = (_mean_soft(readers[reader], run) for reader in DUEL)
            if bi is None or cross is None:
                continue
            labels = labels_of(examples)
            for better, row in most_surprising(bi, cross, labels):
                example = {
                    "task": task.name,
                    "setting": name,
                    "better": better,
                    "phenomenon": examples[row].phenomenon or "",
                    "id": examples[row].id,
                    "texts": examples[row].texts,
                    "gold": _named(labels[row], task),
                    "bi": _in_words(bi[row], task),
                    "cross": _in_words(cross[row], task),
                }
                shown.append(example)
    return shown


def _mean_soft(cells: Sequence[Cell], run: FinishedRun) -> np.ndarray | None:
    """Return scores (N,) or probabilities (N, C), averaged over seeds; None if not kept."""
    kept = [run.folder.soft(cell, run.examples(cell)).get("soft") for cell in cells]
    if any(soft is None for soft in kept):
        return None
    soft = np.mean(np.array(kept), axis=0)
    binary = TASKS[cells[0].task].label_kind == "binary"
    return np.stack([1 - soft, soft], axis=1) if binary else np.asarray(soft)


def most_surprising(bi: np.ndarray, cross: np.ndarray, labels: np.ndarray) -> list[tuple[str, int]]:
    """Return the rows of the largest gaps and the better reader, at most MOST per reader.

    For classes, only rows count that one reader predicts correctly and the other not; the gap
    grows with the probabilities of both. The largest gaps come first, alternating between readers.

    Args:
        bi, cross: scores (N,), or of each class its probability (N, C).
        labels: (N,).
    """
    losses, rights = [], []
    for soft in (bi, cross):
        if soft.ndim == 1:
            losses.append((soft - labels) ** 2)
            continue
        gold = labels.astype(np.int64)
        losses.append(1 - soft[np.arange(len(gold)), gold])
        rights.append(soft.argmax(axis=1) == gold)  # as the heads: one half is no paraphrase
    largest = []  # of each side
    for side, better in enumerate(DUEL):
        gaps = losses[1 - side] - losses[side]
        apart = rights[side] & ~rights[1 - side] if rights else gaps > 0
        rows = np.flatnonzero(apart)
        rows = rows[np.argsort(-gaps[rows], kind="stable")][:MOST]
        largest.append([(better, row) for row in rows.tolist()])
    turns = zip_longest(*largest)
    return [example for turn in turns for example in turn if example is not None]


def _in_words(soft: Any, task: Task) -> str:
    """Return a score, or the called class and its probability: `yes (91% sure)`."""
    if task.label_kind == "score":
        return _named(soft, task)
    called = int(soft.argmax())
    return f"{_named(called, task)} ({soft[called]:.0%} sure)"


def _named(label: float, task: Task) -> str:
    if task.label_kind == "score":
        return f"{label:.1f}"
    return ("no", "yes")[int(label)] if task.label_kind == "binary" else f"class {label:.0f}"
