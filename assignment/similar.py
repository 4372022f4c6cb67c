"""`python -m assignment similar`: the submissions of a class that are alike, as a table.

A file becomes a set of statements in which variables have no names and comments, docstrings and
layout are gone. Two submissions are alike by the share of their statements that are in both, longer
ones counting for more, without those of the code that all were given. So neither other names nor
another order help, nor statements between that do nothing. A list to read, not a verdict: short
functions of an equation are alike because the equation is.
"""

import builtins
import io
import keyword
import tempfile
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from assignment.intake import asked_files, read_code, submissions
from assignment.parts import PARTS
from evaluation.table import csv_text
from runtime.commands import exit_code
from runtime.errors import UserError
from runtime.files import write_text
from runtime.options import option, parse
from runtime.streams import printable

LENGTH = 6  # tokens of a statement: shorter ones are shared by chance
# A statement in more submissions is how the task is solved, and says nothing of who knew whom.
MOST_SHARERS = 10
GAP = 2  # lines between two statements of one place
SHOWN = 20  # pairs
PLACES = 5  # of a pair, in the table

LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
KEPT_NAMES = set(keyword.kwlist) | set(dir(builtins))

Place = tuple[str, int, int]  # file, first and last line
Statements = dict[tuple[str, ...], Place]  # their tokens, and where they are


class Pair(NamedTuple):
    """Two submissions, how many statements both have, and their share of each one's own code."""

    a: str
    b: str
    statements: int
    of_a: float
    of_b: float
    places: list[str]  # "file:first-last = file:first-last", the longest first


def statements(files: Mapping[str, str]) -> Statements:
    """Return the statements in sources by name, and where each is first.

    Of code that breaks off, those before count.
    """
    places: Statements = {}
    for name, source in files.items():
        for found in _statements(source):
            if len(found) >= LENGTH:
                kinds = tuple(kind for kind, _ in found)
                places.setdefault(kinds, (name, found[0][1], found[-1][1]))
    return places


def _statements(source: str) -> Iterator[list[tuple[str, int]]]:
    """Yield kind or text, and line, of the tokens of each statement; of `if` and `for` the head."""
    found: list[tuple[str, int]] = []
    begins, previous = True, ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.NEWLINE:
                yield found
                found, begins = [], True
            if token.type in LAYOUT:
                continue
            kind = token.string
            if token.type == tokenize.NAME:
                # Names after a dot are mostly a library's, which nobody can change.
                kind = kind if previous == "." or kind in KEPT_NAMES else "name"
            elif token.type not in (tokenize.OP, tokenize.NUMBER):
                kind = tokenize.tok_name[token.type]
            # A string that begins a statement is a docstring, or one that does nothing.
            if not (token.type == tokenize.STRING and begins) and token.string:
                found.append((kind, token.start[0]))
            begins, previous = False, token.string
    except (tokenize.TokenError, SyntaxError):
        pass


def similar(
    sources: Mapping[str, Mapping[str, str]], starter: Mapping[str, str], least: int
) -> list[Pair]:
    """Return the pairs of submissions that share at least `least` statements.

    Args:
        sources: of each submission by name: file -> source.
        starter: file -> source, as handed out.

    Returns:
        the pairs, those first of which the larger share is shared.
    """
    given = statements(starter)
    owners: dict[tuple[str, ...], dict[str, Place]] = defaultdict(dict)
    for name in sorted(sources):
        for statement, place in statements(sources[name]).items():
            if statement not in given:
                owners[statement][name] = place
    sizes: Counter[str] = Counter()
    common: Counter[tuple[str, str]] = Counter()
    matches: dict[tuple[str, str], list[tuple[Place, Place]]] = defaultdict(list)
    for statement, places in owners.items():
        if len(places) > MOST_SHARERS:
            continue
        sizes.update(dict.fromkeys(places, len(statement)))
        for a, b in combinations(places, 2):
            common[a, b] += len(statement)
            matches[a, b].append((places[a], places[b]))
    pairs = [
        Pair(a, b, len(both), common[a, b] / sizes[a], common[a, b] / sizes[b], _joined(both))
        for (a, b), both in matches.items()
        if len(both) >= least
    ]
    return sorted(
        pairs, key=lambda pair: (-max(pair.of_a, pair.of_b), -pair.statements, pair.a, pair.b)
    )


def _joined(matches: Iterable[tuple[Place, Place]]) -> list[str]:
    """Return where two submissions share code: matches close to each other in both are one."""
    joined: list[tuple[Place, Place]] = []
    for a, b in sorted(matches):
        if joined:
            (file_a, first_a, last_a), (file_b, first_b, last_b) = joined[-1]
            near_b = first_b <= b[1] <= last_b + GAP
            if (file_a, file_b) == (a[0], b[0]) and a[1] <= last_a + GAP and near_b:
                a, b = (a[0], first_a, max(last_a, a[2])), (b[0], first_b, max(last_b, b[2]))
                joined.pop()
        joined.append((a, b))
    joined.sort(key=lambda match: match[0][1] - match[0][2])
    return [" = ".join(f"{file}:{first}-{last}" for file, first, last in match) for match in joined]


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
    least: int = option(3, "statements that a pair shares at least", least=1)


def main(argv: Sequence[str] | None = None) -> int:
    """List the pairs that a command line asks for; return the exit code."""
    options = parse(
        SimilarOptions,
        argv,
        prog="python -m assignment similar",
        description="""\
List the submissions that share code beyond what was handed out. Names of variables,
comments, layout and order do not matter, nor what is written between. Read the places
before you judge: the functions of an assignment are alike by nature.""",
        epilog="""\
example:
  python -m assignment similar submissions --starter made/student --out similar.csv

A statement of six tokens or more that two submissions share is found. What more than ten
submissions share is left out.""",
    )
    return exit_code(lambda: list_pairs(options))


def list_pairs(options: SimilarOptions) -> None:
    """Print the pairs of submissions that are alike, and write all of them if asked.

    Raises:
        UserError, OSError: no submissions, no starter, or a file that cannot be written.
    """
    files = asked_files(PARTS)
    if not options.submissions:
        raise UserError("nothing to compare; give a folder of submissions")
    given = read_code(options.starter, files)
    if not given:
        raise UserError(f"{options.starter}: holds no file of the assignment; give make's student/")
    with tempfile.TemporaryDirectory(prefix="similar-") as work:
        found = submissions(options.submissions, files, single=False, work=Path(work))
        sources = {one.name: read_code(one.tree, files) for one in found if not one.fault}
    for fault in filter(None, (one.fault for one in found)):
        print(f"left out: {fault}")
    pairs = similar(sources, given, options.least)
    for pair in pairs[:SHOWN]:
        names = f"{printable(pair.a)} and {printable(pair.b)}"
        own = f"{pair.of_a:.0%} and {pair.of_b:.0%} of their own"
        print(f"{names}: {own}, {pair.statements} statements  {printable(pair.places[0])}")
    print(f"pairs that share {options.least} or more: {len(pairs)}, of {len(sources)} submissions")
    if options.out is not None:
        rows: list[list[object]] = []
        for pair in pairs:
            shares = [round(pair.of_a, 3), round(pair.of_b, 3)]
            places = printable("; ".join(pair.places[:PLACES]))
            rows.append([printable(pair.a), printable(pair.b), pair.statements, *shares, places])
        header = ["a", "b", "statements", "of a", "of b", "places"]
        write_text(options.out, csv_text(header, rows))
        print(f"pairs: {options.out}")
