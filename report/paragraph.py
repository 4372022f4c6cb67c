"""The verdict of a run in one paragraph: which encoder, by how much, and how far to trust it.

Reads: cells, what the data can tell of them. Feeds: experiment, the page.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from data.tasks import TASKS, Task
from evaluation.intervals import Interval
from evaluation.significance import Comparison, Estimate
from report.cell import Cell, best_known
from report.verdict import Judged, shown

NAMES = {"bi": "the bi-encoder", "cross": "the cross-encoder"}


@dataclass(frozen=True)
class _Duel:
    """Both encoders under one setting; `found.difference` is that of bi minus cross."""

    setting: str
    best: float  # score of the better one
    found: Comparison

    @property
    def ahead(self) -> str:
        """Return `bi`, `cross`, or "" where the data cannot tell."""
        if not self.found.decided or self.found.difference is None:
            return ""
        return "bi" if self.found.difference > 0 else "cross"


def paragraph(cells: Sequence[Cell], judged: Sequence[Judged]) -> str:
    """Return the verdict in plain words, hedged by the tests; "" without cells.

    Each task is told by its main metric on the test split if that has labels, else on dev; first in
    the setting with the best score, then how the other settings agree.
    """
    known = best_known(cells)
    told = []
    for name in dict.fromkeys(cell.task for cell in known):
        own = [cell for cell in known if cell.task == name]
        found = [one for one in judged if (one.task, one.split) == (name, own[0].split)]
        if found:
            told.append(_of_task(TASKS[name], own, found[0]))
    return " ".join([*told, _hedge(known, judged)]) if told else ""


def _of_task(task: Task, cells: Sequence[Cell], judged: Judged) -> str:
    """Return the sentences about one task."""
    means = {e.system: e for e in judged.estimates if e.metric == task.main_metric}
    duels = _duels(task, cells, judged, means)
    best = max(means.values(), key=lambda e: -2.0 if e.mean is None else e.mean)
    where = f"On {task.name} ({task.about}; {task.main_metric}, {best.n:,} {judged.split} rows)"
    if not duels:
        return f"{where} {_leader(best, judged, task)}"
    first, *others = sorted(duels, key=lambda duel: -duel.best)
    named = f", with {first.setting}" if others else ""
    return f"{where} {_told(first)}{named}{_agreement(first, others)}."


def _duels(
    task: Task, cells: Sequence[Cell], judged: Judged, means: dict[str, Estimate]
) -> list[_Duel]:
    """Return the comparisons of both encoders under the same setting."""
    kinds = {cell.system: (cell.encoder, cell.setting) for cell in cells}
    found = []
    for one in judged.comparisons:
        a, b = kinds.get(one.a), kinds.get(one.b)
        if one.metric == task.main_metric and a and b and a[1] == b[1] and a[0] != b[0]:
            scores = [means[name].mean for name in (one.a, one.b)]
            best = max((score for score in scores if score is not None), default=-2.0)
            found.append(_Duel(a[1], best, one if a[0] == "bi" else _turned(one)))
    return found


def _turned(found: Comparison) -> Comparison:
    """Return the comparison of b with a."""
    turned = None
    if found.interval is not None:
        low, high, method = -found.interval.high, -found.interval.low, found.interval.method
        turned = Interval(low, high, method)
    difference = None if found.difference is None else -found.difference
    return replace(found, a=found.b, b=found.a, difference=difference, interval=turned)


def _told(duel: _Duel) -> str:
    """Return who is ahead, and by how much."""
    found = duel.found
    if found.difference is None or found.p is None:
        return "the two encoders cannot be compared"
    if not duel.ahead:
        size = f"{found.difference:+.3f} {shown(found.interval)}".rstrip()
        return f"the data cannot tell the two encoders apart (bi minus cross: {size})"
    ahead = found if duel.ahead == "bi" else _turned(found)
    size = f"{ahead.difference:.3f} {shown(ahead.interval)}".rstrip()
    return f"{NAMES[duel.ahead]} is ahead by {size}"


def _agreement(first: _Duel, others: Sequence[_Duel]) -> str:
    """Return how the other settings agree: `; so it is with none, frozen`."""
    words = {"": "undecided", "bi": "the bi-encoder ahead", "cross": "the cross-encoder ahead"}
    found = []
    for ahead in (first.ahead, *(kind for kind in ("bi", "cross", "") if kind != first.ahead)):
        if settings := [duel.setting for duel in others if duel.ahead == ahead]:
            also = "also " if ahead == first.ahead else ""
            found.append(f"{also}{words[ahead]} with {' and with '.join(settings)}")
    return "".join(f"; {words}" for words in found)


def _leader(best: Estimate, judged: Judged, task: Task) -> str:
    """Return the best of the systems of one encoder, beside the others."""
    if best.mean is None:
        return "no score is defined."
    score = f"{best.system} has {best.mean:.3f} {shown(best.interval)}".rstrip()
    rivals = [c for c in judged.comparisons if c.metric == task.main_metric]
    rivals = [c for c in rivals if best.system in (c.a, c.b)]
    open_ = [c.b if c.a == best.system else c.a for c in rivals if not c.decided]
    if not rivals:
        return f"{score}; there is nothing to compare it with."
    if open_:
        return f"{score}, the best; the data cannot tell it from {' and '.join(open_)}."
    return f"{score}, ahead of all others."


def _hedge(cells: Sequence[Cell], judged: Sequence[Judged]) -> str:
    """Return what the numbers in brackets are, and how far they carry."""
    seeds = len({cell.seed for cell in cells})
    words = "Brackets are 95 % intervals"
    compared = any(one.comparisons for one in judged)
    words += "; who is ahead is so after Holm's correction for all comparisons" if compared else ""
    if seeds > 1:
        return f"{words}. Scores are means over {seeds} seeds; rows and seeds both vary."
    return f"{words}. One seed: this tells of these trained systems, not yet of the method."
