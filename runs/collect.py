"""Make a result file of what a script has run: `python -m runs.collect NAME SOURCE ...`.

SOURCE is a run folder, or a file that a command has written. NAME.csv (NAME.json of a benchmark)
has its rows with version, commit and machine, NAME.txt the verdicts of runs and the differences of
every two systems. They go into the folder RESULTS of the environment.
"""

import csv
import json
import os
import sys
from pathlib import Path

from runs.read import EVERY_TWO, Line
from runtime.commands import exit_code
from runtime.files import read_object, write_text


def main(name: str, *sources: str) -> None:
    """Write the result files of this name."""
    rows, texts = [], []
    for source in map(Path, sources):
        stamp = stamp_of(source)
        if source.suffix == ".json":
            write(f"{name}.json", json.dumps(stamp | read_object(source), indent=1) + "\n")
            return
        if source.is_dir():
            texts.append(verdict_of(source))
        path = source / "results.csv" if source.is_dir() else source
        with path.open(encoding="utf-8", newline="") as file:
            rows += [row | stamp for row in csv.DictReader(file)]
    if texts:
        write(f"{name}.txt", "\n\n".join(texts) + "\n")
    write_rows(name, rows)


def stamp_of(source: Path) -> Line:
    """Return what made a run, or a file just now."""
    from minbert import __version__
    from report.run_folder import RunFolder, provenance

    config = RunFolder(source, read_only=True).config() if source.is_dir() else provenance()
    stamp: Line = {
        name: config[name] for name in ("commit", "machine", "threads") if name in config
    }
    return {"version": __version__, **stamp}


def verdict_of(run: Path) -> str:
    """Return the verdict of a run, and the differences of its systems."""
    from report.finished import FinishedRun
    from report.table import differences, verdict_text

    finished = FinishedRun.read(run)
    text = verdict_text(finished.cells, finished.judged, finished.learning)
    return "\n".join([text, "", EVERY_TWO, *differences(finished.judged)])


def write_rows(name: str, rows: list[Line]) -> None:
    """Write a table as NAME.csv: by this file it counts as made."""
    from evaluation.table import csv_text

    columns = list(dict.fromkeys(column for row in rows for column in row))
    write(f"{name}.csv", csv_text(columns, [[row.get(c) for c in columns] for row in rows]))


def write(name: str, text: str) -> None:
    """Write a result file, without paths of this machine."""
    text = text.replace(f"{os.environ['RUNS']}/", "")
    if data := os.environ.get("DATA"):
        text = text.replace(data, "DATA")
    write_text(Path(os.environ["RESULTS"], name), text)
    print(f"{os.environ['RESULTS']}/{name}")


if __name__ == "__main__":
    sys.exit(exit_code(lambda: main(*sys.argv[1:])))
