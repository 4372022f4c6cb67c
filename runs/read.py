"""The files of docs/results/ as lines, and the mean of several lines, for the pages."""

import csv
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from heads.config import with_reader
from runtime.files import read_object

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"
EVERY_TWO = "every two systems:"  # the heading below a verdict in NAME.txt
COMPARED = re.compile(  # a line below it, on two readers
    r"(\w+), \w+, (\w+): \w+-(\w+)-[\w-]+ - \w+-(\w+)-[\w-]+: (\S+) \[(\S+), (\S+)\]"
)

FORMATS = {"alignment": ".2f", "uniformity": ".2f", "tau": ".2f", "ratio": ".2f", "of peak": ".0%"}

Line = dict[str, Any]  # of a result file


@cache
def read(name: str) -> list[Line]:
    """Return the lines of a file of docs/results/; of runs, those of test where it has labels.

    Benchmarks, published sets and differences have the columns of the pages.
    """
    path = RESULTS / name
    if path.suffix == ".json":
        return list(_speeds(read_object(path)["figures"]))
    if path.suffix == ".txt":
        return list(_differences(path))
    lines = table(name)
    if "suite" in lines[0]:
        return list(_evaluated(lines))
    tested = {line["task"] for line in lines if line.get("split") == "test"}
    return [x for x in lines if x.get("split", "test") == "test" or x["task"] not in tested]


def table(name: str) -> list[Line]:
    """Return all lines of a CSV file."""
    with (RESULTS / name).open(encoding="utf-8", newline="") as file:
        return [with_reader(line) for line in csv.DictReader(file)]


def _speeds(sides: list[Line]) -> Iterator[Line]:
    """Yield the sides; speeds that other programs disturbed, and ratios to them, are left out."""
    first = {side["work"]: side for side in reversed(sides)}
    for side in sides:
        speed = {"per second": f"{side['rate']:,.1f} {side['unit']}", "of peak": side["peak_share"]}
        speed |= {} if first[side["work"]].get("disturbed") else {"ratio": side["ratio"]}
        speed = {"per second": "disturbed"} if side.get("disturbed") else speed
        yield {"work": side["work"], "side": side["side"], "quality": side["quality"], **speed}


def _differences(path: Path) -> Iterator[Line]:
    """Yield a line for each difference of two readers, in both directions: `late minus bi`."""
    # The file has a list for each run, in the order of their rows.
    runs = dict.fromkeys((line["backbone"], line["tune"]) for line in read(f"{path.stem}.csv"))
    _, *lists = path.read_text(encoding="utf-8").split(EVERY_TWO)
    for (backbone, tune), compared in zip(runs, lists, strict=True):
        for task, metric, a, b, *numbers in COMPARED.findall(compared):
            about = {"backbone": backbone, "tune": tune, "task": task}
            bare = ", no head" if metric == "cosine_spearman" else ""
            x, low, high = map(float, numbers)
            # Adding 0 turns -0.0 into 0.0.
            yield about | {f"{a} minus {b}{bare}": f"{x + 0:.3f} [{low + 0:.3f}, {high + 0:.3f}]"}
            yield about | {f"{b} minus {a}{bare}": f"{0 - x:.3f} [{0 - high:.3f}, {0 - low:.3f}]"}


def _evaluated(lines: list[Line]) -> Iterator[Line]:
    """Yield a line for each score that `python -m evaluation` prints, with its set as a column."""
    from evaluation.suites.results import COLUMNS, Result
    from evaluation.suites.table import SUITES

    texts = {"model", "suite", "set", "part", "metric"}
    for line in lines:
        values: Line = {
            name: line[name] if name in texts else float(line[name]) if line[name] else None
            for name in COLUMNS
        }
        shown, result = SUITES[line["suite"]].shown[0], Result(**values)
        if place := shown.place(result):
            yield {"model": line["model"], "suite": line["suite"], place[2]: shown.cell(result)}


def spread(lines: Sequence[Line], column: str) -> str:
    """Return a column's mean, ± its standard deviation; a text as it is; "-" if one is missing."""
    values = [line[column] for line in lines if column in line]
    form = ".1f" if "suite" in lines[0] else FORMATS.get(column, ".3f")
    try:
        numbers = [float(value) for value in values]
    except (TypeError, ValueError):
        return values[0] or "-" if len(values) == 1 else "-"
    if not numbers:
        return "-"
    deviation = f" ± {stdev(numbers):{form}}" if len(numbers) > 1 else ""
    return f"{mean(numbers):{form}}{deviation}"
