"""What the data can tell: every metric with its interval, every two systems with their test.

A run writes it as comparisons.json, and puts it into a few sentences: which encoder, by how much,
what SimCSE changed, and how far to trust it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from statistics import mean
from typing import Any

import numpy as np

from data.tasks import TASKS, Splits, Task
from evaluation.clusters import clusters_of
from evaluation.intervals import LEVEL, Interval
from evaluation.metrics import labels_of
from evaluation.significance import (
    Comparison,
    Estimate,
    Pair,
    Systems,
    adjusted,
    compare,
    reach,
    shown,
    signed,
    turned,
)
from heads.config import READERS
from report.cell import COSINE, Cell, best_known, by_system
from report.run_folder import COMPARISONS, RunFolder
from runtime.files import read_json
from runtime.progress import progress

STAGES = {"none": "without SimCSE", "unsup": "with unsup SimCSE", "sup": "with sup SimCSE"}
TUNING = {
    "frozen": "frozen",
    "last1": "tuned in the last layer",
    "last2": "tuned in the last 2 layers",
    "last4": "tuned in the last 4 layers",
    "full": "fully tuned",
    "none": "as published",
}

Place = tuple[str, str]  # task and split


@dataclass(frozen=True)
class Judged:
    """The systems of one task on one split: all of its metrics."""

    task: str
    split: str
    estimates: tuple[Estimate, ...]
    comparisons: tuple[Comparison, ...]

    def main_estimates(self) -> dict[str, Estimate]:
        """Return the task's main metric by system."""
        metric = TASKS[self.task].main_metric
        return {each.system: each for each in self.estimates if each.metric == metric}

    def between(self, a: Cell, b: Cell, metric: str) -> Comparison | None:
        """Return the comparison of two systems, a minus b; None where they were not compared."""
        for versus in self.comparisons:
            if versus.metric == metric and {versus.a, versus.b} == {a.system, b.system}:
                return versus if versus.a == a.system else turned(versus)
        return None

    def main_comparisons(self) -> list[Comparison]:
        """Return the comparisons in the task's main metric."""
        metric = TASKS[self.task].main_metric
        return [versus for versus in self.comparisons if versus.metric == metric]


def judge(
    systems: Mapping[Place, Systems],
    labels: Mapping[Place, np.ndarray],
    clusters: Mapping[Place, np.ndarray],
    pairs: Mapping[Place, Sequence[Pair]] | None = None,
    cells: Sequence[Cell] = (),
    cosines: Mapping[Place, Systems] | None = None,
) -> list[Judged]:
    """Return all metrics of all systems, and all comparisons with their tests.

    The own question of a run of two encoders is whose best system of a task is ahead: it is tested
    by itself; three encoders make three. What is adjusted together, by Holm, of a split: what the
    contrastive stages changed in the bi-encoder's heads, which a run asks from the start; all other
    comparisons in the main metric of each task; as they repeat the same questions, those in all
    other metrics; and those of the bare cosines.

    Args:
        systems: (task, split) -> predictions by name of the system and seed.
        labels: (task, split) -> (N,).
        clusters: (task, split) -> (N,) as of `clusters_of`.
        pairs: (task, split) -> what to compare; every two systems if None.
        cells: the run's, if it is one and has such a question.
        cosines: (task, split) -> the bare cosines of bi-encoders, as `systems` has predictions.
    """
    work = [
        (place, metric, predictions)
        for place, predictions in systems.items()
        for metric in TASKS[place[0]].metrics
    ]
    work += [(place, COSINE, own) for place, own in (cosines or {}).items()]
    found = {place: Judged(*place, (), ()) for place in systems}
    with progress("compare", len(work), "metric", delay=2) as bar:
        for place, metric, predictions in work:
            measure = "spearman" if metric == COSINE else metric
            wanted = None if pairs is None else pairs[place]
            own = compare(
                place[0], measure, predictions, labels[place], wanted, clusters=clusters[place]
            )
            estimates = [replace(one, metric=metric) for one in own[0]]
            comparisons = [replace(versus, metric=metric) for versus in own[1]]
            found[place] = replace(
                found[place],
                estimates=(*found[place].estimates, *estimates),
                comparisons=(*found[place].comparisons, *comparisons),
            )
            bar.update()
    verdicts = _task_verdicts(cells, list(found.values()))
    questions = [verdict.question for verdict in verdicts]
    changes = [(own.place, {a.system, b.system}) for own in verdicts for a, b in own.stages]
    families: dict[tuple[str, str] | None, list[tuple[Place, Comparison]]] = {}
    for place, each in found.items():
        for versus in each.comparisons:
            is_main = versus.metric == TASKS[each.task].main_metric
            pair = place, {versus.a, versus.b}
            asked = is_main and pair in questions
            if is_main:
                kind = "changed" if pair in changes else "main"
            else:
                kind = COSINE if versus.metric == COSINE else "other"
            family = families.setdefault(None if asked else (each.split, kind), [])
            family.append((place, versus))
    compared: dict[Place, list[Comparison]] = {place: [] for place in systems}
    for together, family in families.items():
        tested = [versus for _, versus in family]
        corrected = tested if together is None else adjusted(tested)
        for (place, _), versus in zip(family, corrected, strict=True):
            compared[place].append(versus)
    return [replace(each, comparisons=tuple(compared[place])) for place, each in found.items()]


