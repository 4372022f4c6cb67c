"""Intervals of all metrics, and comparisons of every two systems with tests.

A run writes them to comparisons.json, with its question on each task: which reader's best system is
better, and what did SimCSE change? `report.verdict` makes sentences from this file.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import combinations
from statistics import mean
from typing import Any

import numpy as np

from baselines.bm25 import BM25
from data.examples import Document, Query
from data.search import own_rows, query_clusters
from data.tasks import EVERY_ROW, TASKS, Splits
from evaluation.clusters import clusters_of
from evaluation.intervals import IN_FOLDS, LEVEL, Interval
from evaluation.metrics import COSINE, labels_of
from evaluation.ranking import MOST, measures, own_last, reranked
from evaluation.significance import Comparison, Estimate, Pair, adjusted, compare, turned
from heads.config import READERS
from report.cell import Cell, best_known, by_system
from report.floors import ALWAYS, BM25_ROW, cosine_row, floors, is_floor
from report.run_folder import COMPARISONS, RunFolder
from runtime.files import read_json
from runtime.progress import progress

# Families of comparisons, each with Holm's correction on each split.
CHANGED, MAIN, OTHER, FLOOR = "changed", "main", "other", "floor"

MARGIN = 0.02

Runs = dict[str, dict[int, np.ndarray]]  # system -> seed -> predictions (N,)


@dataclass(frozen=True)
class Scored:
    """The compared predictions on one split of a task."""

    task: str
    split: str
    systems: Runs
    labels: np.ndarray  # (N,)
    clusters: np.ndarray  # (N,) as of `clusters_of`
    # Pairs to compare; None: every two, and in the main metric those with rows of report.floors.
    pairs: Sequence[Pair] | None = None
    cosines: Runs = field(default_factory=dict)  # cosine or MaxSim, without any head
    floors: list[Pair] = field(default_factory=list)

    def compared(self, metric: str) -> Sequence[Pair]:
        """Return the pairs of systems that are compared in a metric."""
        if self.pairs is not None:
            return self.pairs
        pairs = list(combinations([name for name in self.systems if not is_floor(name)], 2))
        return [*pairs, *self.floors] if metric == TASKS[self.task].main_metric else pairs


@dataclass(frozen=True)
class System:
    """The properties of a system that the sentences use."""

    pretrain: str  # the stage's name, with the encoder's in a run of several: `mini+sup`
    reader: str
    tune: str
    depth: int = 0  # of a search: how many texts it ranks again
    finds: str = ""  # the system that found them

    @property
    def model(self) -> str:
        """Return the short name of its encoder in a run of several, else ""."""
        return self.pretrain.rpartition("+")[0]


@dataclass(frozen=True)
class Question:
    """A run's question on a task, for the split of the verdict; empty for other splits."""

    systems: dict[str, System] = field(default_factory=dict)  # by name
    best: dict[str, str] = field(default_factory=dict)  # reader -> its best system
    # The split (of train, a part) on which the best were chosen; "" if readers have one system.
    chosen_on: str = ""
    # The frozen bi-encoder's systems before and after each contrastive stage.
    changes: tuple[Pair, ...] = ()
    models: dict[str, str] = field(default_factory=dict)  # encoder -> its best system, if several
    margin: float = MARGIN  # differences up to this size are called equivalent


