"""Reads the word lists in the folder lexicon/: plain text, written by hand.

Each is read once; the results of these functions must not be changed. The head of each list
explains its format. In all of them, a line that begins with `#` is a comment, and an indented line
continues the one above.
Feeds: vocabulary, holdout, morphology, renderings, grammar, pairs, surface, evaluations,
sentiment.
"""

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "lexicon"


@cache
def lines(name: str) -> list[str]:
    """Return the lines of a list, without comments and blank lines."""
    found: list[str] = []
    for line in (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            found[-1] += " " + line.strip()
        elif line and not line.startswith("#"):
            found.append(line)
    return found


def fields(line: str) -> list[str]:
    """Return the fields of a line, separated by bars."""
    return [part.strip() for part in line.split("|")]


def items(text: str) -> list[str]:
    """Return the items of a text, separated by commas."""
    return [part.strip() for part in text.split(",")]


@cache
def groups(name: str) -> dict[str, list[str]]:
    """Return a list of lines `name: item, item`."""
    parts = (line.partition(":") for line in lines(name))
    return {group: items(text) for group, _, text in parts}


@cache
def blocks(name: str) -> list[tuple[str, list[str]]]:
    """Return the blocks of a list: the text after `@` in the first line, and the other lines."""
    found: list[tuple[str, list[str]]] = []
    for line in lines(name):
        if line.startswith("@"):
            found.append((line[1:].strip(), []))
        else:
            found[-1][1].append(line)
    return found
