"""`make`: writes a term's assignment, the student's folder and the instructor's.

Reads: parts, trees, suites. Feeds: the command line.
"""

import secrets
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from assignment.parts import chosen_parts
from assignment.suites import write_suites
from assignment.trees import write_tree
from runtime.errors import UserError
from runtime.files import whole_folder
from runtime.options import option, parse

ABOUT = """\
Write a term's assignment: DIR/student to hand out, DIR/instructor to keep. The term
seed decides all sizes, weights, expected values and the names of hidden cases; the
public tests do not tell it."""
EPILOG = """\
examples:
  python -m assignment make --out fall
  python -m assignment make --out fall --parts attention layer simcse --term-seed 20260901

Exit codes: 0 done, 2 wrong input."""
CHECK = '''\
"""Checks this assignment: python check.py [PART ...]; --help explains."""

import sys

from assignment.check import main
from runtime.errors import UserError

if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except UserError as error:
        sys.exit(f"error: {error}")
'''


@dataclass(frozen=True)
class MakeOptions:
    """The options of `make`."""

    out: Path = option(
        help="where; replaced if an assignment is there", required=True, metavar="DIR"
    )
    parts: tuple[str, ...] = option((), "parts to give (default: all)", metavar="PART")
    term_seed: int | None = option(
        None, "the term's (default: a new one, told at the end); keep it to yourself", least=0
    )


def main(words: Sequence[str], say: Callable[[str], None] = print) -> None:
    """Run a command line.

    Raises:
        UserError: an unknown part, or a folder of other things in the way.
    """
    options = parse(
        MakeOptions, words, prog="python -m assignment make", description=ABOUT, epilog=EPILOG
    )
    seed = secrets.randbits(62) if options.term_seed is None else options.term_seed
    make(options.out, options.parts, seed)
    say(f"{options.out}/student: to hand out; {options.out}/instructor: to keep (seed {seed})")


def make(out: Path, names: Sequence[str], term_seed: int) -> None:
    """Write an assignment.

    Args:
        out: the folder, which appears whole or not at all.
        names: of the parts, none for all.
        term_seed: of all that is drawn.

    Raises:
        UserError: an unknown part, or a folder of other things in the way.
    """
    parts = chosen_parts(names)
    # check_places()
    if out.exists() and any(out.iterdir()) and not (out / "instructor").is_dir():
        raise UserError(f"{out}: is there and no assignment; name another folder")
    with whole_folder(out) as folder, tempfile.TemporaryDirectory() as work:
        student, instructor = folder / "student", folder / "instructor"
        write_tree(student, parts, solved=False)
        write_tree(instructor / "reference", parts, solved=True)
        (student / "check.py").write_text(CHECK, encoding="utf-8")
        suites = {"public": student / "checks", "hidden": instructor / "hidden"}
        write_suites(suites, parts, term_seed, Path(work))
