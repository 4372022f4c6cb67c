"""`python -m assignment grade`: marks of one submission or of a class, written down."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assignment import marks as written
from assignment.compare import Suite, read_suite
from assignment.grading import Exam, grade_class, workplace
from assignment.grading import grade as grade_one
from assignment.intake import Submission, asked_files, own_code, submissions
from assignment.isolation import Limits
from assignment.isolation.ways import NAMES
from assignment.marks import Mark
from assignment.sandbox import UNSAFE, Isolation, choose
from assignment.submission.reader import ASKED, CS224N, Gold
from assignment.submission.score import AGGREGATE, aggregate, main_scores
from assignment.trees import ROOT, traces
from data.examples import DataError
from runtime.commands import exit_code
from runtime.errors import UserError
from runtime.files import write_text
from runtime.options import option, parse
from runtime.progress import progress
from runtime.streams import printable

SPLIT = "test"  # of the predictions handed in
PAGE = "class.html"
CODE, HANDED_OUT = "code", "handed-out.py"
PUBLIC = "the-public-solution.py"  # which a student may have found
OWN_NAMES = (PAGE, "marks.csv", "marks.json", CODE, HANDED_OUT)
# The clock is for sleepers. It is generous, so that marks do not depend on what else runs here.
CLOCK = 10


@dataclass(frozen=True)
class GradeOptions:
    """The options of `grade`."""

    submissions: tuple[Path, ...] = option(
        (), "a folder or zip, or a folder of these", flag="submissions", metavar="SUBMISSION"
    )
    suite: Path = option(Path("hidden"), "hidden tests, as written by make", metavar="DIR")
    out: Path = option(Path("marks"), "output folder of the marks", metavar="DIR")
    starter: Path | None = option(
        None,
        "the handed-out folder; its files replace all except the requested ones (default: none)",
        metavar="DIR",
    )
    gold: Path | None = option(
        None,
        "folder of test labels written by make; scores the submitted predictions",
        metavar="DIR",
    )
    sandbox: str = option(
        "", f"use only {' or '.join(NAMES)} (default: the first that works)", metavar="NAME"
    )
    unsafe: bool = option(
        False, "grade without a sandbox: students' code runs with your permissions"
    )
    single: bool = option(
        False, "treat each SUBMISSION as one submission, regardless of its contents"
    )
    jobs: int = option(
        1,
        "submissions graded at a time; several are faster, and could notice each other by the "
        "load of the machine",
        least=1,
        most=256,
    )
    seconds: int = option(
        60,
        "CPU time limit for one run of all cases; the wall-clock limit is ten times as long",
        least=1,
        most=3600,
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Grade what a command line names; return the exit code."""
    options = parse(
        GradeOptions,
        argv,
        prog="python -m assignment grade",
        description="""\
Grade submissions with hidden tests. The student's code computes arrays in a sandbox, and this
program compares them with the expected ones. docs/classroom.md describes the output in DIR
and the sandboxes.""",
        epilog="""\
examples:
  a class, as downloaded:
    python -m assignment grade submissions --suite fall/instructor/hidden \\
      --starter fall/student --out marks
  one submission, as Gradescope's run_autograder does:
    python -m assignment grade /autograder/submission --single --suite hidden \\
      --starter student --out /autograder/results

The sandbox is a container of docker or podman, else bubblewrap; for a single submission also
another user. The solution is graded first; if it does not get all points, nothing is graded.
Exit codes: 0 success; 1 the solution does not get all points, or a bug in this project;
2 invalid input, no sandbox, or submissions without a mark because the machine failed.""",
    )
    return exit_code(lambda: grade(options))


