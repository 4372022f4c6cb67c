"""`python -m assignment similar`: the submissions of a class that are alike, as a table.

A file becomes a row of tokens in which variables have no names and comments, docstrings and layout
are gone. Hashes of K tokens in a row are thinned to fingerprints by winnowing: two files that share
GUARANTEE tokens in a row share a fingerprint. A list to read, not a verdict: short functions of an
equation are alike because the equation is.
Source: Schleimer, Wilkerson and Aiken, 2003, "Winnowing: Local Algorithms for Document
Fingerprinting", sections 2 to 4.
"""

import builtins
import csv
import io
import keyword
import tempfile
import tokenize
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from assignment.intake import asked_files, read_code, submissions
from assignment.marks import cell
from assignment.parts import PARTS
from runtime.commands import exit_code
from runtime.errors import UserError
from runtime.files import whole_file
from runtime.options import option, parse
from runtime.terminal import printable

K = 12  # tokens per hash: shorter ones are shared by chance
WINDOW = 8  # hashes, of which the least is kept
GUARANTEE = WINDOW + K - 1
# A hash in more submissions than this is how the task is solved, and says nothing of who knew whom.
MOST_SHARERS = 10
SHOWN = 20  # pairs
PLACES = 5  # of a pair, in the table

LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
KEPT_NAMES = set(keyword.kwlist) | set(dir(builtins))

Token = tuple[str, int]  # its kind or its text, and its line


class Place(NamedTuple):
    """Lines of a file, both ends included."""

    file: str
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.file}:{self.first}-{self.last}"


@dataclass(frozen=True)
class Pair:
    """Two submissions and what they share.

    Attributes:
        a, b: their names, in order.
        shared: fingerprints in both.
        of_a, of_b: the share of each one's own fingerprints that they are, from 0 to 1.
        places: where, as "file:first-last = file:first-last", the longest first.
    """

    a: str
    b: str
    shared: int
    of_a: float
    of_b: float
    places: tuple[str, ...]


def tokens(source: str) -> list[Token]:
    """Return a file's tokens without names of its own; of code that breaks off, those before."""
    found: list[Token] = []
    begins_line = True
    previous = ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type in LAYOUT:
                begins_line |= token.type != tokenize.COMMENT
                continue
            kind = token.string
            if token.type == tokenize.NAME:
                # Names after a dot are mostly a library's, which nobody can change.
                kind = kind if previous == "." or kind in KEPT_NAMES else "name"
            elif token.type not in (tokenize.OP, tokenize.NUMBER):
                kind = tokenize.tok_name[token.type]
            # A string that begins a line is a docstring, or one that does nothing.
            if not (token.type == tokenize.STRING and begins_line) and token.string:
                found.append((kind, token.start[0]))
            begins_line, previous = False, token.string
    except (tokenize.TokenError, SyntaxError):
        pass
    return found


def hashes(found: Sequence[Token]) -> list[int]:
    """Return the hashes of all K tokens in a row."""
    texts = [text for text, _ in found]
    return [zlib.crc32(" ".join(texts[i : i + K]).encode()) for i in range(len(texts) - K + 1)]


def winnowed(row: Sequence[int]) -> list[int]:
    """Return the places of the fingerprints in a row of hashes.

    Of each window the least hash is kept, of equal ones the rightmost.
    """
    kept: list[int] = []
    for start in range(max(1, len(row) - WINDOW + 1) if row else 0):
        window = row[start : start + WINDOW]
        least = min(window)
        place = start + max(i for i, value in enumerate(window) if value == least)
        if not kept or kept[-1] != place:
            kept.append(place)
    return kept


def fingerprints(files: Mapping[str, str], known: set[int]) -> dict[int, Place]:
    """Return a submission's fingerprints, and where each is, but for the `known` hashes."""
    places: dict[int, Place] = {}
    for name, source in files.items():
        found = tokens(source)
        row = hashes(found)
        for place in winnowed(row):
            if row[place] not in known:
                lines = found[place][1], found[place + K - 1][1]
                places.setdefault(row[place], Place(name, *lines))
    return places