@dataclass(frozen=True)
class Judged:
    """The systems of one task on one split: metrics, comparisons, and the question, if any."""

    task: str
    split: str
    estimates: tuple[Estimate, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    question: Question = Question()

    @property
    def main_metric(self) -> str:
        return TASKS[self.task].main_metric

    def scores(self, metric: str) -> dict[str, Estimate]:
        return {e.system: e for e in self.estimates if e.metric == metric}

    @property
    def floors(self) -> list[str]:
        """Return the rows of `report.floors` that have a score in the main metric, best first."""
        means = {name: one.mean for name, one in self.scores(self.main_metric).items()}
        known = [name for name, mean in means.items() if is_floor(name) and mean is not None]
        return sorted(known, key=lambda name: -(means[name] or 0.0))

    def between(self, a: str, b: str, metric: str) -> Comparison | None:
        """Return the comparison of two systems, a minus b; None where they were not compared."""
        for versus in self.comparisons:
            if versus.metric == metric and {versus.a, versus.b} == {a, b}:
                return versus if versus.a == a else turned(versus)
        return None

    def family(self, versus: Comparison) -> str:
        """Return the family of a comparison; "" if it is tested without correction.

        With two readers, the comparison of their best systems is tested without correction, unless
        they were chosen on the rows that are scored. With three readers there are three such
        comparisons, which belong to the second family. The families are: the effects of contrastive
        stages on the bi-encoder's heads, a question fixed in advance; all other comparisons in a
        task's main metric; those in all other metrics, which repeat the same questions; those of
        similarities without a head; those with what needs no trained head.
        """
        if versus.metric == COSINE:
            return COSINE
        if versus.metric != self.main_metric:
            return OTHER
        pair = {versus.a, versus.b}
        if any(map(is_floor, pair)):
            return FLOOR
        if pair == set(self.question.best.values()) and self.question.chosen_on != self.split:
            return ""
        return CHANGED if pair in map(set, self.question.changes) else MAIN


def judge(
    scored: Sequence[Scored], cells: Sequence[Cell] = (), margin: float = MARGIN
) -> list[Judged]:
    """Return all metrics of all systems, and all comparisons with their tests.

    Args:
        scored: the systems, by task and split.
        cells: the cells of a run, which has a question; none for other systems.
        margin: of `Question`.
    """
    judged = []
    with progress("compare", len(scored), "split", delay=2) as bar:
        for place in scored:
            metrics: list[tuple[str, str, Runs, Sequence[Pair] | None]] = [
                (name, name, place.systems, place.compared(name))
                for name in TASKS[place.task].metrics
            ]
            if place.cosines:
                metrics.append((COSINE, "spearman", place.cosines, place.pairs))
            estimates: list[Estimate] = []
            comparisons: list[Comparison] = []
            wider = IN_FOLDS if place.split == EVERY_ROW else 1.0
            for name, metric, runs, pairs in metrics:
                scores, differences = compare(
                    place.task,
                    metric,
                    runs,
                    place.labels,
                    pairs,
                    clusters=place.clusters,
                    wider=wider,
                )
                estimates += [replace(score, metric=name) for score in scores]
                comparisons += [replace(versus, metric=name) for versus in differences]
            judged.append(Judged(place.task, place.split, tuple(estimates), tuple(comparisons)))
            bar.update()
    return _adjusted(with_questions(judged, cells, margin))


def _adjusted(judged: Sequence[Judged]) -> list[Judged]:
    """Return the results with the p values of each family adjusted."""
    families: dict[tuple[str, str], list[Comparison]] = {}
    for place in judged:
        for versus in place.comparisons:
            if family := place.family(versus):
                families.setdefault((place.split, family), []).append(versus)
    corrected: dict[int, Comparison] = {}  # equal comparisons may occur on several splits
    for members in families.values():
        corrected |= zip(map(id, members), adjusted(members), strict=True)
    return [
        replace(place, comparisons=tuple(corrected.get(id(v), v) for v in place.comparisons))
        for place in judged
    ]


def with_questions(
    judged: Sequence[Judged], cells: Sequence[Cell], margin: float = MARGIN
) -> list[Judged]:
    """Return the results with a question for each task, from a run's cells.

    The best system of a reader has the best score on the part of train on which its epochs were
    chosen; without such a part, on dev (or test, if there is no dev split). The question is about
    the test split if that has labels.
    """
    places = {(place.task, place.split): place for place in judged}
    known = best_known(cells)
    for task in dict.fromkeys(cell.task for cell in known):
        final = [cell for cell in known if cell.task == task]
        key = task, final[0].split
        chosen_on = "dev" if (task, "dev") in places else final[0].split
        scores = {
            system: estimate.mean
            for system, estimate in places[task, chosen_on].scores(TASKS[task].main_metric).items()
        }
        # In folds, the part of train is scored too.
        if final[0].split != EVERY_ROW and all(cell.choice for cell in final):
            chosen_on = "train"
            of_seeds = by_system(final)
            scores = {
                seeds[0].system: mean_of_all([cell.choice["score"] for cell in seeds])
                for seeds in of_seeds
            }
        systems = {c.system: System(c.stage, c.reader, c.tune) for c in final}
        if task == "search":
            finds = {c.name: c.system for c in final}
            systems = {
                c.system: System(c.stage, c.reader, c.tune, c.depth, finds[c.search["finds"]])
                for c in final
            }
            places[key] = replace(places[key], question=Question(systems))
            continue
        best = {}
        for reader in READERS:
            if rivals := [name for name, system in systems.items() if system.reader == reader]:
                best[reader] = max(rivals, key=partial(_mean, scores))  # the first of equals
        frozen = {
            (c.model, c.pretrain): c.system for c in final if (c.reader, c.tune) == ("bi", "frozen")
        }
        models = {}
        for model in dict.fromkeys(cell.model for cell in final if cell.model):
            of_model = [name for name, system in systems.items() if system.model == model]
            models[model] = max(of_model, key=partial(_mean, scores))
        question = Question(
            systems,
            best,
            chosen_on=chosen_on if len(best) < len(systems) else "",
            changes=tuple(
                (frozen[model, "none"], after)
                for (model, pretrain), after in frozen.items()
                if pretrain != "none" and (model, "none") in frozen
            ),
            models=models,
            margin=margin,
        )
        places[key] = replace(places[key], question=question)
    return list(places.values())


def _mean(scores: Mapping[str, float | None], system: str) -> float:
    score = scores[system]
    return -2.0 if score is None else score


def judge_cells(
    cells: Sequence[Cell], splits: Mapping[str, Splits], folder: RunFolder
) -> list[Judged]:
    """Return the results of a run's cells and of `floors`, from the predictions in its folder.

    Raises:
        DataError: predictions are missing or damaged.
    """
    scored: dict[tuple[str, str], Scored] = {}
    similar: dict[tuple[str, str], Runs] = {}  # place -> stage -> the cosines, or calls by them
    bm25 = None  # of a search, whose splits have one corpus
    for cell in cells:
        of_task = splits[cell.task]
        examples = getattr(of_task, cell.split)
        place = cell.task, cell.split
        if cell.task == "search":
            if place not in scored:
                bm25 = bm25 or BM25([document.text for document in of_task.corpus])
                scored[place] = _searched(cells, cell.split, of_task, bm25)
            seeds = scored[place].systems.setdefault(cell.system, {})
            seeds[cell.seed] = measures_of(cell, examples, of_task.corpus, folder)
            continue
        if place not in scored:
            scored[place] = Scored(*place, {}, labels_of(examples), clusters_of(examples))
        seeds = scored[place].systems.setdefault(cell.system, {})
        seeds[cell.seed] = folder.predictions(cell, examples, of_task.task)
        behind = folder.soft(cell, examples) if cell.tune == "frozen" else {}
        if "cosines" in behind:
            scored[place].cosines.setdefault(cell.system, {})[cell.seed] = behind["cosines"]
        cosines = behind.get("cosine_calls", behind.get("cosines"))
        if cell.reader == "bi" and cosines is not None:
            of_stage = similar.setdefault(place, {}).setdefault(cell.stage, {})
            of_stage[cell.seed] = cosines
    for place, of_split in scored.items():
        if place[0] != "search":
            _add_floors(of_split, splits[place[0]], similar.get(place, {}))
    margin = folder.config()["options"].get("equivalence", MARGIN)
    return judge(list(scored.values()), cells, margin)


def _add_floors(scored: Scored, splits: Splits, similar: Runs) -> None:
    """Add what needs no trained head, to be compared with all heads; and with one answer for all.

    `similar` has the cosines of each stage.
    """
    trained = list(scored.systems)
    seeds = [seed for runs in scored.systems.values() for seed in runs]
    for floor, predictions in floors(scored.task, splits, scored.split).items():
        scored.systems[floor] = dict.fromkeys(seeds, predictions)
    for stage, runs in similar.items():
        scored.systems[cosine_row(scored.task, stage, len(similar) > 1)] = runs
    untrained = [name for name in scored.systems if name not in trained]
    scored.floors.extend((name, floor) for floor in untrained for name in trained)
    always = next((name for name in untrained if name.startswith(ALWAYS)), None)
    if always:
        scored.floors.extend((name, always) for name in untrained if name != always)


def measures_of(
    cell: Cell, queries: Sequence[Query], corpus: Sequence[Document], folder: RunFolder
) -> np.ndarray:
    """Return the measures of each query, (N, 4), from a cell's ranking in the run folder.

    Raises:
        DataError: it is missing or damaged, or of other queries or texts.
    """
    return measures(reranked(*folder.ranking(cell, queries, corpus), cell.depth), queries)


def _searched(cells: Sequence[Cell], split: str, splits: Splits, bm25: BM25) -> Scored:
    """Return the record of a search, with BM25, and the pairs that are compared.

    These are fixed in advance: each reader with the bi-encoder whose texts it ranks again, each
    depth with the next smaller one, the bi-encoders with each other, and each with BM25.
    """
    of_split = [cell for cell in cells if cell.split == split]
    bis = list(dict.fromkeys(cell.system for cell in of_split if cell.reader == "bi"))
    bi_of = {cell.name: cell.system for cell in of_split if cell.reader == "bi"}
    pairs: dict[Pair, None] = {(name, BM25_ROW): None for name in bis}
    pairs |= dict.fromkeys(combinations(bis, 2))
    deepest: dict[str, str] = {}  # head -> its last depth
    for cell in of_split:
        if cell.reader != "bi":
            pairs[cell.system, bi_of[cell.search["finds"]]] = None
            if cell.name in deepest:
                pairs[cell.system, deepest[cell.name]] = None
            deepest[cell.name] = cell.system
    queries = getattr(splits, split)
    own = own_rows(queries, splits.corpus)
    ranked = bm25.top_k([query.text for query in queries], MOST + max(map(len, own)))
    ranked = own_last(ranked, np.zeros(ranked.shape), own)[0][:, :MOST]
    systems: Runs = {
        BM25_ROW: dict.fromkeys((cell.seed for cell in cells), measures(ranked, queries))
    }
    nothing = np.zeros(len(queries))
    return Scored("search", split, systems, nothing, query_clusters(queries), list(pairs))


# The content of comparisons.json.


def to_json(judged: Sequence[Judged]) -> dict[str, Any]:
    """Return the content of comparisons.json: flat lists of estimates, comparisons, questions."""

    def flat(entries_of: Callable[[Judged], Sequence[Any]]) -> list[dict[str, Any]]:
        return [
            {"task": place.task, "split": place.split, **asdict(entry)}
            for place in judged
            for entry in entries_of(place)
        ]

    return {
        "level": LEVEL,
        "estimates": flat(lambda place: place.estimates),
        "comparisons": flat(lambda place: place.comparisons),
        "questions": flat(lambda place: [place.question] if place.question.systems else []),
    }


def from_json(content: dict[str, Any]) -> list[Judged]:
    """Return the argument of `to_json`, from the content of comparisons.json.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: the content has another form.
    """
    if content["level"] != LEVEL:
        raise ValueError(f"intervals of {content['level']}")
    places: dict[tuple[str, str], dict[str, list[Any]]] = {}
    for name in ("estimates", "comparisons", "questions"):
        for entry in content[name]:
            fields = dict(entry)
            lists = places.setdefault(
                (fields.pop("task"), fields.pop("split")),
                {"estimates": [], "comparisons": [], "questions": [Question()]},
            )
            lists[name].append(_restored(name, fields))
    return [
        Judged(
            *place, tuple(lists["estimates"]), tuple(lists["comparisons"]), lists["questions"][-1]
        )
        for place, lists in places.items()
    ]


def _restored(name: str, fields: dict[str, Any]) -> Estimate | Comparison | Question:
    # JSON has neither tuples nor classes.
    if name == "questions":
        systems = {name: System(**system) for name, system in fields["systems"].items()}
        changes = tuple(map(tuple, fields["changes"]))
        return Question(**fields | {"systems": systems, "changes": changes})
    interval = fields["interval"] and Interval(**fields["interval"])
    fields |= {"seeds": tuple(fields["seeds"]), "interval": interval}
    return Estimate(**fields) if name == "estimates" else Comparison(**fields)


def read_judged(folder: RunFolder, cells: Sequence[Cell]) -> list[Judged] | None:
    """Return the results that a run wrote for its cells, from comparisons.json.

    None where the file is of 1.0, missing, damaged, or not of exactly these cells and their scores,
    as after an interrupted second run: `judge_cells` returns the same from the predictions.
    """
    try:
        judged = from_json(read_json(folder.path / COMPARISONS))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    stated = {
        (place.task, place.split, e.system, e.metric): (e.seeds, _rounded(e.mean))
        for place in judged
        for e in place.estimates
        if e.metric != COSINE and not is_floor(e.system)
    }
    wanted = {}
    for seeds in by_system(cells):
        first, numbers = seeds[0], tuple(cell.seed for cell in seeds)
        for metric in TASKS[first.task].metrics:
            score = mean_of_all([cell.metrics[metric] for cell in seeds])
            wanted[first.task, first.split, first.system, metric] = numbers, _rounded(score)
    return judged if stated == wanted else None


def mean_of_all(values: Sequence[float | None]) -> float | None:
    """Return the mean, None if one of the values is."""
    known = [value for value in values if value is not None]
    return mean(known) if len(known) == len(values) else None


def _rounded(score: float | None) -> float | None:
    # Means of floats may differ in their last digits.
    return None if score is None else round(score, 9)