def judge_cells(
    cells: Sequence[Cell], splits: Mapping[str, Splits], folder: RunFolder
) -> list[Judged]:
    """Return what the data can tell of a run's cells, from the predictions in its folder.

    Raises:
        DataError: predictions are missing or damaged.
    """
    systems: dict[Place, dict[str, dict[int, np.ndarray]]] = {}
    cosines: dict[Place, dict[str, dict[int, np.ndarray]]] = {}
    labels: dict[Place, np.ndarray] = {}
    clusters: dict[Place, np.ndarray] = {}
    for cell in cells:
        place = cell.task, cell.split
        examples = getattr(splits[cell.task], cell.split)
        seeds = systems.setdefault(place, {}).setdefault(cell.system, {})
        seeds[cell.seed] = folder.predictions(cell, examples)
        behind = folder.soft(cell, examples) if cell.tune == "frozen" else {}
        if "cosines" in behind:
            seeds = cosines.setdefault(place, {}).setdefault(cell.system, {})
            seeds[cell.seed] = behind["cosines"]
        if place not in labels:
            labels[place], clusters[place] = labels_of(examples), clusters_of(examples)
    return judge(systems, labels, clusters, cells=cells, cosines=cosines)


def read_judged(folder: RunFolder, cells: Sequence[Cell]) -> list[Judged] | None:
    """Return what a run wrote of its cells, from comparisons.json.

    Returns:
        None where the file is missing, damaged, of another version, or not of exactly these cells
        and their scores, as where a later command added cells to the folder: `judge_cells` returns
        the same from the predictions, in its own time.
    """
    try:
        judged = from_json(read_json(folder.path / COMPARISONS))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    stated = {
        (each.task, each.split, estimate.system, estimate.metric): _score(
            estimate.seeds, [estimate.mean]
        )
        for each in judged
        for estimate in each.estimates
        if estimate.metric != COSINE  # some versions did not judge it
    }
    wanted = {
        (own[0].task, own[0].split, own[0].system, metric): _score(
            [cell.seed for cell in own], [cell.metrics[metric] for cell in own]
        )
        for own in by_system(cells)
        for metric in TASKS[own[0].task].metrics
    }
    return judged if stated == wanted else None


def _score(seeds: Sequence[int], values: Sequence[float | None]) -> tuple[Any, float | None]:
    """Return the seeds of a system and its mean over them, None where one is undefined."""
    known = [value for value in values if value is not None]
    # Means of floats may differ in their last digits.
    return tuple(seeds), round(mean(known), 9) if len(known) == len(values) else None


def to_json(judged: Sequence[Judged]) -> dict[str, Any]:
    """Return the content of comparisons.json: one flat list of estimates, one of comparisons."""

    def flat(kind: str) -> list[dict[str, Any]]:
        return [
            {"task": each.task, "split": each.split, **asdict(entry)}
            for each in judged
            for entry in getattr(each, kind)
        ]

    return {"level": LEVEL, "estimates": flat("estimates"), "comparisons": flat("comparisons")}


