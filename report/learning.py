"""Learning curves with their crossings, and the scores of candidate learning rates.

Legend: K sizes, S seeds, N rows, B resamples.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean

import numpy as np

from data.tasks import TASKS, Splits
from evaluation.clusters import clusters_of
from evaluation.intervals import SEED, TAILS, weighted_metric, weightings
from evaluation.metrics import labels_of
from evaluation.significance import Estimate, compare
from heads.config import READERS
from report.cell import Cell, best_known
from report.run_folder import RunFolder
from report.verdict import metric_name, sentence_case, setting, task_name
from runtime.options import shown_value
from runtime.progress import progress


@dataclass(frozen=True)
class Crossing:
    """The number of labels from which one reader stays better than the other; see `overtaking`."""

    ahead: str  # the better reader with the most labels, such as `cross`
    behind: str
    labels: float  # number at the crossing
    low: float  # of the 95% interval over rows and seeds
    high: float
    share: float  # of resamples in which the curves cross, or end with the other reader better


@dataclass(frozen=True)
class LearningCurves:
    """A task's main metric by number of labels, under one setting."""

    task: str
    pretrain: str
    tune: str
    split: str
    points: dict[str, list[tuple[int, Estimate]]]  # reader -> (labels, score) by size
    # Of the cheapest and the most expensive reader; None with one, or if a score is undefined.
    crossing: Crossing | None
    # Reader -> the score of a frozen encoder's similarities without a head, cosine or MaxSim.
    bare: dict[str, Estimate] = field(default_factory=dict)

    def sentence(self) -> str:
        """Return a sentence on the curves, "" with one reader."""
        if self.crossing is None:
            return ""
        crossing, task = self.crossing, sentence_case(task_name(self.task))
        where = f"{task} ({setting(self.pretrain, self.tune)})"
        better, other = READERS[crossing.ahead], READERS[crossing.behind]
        sizes = [labels for points in self.points.values() for labels, _ in points]
        first, last = min(sizes), max(sizes)
        if crossing.labels == 0:
            return (
                f"{where}: the {better} scores higher at every training size tested ({first:,} to "
                f"{last:,} labels); the curves cross in {crossing.share:.0%} of bootstrap "
                "resamples."
            )
        if np.isinf(crossing.labels):
            return f"{where}: the {better} and the {other} score the same with {last:,} labels."
        low, labels, high = (
            _in_words(place, first, last)
            for place in (crossing.low, crossing.labels, crossing.high)
        )
        return (
            f"{where}: the {better} scores higher than the {other} from about {labels} labels on "
            f"(95% interval of the bootstrap: {low} to {high})."
        )


def _in_words(labels: float, first: int, last: int) -> str:
    if labels == 0:
        return f"below {first:,}"
    if np.isinf(labels):
        return f"over {last:,}"
    return f"{float(f'{labels:.2g}'):,.0f}"  # two significant digits


def learning_curves(
    cells: Sequence[Cell], splits: Mapping[str, Splits], folder: RunFolder
) -> list[LearningCurves]:
    """Return the curves of every task and setting that ran with several numbers of labels.

    Raises:
        DataError: predictions are missing or damaged.
    """
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in best_known(cells):
        groups.setdefault((cell.task, cell.stage, cell.tune), []).append(cell)
    several = [group for group in groups.values() if len({c.train_rows for c in group}) > 1]
    curves = []
    with progress("learning curves", len(several), "curve", delay=2) as bar:
        for group in several:
            curves.append(_curves(group, splits[group[0].task], folder))
            bar.update()
    return curves


def _curves(cells: list[Cell], splits: Splits, folder: RunFolder) -> LearningCurves:
    task, split = cells[0].task, cells[0].split
    metric, examples = TASKS[task].main_metric, getattr(splits, split)
    gold = labels_of(examples)
    systems: dict[str, dict[int, np.ndarray]] = {}
    for cell in cells:
        predictions = folder.predictions(cell, examples, splits.task)
        systems.setdefault(cell.system, {})[cell.seed] = predictions
    clusters = clusters_of(examples)
    estimates, _ = compare(task, metric, systems, gold, [], clusters=clusters)
    by_system = {estimate.system: estimate for estimate in estimates}
    points: dict[str, dict[int, Estimate]] = {}
    for cell in cells:
        assert cell.labels is not None, "cells with few labels note how many"
        points.setdefault(cell.reader, {})[cell.labels] = by_system[cell.system]
    defined = all(estimate.mean is not None for estimate in estimates)
    common = sorted(set.intersection(*map(set, points.values())))
    cross = None
    if len(points) > 1 and defined and len(common) > 1:
        readers = [reader for reader in READERS if reader in points]
        ends = readers[0], readers[-1]
        pairs = {n: tuple(systems[points[end][n].system] for end in ends) for n in common}
        cross = crossing(task, ends, pairs, gold, clusters)
    ordered = {reader: sorted(sizes.items()) for reader, sizes in points.items()}
    similarities: dict[str, dict[int, np.ndarray]] = {}
    for cell in cells if cells[0].tune == "frozen" else ():  # the same with any number of labels
        behind = folder.soft(cell, examples)
        if "cosines" in behind:
            similarities.setdefault(cell.reader, {})[cell.seed] = behind["cosines"]
    bare: dict[str, Estimate] = {}
    if similarities:
        without_heads, _ = compare(task, metric, similarities, gold, [], clusters=clusters)
        bare = {estimate.system: estimate for estimate in without_heads}
    return LearningCurves(task, cells[0].stage, cells[0].tune, split, ordered, cross, bare)


