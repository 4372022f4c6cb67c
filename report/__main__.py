"""Commands for finished runs: `python -m report compare | cost | html`."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from runtime.commands import begin, run_command
from runtime.options import option, parse

say = partial(print, flush=True)

OVERVIEW = """\
Compare finished runs, measure their costs and write their pages.

  compare  test whether run A is significantly better than run B
  cost     measure the cost of each reader for longer
  html     rewrite the page of a run, report.html

examples:
  python -m report compare runs/first runs/second
  python -m report cost runs/first --budget 60
  python -m report html runs/first
"""


@dataclass(frozen=True)
class CompareOptions:
    """Flags of `report compare`."""

    a: Path = option(help="a run folder, or a file of predictions", flag="a", metavar="A")
    b: Path = option(help="the run or file to compare it with", flag="b", metavar="B")
    data: str | None = option(
        None,
        "folder with the tasks' files, for the labels (default: the data of the runs; for "
        "files: bundled)",
        metavar="DIR",
    )
    gold: Path | None = option(None, "the file with the labels, instead of --data", metavar="FILE")
    json: Path | None = option(None, "write all results to this file", metavar="FILE")


def compare_command(words: Sequence[str]) -> None:
    """Compare two runs or two files of predictions."""
    options = parse(
        CompareOptions,
        words,
        prog="python -m report compare",
        description="""\
Is A significantly better than B? Compares two runs, or two files of predictions in
CS224N's format, on the same examples: the difference, its 95% confidence interval,
a paired test, and Holm's correction for all comparisons.""",
        epilog="""\
examples:
  two runs of run_multitask.py, with all seeds:
    python -m report compare runs/first runs/second
  two prediction files, with the labels of a file:
    python -m report compare mine.csv yours.csv --gold downloads/cs224n/sts-dev.csv

Exit codes: 0 success, 2 invalid input, 1 a bug in this project.""",
    )
    from report.compare import compare

    compare(options.a, options.b, data=options.data, gold=options.gold, json_file=options.json)


@dataclass(frozen=True)
class CostOptions:
    """Flags of `report cost`."""

    run: Path = option(
        help="the folder of a finished run", flag="run", metavar="RUN", required=True
    )
    budget: float = option(5.0, "seconds per cell", least=0.01, most=86_400)
    json: Path | None = option(None, "where to write all numbers (RUN/costs.json)", metavar="FILE")
    device: str = option("auto", "where to compute", choices=("auto", "cpu", "cuda"))
    threads: int = option(0, "CPU threads; 0: the default of PyTorch", least=0, most=4096)


def cost_command(words: Sequence[str]) -> None:
    """Measure a run's heads, print tables and write the numbers."""
    options = parse(
        CostOptions,
        words,
        prog="python -m report cost",
        description="""\
Measure the cost of the readers of a finished run on this machine: one pair, many pairs, a
search. Search times are computed from the measured speeds and marked with ~.
The numbers are saved in RUN/costs.json; python -m report html RUN adds them to the page.""",
    )
    import torch

    from report.costs import cost_lines, measure_run, write_costs
    from report.run_folder import COSTS

    if options.threads:
        torch.set_num_threads(options.threads)
    costs = measure_run(options.run, options.budget, options.device)
    say("\n".join(cost_lines(costs)))
    write_costs(options.json or options.run / COSTS, costs, say)


@dataclass(frozen=True)
class PageOptions:
    """Flags of `report html`."""

    run: Path = option(help="the folder of a finished run", flag="run", metavar="RUN")
    data: str | None = option(
        None, "folder with the tasks' files, if they have moved since the run", metavar="DIR"
    )


def page_command(words: Sequence[str]) -> None:
    """Print a run's verdict and write its page."""
    options = parse(
        PageOptions,
        words,
        prog="python -m report html",
        description="""\
Print a finished run's verdict and write its report, RUN/report.html: the answer, scores, where
the readers differ, cost, training. It is one file, which opens without a network. Costs are
those of RUN/costs.json; python -m report cost RUN measures them for longer.""",
    )
    from report.finished import FinishedRun
    from report.page.write import write_finished
    from report.table import verdict_text

    run = FinishedRun.read(options.run, options.data)
    say(f"{verdict_text(run.cells, run.judged, run.learning)}\n")
    say(f"Report: {write_finished(run)} (open in a browser)")


COMMANDS: dict[str, Callable[[Sequence[str]], None]] = {
    "compare": compare_command,
    "cost": cost_command,
    "html": page_command,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; return its exit code."""
    return run_command("python -m report", COMMANDS, argv, overview=OVERVIEW)


if __name__ == "__main__":
    begin()
    sys.exit(main())
