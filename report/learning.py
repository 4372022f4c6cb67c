"""How the answer depends on the number of labels: learning curves, and where they cross.

Legend: K sizes, S seeds, N rows, B resamples.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from data.tasks import TASKS, Splits
from evaluation.clusters import clusters_of
from evaluation.intervals import SEED, TAILS, weighted_metric, weightings
from evaluation.metrics import labels_of
from evaluation.significance import Estimate, compare
from heads.config import READERS
from report.cell import Cell, best_known
from report.run_folder import RunFolder
from runtime.progress import progress


@dataclass(frozen=True)
class Crossing:
    """Where one encoder overtakes the other for good, as labels grow.

    Attributes:
        ahead, behind: who is ahead with the most labels, and who is not, such as `cross` and `bi`.
        labels: at how many it overtakes, None if it is ahead at every size.
        low, high: of the 95 % interval over rows and seeds; 0 and infinity are outside the sizes.
        share: of resamples in which the curves cross, or end with the other ahead.
    """

    ahead: str
    behind: str
    labels: float | None
    low: float
    high: float
    share: float


@dataclass(frozen=True)
class LearningCurves:
    """A task's main metric by number of labels, under one setting.

    Attributes:
        task, setting, split: what was scored.
        points: encoder -> (labels, score) by size.
        crossing: of the cheapest and the dearest encoder; None with one, or where a score is
            undefined.
    """

    task: str
    setting: str
    split: str
    points: dict[str, list[tuple[int, Estimate]]]
    crossing: Crossing | None

    def sentence(self) -> str:
        """Return what the curves say, "" with one encoder."""
        if self.crossing is None:
            return ""
        one, (first, last) = self.crossing, self._ends()
        ahead, other = READERS[one.ahead], READERS[one.behind]
        where = f"{self.task}, {self.setting}: "
        if one.labels is None:
            return (
                f"{where}the {ahead} is ahead at every size from {first:,} to {last:,} labels "
                f"(the curves cross in {one.share:.0%} of resamples)"
            )
        low = f"{_rounded(one.low):,}" if one.low > 0 else f"below {first:,}"
        high = f"{_rounded(one.high):,}" if np.isfinite(one.high) else f"not within {last:,}"
        return (
            f"{where}the {ahead} overtakes the {other} at about {_rounded(one.labels):,} labels "
            f"[{low}, {high}]"
        )

    def _ends(self) -> tuple[int, int]:
        sizes = [labels for points in self.points.values() for labels, _ in points]
        return min(sizes), max(sizes)


def _rounded(labels: float) -> int:
    """Return a number of labels with two digits that say something."""
    return int(float(f"{labels:.2g}"))


def learning_curves(
    cells: Sequence[Cell], splits: Mapping[str, Splits], folder: RunFolder
) -> list[LearningCurves]:
    """Return the curves of every task and setting that ran with several numbers of labels.

    Raises:
        DataError: predictions are missing or damaged.
    """
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in best_known(cells):
        groups.setdefault((cell.task, cell.setting), []).append(cell)
    several = {key: own for key, own in groups.items() if len({c.train_rows for c in own}) > 1}
    curves = []
    with progress("learning curves", len(several), "curve", delay=2) as bar:
        for (task, setting), own in several.items():
            curves.append(_curves(task, setting, own, splits, folder))
            bar.update()
    return curves


def _curves(
    task: str,
    setting: str,
    cells: list[Cell],
    splits: Mapping[str, Splits],
    folder: RunFolder,
) -> LearningCurves:
    split, metric = cells[0].split, TASKS[task].main_metric
    examples = getattr(splits[task], split)
    gold = labels_of(examples)
    systems: dict[str, dict[int, np.ndarray]] = {}
    for cell in cells:
        systems.setdefault(cell.system, {})[cell.seed] = folder.predictions(cell, examples)
    clusters = clusters_of(examples)
    estimates, _ = compare(task, metric, systems, gold, [], clusters=clusters)
    by_system = {estimate.system: estimate for estimate in estimates}
    points: dict[str, dict[int, Estimate]] = {}
    named: dict[str, dict[int, str]] = {}
    for cell in cells:
        assert cell.labels is not None, "cells with few labels note how many"
        points.setdefault(cell.encoder, {})[cell.labels] = by_system[cell.system]
        named.setdefault(cell.encoder, {})[cell.labels] = cell.system
    defined = all(estimate.mean is not None for estimate in estimates)
    common = sorted(set.intersection(*(set(sizes) for sizes in named.values())))
    found = None
    if len(named) > 1 and defined and len(common) > 1:
        kinds = [kind for kind in READERS if kind in named]
        first, last = kinds[0], kinds[-1]
        pairs = [(systems[named[first][n]], systems[named[last][n]]) for n in common]
        found = crossing(task, metric, common, pairs, gold, clusters, (first, last))
    ordered = {kind: sorted(own.items()) for kind, own in points.items()}
    return LearningCurves(task, setting, split, ordered, found)


def crossing(
    task: str,
    metric: str,
    sizes: Sequence[int],
    pairs: Sequence[tuple[Mapping[int, np.ndarray], Mapping[int, np.ndarray]]],
    labels: np.ndarray,
    clusters: np.ndarray,
    encoders: tuple[str, str],
) -> Crossing | None:
    """Return where the curves of two encoders cross, with its interval over rows and seeds.

    All sizes are resampled together: the same rows, and the same seeds, for both encoders. None
    where no seed is that of all cells.

    Args:
        task, metric: what is scored.
        sizes: (K,) numbers of labels, rising.
        pairs: by size the predictions (N,) of both encoders by seed.
        labels: (N,).
        clusters: (N,) as of `clusters_of`.
        encoders: which two.
    """
    seeds = [seed for seed in pairs[0][0] if all(seed in one for both in pairs for one in both)]
    if not seeds:
        return None
    runs = [own[seed] for both in pairs for own in both for seed in seeds]
    measure = weighted_metric(metric, TASKS[task], np.array(runs, np.float64), labels)
    shape = (len(sizes), 2, len(seeds))

    def differences(weights: np.ndarray) -> np.ndarray:
        """Return first minus second by size, seed, resample, (K, S, B), from weights (B, N)."""
        scores = measure(weights).reshape(*shape, len(weights))
        return scores[:, 0] - scores[:, 1]

    means = differences(np.ones((1, len(labels)))).mean(axis=1)[:, 0]
    sign = 1.0 if means[-1] > 0 else -1.0
    ahead, behind = encoders[:: int(sign)]
    draw = np.random.default_rng(SEED)
    drawn = []
    for weights in weightings(clusters):
        # Each resample draws seeds, too; a single one stays.
        chosen = draw.integers(len(seeds), size=(len(seeds), len(weights)))
        of_seeds = np.take_along_axis(differences(weights), chosen[None], axis=1)
        drawn += [overtaking(sizes, sign * column) for column in of_seeds.mean(axis=1).T]
    places = np.array(drawn)
    low, high = np.quantile(places, TAILS, method="inverted_cdf")
    estimate = overtaking(sizes, sign * means)
    return Crossing(
        ahead,
        behind,
        None if estimate == 0 else float(estimate),
        float(low),
        float(high),
        float((places > 0).mean()),
    )


def overtaking(sizes: Sequence[int], lead: np.ndarray) -> float:
    """Return the number of labels from which a lead stays positive.

    Between two sizes it is interpolated along the logarithm of the size, on which learning curves
    are nearly straight. 0 if the lead is positive at every size, infinity if not at the last one.

    Args:
        sizes: (K,) rising.
        lead: (K,).
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
