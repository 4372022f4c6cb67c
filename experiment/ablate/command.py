"""The whole command: tables chosen, rows measured, everything written. Reads: all of ablate."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from experiment.ablate.judging import judge
from experiment.ablate.making import training_file
from experiment.ablate.measuring import Bench, Measured
from experiment.ablate.options import AblateOptions
from experiment.ablate.pricing import listing, project
from experiment.ablate.recipes import settings_of
from experiment.ablate.table import Table
from experiment.ablate.tables import TABLES
from experiment.ablate.telling import Study, csv_of, json_of, printed
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
    if options.list or not tables:
        for line in listing(tables or list(TABLES.values()), options.seeds):
            say(line)
        return 0
    if options.threads:
        torch.set_num_threads(options.threads)
    if options.dry_run:
        for table in tables:
            _plan(table, options, say)
        return 0
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
    """Measure a table and write it; return whether all rows were measured."""
    studies: list[Study] = []
    if table.of_heads:
        from experiment.ablate.heads import measured_heads  # scikit-learn takes a moment

        measured, failed = measured_heads(table, options, say)
        _write(table, options, measured, failed)
        studies = _studies(table, options, failed, say)
        _write(table, options, measured, failed, studies)
    else:
        measured, failed = _tunings(table, options, bench, say)
    if measured:
        _show(table, options, measured, failed, studies)
        told = [printed(table, measured, judge(table, measured))]
        say("\n\n".join([*told, *(study.printed() for study in studies)]))
    return not failed


def _studies(table: Table, options: AblateOptions, failed: dict[str, str], say: Say) -> list[Study]:
    """Return what else is measured of a table of heads; what could not be is added to `failed`."""
    from experiment.ablate.studies import STUDIES

    found = []
    for name in table.studies:
        try:
            found.append(STUDIES[name](table, options, say))
        except UserError as error:
            failed[name] = str(error)
            say(f"  {table.name}: {name} left out: {error}")
    return found


def _plan(table: Table, options: AblateOptions, say: Say) -> None:
    """Say what a table would take; of heads, by which runs."""
    if table.of_heads:
        from experiment.ablate.planning import planned

        lines = planned(table, options)
    else:
        lines = project(table, options)
    for line in lines:
        say(line)


def _tunings(
    table: Table, options: AblateOptions, bench: Bench, say: Say
) -> tuple[list[Measured], dict[str, str]]:
    """Measure a table row by row, written after each; return also which rows failed, and why."""
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
            best = one.values["best"]
            told = "undefined" if best is None else f"{best:.4f}"
            say(f"  {table.name}, {row.label}, seed {seed}: best {told}, {one.seconds:.0f} s")
        _write(table, options, measured, failed)
    return measured, failed


def _write(
    table: Table,
    options: AblateOptions,
    measured: list[Measured],
    failed: dict[str, str],
    studies: Sequence[Study] = (),
) -> None:
    judged = judge(table, measured)
    content = json.dumps(json_of(table, measured, judged, failed, studies), indent=1)
    write_text(options.out / f"{table.name}.json", content + "\n")
    write_text(options.out / f"{table.name}.csv", csv_of(table, measured))


def _show(
    table: Table,
    options: AblateOptions,
    measured: list[Measured],
    failed: dict[str, str],
    studies: Sequence[Study],
) -> None:
    """Write figures and page; the libraries that draw are loaded only now."""
    from experiment.ablate.figure import figures, standalone
    from experiment.ablate.page import render

    for figure, more in zip(figures(table, measured), ("", "-trajectory"), strict=False):
        write_text(options.out / f"{table.name}{more}.svg", standalone(figure))
    content = render(table, measured, judge(table, measured), failed, studies)
    write_text(options.out / f"{table.name}.html", content)
