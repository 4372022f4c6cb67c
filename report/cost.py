"""`python -m report cost RUN`: what bi- and cross-encoder of a run cost on this machine.

Reads: run_costs, which loads torch, after the command line is read. Feeds: the terminal, JSON.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluation.table import markdown
from runtime.files import write_text
from runtime.json_file import read_json
from runtime.options import option, parse

if TYPE_CHECKING:
    from evaluation.timing import Duration
    from report.run_costs import CellCost, RankingCost, RunCosts

DESCRIPTION = """\
Measure what bi- and cross-encoder of a finished run cost on this machine: a pair, a search, the
most similar two of many; and how well retrieving with one and re-ranking with the other does.
What would take longer than the budget is projected from measured rates, and marked with ~.
RUN/costs.json keeps the numbers; python -m report html RUN puts them into the page."""

COSTS = "costs.json"  # of a run folder
COLUMNS = ("cell", "passes", "tokens", "MFLOP", "ms for one", "per second", "texts/s", "compared/s")
SEARCHES = ("search", "N", "encoding N", "by cosine", "by the head", "MiB", "cross", "passes")
RANKINGS = ("ranked by", "k", "MRR", "first is right", "per query")
WORK = {"query": "one text against N", "pair": "most similar two of N"}

Say = Callable[[str], None]


@dataclass(frozen=True)
class Options:
    """The options of the command line."""

    run: Path = option(
        help="the folder of a finished run", flag="run", metavar="RUN", required=True
    )
    budget: float = option(5.0, "seconds per cell", least=0.01, most=86_400)
    json: Path | None = option(None, "where to write all numbers (RUN/costs.json)", metavar="FILE")
    device: str = option("auto", "where to compute", choices=("auto", "cpu", "cuda"))
    threads: int = option(0, "CPU threads; 0 leaves it to PyTorch", least=0, most=4096)


def main(argv: Sequence[str] | None = None, say: Say = print) -> int:
    """Measure the run that a command line names, print tables; return the exit code 0.

    Raises:
        UserError: something that the options name cannot be used; the message is one line.
        OSError: the JSON file cannot be written.
    """
    options = parse(Options, argv, prog="python -m report cost", description=DESCRIPTION)
    # After the command line, so that --help needs no torch.
    import torch

    from report.run_costs import measure_run

    if options.threads:
        torch.set_num_threads(options.threads)
    costs = measure_run(options.run, options.budget, options.device, say)
    for line in lines_of(costs):
        say(line)
    _write(options.json or options.run / COSTS, costs, say)
    return 0


def add_costs(run: Path, seconds: float, device: str, say: Say) -> None:
    """Measure a run that has just ended, in about `seconds` in all, and write its costs.json.

    Nothing is done where costs of its best cells are there, perhaps of a longer measurement.
    Rankings are left out: they say little of the few queries that so short a time allows.

    Args:
        run: the folder.
        seconds: shared by the cells that are measured; 0 measures nothing.
        device: `auto`, `cpu` or `cuda`.
        say: called with what was written.

    Raises:
        UserError, OSError: as `main`.
    """
    if not seconds:
        return
    from report.run_costs import best_cells, measure_run
    from report.run_folder import RunFolder

    best = best_cells(RunFolder(run, read_only=True))
    if {cell.name for cell in best} <= _measured(run / COSTS):
        return
    costs = measure_run(run, seconds / len(best), device, lambda line: None, ranking=False)
    _write(run / COSTS, costs, say)


def _measured(path: Path) -> set[str]:
    """Return the names of the cells that a file has the costs of."""
    try:
        costs = read_json(path)
        measured_on(costs)
        return {cell["cell"] for cell in costs["cells"]}
    except (OSError, ValueError, KeyError, TypeError):
        return set()  # none, or nothing that a page could show


def _write(path: Path, costs: "RunCosts", say: Say) -> None:
    write_text(path, json.dumps(costs.to_json(), indent=2, allow_nan=False) + "\n")
    say(f"costs     {path}")


def lines_of(costs: "RunCosts") -> list[str]:
    """Return the tables and sentences that tell the costs of a run."""
    found = [
        f"machine   {measured_on(costs.to_json())}\n",
        markdown(COLUMNS, [_cost_row(cell) for cell in costs.cells]),
    ]
    for task, pairs in costs.break_even.items():
        found += ["", f"{task}: the bi-encoder {_cheaper(pairs)}", "", _search_table(costs, task)]
    if costs.story:
        found += ["", costs.story]
    if costs.retrieval:
        found += ["", *_ranking_lines(costs.retrieval)]
    return found


def measured_on(costs: dict[str, Any]) -> str:
    """Return on what machine, beside what load, and for how long costs.json was measured.

    Raises:
        KeyError: it does not say so.
    """
    machine = costs["machine"]
    about = "{name}: {device}, {precision} products, {threads} thread(s)".format(**machine)
    if machine["load"] is not None:
        about += f", load of the minute before {machine['load']:.1f} on {machine['cores']} cores"
    return f"{about}; about {costs['budget']:.3g} s per head"


def _cheaper(pairs: float | None) -> str:
    if pairs is None:
        return "is never the cheaper one: its head alone takes as long as the cross-encoder"
    return f"is the cheaper one where a text is in {pairs:.1f} pairs or more"


def _cost_row(cell: "CellCost") -> list[str]:
    cost = cell.cost
    rates = (cost.examples_per_second, cost.texts_per_second, cost.comparisons_per_second)
    return [
        *(cell.cell, str(cost.passes), f"{cost.tokens:.1f}", f"{cost.flops / 1e6:,.1f}"),
        f"{cost.milliseconds:.1f}",
        *("-" if rate is None else f"{rate:,.0f}" for rate in rates),
    ]


def _search_table(costs: "RunCosts", task: str) -> str:
    """Return both encoders' searches side by side: what is projected has a ~."""
    found = {cell.cost.encoder: cell.cost for cell in costs.cells if cell.task == task}
    rows = []
    for cross in found["cross"].searches:
        cosine, head = (found["bi"].search(cross.work, by, cross.n) for by in ("cosine", "head"))
        rows.append([
            *(WORK[cross.work], f"{cross.n:,}", _marked(cosine.once)),
            *(_marked(cosine.then), _marked(head.then), f"{cosine.memory_mib:,.1f}"),
            *(_marked(cross.then), f"{cross.passes:,}"),
        ])  # fmt: skip
    return markdown(SEARCHES, rows)


def _ranking_lines(found: "RankingCost") -> list[str]:
    rows = []
    for ranking in found.rankings:
        quality = (ranking.mrr, ranking.recall_at_1)
        shown = ["not computed" if value is None else f"{value:.3f}" for value in quality]
        rows.append([ranking.by, str(ranking.k or "-"), *shown, _marked(ranking.duration)])
    title = (
        f"{found.task}: {found.queries} texts, each to find its paraphrase among "
        f"{found.candidates:,}; bi is {found.bi} (cosine), cross is {found.cross}"
    )
    return [title, "", markdown(RANKINGS, rows)]


def _marked(duration: "Duration | None") -> str:
    from evaluation.cost import told

    assert duration is not None
    return f"{'' if duration.measured else '~'}{told(duration.seconds)}"
