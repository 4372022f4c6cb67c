"""Does the synthetic data order systems as real data does?

    python -m data.synthetic.probes.validity --synthetic DIR --real DIR mini "mini + sup=FOLDER" ...

The systems are word overlap, TF-IDF (with a linear model, and by cosine), and frozen encoders with
the heads of the quick preset and by cosine without a head: those named, and the first one's
*random twin*, which has random weights. Each is scored on both data sets, on test if it has labels,
else on dev. Kendall's tau says how well the two orders agree (1: completely, 0: as by chance). `±`
is the standard error over rows and, with --seeds, over seeds.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from data.synthetic.probes.agreement import (
    CLEAR,
    Scores,
    discordant,
    in_errors,
    margin,
    tau,
    told_apart,
)
from data.synthetic.probes.systems import (
    OVERLAP,
    TFIDF,
    DataSet,
    Measured,
    encoder_scores,
    encoders_named,
    halves,
    held_out_rows,
    is_similarity,
    overlap_scores,
    read_data,
    tfidf_scores,
)
from data.tasks import COURSE
from evaluation.table import csv_text
from minbert.config import POOLINGS
from runtime.commands import begin, exit_code
from runtime.files import write_text
from runtime.options import option, parse

Table = dict[str, Scores]  # system -> scores
Results = dict[str, Table]  # measure -> table

SIDES = ("synthetic", "real")
HELD_OUT = "held-out words"
COLUMNS = (
    "measure",
    "metric",
    "tau",
    "system",
    *(f"{s}{e}" for s in SIDES for e in ("", "_error")),
)


@dataclass(frozen=True)
class Options:
    """The options of the command line."""

    encoders: tuple[str, ...] = option(
        help="mini, a folder or a hub ID, with an optional display name",
        flag="encoders",
        metavar="[TITLE=]ENCODER",
        required=True,
    )
    synthetic: Path = option(
        help="folder that python -m data.synthetic wrote", metavar="DIR", required=True
    )
    real: Path = option(help="the same tasks on real data", metavar="DIR", required=True)
    task: tuple[str, ...] = option(
        (), "only these tasks (default: all)", choices=lambda: tuple(COURSE)
    )
    seeds: int = option(1, "number of seeds of the heads", least=1, most=1000)
    rows: int | None = option(
        None, "fit on the first N training rows (all)", least=1, most=10**9, metavar="N"
    )
    pooling: str | None = option(None, "pooling (default: from each checkpoint)", choices=POOLINGS)
    cache: Path = option(Path("runs/cache"), "frozen embeddings", metavar="DIR")
    csv: Path | None = option(None, "also write the tables to this file", metavar="FILE")


def main(argv: Sequence[str] | None = None) -> int:
    """Print all tables; return 0, or 2 if an encoder or a file is missing."""
    options = parse(
        Options, argv, prog="python -m data.synthetic.probes.validity", description=__doc__
    )
    return exit_code(lambda: run(options))


def run(options: Options) -> None:
    """Read both data sets, measure, print and, if asked, write."""
    tasks = options.task or tuple(COURSE)
    data = [read_data(path, tasks, options.rows) for path in (options.synthetic, options.real)]
    for side, found in zip(SIDES, data, strict=True):
        print(described(side, found))
    results = measure(options, data)
    report(*results)
    if options.csv:
        write(options.csv, *results)
        print(f"\ntables: {options.csv}")


def described(side: str, data: DataSet) -> str:
    """Return the scored parts, and the distribution of similarities over their scale, as lines."""
    lines = []
    for task, splits in data.splits.items():
        truth = data.truth(task)
        line = f"{side:10}{task:6}{len(splits.train):6} to fit, {len(truth):5} of {data.part(task)}"
        if is_similarity(task):
            bands = np.arange(COURSE[task].largest + 1)
            shares = np.histogram(truth, bands)[0] / len(truth)
            line += "; share per band of 1: " + " ".join(f"{share:.2f}" for share in shares)
        lines.append(line)
    return "\n".join(lines)


def measure(options: Options, data: Sequence[DataSet]) -> list[Results]:
    """Return the scores of all systems on each data set, by measure and system."""
    results: list[Results] = [{}, {}]
    # Only synthetic data has words that are known to be held out.
    held = held_out_rows(data[0], "sst") if "sst" in data[0].splits else np.zeros(0, bool)
    for system, both in systems(options, data):
        for side, found in enumerate(both):
            found |= halves(found)
            if side == 0 and "sst" in found and held.any():
                found[f"sst {HELD_OUT}"] = found["sst"].on(held)
            for name, scores in found.items():
                results[side].setdefault(name, {})[system] = scores
        print(f"measured: {system}", file=sys.stderr, flush=True)
    return results


def systems(options: Options, data: Sequence[DataSet]) -> Iterator[tuple[str, list[Measured]]]:
    """Yield each system's title, and its scores on each data set."""
    yield OVERLAP, [overlap_scores(side) for side in data]
    yield TFIDF, [tfidf_scores(side) for side in data]
    for title, encoder in encoders_named(options.encoders, options.pooling):
        yield title, [encoder_scores(encoder, side, options.seeds, options.cache) for side in data]


