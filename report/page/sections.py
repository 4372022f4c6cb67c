"""The tables of a run's page, the examples on which its encoders disagree, and how it was made."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import mean
from typing import Any

import numpy as np

from data.tasks import TASKS, Task
from evaluation.clusters import clusters_of
from evaluation.intervals import Interval
from evaluation.metrics import labels_of, row_errors
from evaluation.significance import Comparison
from evaluation.slices import Slice, groups, slices
from report.cell import COSINE, Cell, by_system
from report.finished import DUEL, FinishedRun
from report.page.tables import Entry, Table, filled, interval, number, shade, share, word
from report.rates import scores_by_rate
from runtime.options import shown_value
from runtime.progress import progress

MOST = 10  # examples where each encoder is ahead, of each task and setting
# The difference of the encoders' errors that has the darkest shade.
DARKEST = {"score": 0.5, "binary": 0.2, "classes": 0.2}


# Scores and comparisons.


def score_tables(run: FinishedRun) -> tuple[list[Table], list[Table]]:
    """Return all metrics of all systems, by task: on the split that is shown, and on others.

    Systems have the mean over seeds, its 95 % interval, and the standard deviation. `seen` is the
    share of rows with a sentence that the run trained on or selected by.
    """
    shown: list[Table] = []
    others: list[Table] = []
    for task in run.tasks:
        for split in ("test", "dev"):
            own = [c for c in run.cells if (c.task, c.split) == (task.name, split)]
            if own:
                tables = shown if own[0] in run.shown else others
                tables.append(_scores(task, own, run))
    return shown, others


def _scores(task: Task, cells: Sequence[Cell], run: FinishedRun) -> Table:
    rows = []
    for own in by_system(cells):
        row = [word(run.label(own[0]))]
        for metric in task.metrics:
            estimate = run.estimate(own[0], metric)
            if estimate is None:  # nothing was judged
                row.append(number(_mean_of_all([cell.metrics[metric] for cell in own])))
            else:
                spread = "" if estimate.deviation is None else f" ± {estimate.deviation:.3f}"
                note = f"{interval(estimate.interval)}{spread}".strip()
                row.append(number(estimate.mean, 3, note))
        on_unseen = [cell.overlap["metrics_on_rest"].get(task.main_metric) for cell in own]
        cosine = run.estimate(own[0], COSINE)
        row += [
            number(
                _mean_of_all([cell.metrics.get(COSINE) for cell in own]),
                note=interval(cosine.interval) if cosine else "",
            ),
            number(_mean_of_all([cell.cls_cosine for cell in own])),
            share(mean(cell.overlap["sentences"] for cell in own)),
            number(_mean_of_all(on_unseen)),
            number(own[0].n, 0),
        ]
        rows.append(row)
    bare = ("cosine", "cosine at [CLS]")
    header = ("system", *task.metrics, *bare, "seen", f"{task.main_metric} on unseen", "rows")
    caption = f"{task.name}, {cells[0].split}: {task.about}, with 95 % intervals"
    return filled(Table(caption, header, rows))


def rate_table(run: FinishedRun) -> Table:
    """Return the scores that tuned encoders' rates were chosen by; the chosen ones are bold."""
    rates = sorted({tried["rate"] for cell in run.cells for tried in cell.rates.get("tried", [])})
    rows = []
    for own in by_system([cell for cell in run.shown if cell.rates]):
        first, scores = own[0], scores_by_rate(own)
        chosen = {cell.rates["rate"] for cell in own}
        rows.append(
            [
                Entry(f"{first.task}: {run.label(first)}", note=TASKS[first.task].main_metric),
                *(replace(number(scores.get(rate)), strong=rate in chosen) for rate in rates),
                word(", ".join(sorted({str(cell.rates["epoch"]) for cell in own}))),
                number(first.rates["rows"], 0),
                number(first.rates["chosen_by"], 0),
                number(sum(cell.rates["seconds"] for cell in own), 0),
            ]
        )
    header = ("system", *map(shown_value, rates), "epoch", "tried on", "chosen by", "seconds")
    return Table("Encoder rates: the scores of the candidates, means over seeds", header, rows)


