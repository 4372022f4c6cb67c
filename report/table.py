"""What a run prints when it ends: the table and the verdict."""

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import fill

from data.tasks import TASKS
from evaluation.intervals import Interval
from evaluation.metrics import METRICS
from evaluation.significance import shown, signed
from evaluation.table import markdown
from report.cell import ALL, COSINE, Cell, by_system, of_most_labels
from report.learning import LearningCurves
from report.rates import at_one_rate, chosen_rates
from report.verdict import Judged, verdict_of

GROUP = ("task", "pretrain", "encoder", "tune", "features", "split")
HEADER = (*GROUP, "n", *METRICS, "95 %", "cosine", "seen", "on unseen", "seconds", "sent/s")


def summary(
    cells: Sequence[Cell],
    judged: Sequence[Judged],
    learning: Sequence[LearningCurves],
    folder: Path,
) -> str:
    """Return how a run ends: the table, where everything is, and the verdict as the last."""
    table = results_table(cells, judged)
    where = f"{table}\nresults, predictions, heads and curves: {folder}"
    return f"{where}\n\n{verdict_text(cells, judged, learning)}".rstrip()


def verdict_text(
    cells: Sequence[Cell], judged: Sequence[Judged], learning: Sequence[LearningCurves]
) -> str:
    """Return the verdict in paragraphs: the answer, what it rests on, and the learning curves."""
    headline, details = verdict_of(of_most_labels(cells), judged)
    sentences = [f"{one}." for one in at_one_rate(of_most_labels(cells))]
    sentences += f"{headline} {details}".strip().splitlines()
    sentences += [f"{one.sentence()}." for one in learning if one.crossing]
    return "\n\n".join(fill(one, 100, break_on_hyphens=False) for one in sentences)


def differences(judged: Sequence[Judged]) -> Iterator[str]:
    """Yield a line on every two systems of each task, on test where that has labels.

    In the task's main metric, and of the bare cosines: their difference and its interval.
    """
    tested = {one.task for one in judged if one.split == "test"}
    for one in judged:
        if one.split != "test" and one.task in tested:
            continue
        for versus in one.comparisons:
            wanted = versus.metric in (TASKS[one.task].main_metric, COSINE)
            if wanted and versus.difference is not None:
                pair = f"{versus.a} - {versus.b}: {signed(versus)}"
                yield f"{one.task}, {one.split}, {versus.metric}: {pair}"


def results_table(cells: Sequence[Cell], judged: Sequence[Judged] = ()) -> str:
    """Return a Markdown table, one row per cell; several seeds become mean ± standard deviation.

    `95 %` is the interval of the task's main metric; that of a mean over seeds is in `judged`.
    `cosine` is Spearman's correlation of the bare cosine, without any head (STS; of late
    interaction MaxSim; a cross-encoder has none).
    `rate` is the encoder's, where one was chosen (those of several seeds).
    `seen` is the share of rows with a sentence that the run trained on or selected checkpoints by;
    `on unseen` is the task's main metric (accuracy or Pearson) on the other rows.
    """
    of_means = {
        (each.task, each.split, system): estimate.interval
        for each in judged
        for system, estimate in each.main_estimates().items()
    }
    few = any(cell.train_rows != ALL for cell in cells)
    searched = any(cell.rates for cell in cells)
    rows = []
    for members in by_system(cells):
        first, task = members[0], TASKS[members[0].task]
        if len(members) > 1:
            interval = of_means.get((first.task, first.split, first.system))
        else:
            own = first.interval.get(task.main_metric)
            interval = Interval(**own) if own else None
        metrics = [
            _spread([cell.metrics[name] for cell in members]) if name in task.metrics else "-"
            for name in METRICS
        ]
        bare = [cell.metrics.get(COSINE) for cell in members]
        has_cosine = task.label_kind == "score" and task.is_pair and first.encoder != "cross"
        seen = statistics.mean(cell.overlap["sentences"] for cell in members)
        rest = [cell.overlap["metrics_on_rest"].get(task.main_metric) for cell in members]
        speed = statistics.mean(cell.sentences_per_second for cell in members)
        rows.append(
            [
                *(getattr(first, name) for name in GROUP),
                *([str(first.labels)] if few else []),
                *([chosen_rates(members)] if searched else []),
                str(first.n),
                *metrics,
                shown(interval) or "-",
                _spread(bare) if has_cosine else "-",
                f"{seen:.1%}",
                _spread(rest),
                f"{statistics.mean(cell.seconds for cell in members):.1f}",
                f"{speed:.0f}",
            ]
        )
    optional = [name for name, there in (("labels", few), ("rate", searched)) if there]
    header = (*GROUP, *optional, *HEADER[len(GROUP) :])
    return markdown(header, rows)


def _spread(values: list[float | None]) -> str:
    """Return `0.812`, or `0.812 ± 0.004` for several seeds, or `undefined`."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return "undefined"
    mean = f"{statistics.mean(known):.3f}"
    return mean if len(known) == 1 else f"{mean} ± {statistics.stdev(known):.3f}"
