"""Compare two runs or two prediction files: `python -m report compare A B`."""

import json
from pathlib import Path

import numpy as np

from data.examples import DataError
from data.locate import data_folder
from data.predictions import Predictions, read_predictions
from data.search import query_clusters
from data.tasks import SPLITS, split_file
from evaluation.clusters import clusters_of
from evaluation.metrics import labels_of
from evaluation.significance import sentence, shown
from evaluation.table import markdown
from heads.saved import RUN_FILES
from report.cell import Cell
from report.judging import Judged, Runs, Scored, judge, measures_of, to_json
from report.rows import ScoredRows
from report.run_folder import RunFolder
from runtime.files import check_outputs, write_text


def compare(
    a: Path, b: Path, *, data: str | None, gold: Path | None, json_file: Path | None
) -> None:
    """Compare two sides, print the table and a sentence per task, and optionally write a file.

    For runs, cells of the same system are compared: the same pre-training, reader, tuning and
    features. If each run has one system for a task, these two are compared. Systems are named by
    their side.

    Raises:
        DataError: the two sides cannot be compared; the message is one line.
        OSError: a file cannot be written.
    """
    if data is not None and gold is not None:
        raise DataError("--data and --gold: the labels come from one of them; leave out the other")
    for path in (a, b):
        if not path.exists():
            raise DataError(f"{path}: not found; expected a run folder or a file of predictions")
    of_runs = [side / name for side in (a, b) for name in RUN_FILES]
    check_outputs([json_file], [a, b, gold, *of_runs])
    if a.is_dir() != b.is_dir():
        raise DataError(f"{a}, {b}: a folder and a file; give two runs or two prediction files")
    judged = judge((_of_runs if a.is_dir() else _of_files)(a, b, data, gold))
    if not any(place.comparisons for place in judged):
        raise DataError(f"{a}, {b}: no seed in common; compare runs of equal seeds")
    print(f"A  {a}\nB  {b}\n\n{_table(judged)}\n")
    for place in judged:
        for versus in place.comparisons:
            print(f"{place.task} {place.split}, {versus.metric}: {sentence(versus)}")
    if json_file:
        content = {"a": str(a), "b": str(b), **to_json(judged)}
        write_text(json_file, json.dumps(content, indent=1, allow_nan=False) + "\n")


def _table(judged: list[Judged]) -> str:
    rows = []
    for place in judged:
        for estimate in place.estimates:
            value = "undefined" if estimate.mean is None else f"{estimate.mean:.3f}"
            spread = "" if estimate.deviation is None else f" ± {estimate.deviation:.3f}"
            what = [place.task, place.split, estimate.system, estimate.metric, str(estimate.n)]
            rows.append([*what, value + spread, shown(estimate.interval)])
    return markdown(["task", "split", "system", "metric", "n", "value", "95% CI"], rows)


def _of_files(a: Path, b: Path, data: str | None, gold: Path | None) -> list[Scored]:
    first, second = read_predictions(a), read_predictions(b)
    task = first.task
    if second.task != task:
        raise DataError(f"{b}:1: predictions for {second.task.name}; {a} has {task.name}")
    split, path = (gold.stem, gold) if gold else _split_of(first, data)
    examples = task.read(path)
    systems = {
        name: {0: np.array(side.aligned(examples, path))}
        for name, side in (("A", first), ("B", second))
    }
    labels, clusters = labels_of(examples), clusters_of(examples)
    return [Scored(task.name, split, systems, labels, clusters)]


def _split_of(predictions: Predictions, data: str | None) -> tuple[str, Path]:
    """Return the split that holds the first predicted id, and its file."""
    task, home = predictions.task, data_folder(data or "bundled")
    id, (line, _) = next(iter(predictions.values.items()))
    paths = {split: split_file(home, task, split) for split in SPLITS[1:]}
    for split, path in paths.items():
        if path.is_file() and id in {row.id for row in task.read(path, labelled=False)}:
            return split, path
    tried = " or ".join(map(str, paths.values()))
    raise DataError(
        f"{predictions.path}:{line}: id {id!r} is not in {tried}; name the file with the labels "
        "(--gold FILE) or its folder (--data DIR)"
    )


def _of_runs(a: Path, b: Path, data: str | None, gold: Path | None) -> list[Scored]:
    runs = RunFolder(a, read_only=True), RunFolder(b, read_only=True)
    first, second = (_by_place(run) for run in runs)
    scored = []
    rows = ScoredRows(runs[0], runs[0].cells(), data)
    for (task, split), ours in first.items():
        theirs = second.get((task, split), {})
        names = [(name, name) for name in ours if name in theirs]
        if not names and len(ours) == len(theirs) == 1:
            names = [(next(iter(ours)), next(iter(theirs)))]
        if not names:
            continue
        examples = rows.examples(task, split, gold)
        corpus = rows.tables(task).corpus if task == "search" else ()
        systems: Runs = {}
        pairs = []
        for name, other in names:
            both = [ours[name], theirs[other]]
            if all(len(seeds) == 1 for seeds in both):
                # One seed each, not necessarily the same.
                both = [dict(enumerate(seeds.values())) for seeds in both]
            pairs.append((f"A {name}", f"B {other}"))
            for side, run, seeds in zip(pairs[-1], runs, both, strict=True):
                systems[side] = {
                    seed: measures_of(cell, examples, corpus, run)
                    if corpus
                    else run.predictions(cell, examples, rows.task(task))
                    for seed, cell in seeds.items()
                }
        if corpus:
            labels, clusters = np.zeros(len(examples)), query_clusters(examples)
        else:
            labels, clusters = labels_of(examples), clusters_of(examples)
        scored.append(Scored(task, split, systems, labels, clusters, pairs))
    if not scored:
        raise DataError(f"{a}, {b}: no task and split with cells of the same system in both")
    return scored


def _by_place(run: RunFolder) -> dict[tuple[str, str], dict[str, dict[int, Cell]]]:
    """Return the cells of each split by system and seed."""
    places: dict[tuple[str, str], dict[str, dict[int, Cell]]] = {}
    for cell in run.cells():
        systems = places.setdefault((cell.task, cell.split), {})
        systems.setdefault(cell.system, {})[cell.seed] = cell
    if not places:
        raise DataError(f"{run.path}: no cells in results.json; expected the folder of a run")
    return places
