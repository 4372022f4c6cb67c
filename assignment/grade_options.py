"""The command line of `python -m assignment grade`; no work and no heavy imports."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime.options import option, parse

DESCRIPTION = """\
Mark submissions on a hidden suite. A student's code only computes arrays, in a sandbox;
this program compares them with the expected ones and never imports student code."""

# What every machine is asked for; root, or not, adds some.
LAYERS = (
    "own user", "landlock", "landlock TCP", "network namespace", "process namespace",
    "IPC namespace", "limits", "process limit", "no new privileges", "killed as a whole",
)  # fmt: skip
EPILOG = """\
A submission is a folder or a zip; one that cannot be read is told, and stops no other.
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

Layers that this machine does not have are named, and the others still hold; --require
refuses to grade without those that you name.
Exit codes: 0 done, 2 wrong input, 1 a bug in this project."""


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
        60,
        "of a core, for one run of all cases; on the clock ten times that",
        least=1,
        most=3600,
    )


def parse_grade(words: Sequence[str]) -> GradeOptions:
    """Return the options; `--help` and wrong words end the program, with 0 and 2."""
    about = {"prog": "python -m assignment grade", "description": DESCRIPTION, "epilog": EPILOG}
    return parse(GradeOptions, words, **about)
