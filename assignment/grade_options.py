"""The command line of `python -m assignment grade`; no work and no heavy imports."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime.options import option, parse

DESCRIPTION = """\
Mark submissions on a hidden suite. A student's code only computes arrays, in a sandbox;
this program compares them with the expected ones and never imports student code."""

EPILOG = """\
Writes DIR/marks.csv and DIR/marks.json, DIR/class.html (distributions, commonest mistakes),
and for each submission DIR/NAME/results.json as Gradescope reads it; with --single,
DIR/results.json alone.

examples:
  a class, as downloaded:
    python -m assignment grade submissions --suite made/instructor/hidden \\
      --starter made/student --out marks
  one submission, as Gradescope's run_autograder does:
    python -m assignment grade /autograder/submission --single --suite hidden \\
      --starter student --out /autograder/results

Layers that this machine does not have are named, and the others still hold.
Exit codes: 0 done, 2 wrong input, 1 a bug in this project."""


@dataclass(frozen=True)
class GradeOptions:
    """The options of `python -m assignment grade`."""

    submissions: tuple[Path, ...] = option(
        (), "a submission, or a folder of submissions", flag="submissions", metavar="SUBMISSION"
    )
    suite: Path = option(Path("hidden"), "the hidden suite that make wrote", metavar="DIR")
    out: Path = option(Path("marks"), "where the marks are written", metavar="DIR")
    starter: Path | None = option(
        None,
        "the tree as handed out: all but the asked files come from it (default: the students')",
        metavar="DIR",
    )
    single: bool = option(False, "each SUBMISSION is one submission, whatever it holds")
    jobs: int = option(0, "submissions at a time; 0: one per core", least=0, most=256)
    seconds: int = option(
        60,
        "of a core, for one run of all cases; on the clock twenty times that",
        least=1,
        most=3600,
    )


def parse_grade(words: Sequence[str]) -> GradeOptions:
    """Return the options; `--help` and wrong words end the program, with 0 and 2."""
    about = {"prog": "python -m assignment grade", "description": DESCRIPTION, "epilog": EPILOG}
    return parse(GradeOptions, words, **about)