def from_json(content: dict[str, Any]) -> list[Judged]:
    """Return what `to_json` was given, from the content of comparisons.json.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: it is not such a content.
    """
    if content["level"] != LEVEL:
        raise ValueError(f"intervals of {content['level']}")
    places: dict[Place, tuple[list[Any], list[Any]]] = {}  # estimates, comparisons
    for kind, (name, made) in enumerate((("estimates", Estimate), ("comparisons", Comparison))):
        for entry in content[name]:
            own = dict(entry)
            place = own.pop("task"), own.pop("split")
            # JSON has neither tuples nor classes.
            own["seeds"] = tuple(own["seeds"])
            if own["interval"] is not None:
                own["interval"] = Interval(**own["interval"])
            places.setdefault(place, ([], []))[kind].append(made(**own))
    return [Judged(*place, tuple(own), tuple(versus)) for place, (own, versus) in places.items()]


# A whole run in a few sentences.


def verdict_of(cells: Sequence[Cell], judged: Sequence[Judged]) -> tuple[str, str]:
    """Return the answer in a few words, "" where no task has several encoders; what it rests on.

    The latter is a line for each task, one for each contrastive stage on what it changed, and one
    on how far they carry.
    Of each task, the best system of each encoder is compared with those of the others, best by the
    dev split, in the main metric on the test split if that has labels; then under each setting.
    """
    verdicts = _task_verdicts(cells, judged)
    if not verdicts:
        return "", ""
    seeds = len({cell.seed for cell in best_known(cells)})
    sentences = [line for own in verdicts for line in (own.sentence(), *own.changes())]
    return _headline(verdicts), "\n".join([*sentences, _hedge(verdicts, seeds)])


def _task_verdicts(cells: Sequence[Cell], judged: Sequence[Judged]) -> list["_TaskVerdict"]:
    """Return what the data can tell about each task of a run."""
    known = best_known(cells)
    several = len({cell.tune for cell in known}) > 1
    verdicts = []
    for name in dict.fromkeys(cell.task for cell in known):
        own = [cell for cell in known if cell.task == name]
        splits = {each.split: each for each in judged if each.task == name}
        if final := splits.get(own[0].split):
            verdicts.append(
                _TaskVerdict(TASKS[name], own, splits.get("dev", final), final, several)
            )
    return verdicts