def comparison_table(run: FinishedRun) -> Table:
    """Return every two systems of a task with their paired test: main metric, and bare cosine."""
    rows = []
    labels = {cell.system: run.label(cell) for cell in run.cells}
    places = {(cell.task, cell.split) for cell in run.shown}
    for each in run.judged:
        cosines = [versus for versus in each.comparisons if versus.metric == COSINE]
        known = [*each.main_comparisons(), *cosines]
        for versus in known if (each.task, each.split) in places else ():
            a, b = (labels.get(name, name) for name in (versus.a, versus.b))
            place = f"{versus.metric}, {each.split}"
            rows.append([Entry(f"{each.task}: {a} − {b}", note=place), *_comparison(versus, a, b)])
    header = ("A minus B", "difference", "ahead", "p (Holm)", "p", "test")
    return Table("Every two systems, paired on the same rows", header, rows)


def _comparison(versus: Comparison, a: str, b: str) -> list[Entry]:
    ahead = "undefined" if versus.p is None else "undecided"
    if versus.decided and versus.difference:
        ahead = a if versus.difference > 0 else b
    difference = number(versus.difference, 3, interval(versus.interval), sign=True)
    p_values = [
        # No p value is zero.
        Entry("< 0.0001", p) if p is not None and p < 0.0001 else number(p, 4)
        for p in (versus.p_holm, versus.p)
    ]
    return [difference, word(ahead), *p_values, word(versus.test)]


def _mean_of_all(values: Sequence[float | None]) -> float | None:
    """Return the mean, None if one of the values is."""
    known = [value for value in values if value is not None]
    return mean(known) if len(known) == len(values) else None


# Where the encoders differ.


def heat_maps(run: FinishedRun) -> list[Table]:
    """Return, for tasks with both encoders, their errors' difference by what rows are like."""
    tables = []
    duels = [(task, run.duels(task)) for task in run.tasks]
    total = sum(len(own) for _, own in duels)
    with progress("differences", total, "setting", delay=2) as bar:
        for task, settings in duels:
            columns: dict[str, list[Slice]] = {}
            for setting, kinds in settings.items():
                examples = run.examples(kinds["bi"][0])
                bi, cross = (_mean_errors(kinds[kind], run) for kind in DUEL)
                columns[setting] = slices(groups(examples, task), bi, cross, clusters_of(examples))
                bar.update()
            if table := _heat_map(task, columns):
                tables.append(table)
    return tables


def _heat_map(task: Task, columns: Mapping[str, Sequence[Slice]]) -> Table | None:
    """Return the table of a task's settings, None where no row is in any slice."""
    rows = [
        [
            word(same[0].name),
            *(_difference(each, DARKEST[task.label_kind]) for each in same),
            number(same[0].n, 0),
            word(same[0].by),
        ]
        for same in zip(*columns.values(), strict=True)
    ]
    if not rows:
        return None
    unit = "distance from the gold score" if task.label_kind == "score" else "share of wrong rows"
    caption = "errors of the bi-encoder minus those of the cross-encoder"
    return Table(f"{task.name}: {caption} ({unit})", ("rows", *columns, "n", "by"), rows, "heat")


def _mean_errors(cells: Sequence[Cell], run: FinishedRun) -> np.ndarray:
    """Return each row's error, (N,), averaged over the seeds of a system."""
    labels = labels_of(run.examples(cells[0]))
    errors = [row_errors(cell.task, run.predictions[cell.place()], labels) for cell in cells]
    return np.asarray(np.mean(errors, axis=0))


def _difference(errors: Slice, darkest: float) -> Entry:
    """Return an entry shaded by who is ahead; bold where the interval leaves out 0."""
    if errors.low is None or errors.high is None:  # few rows: no claim
        return number(errors.difference, 3, sign=True)
    plain = number(errors.difference, 3, interval(Interval(errors.low, errors.high, "")), sign=True)
    colour = shade(errors.difference, darkest, DUEL)
    strong = not errors.low <= 0 <= errors.high
    return Entry(plain.text, plain.value, plain.note, colour, strong)


