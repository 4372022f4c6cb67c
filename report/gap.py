"""How much of the gap from bi- to cross-encoder a distilled bi-encoder closes.

Augmented SBERT (Thakur et al. 2021, arXiv:2010.08240) is about that gap. A share of it is told only
where the data tell that there is one: what is divided by is else anything around 0.

Legend: 3 encoders (bi, cross, distilled), S seeds, N rows, B resamples. Reads: predictions, labels,
verdict. Feeds: experiment, the report's page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from data.tasks import TASKS, Splits
from evaluation.intervals import FEWEST, Interval, bootstrap, over_seeds
from evaluation.metrics import task_metrics
from evaluation.scoring import labels_of
from evaluation.weighted import weighted_metric
from report.cell import Cell, best_known
from report.run_folder import RunFolder
from report.verdict import Judged

KINDS = ("bi", "cross", "distilled")
NO_GAP = 1e-9  # instead of dividing by 0 in a resample: infinitely far on the side of the gap


@dataclass(frozen=True)
class Gap:
    """Three systems of one setting, in the main metric of a task, means over their common seeds.

    `share` is (distilled - bi) / (cross - bi), 1 for all of the gap; None where the data do not
    tell that the cross-encoder is ahead. `ahead` is "bi", "cross", or "" where they do not tell.
    """

    task: str
    split: str
    setting: str
    metric: str
    bi: float
    cross: float
    distilled: float
    ahead: str
    share: float | None = None
    interval: Interval | None = None


def gaps(
    cells: Sequence[Cell], judged: Sequence[Judged], splits: Mapping[str, Splits], folder: RunFolder
) -> list[Gap]:
    """Return the gap of each setting that has all three encoders, where their metric is defined.

    The rows are those of the test split if it has labels, else those of the dev split.

    Raises:
        DataError: predictions are missing or damaged.
    """
    settings: dict[tuple[str, str, str], dict[str, dict[int, Cell]]] = {}
    for cell in best_known(cells):
        place = cell.task, cell.setting, cell.features
        settings.setdefault(place, {}).setdefault(cell.encoder, {})[cell.seed] = cell
    told = [one for one in settings.values() if set(KINDS) <= set(one)]
    return list(filter(None, (_gap(kinds, judged, splits, folder) for kinds in told)))


def gap_line(gap: Gap) -> str:
    """Return `para test, none, full, accuracy: distilled closes 42 % of the gap from bi ...`."""
    place = f"{gap.task} {gap.split}, {gap.setting}, {gap.metric}: "
    bi, cross = f"bi ({gap.bi:.3f})", f"cross ({gap.cross:.3f})"
    if gap.share is not None:
        size = f"{gap.share:.0%}".replace("%", " %")
        if gap.interval is not None:
            size += f" [{gap.interval.low:.0%}, {gap.interval.high:.0%}]".replace("%", " %")
        return (
            f"{place}distilled ({gap.distilled:.3f}) closes {size} of the gap from {bi} to {cross}"
        )
    no_gap = f"the data do not show a gap from {bi} to {cross}"
    if gap.ahead == "bi":
        no_gap = f"{bi} is ahead of {cross}, so there is no gap to close"
    return f"{place}{no_gap}; distilled has {gap.distilled:.3f}"


def _gap(
    kinds: Mapping[str, Mapping[int, Cell]],
    judged: Sequence[Judged],
    splits: Mapping[str, Splits],
    folder: RunFolder,
) -> Gap | None:
    """Return one gap; None without a common seed, or where a metric is undefined."""
    seeds = sorted(set.intersection(*(set(kinds[kind]) for kind in KINDS)))
    if not seeds:
        return None
    first = kinds["bi"][seeds[0]]
    task, metric = first.task, TASKS[first.task].main_metric
    examples = getattr(splits[task], first.split)
    labels = labels_of(examples)
    predictions = np.array([
        [folder.predictions(kinds[kind][seed], examples) for seed in seeds] for kind in KINDS
    ])  # fmt: skip
    found = [
        [task_metrics(task, row, labels)[metric] for row in of_kind] for of_kind in predictions
    ]
    if any(value is None for row in found for value in row):
        return None
    values = np.array(found, np.float64)
    ahead = _ahead(first, kinds["cross"][seeds[0]], metric, seeds, judged)
    bi, cross, distilled = values.mean(axis=1).tolist()
    told = (task, first.split, first.setting, metric, bi, cross, distilled, ahead)
    if ahead != "cross":
        return Gap(*told)
    interval = closed_interval(task, metric, predictions, labels, values)
    return Gap(*told, (distilled - bi) / (cross - bi), interval)


def closed_interval(
    task: str, metric: str, predictions: np.ndarray, labels: np.ndarray, values: np.ndarray
) -> Interval | None:
    """Return the 95 % interval of the share of the gap; None of fewer than three rows.

    All three encoders are measured on the same resamples. Of one seed, the share is resampled
    itself. Of several, rows and seeds both vary, and the share s is linearised around its value:
    with gains d, gaps g and the mean gap G, what varies is (d - s g) / G (the delta method, as for
    any ratio of means).

    Args:
        task: a name of data.tasks.TASKS.
        metric: one of its metrics.
        predictions: (3, S, N).
        labels: (N,).
        values: (3, S), the metric of each.
    """
    n, seeds = len(labels), predictions.shape[1]
    if n < FEWEST:
        return None
    measure = weighted_metric(metric, TASKS[task], predictions.reshape(3 * seeds, n), labels)

    def gain_and_gap(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return two (1, B)."""
        bi, cross, distilled = measure(weights).reshape(3, seeds, -1).mean(axis=1)
        return (distilled - bi)[None], (cross - bi)[None]

    def share_of(weights: np.ndarray) -> np.ndarray:
        gain, gap = gain_and_gap(weights)
        return gain / np.where(gap == 0, NO_GAP, gap)

    if seeds == 1:
        return bootstrap(share_of, n).interval(0)
    gains, gaps_of_seeds = values[2] - values[0], values[1] - values[0]  # (S,) each
    mean_gap = gaps_of_seeds.mean()
    share = gains.mean() / mean_gap

    def residual(weights: np.ndarray) -> np.ndarray:
        gain, gap = gain_and_gap(weights)
        return (gain - share * gap) / mean_gap

    error = bootstrap(residual, n, accelerated=False).error[0]
    around = share + (gains - share * gaps_of_seeds) / mean_gap
    return over_seeds(around, float(error), n)[0]


def _ahead(
    bi: Cell, cross: Cell, metric: str, seeds: Sequence[int], judged: Sequence[Judged]
) -> str:
    """Return which encoder the data tell to be ahead over these seeds, "" for none."""
    for one in judged:
        if (one.task, one.split) == (bi.task, bi.split):
            for found in one.comparisons:
                if found.metric == metric and {found.a, found.b} == {bi.system, cross.system}:
                    if found.decided and found.difference and list(found.seeds) == list(seeds):
                        ahead = found.a if found.difference > 0 else found.b
                        return "bi" if ahead == bi.system else "cross"
    return ""
