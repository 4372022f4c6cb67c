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

NAMES = {"bi": "bi-encoder", "cross": "cross-encoder"}
STAGES = {"none": "without SimCSE", "unsup": "with unsup SimCSE", "sup": "with sup SimCSE"}
TUNING = {
    "frozen": "frozen",
    "last1": "tuned in the last layer",
    "last2": "tuned in the last 2 layers",
    "last4": "tuned in the last 4 layers",
    "full": "fully tuned",
}


def paragraph(cells: Sequence[Cell], judged: Sequence[Judged]) -> str:
    """Return the verdict in plain words, hedged by the tests; "" where nothing was judged."""
    return " ".join(filter(None, verdict_of(cells, judged))).replace("\n", " ")


def verdict_of(cells: Sequence[Cell], judged: Sequence[Judged]) -> tuple[str, str]:
    """Return the answer in a few words, "" where no task has both encoders; and what it rests on.

    The latter is a line for each task, and one on how far they carry.
    Of each task, the best bi-encoder is compared with the best cross-encoder, best by the dev
    split, in the main metric on the test split if that has labels; then both under each setting.
    """
    known = [cell for cell in best_known(cells) if cell.encoder in NAMES]
    several = len({cell.tune for cell in known}) > 1
    told = []
    for name in dict.fromkeys(cell.task for cell in known):
        own = [cell for cell in known if cell.task == name]
        found = {one.split: one for one in judged if one.task == name}
        if own[0].split in found:
            told.append(_Verdict(TASKS[name], own, found, several))
    if not told:
        return "", ""
    sentences = [*(verdict.sentence() for verdict in told), _hedge(told, known)]
    return _headline(told), "\n".join(sentences)


@dataclass(frozen=True)
class _Verdict:
    """What the data can tell about one task."""

    task: Task
    cells: list[Cell]  # of the split that is told of
    judged: dict[str, Judged]  # by split
    several: bool  # ways to tune in the run, so that they are named

    @property
    def final(self) -> Judged:
        """Return what was judged on the split that is told of."""
        return self.judged[self.cells[0].split]

    @property
    def best(self) -> dict[str, Cell]:
        """Return a cell of the best system of each encoder, by the main metric on dev."""
        chosen_on = self.judged.get("dev", self.final)
        means = {one.system: one.mean for one in self._main(chosen_on)}
        found: dict[str, Cell] = {}
        for cell in self.cells:
            best = found.get(cell.encoder)
            if best is None or _score(means, cell) > _score(means, best):
                found[cell.encoder] = cell
        return found

    @property
    def answer(self) -> str | None:
        """Return "bi", "cross", or "" where the data cannot tell; None with one encoder."""
        best = self.best
        return _ahead(self.between(best["bi"], best["cross"])) if len(best) == 2 else None

    def between(self, bi: Cell, cross: Cell) -> Comparison | None:
        """Return the comparison of two systems, bi minus cross, in the main metric."""
        for one in self.final.comparisons:
            if one.metric == self.task.main_metric and {one.a, one.b} == {bi.system, cross.system}:
                return one if one.a == bi.system else _turned(one)
        return None

    def sentence(self) -> str:
        """Return what is told of the task."""
        best = self.best
        about = f"{self.task.about[0].upper()}{self.task.about[1:]} ({self.task.name}): "
        if len(best) == 1:
            return about + self._leader(next(iter(best.values())))
        named = {kind: self._named([best[kind]]) for kind in ("bi", "cross")}
        same = named["bi"] == named["cross"]
        bi, cross = (f"the best {NAMES[k]}{'' if same else f' ({named[k]})'}" for k in named)
        found = _told(self.between(best["bi"], best["cross"]), bi, cross, self.task.main_metric)
        both = f", both {named['bi']}" if same else ""
        return f"{about}{found}{both}{self._others(best)}."

    def _others(self, best: dict[str, Cell]) -> str:
        """Return who is ahead where both encoders have the same setting."""
        settings: dict[str, dict[str, Cell]] = {}
        for cell in self.cells:
            settings.setdefault(cell.setting, {})[cell.encoder] = cell
        outcomes: dict[str, list[Cell]] = {}
        for kinds in settings.values():
            if len(kinds) == 2 and any(kinds[k].system != best[k].system for k in kinds):
                ahead = _ahead(self.between(kinds["bi"], kinds["cross"]))
                outcomes.setdefault(ahead, []).append(kinds["bi"])
        words = []
        for ahead, own in outcomes.items():
            where = f"({self._named(own)})" if self.several else self._named(own)
            answer = f"the {NAMES[ahead]} is ahead" if ahead else "it is undecided"
            words.append(f"{answer} {where}")
        return f"; like with like, {' and '.join(words)}" if words else ""

    def _leader(self, best: Cell) -> str:
        """Return the best of one encoder's systems, beside its rivals."""
        own = next((one for one in self._main(self.final) if one.system == best.system), None)
        if own is None or own.mean is None:
            return "no score is defined."
        score = f"{own.mean:.3f} {shown(own.interval)}".rstrip()
        words = f"the {NAMES[best.encoder]} alone, best {self._named([best])}: {score}"
        cells = {cell.system: cell for cell in self.cells}
        rivals = [one for one in self.final.comparisons if best.system in (one.a, one.b)]
        undecided = [
            cells[one.b if one.a == best.system else one.a]
            for one in rivals
            if one.metric == self.task.main_metric and not one.decided
        ]
        if undecided:
            ones = "one" if len(undecided) == 1 else "ones"
            words += f"; the data cannot tell it from the {ones} {self._named(undecided)}"
        return f"{words}."

    def _main(self, judged: Judged) -> list[Estimate]:
        return [one for one in judged.estimates if one.metric == self.task.main_metric]

    def _named(self, cells: Sequence[Cell]) -> str:
        """Return settings in a few words: `frozen without and with sup SimCSE`."""
        stages: dict[str, list[str]] = {}
        for cell in cells:
            stage = STAGES.get(cell.pretrain, f"with {cell.pretrain}")
            stages.setdefault(_tuned(cell.tune), []).append(stage)
        words = [
            f"{tune} {_together(own)}" if self.several else _together(own)
            for tune, own in stages.items()
        ]
        return " and ".join(words)


