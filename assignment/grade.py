"""`python -m assignment grade`: marks of one submission or of a class, written down."""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from assignment import marks as written
from assignment.compare import Suite, read_suite
from assignment.grading import Exam, grade_class, layers_here
from assignment.intake import asked_files, submissions
from assignment.marks import Mark
from assignment.sandbox import Limits
from assignment.submission.dialects import CS224N
from assignment.submission.leaderboard import AGGREGATE, main_scores, read_submission
from assignment.submission.score import aggregate, main_metric
from assignment.submission.validate import Gold
from data.examples import DataError
from runtime.commands import exit_code
from runtime.errors import UserError
from runtime.files import write_text
from runtime.options import option, parse
from runtime.progress import progress
from runtime.streams import printable

SPLIT = "test"  # of the predictions handed in
PAGE = "class.html"
OWN_NAMES = (PAGE, "marks.csv", "marks.json")
# The clock is for sleepers. It is generous, so that marks do not depend on what else runs here.
CLOCK = 10
# What every machine is asked for; root, or not, adds some.
LAYERS = (
    "own user",
    "landlock",
    "landlock TCP",
    "network namespace",
    "process namespace",
    "IPC namespace",
    "limits",
    "process limit",
    "no new privileges",
    "killed as a whole",
)


@dataclass(frozen=True)
class GradeOptions:
    """The options of `python -m assignment grade`."""

    submissions: tuple[Path, ...] = option(
        (), "a folder or zip, or a folder of these", flag="submissions", metavar="SUBMISSION"
    )
    suite: Path = option(Path("hidden"), "the hidden suite that make wrote", metavar="DIR")
    out: Path = option(Path("marks"), "where the marks are written", metavar="DIR")
    starter: Path | None = option(
        None,
        "the tree as handed out: all but the asked files come from it (default: the students')",
        metavar="DIR",
    )
    gold: Path | None = option(
        None,
        "the folder of test labels that make wrote: predictions handed in get a leaderboard",
        metavar="DIR",
    )
    require: tuple[str, ...] = option(
        (), "layers of the sandbox that must hold", choices=LAYERS, metavar="LAYER"
    )
    single: bool = option(False, "each SUBMISSION is one submission, whatever it holds")
    jobs: int = option(0, "submissions at a time; 0: one per core", least=0, most=256)
    seconds: int = option(
        60, "of a core, for one run of all cases; on the clock ten times that", least=1, most=3600
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Grade what a command line names; return the exit code."""
    options = parse(
        GradeOptions,
        argv,
        prog="python -m assignment grade",
        description="""\
Mark submissions on a hidden suite. A student's code only computes arrays, in a sandbox;
this program compares them with the expected ones and never imports student code.""",
        epilog="""\
A submission is a folder or a zip; one that cannot be read gets no points and a reason,
and stops no other.
Writes DIR/marks.csv and DIR/marks.json, DIR/class.html (distributions, most frequent mistakes),
and for each submission DIR/NAME/results.json as Gradescope reads it; with --single,
DIR/results.json alone.

examples:
  a class, as downloaded:
    python -m assignment grade submissions --suite made/instructor/hidden \\
      --starter made/student --out marks
  one submission, as Gradescope's run_autograder does:
    python -m assignment grade /autograder/submission --single --suite hidden \\
      --starter student --out /autograder/results

Layers that this machine does not have are named, and the others still hold; --require
refuses to grade without those that you name.
Exit codes: 0 done, 2 wrong input, 1 a bug in this project.""",
    )
    return exit_code(lambda: grade(options))


def grade(options: GradeOptions) -> None:
    """Grade what a command line names.

    Raises:
        UserError, OSError: no submission, no suite, or a folder that cannot be written.
    """
    if not options.submissions:
        raise UserError("nothing to grade; give a submission, or a folder of submissions")
    try:
        suite = read_suite(options.suite)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{options.suite}: no suite of make ({error}); give its hidden/") from None
    files = asked_files(part["name"] for part in suite.about["parts"])
    if options.starter is not None and not options.starter.is_dir():
        raise UserError(f"{options.starter}: not a folder; give the tree that make handed out")
    limits = Limits(seconds=CLOCK * options.seconds, cpu_seconds=options.seconds)
    here = layers_here(limits) if options.require else {}
    for name in options.require:
        if why := here.get(name, "not reported"):
            raise UserError(f"layer {name!r} does not hold here ({why}); nothing was graded")
    gold = open_gold(options.gold) if options.gold else None
    exam = Exam(options.suite, suite, files, options.starter, limits)
    marks = []
    with tempfile.TemporaryDirectory(prefix="grade-") as work:
        found = submissions(options.submissions, files, options.single, Path(work))
        for one in found:
            if one.name in OWN_NAMES:
                raise UserError(f"{one.path}: results have files of this name; rename it")
        with progress("grading", len(found), "submission") as bar:
            graded = grade_class(found, exam, options.jobs or _cores())
            for one, mark in zip(found, graded, strict=True):
                marks.append(with_leaderboard(mark, one.path, gold) if gold else mark)
                bar.update()
    _write(marks, suite, options)
    _tell(marks, suite, options.out)


def _cores() -> int:
    """Return how many cores this process may use."""
    has_affinity = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1


def open_gold(folder: Path) -> tuple[Gold, dict[str, np.ndarray]]:
    """Return the rows of test files in a folder, and task -> labels (N,) where there are any.

    Raises:
        DataError: it has none, or a file is broken.
    """
    gold = Gold(folder)
    read = {task: gold.labels(task, SPLIT) for task in CS224N}
    labels = {task: known for task, known in read.items() if known is not None}
    if not labels:
        raise DataError(f"{folder}: no labels of a {SPLIT} file; give make's instructor/gold")
    return gold, labels


def with_leaderboard(mark: Mark, path: Path, gold: tuple[Gold, dict[str, np.ndarray]]) -> Mark:
    """Return a mark with each task's main metric and their aggregate, of predictions handed in.

    Without all predictions, or with a fault in them, it says why there are none. No points depend
    on it.

    Args:
        mark: of a submission.
        path: its folder or zip.
        gold: as `open_gold` returns it.
    """
    if mark.fault:
        return mark
    rows, labels = gold
    try:
        found = read_submission(path, rows, tuple(labels), SPLIT)
    except DataError as error:
        fault = str(error).removeprefix(f"{path.parent}/")
        return replace(mark, left=[*mark.left, f"predictions: {printable(fault)}"])
    scores = main_scores(found, labels)
    values = {f"{task} {main_metric(task)}": score for task, score in scores.items()}
    values[AGGREGATE] = aggregate(scores)
    # Similarities that are all alike have no correlation.
    return replace(mark, leaderboard={n: v for n, v in values.items() if v is not None})


def _write(marks: Sequence[Mark], suite: Suite, options: GradeOptions) -> None:
    options.out.mkdir(parents=True, exist_ok=True)
    alone = options.single and len(marks) == 1
    for mark in marks:
        folder = options.out if alone else options.out / mark.name
        written.write_json(folder / "results.json", written.for_gradescope(mark, suite.about))
    if not alone:
        written.write_class(marks, suite.about, options.out)
        from assignment.class_page import render  # the libraries that draw take a second

        write_text(options.out / PAGE, render(marks, suite.about))


def _tell(marks: Sequence[Mark], suite: Suite, out: Path) -> None:
    most = sum(case["points"] for case in suite.about["cases"])
    for mark in marks:
        more = f", {len(mark.stops)} stopped" if mark.stops else ""
        more += f"; {mark.fault}" if mark.fault else ""
        print(f"{printable(mark.name)}: {written.total(mark, suite.about):g} of {most:g}{more}")
    missing = {name: why for mark in marks for name, why in mark.layers.items() if why}
    held = dict.fromkeys(name for mark in marks for name in mark.layers if name not in missing)
    print(f"sandbox: {', '.join(held) or 'no layer'} held")
    for name, reason in missing.items():
        print(f"sandbox without {name}: {reason}")
    print(f"marks: {out}")