@dataclass(frozen=True)
class _TaskVerdict:
    """What the data can tell about one task."""

    task: Task
    cells: list[Cell]  # of the split that the verdict is about
    dev: Judged  # what the best systems are chosen by
    final: Judged  # on the split of `cells`
    several: bool  # ways to tune in the run, so that they are named

    @property
    def best(self) -> dict[str, Cell]:
        """Return a cell of the best system of each encoder, by the main metric on dev."""
        estimates = self.dev.main_estimates()

        def score(cell: Cell) -> float:
            estimate = estimates.get(cell.system)
            return -2.0 if estimate is None or estimate.mean is None else estimate.mean

        best: dict[str, Cell] = {}
        for cell in self.cells:
            if cell.encoder not in best or score(cell) > score(best[cell.encoder]):
                best[cell.encoder] = cell
        return {kind: best[kind] for kind in READERS if kind in best}

    @property
    def chosen(self) -> bool:
        """Return whether an encoder has several systems, of which one is the best."""
        return len(self.best) < len({cell.system for cell in self.cells})

    @property
    def place(self) -> Place:
        """Return what the verdict is about: task and split."""
        return self.final.task, self.final.split

    @property
    def question(self) -> tuple[Place, set[str]]:
        """Return the systems that the run compares first of all, on which split."""
        return self.place, {cell.system for cell in self.best.values()}

    @property
    def stages(self) -> list[tuple[Cell, Cell]]:
        """Return the frozen bi-encoder before and after each contrastive stage."""
        frozen = {c.pretrain: c for c in self.cells if (c.encoder, c.tune) == ("bi", "frozen")}
        before = frozen.pop("none", None)
        return [(before, after) for after in frozen.values()] if before else []

    @property
    def answer(self) -> str | None:
        """Return which encoder is ahead, "" where the data cannot tell; None with one encoder."""
        best = self.best
        return self.winner(best) if len(best) > 1 else None

    def winner(self, kinds: Mapping[str, Cell]) -> str:
        """Return the encoder that is ahead of all others, "" if there is none."""
        for kind, cell in kinds.items():
            rivals = [other for name, other in kinds.items() if name != kind]
            if all(_sign(self.between(cell, other)) > 0 for other in rivals):
                return kind
        return ""

    def between(self, first: Cell, second: Cell) -> Comparison | None:
        """Return the comparison of two systems, first minus second, in the main metric."""
        return self.final.between(first, second, self.task.main_metric)

    def sentence(self) -> str:
        """Return the sentence on the task."""
        best = self.best
        about = f"{self.task.about[0].upper()}{self.task.about[1:]} ({self.task.name}): "
        if len(best) == 1:
            return about + self._leader(next(iter(best.values())))
        settings = {kind: self._named([cell]) for kind, cell in best.items()}
        same = len(set(settings.values())) == 1
        names = {k: f"the best {READERS[k]}{'' if same else f' ({settings[k]})'}" for k in best}
        outcomes = [
            self._outcome(self.between(best[a], best[b]), names[a], names[b])
            for a, b in combinations(best, 2)
        ]
        both = "both" if len(best) == 2 else "all"
        where = f", {both} {next(iter(settings.values()))}" if same else ""
        return f"{about}{'; '.join(outcomes)}{where}{self._like_with_like(best)}."

    def _outcome(self, versus: Comparison | None, first: str, second: str) -> str:
        """Return who is ahead in first minus second, and by how much."""
        metric = self.task.main_metric
        if versus is None or versus.difference is None or versus.p is None:
            return f"{first} and {second} cannot be compared"
        sign = _sign(versus)
        if not sign:
            apart = f"the data cannot tell {first} from {second}: {signed(versus)} in {metric}"
            return apart + reach(versus)
        if sign < 0:
            first, second, versus = second, first, turned(versus)
        size = f"{versus.difference or 0:.3f} {shown(versus.interval)}".rstrip()
        return f"{first} is ahead of {second} by {size} in {metric}"

    def _like_with_like(self, best: dict[str, Cell]) -> str:
        """Return who is ahead where all encoders have the same setting."""
        settings: dict[str, dict[str, Cell]] = {}
        for cell in self.cells:
            settings.setdefault(cell.setting, {})[cell.encoder] = cell
        outcomes: dict[str, list[Cell]] = {}
        for kinds in settings.values():
            if len(kinds) == len(best) and any(kinds[k].system != best[k].system for k in kinds):
                own = next(iter(kinds.values()))
                outcomes.setdefault(self.winner(kinds), []).append(own)
        words = []
        for ahead, cells in outcomes.items():
            where = f"({self._named(cells)})" if self.several else self._named(cells)
            answer = f"the {READERS[ahead]} is ahead" if ahead else "it is undecided"
            words.append(f"{answer} {where}")
        return f"; like with like, {' and '.join(words)}" if words else ""

    def changes(self) -> list[str]:
        """Return a sentence on what each contrastive stage changed in the frozen bi-encoder."""
        sentences = []
        for before, after in self.stages:
            changed = [
                self._changed("the bare cosine", COSINE, before, after),
                self._changed("the bi-encoder's head", self.task.main_metric, before, after),
            ]
            if told := "; ".join(filter(None, changed)):
                stage = STAGES.get(after.pretrain, f"with {after.pretrain}")
                sentences.append(f"On {self.task.name} {stage}, {told}.")
        return sentences

    def _changed(self, what: str, metric: str, before: Cell, after: Cell) -> str:
        """Return how a score rose or fell, "" where it is not known."""
        versus = self.final.between(after, before, metric)
        scores = {one.system: one.mean for one in self.final.estimates if one.metric == metric}
        first, last = scores.get(before.system), scores.get(after.system)
        if versus is None or versus.difference is None or first is None or last is None:
            return ""
        unit = "spearman" if metric == COSINE else metric
        size = signed(versus)
        if not versus.decided:
            return (
                f"the data cannot tell whether {what} changed: {first:.3f} before, {last:.3f} "
                f"after, {size} in {unit}"
            )
        verb = "rises" if versus.difference > 0 else "falls"
        return f"{what} {verb} from {first:.3f} to {last:.3f}, {size} in {unit}"

    def _leader(self, best: Cell) -> str:
        """Return the best of one encoder's systems, beside its rivals."""
        own = self.final.main_estimates().get(best.system)
        if own is None or own.mean is None:
            return "no score is defined."
        score = f"{own.mean:.3f} {shown(own.interval)}".rstrip()
        words = f"the {READERS[best.encoder]} alone, best {self._named([best])}: {score}"
        cells = {cell.system: cell for cell in self.cells}
        undecided = [
            cells[versus.b if versus.a == best.system else versus.a]
            for versus in self.final.main_comparisons()
            if best.system in (versus.a, versus.b) and not versus.decided
        ]
        if undecided:
            ones = "one" if len(undecided) == 1 else "ones"
            words += f"; the data cannot tell it from the {ones} {self._named(undecided)}"
        return f"{words}."

    def _named(self, cells: Sequence[Cell]) -> str:
        """Return settings in a few words: `frozen without and with sup SimCSE`."""
        stages: dict[str, list[str]] = {}
        for cell in cells:
            tune = TUNING.get(cell.tune) or f"tuned jointly ({cell.tune.removeprefix('joint-')})"
            stage = STAGES.get(cell.pretrain, f"with {cell.pretrain}")
            stages.setdefault(tune, []).append(stage)
        words = [
            f"{tune} {_together(own)}" if self.several else _together(own)
            for tune, own in stages.items()
        ]
        return " and ".join(words)