def similar(
    sources: Mapping[str, Mapping[str, str]], starter: Iterable[str], least: int
) -> list[Pair]:
    """Return the pairs of submissions that share at least `least` fingerprints.

    Args:
        sources: of each submission by name: file -> source.
        starter: the sources that were handed out, which do not count.

    Returns:
        the pairs, those first of which the larger share is shared.
    """
    known = {value for source in starter for value in hashes(tokens(source))}
    prints = {name: fingerprints(sources[name], known) for name in sorted(sources)}
    owners: dict[int, list[str]] = defaultdict(list)
    for name, places in prints.items():
        for value in places:
            owners[value].append(name)
    rare = {value: names for value, names in owners.items() if len(names) <= MOST_SHARERS}
    counts = Counter(pair for names in rare.values() for pair in combinations(names, 2))
    sizes = {name: len(places.keys() & rare.keys()) for name, places in prints.items()}
    pairs = []
    for (a, b), shared in counts.items():
        if shared >= least:
            common = prints[a].keys() & prints[b].keys() & rare.keys()
            where = _joined((prints[a][value], prints[b][value]) for value in common)
            pairs.append(Pair(a, b, shared, shared / sizes[a], shared / sizes[b], where))
    return sorted(
        pairs, key=lambda pair: (-max(pair.of_a, pair.of_b), -pair.shared, pair.a, pair.b)
    )


def _joined(matches: Iterable[tuple[Place, Place]]) -> tuple[str, ...]:
    """Return where two submissions share code: neighbouring matches are one."""
    joined: list[tuple[Place, Place]] = []
    for match in sorted(matches):
        before = joined[-1] if joined else ()
        if before and all(
            old.file == new.file and old.first <= new.first <= old.last + 1
            for old, new in zip(before, match, strict=True)
        ):
            a, b = (
                Place(old.file, old.first, max(old.last, new.last))
                for old, new in zip(before, match, strict=True)
            )
            joined[-1] = a, b
        else:
            joined.append(match)
    joined.sort(key=lambda match: match[0].first - match[0].last)
    return tuple(f"{a} = {b}" for a, b in joined)


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


def main(argv: Sequence[str] | None = None) -> int:
    """List the pairs that a command line asks for; return the exit code."""
    options = parse(
        SimilarOptions,
        argv,
        prog="python -m assignment similar",
        description="""\
List the submissions that share code beyond what was handed out. Names of variables,
comments and layout do not matter, nor does the order of functions. Read the places before
you judge: the functions of an assignment are alike by nature.""",
        epilog=f"""\
example:
  python -m assignment similar submissions --starter made/student --out similar.csv

Fingerprints by winnowing (Schleimer et al., 2003): whatever two submissions share of {GUARANTEE}
tokens or more is found. What more than ten submissions share is left out.""",
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
        sources = {one.name: read_code(one.tree, files) for one in found}
    for fault in filter(None, (one.fault for one in found)):
        print(f"left out: {fault}")
    pairs = similar(sources, given.values(), options.least)
    for pair in pairs[:SHOWN]:
        names = f"{printable(pair.a)} and {printable(pair.b)}"
        shares = f"{pair.of_a:.0%} and {pair.of_b:.0%} of their own"
        print(f"{names}: {shares}, {pair.shared} fingerprints  {printable(pair.places[0])}")
    print(f"pairs that share {options.least} or more: {len(pairs)}, of {len(found)} submissions")
    if options.out is None:
        return
    with (
        whole_file(options.out) as temporary,
        temporary.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.writer(file)
        writer.writerow(["a", "b", "fingerprints", "of a", "of b", "places"])
        for pair in pairs:
            shares_of = [f"{share:.3f}" for share in (pair.of_a, pair.of_b)]
            places = cell("; ".join(pair.places[:PLACES]))
            writer.writerow([cell(pair.a), cell(pair.b), pair.shared, *shares_of, places])
    print(f"pairs: {options.out}")
