"""The tables of the papers, measured again: `python -m experiment.ablate dropout temperature`."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from experiment.ablate.recipes import TABLES, AblateOptions, command_of, words_of
from experiment.ablate.table import Table
from runtime.commands import INTERRUPTED_UNSAVED, begin, exit_code
from runtime.errors import UserError
from runtime.options import parse
from runtime.streams import Say

# What takes a second or more to load is imported where it is used: --help answers at once.
if TYPE_CHECKING:
    from experiment.ablate.measuring import Bench, Measured

DESCRIPTION = """Measure a table of a paper again: its rows, with several seeds, beside what was
published, and which of the paper's orderings hold. Without a name, or with --list: all tables."""

EPILOG = """examples:
  in minutes, with raw sentences of yours:
    python -m experiment.ablate dropout temperature --unsup-data sentences.txt --threads 1
  the paper's recipe, on a GPU:
    python -m experiment.ablate dropout --scale paper --backbone bert-base-uncased

Leaves OUT/NAME.csv and .txt, and of some a figure. The same command again computes nothing again;
an interrupted one goes on. Exit codes: as run_multitask.py; 2 also where a row was not measured."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; return its exit code."""
    options = parse(
        AblateOptions,
        argv,
        prog="python -m experiment.ablate",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    say = partial(print, flush=True)
    return exit_code(lambda: ablate(options, say), INTERRUPTED_UNSAVED)


def ablate(options: AblateOptions, say: Say = print) -> int:
    """Do what a command line asks for; return its exit code, 2 if a row could not be measured.

    Raises:
        UserError: a table or a row that there is not.
        OSError: the folder cannot be written.
    """
    tables = chosen(options)
    if options.list or not tables:
        for line in listing(tables or list(TABLES.values()), options):
            say(line)
        return 0

    import torch

    from experiment.ablate.measuring import Bench

    if options.threads:
        torch.set_num_threads(options.threads)
    bench = Bench(options, say)
    complete = [measure(table, bench, say) for table in tables]
    say(f"tables and figures: {options.out}")
    return 0 if all(complete) else 2


def chosen(options: AblateOptions) -> list[Table]:
    """Return the tables that are asked for, with the rows that are.

    Raises:
        UserError: a name that no table has, or a row that none of the tables has.
    """
    names = list(TABLES) if "all" in options.names else list(dict.fromkeys(options.names))
    for name in names:
        if name not in TABLES:
            raise UserError(f"no table {name!r}; one of {', '.join(TABLES)}, or all")
    tables = [TABLES[name] for name in names]
    if not options.rows:
        return tables
    labels = [row.label for table in tables for row in table.rows]
    for label in options.rows:
        if label not in labels:
            raise UserError(f"--rows {label}: no such row; one of {', '.join(labels)}")
    kept = [
        replace(table, rows=tuple(row for row in table.rows if row.label in options.rows))
        for table in tables
    ]
    return [table for table in kept if table.rows]


def listing(tables: Sequence[Table], options: AblateOptions) -> Iterator[str]:
    """Yield a few lines on each table: title, and the rows; of tables that are named, as commands.

    A row's command measures the same as the row, and more.
    """
    for table in tables:
        yield f"{table.name}: {table.title} ({table.source})"
        for need in table.needs:
            flag = "--documents " if need == "documents" else f"--from {need}="
            yield f"    needs: {flag}FILE"
        if not options.names:
            rows = "; ".join(row.label for row in table.rows)
            yield textwrap.fill(rows, 100, initial_indent="    rows: ", subsequent_indent="    ")
            continue
        for row in table.rows:
            try:
                command = command_of(words_of(row, table, options))
            except UserError as error:
                command = f"left out: {error}"
            made = f" on python -m data.triplets {row.made}" if row.made else ""
            yield f"    {row.label}: {command}{made}"


def measure(table: Table, bench: Bench, say: Say) -> bool:
    """Measure a table and write it; return whether all rows were measured."""
    from experiment.ablate.telling import csv_of, printed, trajectory
    from runtime.files import write_text

    measured: list[Measured] = []
    whole, out = True, bench.options.out
    for row in table.rows:
        try:
            measured += bench.measured(table, row)
        except UserError as error:
            whole = False
            say(f"  {table.name}, {row.label}: left out: {error}")
        if measured:  # after each row, in case that the next one takes long
            write_text(out / f"{table.name}.csv", csv_of(table, measured))
    if measured:
        if table.trajectory:
            write_text(out / f"{table.name}-trajectory.svg", trajectory(measured))
        found = printed(table, measured)
        write_text(out / f"{table.name}.txt", found + "\n")
        say(f"{found}\n\n{table.reading}")
    return whole


if __name__ == "__main__":
    begin(INTERRUPTED_UNSAVED)
    sys.exit(main())
