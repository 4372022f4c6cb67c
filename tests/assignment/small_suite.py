"""A suite of three sums, which a driver without torch asks for: grading takes a moment."""

import json
import os
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from assignment.compare import read_suite
from assignment.grading import Exam, grade
from assignment.intake import Submission
from assignment.isolation import Limits
from assignment.marks import Mark
from assignment.sandbox import UNSAFE, Isolation, fault_of

HERE = Path(__file__).parent
FILES = ("work.py",)
HONEST = """\
import numpy as np


def double(values):
    return 2 * values


def total(values):
    return values.sum(axis=0)


def mean(values):
    return values.mean(axis=0)
"""
POINTS = {"double": 2, "total": 3, "mean": 4}
ABOUT = {
    "parts": [
        {"name": "sums", "title": "Sums", "points": 5, "visibility": "visible"},
        {"name": "means", "title": "Means", "points": 4, "visibility": "after_published"},
    ],
    "cases": [
        {
            "name": name,
            "part": "means" if name == "mean" else "sums",
            "points": points,
            "function": name,
        }
        for name, points in POINTS.items()
    ],
    "mistakes": [{"name": "whole", "part": "means", "says": "the mean is over all axes"}],
}
LIMITS = Limits(
    seconds=120.0,
    cpu_seconds=5,
    address_space=2 << 30,
    memory=256 << 20,
    processes=24,
    file_bytes=8 << 20,
    disk_bytes=32 << 20,
    output_bytes=1 << 20,
)


def write_suite(folder: Path) -> Path:
    """Write the suite with its answers into a new folder."""
    folder.mkdir(parents=True)
    (folder / "suite.json").write_text(json.dumps(ABOUT))
    values = {name: np.random.default_rng(n).normal(size=(3, 4)) for n, name in enumerate(POINTS)}
    np.savez(folder / "inputs.npz", **{f"{name}/values": own for name, own in values.items()})
    answers = {"double": 2 * values["double"], "total": values["total"].sum(0)}
    answers["mean"] = values["mean"].mean(0)
    np.savez(folder / "answers.npz", **{f"{name}/answer": own for name, own in answers.items()})
    np.savez(folder / "mistakes.npz", **{"whole/mean/answer": values["mean"].mean()})
    return folder


# As root each command has a user of its own, but where Python lies in a folder of root's alone.
ROOT = os.geteuid() == 0
WAYS = [
    Isolation("container", ROOT),
    *([Isolation("bubblewrap", True)] if ROOT else []),
    Isolation("bubblewrap"),
    Isolation("user", ROOT),
]
fault_here = cache(fault_of)


@cache
def any_way() -> Isolation:
    """Return the way that starts fastest here, none if there is none."""
    here = (way for way in WAYS[1:] if way.way.missing() == "" and fault_here(way) == "")
    return next(here, Isolation(UNSAFE))


def let_in(folder: Path) -> None:
    """Let other users into a folder of pytest's, which are private."""
    for around in (folder, *folder.parents[: len(folder.parents) - 2]):
        if around.is_dir() and around.stat().st_uid == os.geteuid():
            around.chmod(around.stat().st_mode | 0o011)


def name_of(way: Isolation) -> str:
    """Return what a test of a way is called."""
    return f"{way.name}-{'own-user' if way.own_users else 'one-user'}"


def exam(suite: Path, way: Isolation | None = None, **limits) -> Exam:
    """Return what grades submissions on a suite that `write_suite` wrote."""
    return Exam(
        suite,
        read_suite(suite),
        FILES,
        None,
        replace(LIMITS, **limits),
        way or any_way(),
        driver=HERE / "small_driver.py",
        cases=HERE / "no cases",
    )


def submission(folder: Path, source: str = HONEST) -> Submission:
    """Write a submission of one file; return it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "work.py").write_text(source)
    return Submission(folder.name, folder, folder)


def passed(mark: Mark) -> set[str]:
    """Return the cases that a submission has right."""
    return {result.case for result in mark.results if result.passed}


def graded(folder: Path, suite: Path, source: str, **limits) -> Mark:
    """Return the mark of a submission of one file."""
    return grade(submission(folder, source), exam(suite, **limits), folder.parent)
