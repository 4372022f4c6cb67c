"""The ledger: which runs there are, and all that one of them knows of itself.

Reads: past_run. Feeds: the command line.
"""

import shlex
import statistics
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from data.examples import DataError
from data.tasks import TASKS
from evaluation.table import markdown
from report.options import ListOptions, ShowOptions
from report.past_run import SETTING, PastRun, inner
from runtime.terminal import printable

Say = Callable[[str], None]  # called with every line of output
HEADER = ("run", "when", "minutes", "device", "backbone", "data", "seeds", "cells", "best", "gone")
UNKNOWN = "-"


def list_runs(options: ListOptions, say: Say) -> None:
    """Print a table of runs, the latest last; damaged ones are named below it.

    Raises:
        DataError: a folder that is not there.
    """
    runs, damaged = [], []
    for folder in dict.fromkeys(options.folders):
        if not folder.is_dir():
            raise DataError(f"{folder}: no such folder; name the folder that holds run folders")
        for path in sorted(filter(Path.is_dir, folder.iterdir())):
            try:
                runs.append(PastRun.read(path))
            except DataError as error:
                damaged.append(f"left out  {printable(str(error))}")
    known = sorted(filter(None, runs), key=lambda run: run.changed)
    if known:
        say(markdown(HEADER, [_row(run) for run in known]))
    for line in damaged:
        say(line)
    where = " ".join(map(str, options.folders))
    say(f"{len(known)} run(s) in {printable(where)}; python -m report show RUN says more")


def show_run(options: ShowOptions, say: Say) -> None:
    """Print all that a run folder knows of its run.

    Raises:
        DataError: it is not a run folder, or is damaged.
    """
    run = PastRun.read(options.run)
    if run is None:
        raise DataError(f"{options.run}: not a run folder; it has no results.json")
    for name, value in _facts(run):
        say(f"{name:<10}{printable(value)}")
    if run.cells:
        say(f"\n{_scores(run)}")
    say(f"\nresults, predictions, heads and curves: {run.path}")


def _row(run: PastRun) -> list[str]:
    """Return a run as a row of the table."""
    cells = f"{len(run.cells)}{', unfinished' if run.is_unfinished else ''}"
    words = [
        *(str(run.path), _when(run), _minutes(run.head_seconds(), run.tuning_seconds())),
        *(_shown(run.config.get("device")), _shown(run.option("backbone"))),
        *(_shown(run.option("data")), _numbers(run.seeds), cells),
        *("; ".join(_best(run)) or UNKNOWN, ", ".join(run.gone()) or UNKNOWN),
    ]
    return [printable(word) for word in words]


def _facts(run: PastRun) -> Iterable[tuple[str, str]]:
    """Yield what is known about a run, apart from its scores, as (name, value)."""
    config = run.config
    command = config.get("command")
    words = list(map(str, command)) if isinstance(command, list) else []
    yield "run", str(run.path)
    yield "when", _when(run)
    yield "command", shlex.join(["python", *words]) if words else UNKNOWN
    if run.is_unfinished:
        yield "state", "unfinished; the same command with --resume continues it"
    for name in ("backbone", "data", "preset", "pooling"):
        yield name, _shown(run.option(name))
    yield "seeds", _numbers(run.seeds)
    names = ("device", "precision", "threads", "processes")
    computed = ", ".join(f"{name} {_shown(config.get(name))}" for name in names)
    yield "device", computed.replace("torch.", "").removeprefix("device ")
    yield "machine", _shown(config.get("machine"))
    yield "code", f"commit {_shown(config.get('commit'))}, Python {_shown(config.get('python'))}"
    yield "packages", _listed(config.get("packages"))
    heads, tuning = run.head_seconds(), run.tuning_seconds()
    yield "minutes", f"{_minutes(heads)} for heads, {_minutes(tuning)} for tuning backbones"
    hashes = config.get("sha256")
    for name, value in hashes.items() if isinstance(hashes, dict) else ():
        yield "sha256", f"{name}: {_shown(value)}"
    for name, path in run.backbones().items():
        where = f"{path.resolve()}" if path.exists() else "gone; the command would make it again"
        yield "encoder", f"{name}: {where}"
    missing = sum(not path.is_file() for path in run.heads())
    yield "heads", f"{len(run.heads()) - missing} here, {missing} gone"
    kept = str(run.cache) if run.cache.is_dir() else "gone; embeddings would be computed again"
    yield "cache", kept


def _scores(run: PastRun) -> str:
    """Return the table of a run's cells, with every metric that one of them has."""
    metrics = dict.fromkeys(
        name
        for cell in run.cells
        for name, value in (inner(cell, "metrics") or {}).items()
        if value is not None
    )
    header = (*SETTING, "seed", "split", "n", *metrics, "seconds", "key")
    rows = [
        [
            *(_shown(cell.get(name)) for name in (*SETTING, "seed", "split", "n")),
            *(_score(inner(cell, "metrics", name)) for name in metrics),
            *(_score(cell.get("seconds"), 1), _shown(cell.get("key"))),
        ]
        for cell in run.cells
    ]
    return markdown(header, [[printable(word) for word in row] for row in rows])


def _best(run: PastRun) -> list[str]:
    """Return each task's best setting, `sts 0.812 (sup cross)`: means over seeds are compared."""
    groups: dict[tuple[Any, ...], list[float]] = {}
    with_test = {cell.get("task") for cell in run.cells if cell.get("split") == "test"}
    for cell in run.cells:
        task = cell.get("task")
        score = inner(cell, "metrics", TASKS[task].main_metric) if task in TASKS else None
        wanted = "test" if task in with_test else "dev"
        if isinstance(score, int | float) and cell.get("split") == wanted:
            setting = tuple(cell.get(name) for name in SETTING)
            groups.setdefault((task, setting), []).append(score)
    best: dict[Any, tuple[float, Any]] = {}
    for (task, setting), scores in groups.items():
        mean = statistics.mean(scores)
        if task not in best or mean > best[task][0]:
            best[task] = mean, setting
    return [
        f"{task} {mean:.3f} ({setting[0]} {setting[2]}{' full' if setting[3] == 'full' else ''})"
        for task, (mean, setting) in best.items()
    ]


def _when(run: PastRun) -> str:
    return datetime.fromtimestamp(run.changed).strftime("%Y-%m-%d %H:%M")


def _minutes(*seconds: float | None) -> str:
    known = [part for part in seconds if part is not None]
    return f"{sum(known) / 60:.1f}" if known else UNKNOWN


def _numbers(seeds: Sequence[int]) -> str:
    """Return `42`, `42-44`, or `1, 5`."""
    if len(seeds) > 2 and seeds[-1] - seeds[0] == len(seeds) - 1:
        return f"{seeds[0]}-{seeds[-1]}"
    return ", ".join(map(str, seeds)) or UNKNOWN


def _listed(raw: Any) -> str:
    pairs = raw.items() if isinstance(raw, dict) else ()
    return ", ".join(f"{name} {_shown(value)}" for name, value in pairs) or UNKNOWN


def _score(value: Any, digits: int = 3) -> str:
    return f"{value:.{digits}f}" if isinstance(value, int | float) else UNKNOWN


def _shown(value: Any) -> str:
    return UNKNOWN if value is None else str(value)
