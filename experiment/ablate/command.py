"""The whole command: tables chosen, rows measured, everything written. Reads: all of ablate."""

import json
from collections.abc import Callable
from dataclasses import replace

import torch

from experiment.ablate.judging import judge
from experiment.ablate.making import training_file
from experiment.ablate.measuring import Bench, Measured
from experiment.ablate.options import AblateOptions
from experiment.ablate.recipes import settings_of
from experiment.ablate.table import Table
from experiment.ablate.tables import TABLES
from experiment.ablate.telling import csv_of, json_of, printed
from runtime.errors import UserError
from runtime.files import write_text

Say = Callable[[str], None]  # called with every line of output


def ablate(options: AblateOptions, say: Say = print) -> int:
    """Do what a command line asks for; return its exit code, 2 if a row could not be measured.

    Raises:
        UserError: a table or a row that there is not.
        OSError: the folder cannot be written.
    """
    tables = chosen(options)
    if options.threads:
        torch.set_num_threads(options.threads)
    bench = Bench(options.out / "measured")
    complete = [_table(table, options, bench, say) for table in tables]
    say(f"tables, figures and pages: {options.out}")
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


def _table(table: Table, options: AblateOptions, bench: Bench, say: Say) -> bool:
    """Measure a table row by row; write it after each; return whether all rows were measured."""
    measured: list[Measured] = []
    failed: dict[str, str] = {}
    for row in table.rows:
        for seed in range(options.seed, options.seed + options.seeds):
            try:
                file = training_file(row, options)
                settings = settings_of(row, table, options, seed, file.path)
                one = bench.measured(row.label, settings, file.command)
            except UserError as error:
                failed[row.label] = str(error)
                say(f"  {table.name}, {row.label}: left out: {error}")
                break
            measured.append(one)
            first = table.columns[0]
            value = one.values[first]
            said = "undefined" if value is None else f"{value:.4f}"
            say(f"  {table.name}, {row.label}, seed {seed}: {first} {said}, {one.seconds:.0f} s")
        _write(table, options, measured, failed)
    if measured:
        _show(table, options, measured, failed)
        say(printed(table, measured, judge(table, measured)))
    return not failed


def _write(
    table: Table, options: AblateOptions, measured: list[Measured], failed: dict[str, str]
) -> None:
    judged = judge(table, measured)
    content = json.dumps(json_of(table, measured, judged, failed), indent=1)
    write_text(options.out / f"{table.name}.json", content + "\n")
    write_text(options.out / f"{table.name}.csv", csv_of(table, measured))


def _show(
    table: Table, options: AblateOptions, measured: list[Measured], failed: dict[str, str]
) -> None:
    """Write figure and page; the libraries that draw are loaded only now."""
    from experiment.ablate.figure import figures, standalone
    from experiment.ablate.page import render

    write_text(options.out / f"{table.name}.svg", standalone(figures(table, measured)[0]))
    content = render(table, measured, judge(table, measured), failed)
    write_text(options.out / f"{table.name}.html", content)
