"""The output at the end of a run: the table, the verdict, and the paths of the results."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import fill

from data.tasks import RANKING, TASKS, Splits
from evaluation.intervals import Interval
from evaluation.metrics import AVERAGE_PRECISION, COSINE, METRICS
from evaluation.significance import shown, signed
from evaluation.table import markdown
from report.cell import Cell, best_known, by_system, of_most_labels, rows_of
from report.floors import is_floor
from report.judging import Judged, judge_cells, to_json
from report.learning import LearningCurves, chosen_rates, learning_curves, rate_sentences
from report.rating_groups import in_lines, rating_groups
from report.run_folder import COMPARISONS, RunFolder
from report.search import search_verdict
from report.verdict import Verdict, verdict_of

WIDTH = 100
SETTING = ("pretrain", "reader", "tune", "features")
# Columns that are printed above a table if all its rows share their value.
SHARED = (
    "n",
    "backbone",
    "MB",
    "pretrain",
    "tune",
    "features",
    "labels",
    "rate",
    "steps",
    "epochs",
    "train overlap",
)
# The first columns to omit from a table that is wider than WIDTH.
DISPENSABLE = (
    "train overlap",
    "no overlap",
    "f1",
    "spearman",
    "rate",
    "cosine (Spearman)",
    "steps",
)
NOTHING = "-"
# What chose the epochs, by `--select`, where it is not a part of train.
EPOCHS = {"dev": "chosen on dev", "last": "all"}
ON_DEV = (
    "Epochs were chosen on dev, as in the course (--select dev): scores on dev are too high, most "
    "of all with few labels."
)


def conclusion(cells: Sequence[Cell], splits: Mapping[str, Splits], folder: RunFolder) -> str:
    """Compare the cells of a run, write comparisons.json, and return the final output.

    Only the process that writes the folder does this; the others return "".

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
    """Return the final output: the table, the verdict, the effect of SimCSE, and the paths."""
    verdict = verdict_text(cells, judged, learning)
    effects = [fill(line, WIDTH) for line in simcse]
    parts = [results_table(cells, judged), verdict, *effects, f"Results saved to {folder}"]
    return "\n\n".join(filter(None, parts))


def verdict_text(
    cells: Sequence[Cell], judged: Sequence[Judged], learning: Sequence[LearningCurves]
) -> str:
    """Return the verdict as lines: the answer, then all paragraphs."""
    headline, advice, paragraphs = answer(cells, judged, learning)
    opening = " ".join(filter(None, [headline, advice]))
    return "\n\n".join(
        # Paragraphs with several lines are not wrapped.
        words if "\n" in words else fill(words, WIDTH, break_on_hyphens=False)
        for words in filter(None, [opening, *paragraphs])
    )


def answer(
    cells: Sequence[Cell], judged: Sequence[Judged], learning: Sequence[LearningCurves]
) -> Verdict:
    """Return the verdict, with sentences on learning curves and rates."""
    searched = [place for place in judged if place.task == "search" and place.question.systems]
    if searched:
        return search_verdict(searched[-1], cells)
    verdict = verdict_of(judged)
    curves = [curve.sentence() for curve in learning if curve.crossing]
    rates = rate_sentences(of_most_labels(cells))
    on_dev = [ON_DEV] if any(cell.select == "dev" for cell in cells) else []
    return verdict._replace(paragraphs=[*verdict.paragraphs, *on_dev, *curves, *rates])


