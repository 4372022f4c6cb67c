"""The tables of the pages, filled from the result files in docs/results/.

A table follows a mark, `<!-- KIND: NAME ... -->`. The kind determines how the files of these names
become rows; the header and first cells on the page select the numbers. Cells that no file has
(names, notes, published numbers) and the text around the table are not changed. A run's verdict is
in a block after `<!-- verdict: NAME -->`.
"""

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from data.tasks import TASKS
from runtime.errors import UserError
from runtime.files import read_object, write_text

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"
MARKED = re.compile(r"<!-- (\w+): ([^>]+) -->\n((?:\|.*\n)+)")
# The block of a run's verdict.
QUOTED = re.compile(r"<!-- verdict: (\S+) -->\n```\n.*?```\n", re.DOTALL)
EVERY_TWO = "every two systems:"  # the heading below a verdict in docs/results/NAME.txt
# A line below it, on two readers.
COMPARED = re.compile(
    r"(\w+), \w+, (\w+): \w+-(\w+)-[\w-]+ - \w+-(\w+)-[\w-]+: (\S+) \[(\S+), (\S+)\]"
)
BASIS = "Based on "  # start of a verdict's last paragraph, which pages leave out

Row = list[str]
Line = dict[str, str]  # of a result file


def fill_pages() -> list[str]:
    """Write all tables into the pages of the project; return the names of pages that changed.

    Raises:
        UserError: a result file that a page shows is missing, or lacks a value of the page.
    """
    changed = []
    for path in pages():
        page = path.read_text(encoding="utf-8")
        try:
            new = filled(page)
        except (LookupError, ValueError, OSError) as error:
            raise UserError(f"{path}: a table cannot be filled ({error!r})") from None
        if new != page:
            write_text(path, new)
            changed.append(path.relative_to(ROOT).as_posix())
    return changed


def pages() -> list[Path]:
    """Return the files that may hold tables: README, docs/ and the cards."""
    cards = sorted(ROOT.glob("*/*/README.md"))
    return [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *cards]


def filled(page: str) -> str:
    """Return a page with the tables and verdicts after its marks filled from the result files."""
    return QUOTED.sub(_quoted, MARKED.sub(_filled, page))


def _quoted(mark: re.Match[str]) -> str:
    text = (RESULTS / f"{mark[1]}.txt").read_text(encoding="utf-8")
    return f"<!-- verdict: {mark[1]} -->\n```\n{text.partition(BASIS)[0].rstrip()}\n```\n"


def _filled(mark: re.Match[str]) -> str:
    kind, names = mark[1], mark[2].split()
    if kind == "evaluation":
        return f"<!-- {kind}: {mark[2]} -->\n{evaluation(*names)}\n"
    if kind not in KINDS:
        return mark[0]
    head, line, *rows = mark[3].splitlines()
    cells = KINDS[kind](cells_of(head), [cells_of(row) for row in rows], *names)
    shown = ["|" + "".join(f" {cell} |" if cell else " |" for cell in row) for row in cells]
    return "\n".join([f"<!-- {kind}: {mark[2]} -->", head, line, *shown]) + "\n"


def cells_of(line: str) -> Row:
    """Return the cells of a line of a table."""
    return [cell.strip() for cell in line.split("|")[1:-1]]


# --- result files


def read(name: str) -> list[Line]:
    """Return the lines of docs/results/NAME.csv."""
    return lines_of(RESULTS / f"{name}.csv")


def lines_of(path: Path) -> list[Line]:
    """Return the lines of a CSV file by its columns."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def scored(*names: str) -> list[Line]:
    """Return the cells of runs: of the test split where it has labels."""
    cells = [cell for name in names for cell in read(name)]
    tested = {cell["task"] for cell in cells if cell["split"] == "test"}
    return [cell for cell in cells if cell["split"] == "test" or cell["task"] not in tested]


def figures(name: str) -> list[dict[str, Any]]:
    """Return the figures of benchmarks."""
    return list(read_object(RESULTS / f"{name}.json")["figures"])


def those(cells: Iterable[Line], **wanted: str) -> list[Line]:
    """Return the cells with these values."""
    return [cell for cell in cells if all(cell[key] == value for key, value in wanted.items())]


def spread(cells: Sequence[Mapping[str, Any]], column: str, digits: int = 3) -> str:
    """Return a column's mean, with its standard deviation if there are several values.

    A dash if there are no values, or one of them is undefined.
    """
    values = [float(cell[column]) for cell in cells if cell.get(column) not in ("", None)]
    if not values or len(values) < len(cells):
        return "-"
    deviation = f" ± {stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{mean(values):.{digits}f}{deviation}"


def main_metric(task: str) -> str:
    """Return the column of a task's main metric."""
    return TASKS[task].main_metric


