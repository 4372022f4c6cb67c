"""What a run prints when it ends: the table, the verdict, and where everything is."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import fill

from data.tasks import TASKS, Splits
from evaluation.intervals import Interval
from evaluation.metrics import METRICS
from evaluation.significance import shown, signed
from evaluation.table import markdown
from report.cell import ALL, COSINE, Cell, by_system, of_most_labels
from report.judging import OVERLAP, Judged, judge_cells, to_json
from report.learning import LearningCurves, chosen_rates, learning_curves, rate_sentences
from report.rating_groups import in_lines, rating_groups
from report.run_folder import COMPARISONS, RunFolder
from report.verdict import verdict_of

WIDTH = 100
GROUP = ("task", "pretrain", "encoder", "tune", "features", "split")
NOTHING = "-"


def conclusion(cells: Sequence[Cell], splits: Mapping[str, Splits], folder: RunFolder) -> str:
    """Compare the cells of a run, write comparisons.json, and return how the run ends.

    Only the process that writes the folder does this; in the others it is "".

    Raises:
        DataError: predictions in the folder are missing or damaged.
    """
    if folder.read_only:
        return ""
    judged = judge_cells(of_most_labels(cells), splits, folder)
    folder.write_json(COMPARISONS, to_json(judged))
    learning = learning_curves(cells, splits, folder)
    simcse = in_lines(rating_groups(of_most_labels(cells), splits, folder))
    return summary(cells, judged, learning, folder.path, simcse)


def summary(
    cells: Sequence[Cell],
    judged: Sequence[Judged],
    learning: Sequence[LearningCurves],
    folder: Path,
    simcse: Sequence[str] = (),
) -> str:
    """Return how a run ends: the table, the verdict, what SimCSE did, and where everything is."""
    verdict = verdict_text(cells, judged, learning)
    parts = [results_table(cells, judged), verdict, *simcse, f"Results saved to {folder}"]
    return "\n\n".join(filter(None, parts))


def verdict_text(
    cells: Sequence[Cell], judged: Sequence[Judged], learning: Sequence[LearningCurves]
) -> str:
    """Return the verdict as lines: the answer, then all paragraphs."""
    headline, paragraphs = answer(cells, judged, learning)
    return "\n\n".join(
        # What is set in lines stays as it is.
        words if "\n" in words else fill(words, WIDTH, break_on_hyphens=False)
        for words in filter(None, [headline, *paragraphs])
    )


def answer(
    cells: Sequence[Cell], judged: Sequence[Judged], learning: Sequence[LearningCurves]
) -> tuple[str, list[str]]:
    """Return the verdict, headline and paragraphs, with what curves and learning rates show."""
    headline, paragraphs = verdict_of(judged)
    curves = [curve.sentence() for curve in learning if curve.crossing]
    return headline, [*paragraphs, *curves, *rate_sentences(of_most_labels(cells))]


def differences(judged: Sequence[Judged]) -> Iterator[str]:
    """Yield a line on every two systems of each task, on test where that has labels.

    In the task's main metric, and of cosine similarities: their difference and its interval.
    """
    tested = {place.task for place in judged if place.split == "test"}
    for place in judged:
        if place.split != "test" and place.task in tested:
            continue
        for versus in place.comparisons:
            wanted = versus.metric in (place.main_metric, COSINE)
            if wanted and versus.difference is not None:
                pair = f"{versus.a} - {versus.b}: {signed(versus)}"
                yield f"{place.task}, {place.split}, {versus.metric}: {pair}"


def results_table(cells: Sequence[Cell], judged: Sequence[Judged] = ()) -> str:
    """Return a Markdown table, one row per system; several seeds become mean ± standard deviation.

    `95% CI` is the interval of the task's main metric; that of a mean over seeds is in `judged`.
    `cosine` is Spearman's correlation of cosine similarity, without any head (STS; of late
    interaction MaxSim; a cross-encoder has none). `rate` is the encoder's, where one was chosen;
    `steps` are those of the training. A task of pairs ends with the row of word overlap, which
    needs no training.
    `train overlap` is the share of rows with a sentence that the run trained on or selected
    checkpoints by; `no overlap` is the task's main metric on the other rows.
    Columns that say nothing are left out.
    """
    estimates = {
        (place.task, place.split, system): estimate.interval
        for place in judged
        for system, estimate in place.scores(place.main_metric).items()
    }
    few = any(cell.train_rows != ALL for cell in cells)
    rows: list[dict[str, str]] = []
    for seeds in by_system(cells):
        first, task = seeds[0], TASKS[seeds[0].task]
        interval = estimates.get((first.task, first.split, first.system))
        if len(seeds) == 1:
            stated = first.interval.get(task.main_metric)
            interval = Interval(**stated) if stated else None
        has_cosine = task.label_kind == "score" and task.is_pair and first.encoder != "cross"
        cosines = [cell.metrics.get(COSINE) for cell in seeds]
        rest = [cell.overlap["metrics_on_rest"].get(task.main_metric) for cell in seeds]
        overlap = statistics.mean(cell.overlap["sentences"] for cell in seeds)
        speed = statistics.mean(cell.sentences_per_second for cell in seeds)
        row = {name: getattr(first, name) for name in GROUP}
        row["labels"] = str(first.labels) if few else NOTHING
        row["rate"] = chosen_rates(seeds)
        row["steps"] = _from_to([cell.steps for cell in seeds])
        row["n"] = str(first.n)
        for name in METRICS:
            scores = [cell.metrics[name] for cell in seeds]
            row[name] = _spread(scores) if name in task.metrics else NOTHING
        row["95% CI"] = shown(interval) or NOTHING
        row["cosine (Spearman)"] = _spread(cosines) if has_cosine else NOTHING
        row["train overlap"] = f"{overlap:.1%}"
        row["no overlap"] = _spread(rest)
        row["seconds"] = f"{statistics.mean(cell.seconds for cell in seeds):.1f}"
        row["sentences/s"] = f"{speed:.0f}"
        rows.append(row)
    rows += _overlap_rows(judged, header=list(rows[0]))
    header = [name for name in rows[0] if any(row[name] != NOTHING for row in rows)]
    return markdown(header, [[row[name] for name in header] for row in rows])


def _from_to(counts: list[int | None]) -> str:
    """Return `80`, or `60-80` where seeds differ; a dash of runs that did not note it."""
    known = sorted({count for count in counts if count is not None})
    return "-".join(map(str, known[:: max(1, len(known) - 1)])) or NOTHING


def _overlap_rows(judged: Sequence[Judged], header: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield the row of word overlap on each split of each task of pairs."""
    for place in judged:
        metrics = {name: place.scores(name).get(OVERLAP) for name in METRICS}
        if score := metrics[place.main_metric]:
            row = dict.fromkeys(header, NOTHING)
            row |= {"task": place.task, "encoder": OVERLAP, "split": place.split}
            row |= {"n": str(score.n), "95% CI": shown(score.interval) or NOTHING}
            row |= {name: _spread([e.mean]) for name, e in metrics.items() if e is not None}
            yield row


def _spread(values: list[float | None]) -> str:
    """Return `0.812`, or `0.812 ± 0.004` for several seeds, or `undefined`."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return "undefined"
    mean = f"{statistics.mean(known):.3f}"
    return mean if len(known) == 1 else f"{mean} ± {statistics.stdev(known):.3f}"