def differences(judged: Sequence[Judged]) -> Iterator[str]:
    """Yield a line on every two systems of each task, on test if it has labels.

    It has their difference and its interval, in the task's main metric and of cosine similarities.
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
    """Return a Markdown table per task, on its test rows if these have labels, else on dev.

    A row is a system; several seeds become mean ± standard deviation. Values that all rows share
    are printed above the table, and empty columns are left out. If the table is wider than a
    terminal, DISPENSABLE columns are left out too: results.csv has all columns.

    `95% CI` is the interval of the task's main metric; for a mean over seeds it is in `judged`.
    `AP` is the average precision of the probabilities of yes.
    `cosine` is Spearman's correlation of cosine similarity without a head (STS; for late
    interaction MaxSim; a cross-encoder has none). `rate` is the encoder's, if one was chosen;
    `steps` are those of the training; `epochs` says what chose them, if not a part of train. A task
    of pairs ends with the rows of what needs no trained head, a search with that of BM25.
    `train overlap` is the share of rows with a sentence that the run, or a checkpoint that lists
    its data, used for training or checkpoint selection; `no overlap` is the task's main metric on
    the other rows.
    """
    estimates = {
        (place.task, place.split, system): estimate.interval
        for place in judged
        for system, estimate in place.scores(place.main_metric).items()
    }
    tables: dict[tuple[str, str], list[dict[str, str]]] = {}
    for seeds in by_system(best_known(cells)):
        first = seeds[0]
        interval = estimates.get((first.task, first.split, first.system))
        if len(seeds) == 1:
            stated = first.interval.get(TASKS[first.task].main_metric)
            interval = Interval(**stated) if stated else None
        tables.setdefault((first.task, first.split), []).append(_row(seeds, interval))
    for place in judged:
        if rows := tables.get((place.task, place.split)):
            rows += _floor_rows(place, header=list(rows[0]))
    return "\n\n".join(
        _task_table(f"{task}, {rows_of(split)}", rows) for (task, split), rows in tables.items()
    )


def _row(seeds: Sequence[Cell], interval: Interval | None) -> dict[str, str]:
    """Return a system's row of the table, by column."""
    first, task = seeds[0], TASKS[seeds[0].task]
    has_cosine = task.label_kind == "score" and task.is_pair and first.reader != "cross"
    row = {"n": str(first.n), "backbone": first.model or NOTHING}
    row |= {name: getattr(first, name) for name in SETTING}
    row["labels"] = str(first.labels or NOTHING)
    row["depth"] = str(first.depth or NOTHING)
    row["rate"] = chosen_rates(seeds)
    row["steps"] = _from_to([cell.steps for cell in seeds])
    row["epochs"] = EPOCHS.get(first.select or "", NOTHING)
    for name in (*METRICS, *RANKING):
        scores = [cell.metrics.get(name) for cell in seeds]
        row[name] = _spread(scores) if name in task.metrics else NOTHING
        if name == task.main_metric:
            row["95% CI"] = shown(interval) or NOTHING
    precisions = [cell.metrics.get(AVERAGE_PRECISION) for cell in seeds]
    row["AP"] = NOTHING if None in precisions else _spread(precisions)
    cosines = [cell.metrics.get(COSINE) for cell in seeds]
    row["cosine (Spearman)"] = _spread(cosines) if has_cosine else NOTHING
    overlap = statistics.mean(cell.overlap["sentences"] for cell in seeds)
    row["train overlap"] = f"{overlap:.1%}"
    row |= dict.fromkeys(("ms per query", "MB"), NOTHING)
    if first.search:
        times = [cell.search["milliseconds"] for cell in seeds]
        row["ms per query"] = f"{statistics.mean(times):.3g}"
        row["MB"] = f"{first.search['megabytes']:.1f}"
    rest = [cell.overlap["metrics_on_rest"].get(task.main_metric) for cell in seeds]
    row["no overlap"] = _spread(rest) if overlap else NOTHING
    return row


def _task_table(title: str, rows: Sequence[Mapping[str, str]]) -> str:
    """Return the table of a task below a line with its title and shared values."""
    values = {name: {row[name] for row in rows} - {NOTHING} for name in rows[0]}
    shared = {name: next(iter(values[name])) for name in SHARED if len(values[name]) == 1}
    header = [name for name, different in values.items() if different and name not in shared]

    def table() -> str:
        return markdown(header, [[row[name] for name in header] for row in rows])

    for name in DISPENSABLE:
        if name in header and len(table().partition("\n")[0]) > WIDTH:
            header.remove(name)
    above = ", ".join([title, *(f"{name} {value}" for name, value in shared.items())])
    return f"{above}\n{table()}"


def _from_to(counts: list[int | None]) -> str:
    """Return `80`, or `60-80` if seeds differ; a dash for runs that did not store it."""
    known = sorted({count for count in counts if count is not None})
    return "-".join(map(str, known[:: max(1, len(known) - 1)])) or NOTHING


def _floor_rows(place: Judged, header: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield the rows of what needs no trained head, or of BM25 of a search."""
    for floor, score in place.scores(place.main_metric).items():
        if is_floor(floor):
            metrics = {name: place.scores(name).get(floor) for name in (*METRICS, *RANKING)}
            row = dict.fromkeys(header, NOTHING)
            row |= {"reader": floor, "n": str(score.n), "95% CI": shown(score.interval) or NOTHING}
            row |= {name: _spread([e.mean]) for name, e in metrics.items() if e is not None}
            yield row


def _spread(values: list[float | None]) -> str:
    """Return `0.812`, or `0.812 ± 0.004` for several seeds, or `undefined`."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return "undefined"
    mean = f"{statistics.mean(known):.3f}"
    return mean if len(known) == 1 else f"{mean} ± {statistics.stdev(known):.3f}"
