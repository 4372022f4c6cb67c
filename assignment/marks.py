"""Marks, and what is written of them: for Gradescope, as plain JSON, as a table of a class.

Source: Gradescope's autograder specification, "Output format".
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assignment.compare import CaseResult
from evaluation.table import csv_text
from runtime.files import write_text
from runtime.streams import printable


@dataclass(frozen=True)
class Mark:
    """What one submission earned."""

    name: str
    results: list[CaseResult]  # one per case of the suite
    stops: dict[str, str]  # case -> what ended the run that was at it
    left: list[str]  # what was not taken from the submission
    seconds: float = 0.0  # of all runs
    fault: str = ""  # why it cannot be graded, which earns nothing
    machine: str = ""  # why the machine could not grade it, which is no mark at all
    leaderboard: dict[str, float] = field(default_factory=dict)  # of predictions handed in


def total(mark: Mark, about: dict[str, Any], part: str | None = None) -> float:
    """Return the points of a submission, in one part or in all; `about` is suite.json."""
    pairs = zip(about["cases"], mark.results, strict=True)
    return sum(case["points"] for case, r in pairs if r.passed and part in (None, case["part"]))


def most(about: dict[str, Any]) -> float:
    """Return the points that can be earned on a suite."""
    points: float = sum(case["points"] for case in about["cases"])
    return points


def why(mark: Mark, about: dict[str, Any], result: CaseResult) -> str:
    """Return what is wrong with a case in words, its likely cause too; "" if it passed."""
    says = {mistake["name"]: mistake["says"] for mistake in about["mistakes"]}
    lines = [*result.lines, mark.stops.get(result.case, "")]
    lines += [f"likely cause: {says[name]}" for name in result.mistakes]
    return "\n".join(line for line in lines if line)


def for_gradescope(mark: Mark, about: dict[str, Any]) -> dict[str, Any]:
    """Return what Gradescope reads from results.json."""
    pairs = [*zip(about["cases"], mark.results, strict=True)]
    tests = [
        {
            "name": f"{part['title']}: {case['name']}",
            "number": f"{number}.{place}",
            "score": case["points"] if result.passed else 0,
            "max_score": case["points"],
            "status": "passed" if result.passed else "failed",
            "visibility": part["visibility"],
            "output": why(mark, about, result),
        }
        for number, part in enumerate(about["parts"], 1)
        for place, (case, result) in enumerate(
            (pair for pair in pairs if pair[0]["part"] == part["name"]), 1
        )
    ]
    lines = ["Marked on hidden cases.", *(f"Not taken: {name}" for name in mark.left)]
    if mark.fault or mark.machine:
        lines = [f"Not marked: {mark.fault or mark.machine}"]
    results: dict[str, Any] = {
        "execution_time": round(mark.seconds),
        "output": "\n".join(lines),
        "visibility": "visible",
        "stdout_visibility": "hidden",
    }
    if not mark.machine:  # without a score and tests Gradescope tells that grading failed
        results |= {"score": total(mark, about), "tests": tests}
    if mark.leaderboard:
        results["leaderboard"] = [
            {"name": name, "value": value, "order": "desc"}
            for name, value in mark.leaderboard.items()
        ]
    return results


def plain(mark: Mark, about: dict[str, Any], sandbox: str) -> dict[str, Any]:
    """Return all that is known of a mark, for other programs."""
    return {
        "name": printable(mark.name),
        "score": None if mark.machine else total(mark, about),
        "max_score": most(about),
        "parts": {part["name"]: total(mark, about, part["name"]) for part in about["parts"]},
        "cases": [
            {
                "case": result.case,
                "part": result.part,
                "passed": result.passed,
                "reason": why(mark, about, result),
                "mistake": ", ".join(result.mistakes) or None,
            }
            for result in mark.results
        ],
        "left": mark.left,
        "fault": mark.fault,
        "machine": mark.machine,
        "sandbox": sandbox,
        "leaderboard": mark.leaderboard,
        "seconds": round(mark.seconds, 1),
    }


def write_class(marks: Sequence[Mark], about: dict[str, Any], sandbox: str, out: Path) -> None:
    """Write marks.csv and marks.json of a class that was graded in a sandbox of this name.

    The table has no times, and says whether a submission was stopped, not how often, which is a
    matter of time, too: two runs give the same bytes.
    """
    names = [part["name"] for part in about["parts"]]
    ranked = ranked_names(marks)
    rows = []
    for mark in marks:
        points = [None if mark.machine else total(mark, about, n) for n in (None, *names)]
        values = [mark.leaderboard.get(name) for name in ranked]
        about_it = [sandbox, printable(mark.machine or mark.fault)]
        rows.append([printable(mark.name), *points, int(bool(mark.stops)), *values, *about_it])
    header = ["submission", "score", *names, "stopped", *ranked, "sandbox", "not marked"]
    write_text(out / "marks.csv", csv_text(header, rows))
    write_json(out / "marks.json", [plain(mark, about, sandbox) for mark in marks])


def ranked_names(marks: Sequence[Mark]) -> list[str]:
    """Return the names of all values for a leaderboard."""
    return list(dict.fromkeys(name for mark in marks for name in mark.leaderboard))


def write_json(path: Path, content: Any) -> None:
    """Write JSON whole or not at all."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