def report(synthetic: Results, real: Results) -> None:
    """Print a table per measure, the discordant pairs under it, then the margins."""
    for name, table in synthetic.items():
        other = real.get(name, {})
        print(f"\n{name}, {next(iter(table.values())).metric}" + _agreement(table, other))
        print(f"{'':34}" + "".join(f"{side:>16}" for side in SIDES))
        for system, scores in table.items():
            shown = [_shown(scores), _shown(other[system])] if system in other else [_shown(scores)]
            print(f"  {system[-31:]:32}" + "".join(f"{cell:>16}" for cell in shown))
        for ahead, behind in discordant(table, other):
            print("  discordant: " + _discord(ahead, behind, table, other))
    for rival in (TFIDF, next(name for name in synthetic_systems(synthetic) if "twin" in name)):
        for side, results in zip(SIDES, (synthetic, real), strict=True):
            print(f"\n{side}: lead over {rival}; in brackets: in standard errors")
            _print_margins(results, rival)


def synthetic_systems(results: Results) -> list[str]:
    """Return all systems in order of their first appearance."""
    return list(dict.fromkeys(system for table in results.values() for system in table))


def _shown(scores: Scores) -> str:
    return f"{scores.value:.3f} ± {scores.error:.3f}"


def _agreement(table: Table, other: Table) -> str:
    agreement = tau(table, other)
    if agreement is None:
        return ""
    common = len(table.keys() & other.keys())
    pairs = common * (common - 1) // 2
    alike, clear = told_apart(table, other)
    return (
        f": Kendall's tau {agreement:.2f} over {common} systems, "
        f"{len(discordant(table, other))} of {pairs} pairs discordant\n"
        f"  of {clear} pairs that real data tells apart by {CLEAR} standard errors, {alike} are "
        "ordered alike"
    )


def _discord(ahead: str, behind: str, table: Table, other: Table) -> str:
    here = in_errors(margin(table[ahead], table[behind]))
    there = in_errors(margin(other[behind], other[ahead]))
    return (
        f"{ahead} over {behind} on synthetic data by {here:.1f} standard errors, "
        f"under it on real data by {there:.1f}"
    )


def _print_margins(results: Results, rival: str) -> None:
    names = [name for name, table in results.items() if rival in table and name in COURSE]
    names += [name for name in results if name.endswith(HELD_OUT)]
    print(f"{'':34}" + "".join(f"{name:>20}" for name in names))
    for system in synthetic_systems(results):
        tables = [results[name] for name in names]
        if system == rival or not any(system in table for table in tables):
            continue
        cells = []
        for table in tables:
            ahead = margin(table[system], table[rival]) if system in table else None
            cells.append("-" if ahead is None else f"{ahead[0]:+.3f} ({in_errors(ahead):+.1f})")
        print(f"  {system[-31:]:32}" + "".join(f"{cell:>20}" for cell in cells))


def write(path: Path, synthetic: Results, real: Results) -> None:
    """Write a row per measure and system: value and standard error on both data sets."""
    rows = []
    for name, table in synthetic.items():
        agreement = tau(table, real.get(name, {}))
        for system, scores in table.items():
            row = {"measure": name, "metric": scores.metric, "system": system}
            row["tau"] = "" if agreement is None else f"{agreement:.4f}"
            for side, results in zip(SIDES, (synthetic, real), strict=True):
                if found := results.get(name, {}).get(system):
                    row[side], row[f"{side}_error"] = f"{found.value:.4f}", f"{found.error:.4f}"
            rows.append([row.get(column, "") for column in COLUMNS])
    write_text(path, csv_text(COLUMNS, rows))


if __name__ == "__main__":
    begin()
    sys.exit(main())
