"""The ledger: which runs there are, when, how long and on what, and their best scores."""

import statistics
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from data.examples import DataError
from data.tasks import TASKS
from evaluation.table import markdown
from report.cell import Cell, by_system
from report.run_folder import RunFolder
from runtime.files import read_json
from runtime.streams import Say, printable

HEADER = ("run", "when", "minutes", "device", "backbone", "data", "seeds", "cells", "best")
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
            run = RunFolder(path, read_only=True)
            # When results, or else settings, were written.
            files = [path / name for name in ("results.json", "config.json")]
            times = [file.stat().st_mtime for file in files if file.is_file()]
            try:
                if times:
                    rows.append((times[0], _row(run, times[0])))
            except DataError as error:
                # A checkpoint has a config.json, too.
                if files[0].is_file():
                    damaged.append(f"left out  {printable(str(error))}")
    if rows:
        rows.sort(key=lambda row: row[0])
        say(markdown(HEADER, [[printable(word) for word in row] for _, row in rows]))
    for line in damaged:
        say(line)
    where = " ".join(map(str, folders))
    say(f"{len(rows)} run(s) in {printable(where)}; python -m report html RUN shows more")


def _row(run: RunFolder, changed: float) -> list[str]:
    config, cells = run.config(), run.cells()
    # Splits of a head share its time, and heads of a stage and seed the backbone's.
    seconds = list({cell.key: cell.seconds for cell in cells}.values())
    for stage in dict.fromkeys(f"{cell.pretrain}-{cell.seed}" for cell in cells):
        try:
            seconds.append(read_json(run.path / "backbones" / stage / "training.json")["seconds"])
        except (OSError, ValueError, KeyError, TypeError):
            pass  # untuned, or deleted since
    seeds = sorted({cell.seed for cell in cells})
    numbers = ", ".join(map(str, seeds))
    unfinished = not cells or any(run.path.glob("state/*.pt"))
    options: dict[str, Any] = config.get("options", {})
    return [
        str(run.path),
        datetime.fromtimestamp(changed).strftime("%Y-%m-%d %H:%M"),
        f"{sum(seconds) / 60:.1f}" if seconds else UNKNOWN,
        str(config.get("device", UNKNOWN)),
        str(options.get("backbone", UNKNOWN)),
        str(options.get("data", UNKNOWN)),
        numbers or UNKNOWN,
        f"{len(cells)}{', unfinished' if unfinished else ''}",
        "; ".join(_best(cells)) or UNKNOWN,
    ]


def _best(cells: Sequence[Cell]) -> list[str]:
    """Return each task's best setting, `sts 0.812 (sup cross)`: means over seeds are compared."""
    best: dict[str, tuple[float, str]] = {}
    with_test = {cell.task for cell in cells if cell.split == "test"}
    shown = [c for c in cells if c.split == ("test" if c.task in with_test else "dev")]
    for own in by_system(shown):
        task = own[0].task
        scores = [cell.metrics[TASKS[task].main_metric] for cell in own]
        known = [score for score in scores if score is not None]
        mean = statistics.mean(known) if known else -2.0
        if known and (task not in best or mean > best[task][0]):
            full = " full" if own[0].tune == "full" else ""
            best[task] = mean, f"{task} {mean:.3f} ({own[0].pretrain} {own[0].encoder}{full})"
    return [words for _, words in best.values()]
