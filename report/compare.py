"""Two runs or two prediction files side by side: `python -m report compare A B`.

Reads: sides, verdict. Feeds: the user.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from data.examples import DataError
from evaluation.table import csv_text, markdown
from report.options import CompareOptions
from report.sides import Gold, matches
from report.verdict import Judged, csv_rows, judge, sentence, shown, to_json
from runtime.files import write_text

Say = Callable[[str], None]


def compare(options: CompareOptions, say: Say = print) -> list[Judged]:
    """Compare two sides, print the table and a sentence per task, write the files asked for.

    Raises:
        DataError: something that the options name cannot be compared; the message is one line.
        OSError: a file cannot be written.
    """
    if options.data is not None and options.gold is not None:
        raise DataError("--data and --gold: the labels come from one of them; leave out the other")
    found = matches(options.a, options.b, Gold(options.data, options.gold))
    judged = judge(
        {(one.task, one.split): one.systems for one in found},
        {(one.task, one.split): one.labels for one in found},
        {(one.task, one.split): one.pairs for one in found},
    )
    if not any(one.comparisons for one in judged):
        raise DataError(f"{options.a}, {options.b}: no seed in common; compare runs of equal seeds")
    say(f"A  {options.a}\nB  {options.b}\n\n{table(judged)}\n")
    for one in judged:
        for versus in one.comparisons:
            say(f"{one.task} {one.split}, {versus.metric}: {sentence(versus)}")
    _write(options, judged)
    return judged


def table(judged: list[Judged]) -> str:
    """Return every metric of every system with its interval, as a Markdown table."""
    rows = []
    for one in judged:
        for found in one.estimates:
            value = "undefined" if found.mean is None else f"{found.mean:.3f}"
            spread = "" if found.deviation is None else f" ± {found.deviation:.3f}"
            place = [one.task, one.split, found.system, found.metric, str(found.n)]
            rows.append([*place, value + spread, shown(found.interval)])
    return markdown(["task", "split", "system", "metric", "n", "value", "95 %"], rows)


def _write(options: CompareOptions, judged: list[Judged]) -> None:
    if options.json:
        sides = {"a": str(options.a), "b": str(options.b)}
        _write_json(options.json, sides | to_json(judged))
    if options.csv:
        rows = csv_rows(judged)
        write_text(options.csv, csv_text(list(rows[0]), [list(row.values()) for row in rows]))


def _write_json(path: Path, content: dict[str, Any]) -> None:
    write_text(path, json.dumps(content, indent=1, allow_nan=False) + "\n")