def _together(stages: Sequence[str]) -> str:
    """Return `without, with unsup and with sup SimCSE`: the last word once."""
    words = [stage.removesuffix(" SimCSE") for stage in stages]
    if not all(stage.endswith(" SimCSE") for stage in stages):
        return " and ".join(stages)
    return f"{_listed(words)} SimCSE"


def _sign(versus: Comparison | None) -> int:
    """Return 1 or -1 if the first or the second is ahead, 0 where the data cannot tell."""
    if versus is None or not versus.decided or not versus.difference:
        return 0
    return 1 if versus.difference > 0 else -1


def _listed(words: Sequence[str]) -> str:
    """Return `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


def _headline(verdicts: Sequence[_TaskVerdict]) -> str:
    """Return the answer in a few words, "" where no task has several encoders."""
    answers: dict[str, list[str]] = {}
    for verdict in verdicts:
        if verdict.answer is not None:
            answers.setdefault(verdict.answer, []).append(verdict.task.name)
    if set(answers) == {""}:
        if all(len(verdict.best) < 3 for verdict in verdicts):
            return "The data cannot tell the two encoders apart."
        return "The data show no encoder ahead of all others."
    words = [
        f"the {name} on {' and '.join(answers[kind])}"
        for kind, name in READERS.items()
        if kind in answers
    ]
    if "" in answers:
        words.append(f"on {' and '.join(answers[''])} the data cannot tell")
    headline = "; ".join(words)
    return f"{headline[0].upper()}{headline[1:]}." if headline else ""


def _hedge(verdicts: Sequence[_TaskVerdict], seeds: int) -> str:
    """Return what the numbers rest on, and how far they carry."""
    first = [verdict.cells[0] for verdict in verdicts]
    rows = ", ".join(f"{cell.n:,} {cell.split} rows of {cell.task}" for cell in first)
    chosen = "the dev split"
    if all(cell.split == "dev" for cell in first):
        chosen = "these rows" if any(verdict.chosen for verdict in verdicts) else ""
    best = f"; the best are chosen on {chosen}" if chosen else ""
    words = f"On {rows}{best}; brackets are 95 % intervals"
    if any(verdict.final.comparisons for verdict in verdicts):
        words += ", and ahead means p < 0.05"
        if all(len(verdict.best) != 2 for verdict in verdicts):
            words += " after Holm's correction"
        elif any(verdict.chosen for verdict in verdicts):
            words += (
                ": best against best by itself; what SimCSE changed, and all other pairs, after "
                "Holm's correction"
            )
    if seeds > 1:
        words += f". Scores are means over {seeds} seeds; rows and seeds both vary"
        shares = [
            f"{versus.seeds_share:.0%} on {verdict.task.name}".replace("%", " %")
            for verdict in verdicts
            if len(verdict.best) == 2 and (versus := verdict.between(*verdict.best.values()))
            if versus.seeds_share is not None
        ]
        if shares:
            words += f"; of the variance of best against best, seeds make {_listed(shares)}"
        return f"{words}."
    return f"{words}. One seed: this describes these trained systems, not yet the method."
