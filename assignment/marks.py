"""Marks, and what is written of them: for Gradescope, for each student, as a table of a class.

Source: Gradescope's autograder specification, "Output format".
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from assignment.compare import CaseResult
from assignment.pages import STYLE, templates
from evaluation.table import csv_text
from runtime.files import write_text
from runtime.streams import printable


@dataclass(frozen=True)
class Mark:
    """What one submission earned."""

    name: str
    results: list[CaseResult]  # one per case of the suite
    stops: dict[str, str]  # case -> what ended the run that was at it
    left: list[str]  # what was done with the submission, and what was not taken of it
    seconds: float = 0.0  # of all runs
    fault: str = ""  # why it cannot be graded, which earns nothing
    machine: str = ""  # why the machine could not grade it, which is no mark at all
    leaderboard: dict[str, float] = field(default_factory=dict)  # of predictions handed in
    hand: dict[str, float] = field(default_factory=dict)  # part -> points that people gave
    comment: str = ""  # of theirs


def open_parts(about: dict[str, Any]) -> dict[str, float]:
    """Return the points of the parts without cases, which people mark; `about` is suite.json."""
    tested = {case["part"] for case in about["cases"]}
    parts = (part for part in about["parts"] if part["name"] not in tested)
    return {part["name"]: part["points"] for part in parts}


def total(mark: Mark, about: dict[str, Any], part: str | None = None) -> float:
    """Return the points of a submission, in one part or in all; `about` is suite.json."""
    pairs = zip(about["cases"], mark.results, strict=True)
    tested: float = sum(c["points"] * r.share for c, r in pairs if part in (None, c["part"]))
    return tested + sum(points for name, points in mark.hand.items() if part in (None, name))


def most(about: dict[str, Any], mark: Mark | None = None) -> float:
    """Return the points of all cases, and of the parts that people have marked of a submission."""
    tested: float = sum(case["points"] for case in about["cases"])
    return tested + sum(open_parts(about)[name] for name in (mark.hand if mark else ()))


def why(mark: Mark, about: dict[str, Any], result: CaseResult) -> str:
    """Return what is wrong with a case in words, its likely cause too; "" if it passed."""
    says = {mistake["name"]: mistake["says"] for mistake in about["mistakes"]}
    half = "half of the points: the values are right, and only gradients are wrong"
    lines = [*result.lines, mark.stops.get(result.case, ""), half if result.half else ""]
    lines += [f"likely cause: {says[name]}" for name in result.mistakes]
    return "\n".join(line for line in lines if line)


def by_part(mark: Mark, about: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parts that were marked, each with its `tests`: their points, and what is wrong."""
    pairs = [*zip(about["cases"], mark.results, strict=True)]
    parts = []
    for part in about["parts"]:
        tests = [
            {
                "name": case["name"],
                "score": case["points"] * result.share,
                "most": case["points"],
                "why": why(mark, about, result),
            }
            for case, result in pairs
            if case["part"] == part["name"]
        ]
        if part["name"] in mark.hand:
            points = {"score": mark.hand[part["name"]], "most": part["points"]}
            tests.append({"name": "marked by hand", "why": printable(mark.comment), **points})
        if tests:
            sums = {key: sum(test[key] for test in tests) for key in ("score", "most")}
            parts.append({**part, "tests": tests, **sums})
    return parts


def notes(mark: Mark) -> list[str]:
    """Return what is said of a submission as a whole."""
    if mark.fault or mark.machine:
        return [f"Not marked: {mark.fault or mark.machine}"]
    return ["Marked on hidden cases.", *(f"Note: {note}" for note in mark.left)]


def for_gradescope(mark: Mark, about: dict[str, Any]) -> dict[str, Any]:
    """Return what Gradescope reads from results.json."""
    tests = [
        {
            "name": f"{part['title']}: {test['name']}",
            "number": f"{number}.{place}",
            "score": test["score"],
            "max_score": test["most"],
            "status": "passed" if test["score"] == test["most"] else "failed",
            "visibility": part["visibility"],
            "output": test["why"],
        }
        for number, part in enumerate(by_part(mark, about), 1)
        for place, test in enumerate(part["tests"], 1)
    ]
    results: dict[str, Any] = {
        "execution_time": round(mark.seconds),
        "output": "\n".join(notes(mark)),
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


def write_feedback(mark: Mark, about: dict[str, Any], folder: Path) -> None:
    """Write a student's feedback as text and as a page that refers to nothing outside."""
    content = {
        "name": printable(mark.name),
        "score": total(mark, about),
        "most": most(about, mark),
        "notes": [printable(note) for note in notes(mark)],
        "parts": [] if mark.fault or mark.machine else by_part(mark, about),
        "style": (STYLE / "style.css").read_text(encoding="utf-8"),
    }
    for ending in ("txt", "html"):
        page = templates(autoescape=ending == "html").get_template(f"feedback.{ending}.j2")
        write_text(folder / f"feedback.{ending}", page.render(content))


def write_class(marks: Sequence[Mark], about: dict[str, Any], sandbox: str, out: Path) -> None:
    """Write marks.csv of a class that was graded in a sandbox of this name.

    The table has no times, and says whether a submission was stopped, not how often, which is a
    matter of time, too: two runs give the same bytes.
    """
    by_hand = open_parts(about)
    names = [part["name"] for part in about["parts"]]
    ranked = ranked_names(marks)
    rows = []
    for mark in marks:
        points: list[float | None] = [None if mark.machine else total(mark, about)]
        for name in names:
            known = not mark.machine and (name not in by_hand or name in mark.hand)
            points.append(total(mark, about, name) if known else None)
        values = [mark.leaderboard.get(name) for name in ranked]
        about_it = [sandbox, printable(mark.machine or mark.fault)]
        shown = [None if value is None else f"{value:g}" for value in points]
        rows.append([printable(mark.name), *shown, int(bool(mark.stops)), *values, *about_it])
    header = ["submission", "score", *names, "stopped", *ranked, "sandbox", "not marked"]
    write_text(out / "marks.csv", csv_text(header, rows))


def ranked_names(marks: Sequence[Mark]) -> list[str]:
    """Return the names of all values for a leaderboard."""
    return list(dict.fromkeys(name for mark in marks for name in mark.leaderboard))


def keep(path: Path, mark: Mark, key: str) -> None:
    """Write a mark with a key of all that it depends on."""
    write_json(path, {"key": key, **asdict(mark)})


def kept(path: Path, key: str) -> Mark | None:
    """Return the mark that was kept with this key, None without one."""
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        if fields.pop("key") != key:
            return None
        for result in (results := fields.pop("results")):
            result["mistakes"] = tuple(result["mistakes"])  # JSON has lists
        return Mark(results=[CaseResult(**result) for result in results], **fields)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def write_json(path: Path, content: Any) -> None:
    """Write JSON whole or not at all."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