def crossing(
    task: str,
    readers: tuple[str, str],
    pairs: Mapping[int, Sequence[Mapping[int, np.ndarray]]],
    labels: np.ndarray,
    clusters: np.ndarray,
) -> Crossing | None:
    """Return where the curves of two readers cross, with its interval over rows and seeds.

    All sizes are resampled together: the same rows, and the same seeds, for both readers. None
    if the cells have no common seed.

    Args:
        task: whose main metric is scored.
        readers: the two readers.
        pairs: by number of labels, rising, both readers' predictions (N,) by seed; K sizes.
        labels: (N,).
        clusters: (N,) as of `clusters_of`.
    """
    sizes, both = list(pairs), [runs for pair in pairs.values() for runs in pair]
    seeds = [seed for seed in both[0] if all(seed in runs for runs in both)]
    if not seeds:
        return None
    runs = [by_seed[seed] for by_seed in both for seed in seeds]
    metric = TASKS[task].main_metric
    measure = weighted_metric(metric, TASKS[task], np.array(runs, np.float64), labels)
    shape = (len(sizes), 2, len(seeds))

    def differences(weights: np.ndarray) -> np.ndarray:
        """Return first minus second by size, seed and resample, (K, S, B), from weights (B, N)."""
        scores = measure(weights).reshape(*shape, len(weights))
        return scores[:, 0] - scores[:, 1]

    means = differences(np.ones((1, len(labels)))).mean(axis=1)[:, 0]
    sign = 1.0 if means[-1] > 0 else -1.0
    ahead, behind = readers[:: int(sign)]
    draw = np.random.default_rng(SEED)
    drawn = []
    for weights in weightings(clusters):
        # Each resample also draws seeds; a single seed is kept.
        chosen = draw.integers(len(seeds), size=(len(seeds), len(weights)))
        of_seeds = np.take_along_axis(differences(weights), chosen[None], axis=1)
        drawn += [overtaking(sizes, sign * column) for column in of_seeds.mean(axis=1).T]
    places = np.array(drawn)
    low, high = np.quantile(places, TAILS, method="inverted_cdf")
    share = float((places > 0).mean())
    return Crossing(ahead, behind, overtaking(sizes, sign * means), float(low), float(high), share)


def overtaking(sizes: Sequence[int], lead: np.ndarray) -> float:
    """Return the number of labels from which a lead (K,) stays positive.

    Between two of the rising sizes it is interpolated along the logarithm of the size, on which
    learning curves are nearly straight. 0 if the lead is positive at every size, infinity if it is
    not at the last one.
    """
    behind = np.flatnonzero(lead <= 0)
    if len(behind) == 0:
        return 0.0
    k = int(behind[-1])
    if k == len(lead) - 1:
        return float("inf")
    share = lead[k] / (lead[k] - lead[k + 1])
    logarithms = np.log([sizes[k], sizes[k + 1]])
    return float(np.exp(logarithms[0] + share * (logarithms[1] - logarithms[0])))


# Learning rates: the scores on held-out training examples by which they were chosen.


def chosen_rates(cells: Sequence[Cell]) -> str:
    """Return the encoder rates of a system's seeds, `5e-5 5e-4`; a dash where none was chosen."""
    rates = sorted({cell.choice["rate"] for cell in cells if _had_rates(cell)})
    return " ".join(map(shown_value, rates)) or "-"


def _had_rates(cell: Cell) -> bool:
    return bool(cell.choice) and len(cell.choice["tried"]) > 1


def rate_sentences(cells: Sequence[Cell]) -> list[str]:
    """Return a sentence per setting with candidate rates: the better reader at each rate."""
    # Setting -> reader -> rate -> the scores of its seeds.
    settings: dict[tuple[str, str, str], dict[str, dict[float, list[float]]]] = {}
    for cell in {cell.name: cell for cell in cells if _had_rates(cell)}.values():  # splits share it
        readers = settings.setdefault((cell.task, cell.stage, cell.tune), {})
        scores = readers.setdefault(cell.reader, {})
        for tried in cell.choice["tried"]:
            if tried["score"] is not None:
                scores.setdefault(tried["rate"], []).append(tried["score"])
    sentences = []
    for (task, pretrain, tune), readers in settings.items():
        means = {
            reader: {rate: mean(of_seeds) for rate, of_seeds in scores.items()}
            for reader, scores in readers.items()
        }
        rates = sorted(set.intersection(*map(set, means.values())))
        if len(means) > 1 and rates:
            leads = [
                f"at {shown_value(rate)} {_lead({reader: means[reader][rate] for reader in means})}"
                for rate in rates
            ]
            leads[0] += f" {metric_name(TASKS[task].main_metric)}"  # named once
            best = _lead({reader: max(scores.values()) for reader, scores in means.items()})
            sentences.append(
                f"Learning-rate search on {task_name(task)} ({setting(pretrain, tune)}, held-out "
                f"training examples): {'; '.join(leads)}; with the best rate for each, {best}."
            )
    return sentences


def _lead(scores: dict[str, float]) -> str:
    """Return the best reader and its lead over the next: `the bi-encoder leads by 0.014`."""
    first, second = sorted(scores, key=lambda reader: scores[reader], reverse=True)[:2]
    return f"the {READERS[first]} leads by {scores[first] - scores[second]:.3f}"
