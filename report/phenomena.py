"""Where the two encoders differ: their errors by what a row tests.

Reads: cells. Feeds: run_folder, experiment.
"""

from collections.abc import Sequence
from statistics import mean
from typing import Any

from data.tasks import TASKS
from evaluation.slices import FEWEST
from report.cell import Cell, best_known

SETTING = ("task", "split", "pretrain", "tune", "features")
HEADER = (*SETTING, "phenomenon", "n")
ENCODERS = ("bi", "cross")


def phenomena_rows(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Return one row per phenomenon and setting, with the mean error of each encoder.

    An error is a share of wrong rows (classes) or a mean distance from the gold score, averaged
    over seeds. `bi` and `cross` are always there; an encoder that was not run is None.
    """
    encoders = list(dict.fromkeys([*ENCODERS, *(cell.encoder for cell in cells)]))
    errors: dict[tuple[Any, ...], dict[str, list[float]]] = {}
    for cell in cells:
        for tag, found in cell.phenomena.items():
            setting = (*(getattr(cell, name) for name in SETTING), tag, found["n"])
            by_encoder = errors.setdefault(setting, {name: [] for name in encoders})
            by_encoder[cell.encoder].append(found["error"])
    return [
        dict(zip(HEADER, setting, strict=True))
        | {name: mean(values) if values else None for name, values in by_encoder.items()}
        for setting, by_encoder in errors.items()
    ]


def contrasts(cells: Sequence[Cell], most: int = 3) -> list[str]:
    """Return one line per setting in which both encoders ran: where each is furthest ahead.

    The rows are those of the test split if it has labels, else those of the dev split.
    """
    settings: dict[tuple[Any, ...], list[tuple[float, str]]] = {}
    for row in phenomena_rows(best_known(cells)):
        if row["bi"] is not None and row["cross"] is not None and row["n"] >= FEWEST:
            setting = tuple(row[name] for name in SETTING)
            gain = row["bi"] - row["cross"]
            settings.setdefault(setting, []).append((gain, row["phenomenon"]))
    return [_contrast(setting, sorted(gains), most) for setting, gains in settings.items()]


def _contrast(setting: tuple[Any, ...], gains: list[tuple[float, str]], most: int) -> str:
    """Return one line, for example `para dev, sup, frozen: cross ahead on role swap +0.31`."""
    task, split, pretrain, tune, _ = setting
    cross = [f"{tag} {gain:+.2f}" for gain, tag in reversed(gains) if gain > 0][:most]
    bi = [f"{tag} {-gain:+.2f}" for gain, tag in gains if gain < 0][:most]
    ahead = [f"{name} ahead on {', '.join(tags)}" for name, tags in (("cross", cross), ("bi", bi))]
    unit = "distance" if TASKS[task].kind == "score" else "share of rows"
    found = [text for text, tags in zip(ahead, (cross, bi), strict=True) if tags]
    return f"{task} {split}, {pretrain}, {tune}: {'; '.join(found) or 'no difference'} ({unit})"