# --- kinds of tables: (header, rows on the page, names) -> rows


def curves(header: Row, rows: list[Row], task: str, *names: str) -> list[Row]:
    """Return a task's main metric by number of labels.

    A reader such as `late, no head` has Spearman's rho of its cosine or MaxSim.
    """
    cells = those(scored(*names), task=task)
    shown = []
    for backbone, tune, encoder, *_ in rows:
        reader = encoder.removesuffix(", no head")
        column = "cosine_spearman" if encoder != reader else main_metric(task)
        curve = those(cells, backbone=backbone, tune=tune, encoder=reader)
        points = [those(curve, train_rows=size.replace(",", "")) for size in header[3:]]
        shown.append([backbone, tune, encoder, *(spread(p, column) for p in points)])
    return shown


def differences(header: Row, rows: list[Row], task: str, *names: str) -> list[Row]:
    """Return the differences of two readers with all labels, `late minus bi`, and intervals.

    `late minus bi, no head` is that of MaxSim and cosine similarity.
    """
    known = {}
    for name in names:
        # The file has a list for each command, in the order of their cells.
        runs = dict.fromkeys((cell["backbone"], cell["tune"]) for cell in read(name))
        _, *lists = (RESULTS / f"{name}.txt").read_text(encoding="utf-8").split(EVERY_TWO)
        for run, compared in zip(runs, lists, strict=True):
            for of, metric, first, second, *numbers in COMPARED.findall(compared):
                difference, low, high = map(float, numbers)
                bare = ", no head" if metric == "cosine_spearman" else ""
                if of == task:
                    known[*run, f"{first} minus {second}{bare}"] = difference, low, high
                    known[*run, f"{second} minus {first}{bare}"] = -difference, -high, -low
    shown = []
    for backbone, tune, *_ in rows:
        line = [backbone, tune]
        for title in header[2:]:
            numbers = known.get((backbone, tune, title))
            # Adding 0 turns -0.0 into 0.0.
            values = [f"{number + 0:.3f}" for number in numbers or ()]
            line.append(f"{values[0]} [{values[1]}, {values[2]}]" if values else "-")
        shown.append(line)
    return shown


def selection(header: Row, rows: list[Row], *names: str) -> list[Row]:
    """Return the main metric by number of labels, a column for each way to choose the epochs."""
    shown = []
    for task, labels, encoder, *_ in rows:
        keys = {"task": task, "train_rows": labels, "encoder": encoder}
        ways = [those(scored(name), **keys) for name in names]
        shown.append([task, labels, encoder, *(spread(w, main_metric(task)) for w in ways)])
    return shown


def systems(header: Row, rows: list[Row], name: str) -> list[Row]:
    """Return the main metrics of encoders; NAME has baselines, or the cosines at [CLS]."""
    beside = read(name)
    shown = []
    for system, *scores in rows:
        if system not in SYSTEMS and not those(beside, baseline=system):
            raise LookupError(f"no such system or baseline: {system}")
        titles = zip(header[1:], scores, strict=True)
        # Cells that a baseline does not have, such as a cross-encoder, stay empty.
        shown.append([system, *(old and _score(system, new, beside) for new, old in titles)])
    return shown


# a row of README's and the data card's table -> its run, and the contrastive stage
SYSTEMS = {
    "mini": ("bundled-mini", "none"),
    "mini + unsup": ("bundled-mini", "unsup"),
    "mini + sup": ("bundled-mini", "sup"),
    "mini, tuned": ("bundled-tuned", "none"),
    "mini-sts": ("bundled-mini-sts", "none"),
}


def _score(system: str, title: str, beside: list[Line]) -> str:
    """Return the score of a system or baseline in a column, `sts, cross`."""
    task, _, reader = title.partition(", ")
    if system not in SYSTEMS:
        return spread(those(beside, task=task, baseline=system), "test")
    run, pretrain = SYSTEMS[system]
    if reader == "[CLS]":
        backbone = system.partition(" ")[0]
        cells = those(beside, backbone=backbone, pretrain=pretrain, split="test")
    else:
        encoder = "cross" if reader == "cross" else "bi"
        keys = {"task": task, "encoder": encoder, "train_rows": "all"}
        cells = those(scored(run), pretrain=pretrain, **keys)
    bare = reader in ("[CLS]", "cosine")
    return spread(cells, "cosine_spearman" if bare else main_metric(task))


