"""The scores, every paired comparison, and what was seen before, as tables. Feeds: making."""

from collections.abc import Sequence
from statistics import mean

from data.tasks import TASKS
from evaluation.metrics import METRICS
from report.cell import Cell
from report.page.material import Material
from report.page.tables import Entry, Table, interval, number, share, word

PLACE = ("task", "split", "pretrain", "encoder", "tune", "features")


def scores_table(material: Material) -> Table:
    """Return all metrics of all systems: means over seeds, intervals, spread."""
    groups = grouped(material.cells)
    named = [name for name in METRICS if any(name in TASKS[g[0].task].metrics for g in groups)]
    cosine = any(g[0].metrics.get("cosine_spearman") is not None for g in groups)
    rows = []
    for members in groups:
        first = members[0]
        scores = [_score(material, members, name) for name in named]
        bare = [_mean([cell.metrics.get("cosine_spearman") for cell in members])]
        entries = [*_place(first), number(first.n, 0), *scores]
        rows.append([*entries, *(map(number, bare) if cosine else ())])
    header = ("task", "split", "pre-training", "encoder", "tuning", "rows", *named)
    return Table(
        "Scores: means over seeds, with 95 % intervals and, of several seeds, ± their standard "
        "deviation" + ("; cosine: Spearman's ρ without any head" if cosine else ""),
        (*header, "cosine") if cosine else header,
        rows,
    )


def comparisons_table(material: Material) -> Table:
    """Return every two systems of a task with their paired test."""
    rows = []
    for place, found in material.comparisons:
        told = "undefined" if found.p is None else "told apart" if found.decided else "undecided"
        difference = number(found.difference, 3, interval(found.interval), sign=True)
        names = (place.task, place.split, found.metric, found.a, found.b)
        p = [number(found.p, 4), number(found.p_holm, 4)]
        rows.append([*map(word, names), difference, *p, word(told), word(found.test)])
    header = ("task", "split", "metric", "A", "B", "A minus B", "p", "p (Holm)", "verdict", "test")
    return Table("Every two systems, paired on the same rows", header, rows)


def leak_table(material: Material) -> Table:
    """Return how much of each split the run had seen, and the main metric on the rest."""
    rows = []
    for members in grouped(material.cells):
        first, main = members[0], TASKS[members[0].task].main_metric
        seen = [mean(cell.overlap.get(name, 0.0) for cell in members) for name in SEEN]
        scores = _mean([cell.metrics[main] for cell in members])
        rest = _mean([cell.overlap["metrics_on_rest"].get(main) for cell in members])
        unseen = first.overlap.get("n_rest")
        change = None if scores is None or rest is None else rest - scores
        rows.append([
            *_place(first), *map(share, seen), number(unseen, 0), word(main),
            number(scores), number(rest), number(change, sign=True),
        ])  # fmt: skip
    header = (
        *("task", "split", "pre-training", "encoder", "tuning", "sentence seen", "pair seen"),
        *("unseen rows", "metric", "all rows", "unseen rows only", "change"),
    )
    return Table(
        "Rows with a sentence, or with the whole pair, that the run trained on or selected by",
        header,
        rows,
    )


SEEN = ("sentences", "pairs")


def grouped(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Return the cells of each system and split, its seeds together."""
    groups: dict[tuple[str, ...], list[Cell]] = {}
    for cell in cells:
        groups.setdefault(tuple(getattr(cell, name) for name in PLACE), []).append(cell)
    return list(groups.values())


def _place(cell: Cell) -> list[Entry]:
    return [word(getattr(cell, name)) for name in PLACE[:-1]]


def _score(material: Material, members: Sequence[Cell], metric: str) -> Entry:
    """Return a metric with its interval; both from the cells where nothing was judged."""
    if metric not in TASKS[members[0].task].metrics:
        return number(None)
    found = material.estimate(members[0], metric)
    if found is None:
        return number(_mean([cell.metrics[metric] for cell in members]))
    spread = "" if found.deviation is None else f" ± {found.deviation:.3f}"
    return number(found.mean, 3, f"{interval(found.interval)}{spread}".strip())


def _mean(values: Sequence[float | None]) -> float | None:
    """Return the mean, None if one of the values is."""
    known = [value for value in values if value is not None]
    return mean(known) if known and len(known) == len(values) else None
