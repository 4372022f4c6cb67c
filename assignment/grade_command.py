"""`python -m assignment grade`: marks of one submission or of a class, written down."""

import os
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from assignment import gradescope
from assignment.compare import Suite, read_suite
from assignment.grade_options import GradeOptions, parse_grade
from assignment.grading import Mark, Material, grade_class, layers_here
from assignment.intake import Submission, asked_files, submissions
from assignment.sandbox import Limits
from runtime.errors import UserError
from runtime.files import write_text
from runtime.progress import progress
from runtime.terminal import printable

PAGE = "class.html"
OWN_NAMES = (PAGE, "marks.csv", "marks.json")
# The clock is for sleepers. It is generous, so that marks do not depend on what else runs here.
CLOCK = 10
Say = Callable[[str], None]  # called with every line of output


def main(words: Sequence[str], say: Say = print) -> None:
    """Grade what a command line names.

    Raises:
        UserError, OSError: no submission, no suite, or a folder that cannot be written.
    """
    options = parse_grade(words)
    if not options.submissions:
        raise UserError("nothing to grade; give a submission, or a folder of submissions")
    suite = _suite(options.suite)
    files = asked_files(part["name"] for part in suite.about["parts"])
    if options.starter is not None and not options.starter.is_dir():
        raise UserError(f"{options.starter}: not a folder; give the tree that make handed out")
    limits = Limits(seconds=CLOCK * options.seconds, cpu_seconds=options.seconds)
    _require(options.require, limits)
    ranked = _ranking(options.gold)
    material = Material(options.suite, suite, files, options.starter, limits)
    marks = []
    with tempfile.TemporaryDirectory(prefix="grade-") as work:
        found = submissions(options.submissions, files, options.single, Path(work))
        _check_names(found)
        with progress("grading", len(found), "submission") as bar:
            graded = grade_class(found, material, options.jobs or cores())
            for one, mark in zip(found, graded, strict=True):
                marks.append(mark if mark.fault else ranked(mark, one.path))
                bar.update()
    _write(marks, suite, options)
    _tell(marks, suite, options.out, say)


def _ranking(gold: Path | None) -> Callable[[Mark, Path], Mark]:
    """Return what gives a mark the scores of the predictions in a submission's path."""
    if gold is None:
        return lambda mark, path: mark
    from assignment.open_part import open_gold, with_leaderboard  # the metrics' libraries are slow

    return partial(with_leaderboard, gold=open_gold(gold))


def _require(names: Sequence[str], limits: Limits) -> None:
    """Raise UserError if a layer that must hold does not."""
    here = layers_here(limits) if names else {}
    for name in names:
        if why := here.get(name, "not reported"):
            raise UserError(f"layer {name!r} does not hold here ({why}); nothing was graded")


def _check_names(found: Sequence[Submission]) -> None:
    for one in found:
        if one.name in OWN_NAMES:
            raise UserError(f"{one.path}: results have files of this name; rename it")


def cores() -> int:
    """Return how many cores this process may use."""
    has_affinity = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1


def _suite(folder: Path) -> Suite:
    try:
        return read_suite(folder)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{folder}: no suite of make ({error}); give its hidden/") from None


def _write(marks: Sequence[Mark], suite: Suite, options: GradeOptions) -> None:
    options.out.mkdir(parents=True, exist_ok=True)
    alone = options.single and len(marks) == 1
    for mark in marks:
        folder = options.out if alone else options.out / mark.name
        gradescope.write_json(folder / "results.json", gradescope.results(mark, suite.about))
    if not alone:
        gradescope.write_class(marks, suite.about, options.out)
        from assignment.class_page import render  # the libraries that draw take a second

        write_text(options.out / PAGE, render(marks, suite.about))


def _tell(marks: Sequence[Mark], suite: Suite, out: Path, say: Say) -> None:
    most = sum(case["points"] for case in suite.about["cases"])
    for mark in marks:
        more = f", {len(mark.stops)} stopped" if mark.stops else ""
        more += f"; {mark.fault}" if mark.fault else ""
        say(f"{printable(mark.name)}: {gradescope.total(mark, suite.about):g} of {most:g}{more}")
    held, missing = layers(marks)
    say(f"sandbox: {', '.join(held) or 'no layer'} held")
    for name, reason in missing.items():
        say(f"sandbox without {name}: {reason}")
    say(f"marks: {out}")


def layers(marks: Sequence[Mark]) -> tuple[list[str], dict[str, str]]:
    """Return the layers that held for all submissions, and why the others did not."""
    missing = {name: why for mark in marks for name, why in mark.layers.items() if why}
    tried = dict.fromkeys(name for mark in marks for name in mark.layers)
    held = [name for name in tried if name not in missing]
    return held, missing
