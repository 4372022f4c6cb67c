"""The command lines of `package`, `validate`, `score` and `leaderboard`; no heavy imports."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime.options import option, parse

TASKS = ("sst", "para", "sts", "cfimdb")
CS224N = TASKS[:3]
DATA = (
    "folder with the tasks' files; bundled and cs224n stand for the project's own and the course's"
)
CODES = "Exit codes: 0 done, 2 wrong input, 1 a bug in this project."

VALIDATE = """\
Is a submission what the course asks for? Names of files, headers, rows that do not parse,
ids that are missing, double or unknown, values that are no label: every fault is told with
its file and line, and what to do. CS224N's two spellings and CMU's are read."""

VALIDATE_EPILOG = f"""\
examples:
  all that CS224N's leaderboard wants, before it is handed in:
    python -m assignment validate predictions --data downloads/cs224n
  one file; a zip; CMU's two tasks:
    python -m assignment validate predictions/sst-dev-output.csv --data downloads/cs224n
    python -m assignment validate submission.zip --data downloads/cs224n
    python -m assignment validate andrewid.zip --data minbert/data --tasks sst cfimdb

An empty value is no answer, which the course allows. {CODES}"""

PACKAGE = """\
Write the zip that a course collects: dev and test predictions of each task under the
course's names, checked first. From a run of run_multitask.py, the head with the best dev
score of each task is taken."""

PACKAGE_EPILOG = f"""\
examples:
  the best heads of a run:
    python -m assignment package runs/first --out submission.zip
  another head for one of the tasks, and the hand-out's spelling:
    python -m assignment package runs/first --cells sup-sts-bi-frozen-concat-42 \\
        --dialect handout --out submission.zip
  files of any spelling, made into the course's:
    python -m assignment package predictions --data downloads/cs224n --out submission.zip

The same predictions always give the same bytes. {CODES}"""

SCORE = """\
Score files of predictions against the labels: accuracy, F1, Pearson, Spearman with 95 %
intervals, and the course's aggregate, the mean of both accuracies and (1 + r) / 2, where
all three tasks are given."""

SCORE_EPILOG = f"""\
examples:
  python -m assignment score predictions/sts-dev-output.csv --gold downloads/cs224n
  python -m assignment score submission.zip --gold downloads/cs224n --csv scores.csv

A row without an answer counts as wrong; of similarities, as the mean of those given.
{CODES}"""

LEADERBOARD = """\
Rank the submissions of a folder, each a folder or a zip: scores with 95 % intervals, and
whether each is really ahead of the next (paired tests on the same rows, Holm's correction).
A broken submission is listed with its first fault and stops no other."""

LEADERBOARD_EPILOG = f"""\
examples:
  python -m assignment leaderboard submissions --gold downloads/cs224n --html board.html
  python -m assignment leaderboard submissions --gold hidden --split test --csv board.csv

Zips are read in memory and within bounds; links, and entries that name places outside, are
refused. {CODES}"""


@dataclass(frozen=True)
class ValidateOptions:
    """`python -m assignment validate`."""

    path: Path = option(help="a file, folder or zip of predictions", flag="path", metavar="PATH")
    data: str = option("bundled", DATA, metavar="DIR")
    tasks: tuple[str, ...] = option(CS224N, "tasks that must be there, dev and test", choices=TASKS)
    most: int = option(20, "faults shown of each file", least=1)


@dataclass(frozen=True)
class PackageOptions:
    """`python -m assignment package`."""

    source: Path = option(
        help="a run folder, or a folder of predictions", flag="source", metavar="RUN"
    )
    out: Path = option(help="the zip to write", metavar="FILE.zip", required=True)
    data: str | None = option(
        None, f"{DATA} (default: the run's own; of a folder of predictions: bundled)", metavar="DIR"
    )
    tasks: tuple[str, ...] = option(CS224N, "tasks that must be there, dev and test", choices=TASKS)
    cells: tuple[str, ...] = option((), "heads to take instead of the best", metavar="CELL")
    dialect: str = option("code", "whose names and rows", choices=("code", "handout", "tab", "cmu"))


@dataclass(frozen=True)
class ScoreOptions:
    """`python -m assignment score`."""

    paths: tuple[Path, ...] = option(
        (), "files, folders or zips of predictions", flag="paths", metavar="PATH"
    )
    gold: str = option("bundled", DATA, metavar="DIR")
    csv: Path | None = option(None, "write the scores there", metavar="FILE")


@dataclass(frozen=True)
class LeaderboardOptions:
    """`python -m assignment leaderboard`."""

    folder: Path = option(help="the folder of submissions", flag="folder", metavar="FOLDER")
    gold: str = option("bundled", DATA, metavar="DIR")
    split: str = option("test", "the split that counts", choices=("dev", "test"))
    tasks: tuple[str, ...] = option(CS224N, "tasks that count", choices=TASKS)
    csv: Path | None = option(None, "write the ranking there", metavar="FILE")
    html: Path | None = option(None, "write the page there", metavar="FILE")


def parse_validate(words: Sequence[str] | None = None) -> ValidateOptions:
    """Return the options; `--help` and wrong flags end the program, with codes 0 and 2."""
    about = {"description": VALIDATE, "epilog": VALIDATE_EPILOG}
    return parse(ValidateOptions, words, prog="python -m assignment validate", **about)


def parse_package(words: Sequence[str] | None = None) -> PackageOptions:
    """Return the options; `--help` and wrong flags end the program, with codes 0 and 2."""
    about = {"description": PACKAGE, "epilog": PACKAGE_EPILOG}
    return parse(PackageOptions, words, prog="python -m assignment package", **about)


def parse_score(words: Sequence[str] | None = None) -> ScoreOptions:
    """Return the options; `--help` and wrong flags end the program, with codes 0 and 2."""
    about = {"description": SCORE, "epilog": SCORE_EPILOG}
    return parse(ScoreOptions, words, prog="python -m assignment score", **about)


def parse_leaderboard(words: Sequence[str] | None = None) -> LeaderboardOptions:
    """Return the options; `--help` and wrong flags end the program, with codes 0 and 2."""
    about = {"description": LEADERBOARD, "epilog": LEADERBOARD_EPILOG}
    return parse(LeaderboardOptions, words, prog="python -m assignment leaderboard", **about)
