"""Does the synthetic data order systems as real data does?

    python -m data.synthetic.probes.validity --synthetic DIR --real DIR mini "mini + sup=FOLDER" ...

The systems are word overlap, TF-IDF (with a linear model, and by cosine), and frozen encoders with
the heads of the quick preset and by cosine without a head: those named, and the first one's
*random twin*, which has random weights. Each is scored on both data sets, on test if it has labels,
else on dev. Kendall's tau says how well the two orders agree (1: completely, 0: as by chance). `±`
is the standard error over rows.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from data.synthetic.probes.agreement import CLEAR, Scores, tau, told_apart
from data.synthetic.probes.systems import (
    OVERLAP,
    TFIDF,
    DataSet,
    Measured,
    encoder_scores,
    encoders_named,
    overlap_scores,
    read_data,
    tfidf_scores,
)
from evaluation.table import csv_text
from runtime.commands import begin, exit_code
from runtime.files import write_text
from runtime.options import option, parse

Table = dict[str, Scores]  # system -> scores
Results = dict[str, Table]  # measure -> table

SIDES = ("synthetic", "real")
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
    data = [read_data(path) for path in (options.synthetic, options.real)]
    results: list[Results] = [{}, {}]
    for system, measured in systems(options, data):
        for table, found in zip(results, measured, strict=True):
            for name, scores in found.items():
                table.setdefault(name, {})[system] = scores
        print(f"measured: {system}", file=sys.stderr, flush=True)
    report(*results)
    if options.csv:
        write(options.csv, *results)
        print(f"\ntables: {options.csv}")


def systems(options: Options, data: Sequence[DataSet]) -> Iterator[tuple[str, list[Measured]]]:
    """Yield each system's title, and its scores on each data set."""
    yield OVERLAP, [overlap_scores(side) for side in data]
    yield TFIDF, [tfidf_scores(side) for side in data]
    for title, encoder in encoders_named(options.encoders):
        yield title, [encoder_scores(encoder, side, options.cache) for side in data]


def report(synthetic: Results, real: Results) -> None:
    """Print a table per measure, and how well the two orders agree."""
    for name, table in synthetic.items():
        other = real[name]
        print(f"\n{name}, {next(iter(table.values())).metric}" + _agreement(table, other))
        print(f"{'':34}" + "".join(f"{side:>16}" for side in SIDES))
        for system, scores in table.items():
            shown = [f"{side.value:.3f} ± {side.error:.3f}" for side in (scores, other[system])]
            print(f"  {system[-31:]:32}" + "".join(f"{cell:>16}" for cell in shown))


def _agreement(table: Table, other: Table) -> str:
    agreement = tau(table, other)
    if agreement is None:
        return ""
    alike, clear = told_apart(table, other)
    return (
        f": Kendall's tau {agreement:.2f} over {len(table)} systems\n"
        f"  of {clear} pairs that real data tells apart by {CLEAR} standard errors, {alike} are "
        "ordered alike"
    )


def write(path: Path, synthetic: Results, real: Results) -> None:
    """Write a row per measure and system: value and standard error on both data sets."""
    rows = []
    for name, table in synthetic.items():
        agreement = tau(table, real[name])
        shown = "" if agreement is None else f"{agreement:.4f}"
        for system, scores in table.items():
            sides = (scores, real[name][system])
            numbers = [f"{number:.4f}" for side in sides for number in (side.value, side.error)]
            rows.append([name, scores.metric, shown, system, *numbers])
    write_text(path, csv_text(COLUMNS, rows))


if __name__ == "__main__":
    begin()
    sys.exit(main())
