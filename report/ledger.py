"""The ledger: which runs there are, when, how long and on what, and their best scores.

Runs of any version are shown for what they hold: what is missing is a dash, never an error.
"""

import statistics
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from data.examples import DataError
from data.tasks import TASKS
from evaluation.table import markdown
from report.run_folder import read_run
from runtime.files import read_json
from runtime.streams import Say, printable

HEADER = ("run", "when", "minutes", "device", "backbone", "data", "seeds", "cells", "best")
SETTING = ("pretrain", "encoder", "tune", "features")
UNKNOWN = "-"


def list_runs(folders: Sequence[Path], say: Say) -> None:
    """Print a table of the runs in some folders, the latest last; damaged ones are named below it.

    Raises:
        DataError: a folder that is not there.
    """
    rows, damaged = [], []
    for folder in dict.fromkeys(folders):
        if not folder.is_dir():
            raise DataError(f"{folder}: no such folder; name the folder that holds run folders")
        for path in sorted(filter(Path.is_dir, folder.iterdir())):
            try:
                if run := read_run(path):
                    # When results, or else settings, were written.
                    files = [path / name for name in ("results.json", "config.json")]
                    changed = next(file.stat().st_mtime for file in files if file.is_file())
                    rows.append((changed, _row(path, changed, *run)))
            except DataError as error:
                damaged.append(f"left out  {printable(str(error))}")
    if rows:
        rows.sort(key=lambda row: row[0])
        say(markdown(HEADER, [[printable(word) for word in row] for _, row in rows]))
    for line in damaged:
        say(line)
    where = " ".join(map(str, folders))
    say(f"{len(rows)} run(s) in {printable(where)}; python -m report html RUN says more")


def _row(
    path: Path, changed: float, config: dict[str, Any], cells: list[dict[str, Any]]
) -> list[str]:
    # Splits of a head share its time, and heads of a stage and seed the backbone's.
    times = list({cell.get("key"): cell.get("seconds") for cell in cells}.values())
    stages = {(cell.get("pretrain"), cell.get("seed")) for cell in cells}
    for pretrain, seed in stages:
        try:
            trained = read_json(path / "backbones" / f"{pretrain}-{seed}" / "training.json")
            times.append(_inner(trained, "seconds"))
        except (OSError, ValueError):
            pass  # untuned, or deleted since
    known = [seconds for seconds in times if isinstance(seconds, int | float)]
    seeds = sorted({cell["seed"] for cell in cells if isinstance(cell.get("seed"), int)})
    numbers = ", ".join(map(str, seeds))
    if len(seeds) > 2 and seeds[-1] - seeds[0] == len(seeds) - 1:
        numbers = f"{seeds[0]}-{seeds[-1]}"
    unfinished = not cells or any(path.glob("state/*.pt"))
    return [
        str(path),
        datetime.fromtimestamp(changed).strftime("%Y-%m-%d %H:%M"),
        f"{sum(known) / 60:.1f}" if known else UNKNOWN,
        _shown(config.get("device")),
        _shown(_inner(config, "options", "backbone")),
        _shown(_inner(config, "options", "data")),
        numbers or UNKNOWN,
        f"{len(cells)}{', unfinished' if unfinished else ''}",
        "; ".join(_best(cells)) or UNKNOWN,
    ]


def _best(cells: list[dict[str, Any]]) -> list[str]:
    """Return each task's best setting, `sts 0.812 (sup cross)`: means over seeds are compared."""
    groups: dict[tuple[Any, ...], list[float]] = {}
    with_test = {cell.get("task") for cell in cells if cell.get("split") == "test"}
    for cell in cells:
        task = cell.get("task")
        score = _inner(cell, "metrics", TASKS[task].main_metric) if task in TASKS else None
        wanted = "test" if task in with_test else "dev"
        if isinstance(score, int | float) and cell.get("split") == wanted:
            setting = tuple(cell.get(name) for name in SETTING)
            groups.setdefault((task, *setting), []).append(score)
    best: dict[Any, tuple[float, str]] = {}
    for (task, pretrain, encoder, tune, _), scores in groups.items():
        mean = statistics.mean(scores)
        if task not in best or mean > best[task][0]:
            full = " full" if tune == "full" else ""
            best[task] = mean, f"{task} {mean:.3f} ({pretrain} {encoder}{full})"
    return [words for _, words in best.values()]


def _inner(raw: Any, *names: str) -> Any:
    """Return a value of nested dictionaries, None where there is none."""
    for name in names:
        raw = raw.get(name) if isinstance(raw, dict) else None
    return raw


def _shown(value: Any) -> str:
    return UNKNOWN if value is None else str(value)