def at_cls(header: Row, rows: list[Row], name: str, carried: str) -> list[Row]:
    """Return the effect of SimCSE on [CLS]: on synthetic pairs, and on real ones."""
    cells, carried_cells = those(scored(name), backbone="mini"), read(carried)
    shown = []
    for pretrain, *_ in rows:
        synthetic = those(cells, pretrain=pretrain)
        line = [pretrain, spread(synthetic, "cosine_spearman"), spread(synthetic, "pearson")]
        for title in header[3:]:
            geometry = title in ("alignment", "uniformity")
            real = those(carried_cells, encoder=pretrain, set="CS224N dev" if geometry else title)
            line.append(spread(real, title, 2) if geometry else spread(real, "spearman"))
        shown.append(line)
    return shown


def carry_over(header: Row, rows: list[Row], name: str) -> list[Row]:
    """Return cosine similarities without a head on several sets."""
    cells = read(name)
    return [
        [row[0], *(spread(those(cells, encoder=row[0], set=s), "spearman") for s in header[1:])]
        for row in rows
    ]


def validity(header: Row, rows: list[Row], name: str) -> list[Row]:
    """Return the scores of systems on synthetic and real data, and the agreement of the orders."""
    shown = []
    for system, *_ in rows:
        line = [system]
        for title in header[1:]:
            cells = those(read(name), measure=title.removesuffix(" head"))
            scores = those(cells, system=system)
            sides = [spread(scores, side) for side in ("synthetic", "real")] if scores else ["-"]
            line.append(f"{float(cells[0]['tau']):.2f}" if system == "τ" else " / ".join(sides))
        shown.append(line)
    return shown


def shortcuts(header: Row, rows: list[Row], name: str) -> list[Row]:
    """Return the shortcuts to the labels of pairs, in the last column."""
    cells = {cell["name"]: cell for cell in those(read(name), task="para")}
    (same,) = [cell for title, cell in cells.items() if title.startswith("mean label of")]
    edits = float(cells["test rows with an edit of train"]["value"])
    pair = [f"{float(same[side]):.3f}".lstrip("0") for side in ("value", "chance")]
    values = [f"{float(cell['value']):.3f}" for cell in list(cells.values())[:5]]
    shown = [*values, " / ".join(pair), f"{edits:.1%}"]
    return [[*row[:-1], value] for row, value in zip(rows, shown, strict=True)]


def ablation(header: Row, rows: list[Row], name: str) -> list[Row]:
    """Return a paper's table: our numbers next to the published ones."""
    return beside_published(header, read(name))


def beside_published(header: Sequence[str], cells: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return the rows of a paper's table, aggregated over seeds."""
    by_row: dict[str, list[Mapping[str, Any]]] = {}
    for cell in cells:
        by_row.setdefault(cell["row"], []).append(cell)
    return [
        [row, *(spread(seeds, title) for title in header[1:-1]), str(seeds[0]["published"] or "-")]
        for row, seeds in by_row.items()
    ]


def speed(header: Row, rows: list[Row], name: str) -> list[Row]:
    """Return the sides of the works that the page shows.

    Speeds that other programs disturbed are not shown, and neither are ratios to them.
    """
    works = {row[0] for row in rows}
    sides = [side for side in figures(name) if side["work"] in works]
    if gone := works - {side["work"] for side in sides}:
        raise LookupError(f"{name} has no figures of {', '.join(sorted(gone))}")
    disturbed = {(side["work"], side["side"]) for side in sides if side.get("disturbed")}
    first = {side["work"]: side["side"] for side in reversed(sides)}  # ratios are to it
    lines = []
    for side in sides:
        work, rate = side["work"], f"{side['rate']:,.1f} {side['unit']}"
        ratio = f"{side['ratio']:.2f}"
        share = "-" if side["peak_share"] is None else f"{side['peak_share']:.0%}"
        if (work, side["side"]) in disturbed:
            rate, ratio, share = "disturbed", "-", "-"
        elif (work, first[work]) in disturbed:
            ratio = "-"
        lines.append([work, side["side"], rate, ratio, share, side["quality"] or "-"])
    return lines


def evaluation(name: str, suite: str, number: str) -> str:
    """Return a table of `python -m evaluation`, as the command prints it."""
    from evaluation.suites.results import Result, shown_table
    from evaluation.suites.table import SUITES

    results = [
        Result(
            *(cell["model"], suite, cell["set"], cell["part"], cell["metric"]),
            *(_number(cell["value"]), int(cell["n"]), float(cell["seen"])),
            *(_number(cell["unseen"]), _number(cell["low"]), _number(cell["high"])),
        )
        for cell in those(read(name), suite=suite)
    ]
    return shown_table(results, SUITES[suite].shown[int(number)]).split("\n\n")[1]


def _number(text: str) -> float | None:
    return float(text) if text else None


OF_ROWS = (
    *(curves, differences, selection, systems, at_cls, carry_over, validity, shortcuts),
    *(ablation, speed),
)
KINDS: dict[str, Callable[..., list[Row]]] = {kind.__name__: kind for kind in OF_ROWS}
