"""`python -m assignment grade`: marks of one submission or of a class, written down."""

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assignment import marks as written
from assignment.checked import SolutionFails, checked
from assignment.compare import Suite, read_suite
from assignment.grading import PUBLIC, Exam, grade_class, workplace
from assignment.hand import with_hand
from assignment.intake import asked_files, own_code, submissions
from assignment.isolation import Limits
from assignment.isolation.ways import NAMES
from assignment.marks import Mark
from assignment.sandbox import UNSAFE, Isolation
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
PAGE, HAND, FEEDBACK, KEPT = "class.html", "hand.csv", "feedback", "kept"
CODE, HANDED_OUT = "code", "handed-out.py"
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
    again: bool = option(False, "grade unchanged submissions again, and check the sandbox again")
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
A mark is kept when it is made: the same command goes on after a stop, and grades only what is
new or changed. DIR/hand.csv takes the points of the open part.
Exit codes: 0 success; 1 the solution does not get all points, or a bug in this project;
2 invalid input, no sandbox, or submissions without a mark because the machine failed.""",
    )
    return exit_code(lambda: grade(options))


def grade(options: GradeOptions) -> int:
    """Grade what a command line names; return the exit code."""
    suite, reference = _opened(options)
    parts = [part["name"] for part in suite.about["parts"]]
    files = asked_files(parts)
    gold = open_gold(options.gold) if options.gold else None
    limits = Limits(seconds=CLOCK * options.seconds, cpu_seconds=options.seconds)
    hidden = [options.suite, reference, *([options.gold] if options.gold else [])]
    alone = options.single and len(options.submissions) == 1
    known = traces(parts, (ROOT, reference))
    known["skip"] = [str(path.resolve()) for path in options.submissions]  # some are right
    asked = UNSAFE if options.unsafe else options.sandbox
    exam = Exam(options.suite, suite, files, options.starter, limits, Isolation(UNSAFE))
    with workplace() as work:
        members = submissions(options.submissions, files, options.single, work)
        how = asked, alone, options.again, work
        try:
            exam = checked(exam, reference, hidden, known, *how)
        except SolutionFails as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        exam = exam if alone else _of_a_class(exam, reference, options)
        marks: list[Mark] = []
        try:
            with progress("grading", len(members), "submission") as bar:
                graded = grade_class(members, exam, options.jobs, work)
                for member, mark in zip(members, graded, strict=True):
                    marks.append(with_leaderboard(mark, member.place, *gold) if gold else mark)
                    bar.update()
        finally:  # a stop keeps the marks that were made
            if marks:
                marks = _write(marks, exam, options)
    _tell(marks, exam, options.out)
    return 2 if any(mark.machine for mark in marks) else 0


def _opened(options: GradeOptions) -> tuple[Suite, Path]:
    """Return the hidden tests and the folder of the solution."""
    if not options.submissions:
        raise UserError("nothing to grade; give a submission, or a folder of submissions")
    try:
        suite = read_suite(options.suite)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{options.suite}: not a suite written by make ({error}); give the "
            "folder instructor/hidden"
        ) from None
    if options.starter is not None and not options.starter.is_dir():
        raise UserError(f"{options.starter}: not a folder; give the student folder that make wrote")
    reference = options.suite.parent / "reference"
    if not reference.is_dir():
        raise UserError(
            f"{reference}: no solution; give --suite the folder instructor/hidden that make wrote"
        )
    return suite, reference


def _of_a_class(exam: Exam, reference: Path, options: GradeOptions) -> Exam:
    """Return an exam that keeps marks and code, and write the code to compare a class with."""
    out = options.out
    with_hand([], exam.suite.about, out / HAND)  # its faults are told now, not after grading
    if options.again:
        shutil.rmtree(out / KEPT, ignore_errors=True)
    exam = replace(exam, kept=out / KEPT)
    if not options.starter:
        return exam
    write_text(out / HANDED_OUT, own_code(options.starter, exam.files, options.starter))
    write_text(out / CODE / PUBLIC, own_code(reference, exam.files, options.starter))
    return replace(exam, code=out / CODE)


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


def _write(marks: Sequence[Mark], exam: Exam, options: GradeOptions) -> list[Mark]:
    """Write marks; return them with the points that people gave."""
    about, sandbox, out = exam.suite.about, exam.isolation.name, options.out
    out.mkdir(parents=True, exist_ok=True)
    if options.single and len(marks) == 1:
        written.write_json(out / "results.json", written.for_gradescope(marks[0], about))
        return [*marks]
    from assignment.class_page import render  # needs report, which an autograder lacks

    marks = with_hand(marks, about, out / HAND)
    for mark in marks:
        written.write_feedback(mark, about, out / FEEDBACK / mark.name)
    written.write_class(marks, about, sandbox, out)
    if not all(mark.machine for mark in marks):
        write_text(out / PAGE, render(marks, about, sandbox))
    return marks


def _tell(marks: Sequence[Mark], exam: Exam, out: Path) -> None:
    about = exam.suite.about
    for mark in marks:
        more = f", {len(mark.stops)} stopped" if mark.stops else ""
        more += f"; {mark.fault}" if mark.fault else ""
        score = f"{written.total(mark, about):g} of {written.most(about, mark):g}{more}"
        print(f"{printable(mark.name)}: {f'no mark; {mark.machine}' if mark.machine else score}")
    print(f"sandbox: {exam.isolation.name}")
    print(f"marks: {out}")
