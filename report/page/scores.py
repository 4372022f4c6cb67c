"""The scores, every paired comparison, and what was seen before, as tables. Feeds: making."""

from collections.abc import Sequence
from statistics import mean

from data.tasks import TASKS, Task
from evaluation.significance import Comparison
from report.cell import Cell
from report.page.material import Material
from report.page.tables import Entry, Table, interval, number, share, word
from report.verdict import Judged

PLACE = ("task", "split", "pretrain", "encoder", "tune", "features")
COSINE = "cosine_spearman"
SEEN = ("sentences", "pairs")


def score_tables(material: Material) -> tuple[list[Table], list[Table]]:
    """Return all metrics of all systems, by task: on the split that is told of, and on others.

    Systems have the mean over seeds, its 95 % interval, and the standard deviation.
    """
    main: list[Table] = []
    others: list[Table] = []
    for task in material.tasks:
        for split in ("test", "dev"):
            own = [c for c in material.cells if (c.task, c.split) == (task.name, split)]
            if own:
                told = own[0] in material.shown
                (main if told else others).append(_scores(task, own, material))
    return main, others


def _scores(task: Task, cells: Sequence[Cell], material: Material) -> Table:
    """Return the table of one task on one split."""
    cosine = any(cell.metrics.get(COSINE) is not None for cell in cells)
    rows = []
    for members in grouped(cells):
        scores = [_score(material, members, name) for name in task.metrics]
        bare = [number(_mean([cell.metrics.get(COSINE) for cell in members]))]
        entries = [word(material.label(members[0])), *scores, *(bare if cosine else [])]
        rows.append([*entries, number(members[0].n, 0)])
    more = "; cosine: Spearman’s rho without any head" if cosine else ""
    caption = f"{task.name}, {cells[0].split}: {task.about}, with 95 % intervals{more}"
    header = ("system", *task.metrics, *(("cosine",) if cosine else ()), "rows")
    return Table(caption, header, rows)


def comparison_tables(material: Material) -> tuple[Table, Table]:
    """Return every two systems of a task with their paired test: the verdict's, and all others.

    The verdict's are those in the main metric on the split that is told of.
    """
    main: list[list[Entry]] = []
    others: list[list[Entry]] = []
    told_of = {(cell.task, cell.split) for cell in material.shown}
    for place, found in material.comparisons:
        is_main = found.metric == TASKS[place.task].main_metric
        told = is_main and (place.task, place.split) in told_of
        (main if told else others).append(_comparison(material, place, found))
    header = ("A minus B", "difference", "ahead", "p (Holm)", "p", "test")
    return (
        Table("Main metric: every two systems, paired on the same rows", header, main),
        Table("Other metrics and splits", header, others),
    )


def _comparison(material: Material, place: Judged, found: Comparison) -> list[Entry]:
    a, b = (material.labels_of_systems.get(name, name) for name in (found.a, found.b))
    ahead = "undefined" if found.p is None else "undecided"
    if found.decided and found.difference:
        ahead = a if found.difference > 0 else b
    compared = Entry(f"{place.task}: {a} − {b}", note=f"{found.metric}, {place.split}")
    difference = number(found.difference, 3, interval(found.interval), sign=True)
    p = [_p(found.p_holm), _p(found.p)]
    return [compared, difference, word(ahead), *p, word(found.test)]


def _p(value: float | None) -> Entry:
    """Return an entry of a p value: none of them is nought."""
    small = value is not None and value < 0.0001
    return Entry("< 0.0001", value) if small else number(value, 4)


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
            word(material.label(first)), word(first.task), word(first.split), *map(share, seen),
            number(unseen, 0), word(main), number(scores), number(rest), number(change, sign=True),
        ])  # fmt: skip
    header = (
        *("system", "task", "split", "sentence seen", "pair seen"),
        *("unseen rows", "metric", "all rows", "unseen rows only", "change"),
    )
    return Table(
        "Rows with a sentence, or with the whole pair, that the run trained on or selected by",
        header,
        rows,
    )


def grouped(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Return the cells of each system and split, its seeds together."""
    groups: dict[tuple[str, ...], list[Cell]] = {}
    for cell in cells:
        groups.setdefault(tuple(getattr(cell, name) for name in PLACE), []).append(cell)
    return list(groups.values())


def _score(material: Material, members: Sequence[Cell], metric: str) -> Entry:
    """Return a metric with its interval; both from the cells where nothing was judged."""
    found = material.estimate(members[0], metric)
    if found is None:
        return number(_mean([cell.metrics[metric] for cell in members]))
    spread = "" if found.deviation is None else f" ± {found.deviation:.3f}"
    return number(found.mean, 3, f"{interval(found.interval)}{spread}".strip())


def _mean(values: Sequence[float | None]) -> float | None:
    """Return the mean, None if one of the values is."""
    known = [value for value in values if value is not None]
    return mean(known) if known and len(known) == len(values) else None
