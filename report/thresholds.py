"""What a threshold chosen on held-out training pairs does to accuracy and F1. Reads: cells."""

from collections.abc import Sequence
from statistics import mean

from report.cell import Cell, best_known


def threshold_lines(cells: Sequence[Cell]) -> list[str]:
    """Return one line per system with such thresholds, means over its seeds.

    The rows are those of the test split if it has labels, else those of the dev split.
    """
    systems: dict[tuple[str, str, str, str], list[Cell]] = {}
    for cell in best_known(cells):
        if cell.threshold:
            place = cell.task, cell.split, cell.setting, cell.encoder
            systems.setdefault(place, []).append(cell)
    lines = []
    for (task, split, setting, encoder), found in systems.items():
        told = [_told(metric, found) for metric in ("accuracy", "f1")]
        lines.append(f"{task} {split}, {setting}, {encoder}: {'; '.join(told)}")
    return lines


def _told(metric: str, cells: Sequence[Cell]) -> str:
    """Return `f1 0.393 at 0.5, 0.618 at 0.27`."""
    usual = mean(cell.metrics[metric] or 0.0 for cell in cells)
    chosen = mean(cell.threshold[metric]["value"] for cell in cells)
    where = mean(cell.threshold[metric]["threshold"] for cell in cells)
    return f"{metric} {usual:.3f} at 0.5, {chosen:.3f} at {where:.2f}"