def grade(options: GradeOptions) -> int:
    """Grade what a command line names; return the exit code."""
    if not options.submissions:
        raise UserError("nothing to grade; give a submission, or a folder of submissions")
    try:
        suite = read_suite(options.suite)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{options.suite}: not a suite written by make ({error}); give the "
            "folder instructor/hidden"
        ) from None
    parts = [part["name"] for part in suite.about["parts"]]
    files = asked_files(parts)
    if options.starter is not None and not options.starter.is_dir():
        raise UserError(f"{options.starter}: not a folder; give the student folder that make wrote")
    reference = options.suite.parent / "reference"  # graded first
    if not reference.is_dir():
        raise UserError(
            f"{reference}: no solution; give --suite the folder instructor/hidden that make wrote"
        )
    gold = open_gold(options.gold) if options.gold else None
    limits = Limits(seconds=CLOCK * options.seconds, cpu_seconds=options.seconds)
    hidden = [options.suite, reference, *([options.gold] if options.gold else [])]
    alone = options.single and len(options.submissions) == 1
    known = traces(parts, (ROOT, reference))
    known["skip"] = [str(path.resolve()) for path in options.submissions]  # some are right
    isolation = Isolation(UNSAFE)
    if not options.unsafe:
        isolation = choose(options.sandbox, hidden, alone, known)
    exam = Exam(options.suite, suite, files, options.starter, limits, isolation)
    with workplace() as work:
        members = submissions(options.submissions, files, options.single, work)
        solution = grade_one(Submission("the solution", reference, reference), exam, work)
        if fault := _fault_of(solution, suite):
            print(f"error: in this sandbox ({isolation.name}) {fault}", file=sys.stderr)
            return 1
        if options.starter and not alone:
            exam = replace(exam, code=options.out / CODE)
            handed_out = own_code(options.starter, files, options.starter)
            write_text(options.out / HANDED_OUT, handed_out)
            public = own_code(reference, files, options.starter)
            write_text(options.out / CODE / PUBLIC, public)
        marks: list[Mark] = []
        try:
            with progress("grading", len(members), "submission") as bar:
                graded = grade_class(members, exam, options.jobs, work)
                for member, mark in zip(members, graded, strict=True):
                    marks.append(with_leaderboard(mark, member.place, *gold) if gold else mark)
                    bar.update()
        finally:  # a stop keeps the marks that were made
            if marks:
                _write(marks, suite, isolation, options)
    _tell(marks, suite, isolation, options.out)
    return 2 if any(mark.machine for mark in marks) else 0


def _fault_of(solution: Mark, suite: Suite) -> str:
    """Return what the solution gets, in words, if that are not all points."""
    wrong = next((result for result in solution.results if not result.passed), None)
    if wrong is None:
        return ""
    points = f"{written.total(solution, suite.about):g} of {written.most(suite.about):g}"
    why = printable(f"{wrong.computed}; {solution.stops.get(wrong.case, '')}").strip("; ")
    return f"the solution gets {points} points ({wrong.case}: {why}); nothing was graded"


def open_gold(folder: Path) -> tuple[Gold, tuple[str, ...]]:
    """Return the rows of test files in a folder, and the tasks of which it has labels."""
    gold = Gold(folder)
    tasks = tuple(task for task in CS224N if gold.expected(task, SPLIT).labels is not None)
    if not tasks:
        raise DataError(
            f"{folder}: no labels of a {SPLIT} file; give the folder "
            "instructor/gold that make wrote"
        )
    return gold, tasks


def with_leaderboard(mark: Mark, path: Path, gold: Gold, tasks: tuple[str, ...]) -> Mark:
    """Return a mark with each task's main metric and their aggregate, of predictions handed in.

    Without all predictions, or with a fault in them, it says why there are none. No points depend
    on it.
    """
    if mark.fault or mark.machine:
        return mark
    try:
        scores = main_scores(path, gold, tasks, SPLIT)
    except DataError as error:
        fault = str(error).removeprefix(f"{path.parent}/")
        return replace(mark, left=[*mark.left, f"predictions: {printable(fault)}"])
    values = {f"{task} {ASKED[task].main_metric}": score for task, score in scores.items()}
    values[AGGREGATE] = aggregate(scores)
    # Similarities that are all alike have no correlation.
    return replace(mark, leaderboard={n: v for n, v in values.items() if v is not None})


def _write(
    marks: Sequence[Mark], suite: Suite, isolation: Isolation, options: GradeOptions
) -> None:
    options.out.mkdir(parents=True, exist_ok=True)
    alone = options.single and len(marks) == 1
    for mark in marks:
        name = f"{mark.name} (submission)" if mark.name in OWN_NAMES else mark.name
        folder = options.out if alone else options.out / name
        results = written.for_gradescope(mark, suite.about)
        written.write_json(folder / "results.json", results)
    if not alone:
        written.write_class(marks, suite.about, isolation.name, options.out)
    if not alone and not all(mark.machine for mark in marks):
        from assignment.class_page import render  # jinja2, which only a page needs

        write_text(options.out / PAGE, render(marks, suite.about, isolation.name))


def _tell(marks: Sequence[Mark], suite: Suite, isolation: Isolation, out: Path) -> None:
    most = written.most(suite.about)
    for mark in marks:
        more = f", {len(mark.stops)} stopped" if mark.stops else ""
        more += f"; {mark.fault}" if mark.fault else ""
        score = f"{written.total(mark, suite.about):g} of {most:g}{more}"
        print(f"{printable(mark.name)}: {f'no mark; {mark.machine}' if mark.machine else score}")
    print(f"sandbox: {isolation.name}")
    print(f"marks: {out}")
