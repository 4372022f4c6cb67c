"""`python -m assignment similar`: the submissions of a class that are alike, as a table."""

import csv
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from assignment.intake import asked_files, read_code, submissions
from assignment.marks import cell
from assignment.parts import PARTS
from assignment.similarity import Pair, similar
from runtime.errors import UserError
from runtime.files import whole_file
from runtime.options import option, parse
from runtime.terminal import printable

DESCRIPTION = """\
List the submissions that share code beyond what was handed out. Names of variables,
comments and layout do not matter, nor does the order of functions. Read the places before
you judge: the functions of an assignment are alike by nature."""
EPILOG = """\
example:
  python -m assignment similar submissions --starter made/student --out similar.csv

Fingerprints by winnowing (Schleimer et al., 2003): whatever two submissions share of 19
tokens or more is found. What more than ten submissions share is left out."""
SHOWN = 20
PLACES = 5


@dataclass(frozen=True)
class SimilarOptions:
    """The options of `python -m assignment similar`."""

    submissions: tuple[Path, ...] = option(
        (), "folders of submissions, or submissions", flag="submissions", metavar="SUBMISSION"
    )
    starter: Path = option(
        Path("student"), "the tree as handed out, whose code does not count", metavar="DIR"
    )
    out: Path | None = option(None, "write all pairs there, as CSV", metavar="FILE")
    least: int = option(4, "fingerprints that a pair shares at least", least=1)


def main(words: Sequence[str], say: Callable[[str], None] = print) -> None:
    """List the pairs that a command line asks for.

    Raises:
        UserError, OSError: no submissions, no starter, or a file that cannot be written.
    """
    about = {"prog": "python -m assignment similar", "description": DESCRIPTION, "epilog": EPILOG}
    options = parse(SimilarOptions, words, **about)
    files = asked_files(PARTS)
    if not options.submissions:
        raise UserError("nothing to compare; give a folder of submissions")
    given = read_code(options.starter, files)
    if not given:
        raise UserError(f"{options.starter}: holds no file of the assignment; give make's student/")
    with tempfile.TemporaryDirectory(prefix="similar-") as work:
        found = submissions(options.submissions, files, single=False, work=Path(work))
        sources = {one.name: read_code(one.tree, files) for one in found}
    for fault in (one.fault for one in found if one.fault):
        say(f"left out: {fault}")
    pairs = similar(sources, given.values(), options.least)
    for pair in pairs[:SHOWN]:
        say(f"{_shown(pair)}  {printable(pair.places[0])}")
    say(f"pairs that share {options.least} or more: {len(pairs)}, of {len(found)} submissions")
    if options.out is not None:
        _write(pairs, options.out)
        say(f"pairs: {options.out}")


def _shown(pair: Pair) -> str:
    names = f"{printable(pair.a)} and {printable(pair.b)}"
    return f"{names}: {pair.of_a:.0%} and {pair.of_b:.0%} of their own, {pair.shared} fingerprints"


def _write(pairs: Sequence[Pair], path: Path) -> None:
    with whole_file(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "fingerprints", "of a", "of b", "places"])
        for pair in pairs:
            shares = [f"{share:.3f}" for share in (pair.of_a, pair.of_b)]
            names = [cell(pair.a), cell(pair.b)]
            writer.writerow([*names, pair.shared, *shares, cell("; ".join(pair.places[:PLACES]))])