def _tuned(tune: str) -> str:
    """Return how the encoder was tuned: `fully tuned`, `tuned jointly (sequential+replay)`."""
    return TUNING.get(tune) or f"tuned jointly ({tune.removeprefix('joint-')})"


def _together(stages: Sequence[str]) -> str:
    """Return `without, with unsup and with sup SimCSE`: the last word once."""
    words = [stage.removesuffix(" SimCSE") for stage in stages]
    if not all(stage.endswith(" SimCSE") for stage in stages):
        return " and ".join(stages)
    return f"{', '.join(words[:-1])}{' and ' if words[1:] else ''}{words[-1]} SimCSE"


def _headline(told: Sequence[_Verdict]) -> str:
    """Return the answer in a few words, "" where no task has both encoders."""
    answers: dict[str, list[str]] = {}
    for one in told:
        if one.answer is not None:
            answers.setdefault(one.answer, []).append(one.task.name)
    if set(answers) == {""}:
        return "The data cannot tell the two encoders apart."
    words = [
        f"the {NAMES[kind]} on {' and '.join(answers[kind])}" for kind in NAMES if kind in answers
    ]
    if "" in answers:
        words.append(f"on {' and '.join(answers[''])} the data cannot tell")
    found = "; ".join(words)
    return f"{found[0].upper()}{found[1:]}." if found else ""


def _told(found: Comparison | None, bi: str, cross: str, metric: str) -> str:
    """Return who is ahead, and by how much."""
    if found is None or found.difference is None or found.p is None:
        return f"{bi} and {cross} cannot be compared"
    ahead = _ahead(found)
    if not ahead:
        # Rounded first: the format would leave a sign on nought.
        size = f"{round(found.difference, 3) + 0.0:+.3f} {shown(found.interval)}".rstrip()
        return f"the data cannot tell {bi} from {cross}: {size} in {metric}"
    first, second = (bi, cross) if ahead == "bi" else (cross, bi)
    of_first = found if ahead == "bi" else _turned(found)
    size = f"{of_first.difference:.3f} {shown(of_first.interval)}".rstrip()
    return f"{first} is ahead of {second} by {size} in {metric}"


def _ahead(found: Comparison | None) -> str:
    """Return which encoder is ahead in bi minus cross, "" where the data cannot tell."""
    if found is None or not found.decided or not found.difference:
        return ""
    return "bi" if found.difference > 0 else "cross"


def _turned(found: Comparison) -> Comparison:
    """Return the comparison of b with a."""
    turned = None
    if found.interval is not None:
        low, high, method = -found.interval.high, -found.interval.low, found.interval.method
        turned = Interval(low, high, method)
    difference = None if found.difference is None else -found.difference
    return replace(found, a=found.b, b=found.a, difference=difference, interval=turned)


def _score(means: dict[str, float | None], cell: Cell) -> float:
    found = means.get(cell.system)
    return -2.0 if found is None else found


def _hedge(told: Sequence[_Verdict], cells: Sequence[Cell]) -> str:
    """Return what the numbers rest on, and how far they carry."""
    rows = ", ".join(f"{v.cells[0].n:,} {v.cells[0].split} rows of {v.task.name}" for v in told)
    chosen = "" if told[0].final.split == "dev" else "; best is by the dev split"
    words = f"On {rows}{chosen}; brackets are 95 % intervals"
    if any(one.final.comparisons for one in told):
        words += ", and ahead means p < 0.05 after Holm's correction"
    seeds = len({cell.seed for cell in cells})
    if seeds > 1:
        return f"{words}. Scores are means over {seeds} seeds; rows and seeds both vary."
    return f"{words}. One seed: this tells of these trained systems, not yet of the method."
