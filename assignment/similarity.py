"""Which submissions are alike beyond the code that all were given.

A file becomes a row of tokens in which variables have no names and comments, docstrings and layout
are gone. Hashes of K tokens in a row are thinned to fingerprints by winnowing: two files that share
GUARANTEE tokens in a row share a fingerprint. A list to read, not a verdict: short functions of an
equation are alike because the equation is.
Source: Schleimer, Wilkerson and Aiken, 2003, "Winnowing: Local Algorithms for Document
Fingerprinting", sections 2 to 4. Feeds: similar_command.
"""

import builtins
import io
import keyword
import tokenize
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

K = 12  # tokens per hash: shorter ones are shared by chance
WINDOW = 8  # hashes, of which the least is kept
GUARANTEE = WINDOW + K - 1
# A hash in more submissions than this is how the task is solved, and says nothing of who knew whom.
MOST_SHARERS = 10

Token = tuple[str, int]  # its kind or its text, and its line
Place = tuple[str, int, int]  # file, first line, last line
Places = dict[int, Place]  # of fingerprints

LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
KEPT_NAMES = set(keyword.kwlist) | set(dir(builtins))


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
            # A string that begins a line is a docstring, or one that does nothing.
            if not (token.type == tokenize.STRING and begins_line) and token.string:
                found.append((_kind(token, previous), token.start[0]))
            begins_line, previous = False, token.string
    except (tokenize.TokenError, SyntaxError):
        pass
    return found


def _kind(token: tokenize.TokenInfo, previous: str) -> str:
    if token.type == tokenize.NAME:
        # Names after a dot are mostly a library's, which nobody can change.
        return token.string if previous == "." or token.string in KEPT_NAMES else "name"
    if token.type in (tokenize.OP, tokenize.NUMBER):
        return token.string
    return tokenize.tok_name[token.type]


def hashes(found: Sequence[Token]) -> list[int]:
    """Return the hashes of all K tokens in a row."""
    texts = [text for text, _ in found]
    return [
        zlib.crc32(" ".join(texts[i : i + K]).encode()) for i in range(len(texts) - K + 1)
    ]  # fmt: skip


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


def fingerprints(files: Mapping[str, str], known: set[int]) -> Places:
    """Return a submission's fingerprints and where each is, without those of code given to all.

    Args:
        files: name -> source.
        known: all hashes of the code that was given, as `given_hashes` returns them.
    """
    places: Places = {}
    for name, source in files.items():
        found = tokens(source)
        row = hashes(found)
        for place in winnowed(row):
            if row[place] not in known:
                lines = found[place][1], found[place + K - 1][1]
                places.setdefault(row[place], (name, *lines))
    return places


def given_hashes(sources: Iterable[str]) -> set[int]:
    """Return every hash of the code that was handed out."""
    return {value for source in sources for value in hashes(tokens(source))}


def similar(
    submissions: Mapping[str, Mapping[str, str]], starter: Iterable[str], least: int
) -> list[Pair]:
    """Return the pairs of submissions that share at least `least` fingerprints.

    Args:
        submissions: name -> file -> source.
        starter: the sources that were handed out.

    Returns:
        the pairs, those first of which the larger share is shared.
    """
    known = given_hashes(starter)
    all_places = {name: fingerprints(submissions[name], known) for name in sorted(submissions)}
    owners: dict[int, list[str]] = defaultdict(list)
    for name, places in all_places.items():
        for value in places:
            owners[value].append(name)
    common = {value for value, names in owners.items() if len(names) > MOST_SHARERS}
    counts: Counter[tuple[str, str]] = Counter()
    for value, names in owners.items():
        if value not in common:
            counts.update(combinations(names, 2))
    sizes = {name: len(places.keys() - common) for name, places in all_places.items()}
    pairs = [
        Pair(a, b, n, n / sizes[a], n / sizes[b], _matches(all_places[a], all_places[b], common))
        for (a, b), n in counts.items()
        if n >= least
    ]
    return sorted(
        pairs, key=lambda pair: (-max(pair.of_a, pair.of_b), -pair.shared, pair.a, pair.b)
    )


def _matches(a: Places, b: Places, common: set[int]) -> tuple[str, ...]:
    """Return where two submissions share code: neighbouring matches are one."""
    found = sorted((a[value], b[value]) for value in (a.keys() & b.keys()) - common)
    merged: list[tuple[Place, Place]] = []
    for one, other in found:
        if merged and _touch(merged[-1][0], one) and _touch(merged[-1][1], other):
            one, other = _joined(merged[-1][0], one), _joined(merged[-1][1], other)
            merged.pop()
        merged.append((one, other))
    merged.sort(key=lambda match: match[0][1] - match[0][2])
    return tuple(f"{_shown(one)} = {_shown(other)}" for one, other in merged)


def _touch(first: Place, second: Place) -> bool:
    return first[0] == second[0] and first[1] <= second[1] <= first[2] + 1


def _joined(first: Place, second: Place) -> Place:
    return first[0], first[1], max(first[2], second[2])


def _shown(place: Place) -> str:
    return f"{place[0]}:{place[1]}-{place[2]}"