def disagreements(run: FinishedRun) -> list[dict[str, Any]]:
    """Return the rows of the largest disagreements of both encoders, by task and setting, in words.

    Probabilities and scores are averaged over seeds. Runs that kept none have no examples.
    """
    shown = []
    for task in run.tasks:
        for setting, kinds in run.duels(task).items():
            places = [[cell.place() for cell in kinds[kind]] for kind in DUEL]
            if not all("soft" in run.soft[place] for own in places for place in own):
                continue
            bi, cross = (
                np.asarray(np.mean([run.soft[place]["soft"] for place in own], axis=0))
                for own in places
            )
            examples = run.examples(kinds["bi"][0])
            labels = labels_of(examples)
            for ahead, row in most_surprising(bi, cross, labels, task.label_kind):
                example = {
                    "task": task.name,
                    "setting": setting,
                    "ahead": ahead,
                    "phenomenon": examples[row].phenomenon or "",
                    "id": examples[row].id,
                    "texts": examples[row].texts,
                    "gold": _named(labels[row], task),
                    "bi": _in_words(bi[row], task),
                    "cross": _in_words(cross[row], task),
                }
                shown.append(example)
    return shown


def most_surprising(
    bi: np.ndarray, cross: np.ndarray, labels: np.ndarray, kind: str, most: int = MOST
) -> list[tuple[str, int]]:
    """Return who is ahead in the rows of the largest gaps, and these rows, at most `most` of each.

    Of classes, only rows count that one encoder has right and the other wrong: the surer both are,
    the larger the gap. First those with the bi-encoder ahead, largest gap first, then the others.

    Args:
        bi, cross: by the task's kind, "binary": the probability of 1, (N,); "classes": of each
            class, (N, C); "score": scores (N,).
        labels: (N,).
        kind: of the task.
        most: rows where each encoder is ahead.

    Raises:
        ValueError: arrays of unequal length.
    """
    if not len(labels) == len(bi) == len(cross):
        raise ValueError(f"{len(bi)} and {len(cross)} predictions for {len(labels)} examples")
    losses, rights = [], []
    for soft in (bi, cross):
        if kind == "score":
            losses.append((soft - labels) ** 2)
            continue
        if kind == "binary":
            soft = np.stack([1 - soft, soft], axis=1)
        gold = labels.astype(np.int64)
        losses.append(1 - soft[np.arange(len(gold)), gold])
        rights.append(soft.argmax(axis=1) == gold)  # as the heads: one half is no paraphrase
    largest = []
    for side, ahead in enumerate(DUEL):
        gaps = losses[1 - side] - losses[side]
        apart = rights[side] & ~rights[1 - side] if rights else gaps > 0
        rows = np.flatnonzero(apart)
        rows = rows[np.argsort(-gaps[rows], kind="stable")][:most]
        largest += [(ahead, row) for row in rows.tolist()]
    return largest


def _in_words(soft: Any, task: Task) -> str:
    """Return a score, or the called class and its probability: `yes (91% sure)`."""
    if task.label_kind == "score":
        return _named(soft, task)
    probabilities = np.array([1 - soft, soft]) if task.label_kind == "binary" else soft
    called = int(probabilities.argmax())
    return f"{_named(called, task)} ({probabilities[called]:.0%} sure)"


def _named(label: float, task: Task) -> str:
    if task.label_kind == "score":
        return f"{label:.1f}"
    return ("no", "yes")[int(label)] if task.label_kind == "binary" else f"class {label:.0f}"


# Classes of each system.


def confusions(run: FinishedRun) -> list[Table]:
    """Return, for tasks of ordered classes, what each system predicted for each gold class."""
    from sklearn.metrics import confusion_matrix

    tables = []
    for task in run.tasks:
        for system, cells in run.systems(task).items() if task.label_kind == "classes" else ():
            predictions, labels = run.of_seeds(cells)
            classes = range(task.num_classes)
            matrix = confusion_matrix(labels, predictions, labels=classes)
            rows = []
            for gold, counts in enumerate(matrix.tolist()):
                row = [word(gold), number(sum(counts) // len(cells), 0)]
                for k, count in enumerate(counts):
                    part = count / max(1, sum(counts))
                    colour = shade(part, 1.0, ("", "share"))
                    row.append(Entry(f"{part:.0%}", part, "", colour, k == gold))
                rows.append(row)
            distance = np.abs(predictions - labels)  # in classes
            caption = (
                f"{system}: {np.mean(distance == 0):.1%} right, {np.mean(distance <= 1):.1%} at "
                f"most one class off, {distance.mean():.2f} classes off on average"
            )
            tables.append(Table(caption, ("gold", "rows", *map(str, classes)), rows, "heat"))
    return tables
