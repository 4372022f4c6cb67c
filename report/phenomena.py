"""Where the two encoders differ: their errors by what a row tests.

Reads: cells, as dictionaries. Feeds: run_folder, run_multitask.py.
"""

from collections.abc import Sequence
from statistics import mean
from typing import Any

HEADER = ("task", "split", "pretrain", "tune", "features", "phenomenon", "n")
FEWEST = 20  # rows: fewer say nothing


def phenomena_rows(cells: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row a phenomenon and setting, with the mean error of `bi` and of `cross`.

    An error is a share of wrong rows (sst, para) or a mean distance from the gold score (sts),
    averaged over seeds. An encoder that was not run is None.
    """
    errors: dict[tuple[Any, ...], dict[str, list[float]]] = {}
    for cell in cells:
        for tag, found in cell.get("phenomena", {}).items():
            setting = (*(cell[name] for name in HEADER[:5]), tag, found["n"])
            kinds = errors.setdefault(setting, {"bi": [], "cross": []})
            kinds[cell["encoder"]].append(found["error"])
    return [
        dict(zip(HEADER, setting, strict=True))
        | {kind: mean(values) if values else None for kind, values in kinds.items()}
        for setting, kinds in errors.items()
    ]


def contrasts(cells: Sequence[dict[str, Any]], most: int = 3) -> list[str]:
    """Return a line a setting in which both encoders ran: where either is ahead by most.

    Rows of the test split speak, where it has labels; else those of the dev split.
    """
    tested = [cell for cell in cells if cell["split"] == "test"]
    settings: dict[tuple[Any, ...], list[tuple[float, str]]] = {}
    for row in phenomena_rows(tested or cells):
        if row["bi"] is not None and row["cross"] is not None and row["n"] >= FEWEST:
            setting = tuple(row[name] for name in HEADER[:5])
            gain = row["bi"] - row["cross"]
            settings.setdefault(setting, []).append((gain, row["phenomenon"]))
    return [_contrast(setting, sorted(gains), most) for setting, gains in settings.items()]


def _contrast(setting: tuple[Any, ...], gains: list[tuple[float, str]], most: int) -> str:
    """Return one line, for example `para dev, sup: cross ahead on role swap +0.31; bi on ...`."""
    task, split, pretrain, *_ = setting
    cross = [f"{tag} {gain:+.2f}" for gain, tag in reversed(gains) if gain > 0][:most]
    bi = [f"{tag} {-gain:+.2f}" for gain, tag in gains if gain < 0][:most]
    ahead = [f"{kind} ahead on {', '.join(tags)}" for kind, tags in (("cross", cross), ("bi", bi))]
    unit = "distance" if task == "sts" else "share of rows"
    found = [text for text, tags in zip(ahead, (cross, bi), strict=True) if tags]
    return f"{task} {split}, {pretrain}: {'; '.join(found) or 'no difference'} ({unit})"
