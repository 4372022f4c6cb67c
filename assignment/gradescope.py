"""Marks as Gradescope wants them (results.json), as plain JSON, and as a table of a class.

Source: Gradescope's autograder specification, "Output format".
"""

import csv
import json
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assignment.grading import Mark
from runtime.files import whole_file, write_text
from runtime.terminal import printable

SETUP = """\
#!/usr/bin/env bash
# Runs once, when Gradescope builds the image.
set -eu
apt-get update
# The newest of Ubuntu's Pythons that the project runs on.
for python in python3.12 python3.11; do
  apt-get install -y --no-install-recommends "$python" "$python-venv" && break
done
"$python" -m venv /opt/grading
/opt/grading/bin/pip install --no-cache-dir -r /autograder/source/requirements.txt
# The student's processes have a user of their own, who must not read the answers.
chmod -R go-rwx /autograder/source
"""
RUN = """\
#!/usr/bin/env bash
# Runs for every submission. The student's code never runs in this process.
set -eu
cd "${AUTOGRADER:=/autograder}/source"
[ -d gold ] && gold="--gold gold"
python="${GRADING_PYTHON:-/opt/grading/bin/python}"
"$python" -m assignment grade "$AUTOGRADER/submission" --single \\
  --suite hidden --starter student ${gold-} --out "$AUTOGRADER/results"
"""


def results(mark: Mark, about: dict[str, Any]) -> dict[str, Any]:
    """Return what Gradescope reads from results.json.

    Args:
        mark: of one submission.
        about: the suite's suite.json.
    """
    parts = {part["name"]: (n, part) for n, part in enumerate(about["parts"], 1)}
    seen: dict[str, int] = {}
    tests = []
    for case, result in zip(about["cases"], mark.results, strict=True):
        number, part = parts[case["part"]]
        seen[part["name"]] = seen.get(part["name"], 0) + 1
        tests.append({
            "name": f"{part['title']}: {case['name']}",
            "number": f"{number}.{seen[part['name']]}",
            "score": earned(case, result.passed),
            "max_score": case["points"],
            "status": "passed" if result.passed else "failed",
            "visibility": part["visibility"],
            "output": why(mark, about, case["name"]),
        })  # fmt: skip
    told = ["Marked on hidden cases.", *(f"Not taken: {one}" for one in mark.left)]
    if mark.fault:
        told = [f"Not marked: {mark.fault}"]
    found = {
        "score": total(mark, about),
        "execution_time": round(mark.seconds),
        "output": "\n".join(told),
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": tests,
    }
    if mark.leaderboard:
        found["leaderboard"] = [
            {"name": name, "value": value, "order": "desc"}
            for name, value in mark.leaderboard.items()
        ]
    return found


def earned(case: dict[str, Any], passed: bool) -> float:
    """Return the points of a case: all or none."""
    return case["points"] if passed else 0


def total(mark: Mark, about: dict[str, Any], part: str | None = None) -> float:
    """Return the points of a submission, in one part or in all."""
    pairs = zip(about["cases"], mark.results, strict=True)
    return sum(earned(case, r.passed) for case, r in pairs if part in (None, case["part"]))


def why(mark: Mark, about: dict[str, Any], name: str) -> str:
    """Return what is wrong with a case in words, its likely cause too; "" if it passed."""
    (found,) = (result for result in mark.results if result.case == name)
    if found.passed:
        return ""
    says = {mistake["name"]: mistake["says"] for mistake in about["mistakes"]}
    parts = [found.reason, mark.stops.get(name, "")]
    if found.mistake is not None:
        parts.append(f"Likely cause: {says[found.mistake]}")
    return "\n".join(printable(part) for part in parts if part)


def plain(mark: Mark, about: dict[str, Any]) -> dict[str, Any]:
    """Return all that is known of a mark, for other programs."""
    return {
        "name": printable(mark.name),
        "score": total(mark, about),
        "max_score": sum(case["points"] for case in about["cases"]),
        "parts": {part["name"]: total(mark, about, part["name"]) for part in about["parts"]},
        "cases": [
            {
                "case": result.case, "part": result.part, "passed": result.passed,
                "reason": why(mark, about, result.case), "mistake": result.mistake,
            }
            for result in mark.results
        ],
        "left": mark.left,
        "fault": mark.fault,
        "leaderboard": mark.leaderboard,
        "layers": mark.layers,
        "seconds": round(mark.seconds, 1),
    }  # fmt: skip


def write_class(marks: Sequence[Mark], about: dict[str, Any], out: Path) -> None:
    """Write marks.csv and marks.json of a class.

    The table has no times: two runs give the same bytes.
    """
    names = [part["name"] for part in about["parts"]]
    ranked = ranked_names(marks)
    with (
        whole_file(out / "marks.csv") as path,
        path.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.writer(file)
        writer.writerow(["submission", "score", *names, "stopped", *ranked])
        for mark in marks:
            points = [total(mark, about, name) for name in names]
            values = [mark.leaderboard.get(name) for name in ranked]
            row = [cell(mark.name), total(mark, about), *points, len(mark.stops), *values]
            writer.writerow(row)
    write_json(out / "marks.json", [plain(mark, about) for mark in marks])


def ranked_names(marks: Sequence[Mark]) -> list[str]:
    """Return the names of all values for a leaderboard."""
    return list(dict.fromkeys(name for mark in marks for name in mark.leaderboard))


def cell(text: str) -> str:
    """Return a text of one line that no spreadsheet takes for a formula."""
    text = printable(text)
    # Full-width signs begin a formula, too, in some languages' versions.
    begin = unicodedata.normalize("NFKC", text).lstrip()[:1]
    return f"'{text}" if begin and begin in "=+-@" else text


def write_json(path: Path, content: Any) -> None:
    """Write JSON whole or not at all."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def write_autograder(folder: Path) -> None:
    """Write the two scripts that the root of a Gradescope autograder must have.

    `make` puts beside them: this project's packages, requirements.txt, hidden/ and student/.
    """
    for name, text in (("setup.sh", SETUP), ("run_autograder", RUN)):
        write_text(folder / name, text)
        (folder / name).chmod(0o755)
