"""Splits running text into sentences: `python -m data.sentences FILE --out TXT`.

Reads: data.readers.tables. Feeds: unsupervised training, through the file it leaves; the blank
lines between documents are for `--positive next`.
"""

import sys

from runtime.commands import begin, exit_code

# Before the other imports, so that Ctrl-C answers at once.
if __name__ == "__main__":
    begin()

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from data.examples import DataError
from data.readers.tables import numbered_lines
from runtime.files import whole_file
from runtime.options import option, parse

PROGRAM = "python -m data.sentences"
DESCRIPTION = """\
Split text into sentences, one per line. The files have a paragraph per line and
an empty line between documents, which stays; a file ends a document, too. A
sentence ends at . ! or ? before a blank and a capital, a digit, a quotation mark
or a bracket, but not after an initial, a title such as Dr., or c."""

# Python's lookbehinds have one width each: one for every word that ends no sentence.
SHORT = ("[A-Z]", "c", "Mr", "Mrs", "Ms", "Dr", "St", "No", "Prof", "vs")
NOT_AFTER = "".join(rf"(?<!\b{word}\.)" for word in SHORT)
END = re.compile(rf"""(?:(?<=[.!?])|(?<=[.!?]["')\]”’])){NOT_AFTER}\s+(?=["'(\[“‘]?[A-Z0-9])""")


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    files: tuple[Path, ...] = option(
        help="text files in UTF-8; .xz, .gz and .bz2 are read directly",
        flag="files",
        metavar="FILE",
        required=True,
    )
    out: Path = option(help="file to write", required=True, metavar="TXT")


def split(paragraph: str) -> list[str]:
    """Return the sentences of a paragraph."""
    return END.split(paragraph)


def sentences(lines: Iterable[str]) -> Iterator[str]:
    """Yield the sentences of paragraphs, and one "" between documents, however many lines were."""
    between = begun = False
    for line in lines:
        if not line:
            between = True
            continue
        if between and begun:
            yield ""
        between, begun = False, True
        yield from split(line)


def paragraphs(path: Path) -> Iterator[str]:
    """Yield the lines of a text file, compressed or not, stripped, and "" at its end.

    Raises:
        DataError: a missing or damaged file, or one that is not UTF-8.
    """
    for _, line in numbered_lines(path):
        yield line.strip()
    yield ""


def run(options: Options) -> None:
    """Write the sentences of all files, and say how many there are.

    Raises:
        DataError: a file that cannot be read, or no text at all.
    """
    lines = (line for path in options.files for line in paragraphs(path))
    count, documents = 0, 1
    with whole_file(options.out) as temporary, temporary.open("w", encoding="utf-8") as file:
        for sentence in sentences(lines):
            file.write(f"{sentence}\n")
            count += bool(sentence)
            documents += not sentence
        if not count:
            named = ", ".join(map(str, options.files))
            raise DataError(f"{named}: no text; expected a paragraph per line")
    print(f"{count:,} sentences of {documents:,} document(s) are in {options.out}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, 2 (input or disk) or 130 (interrupted)."""
    options = parse(Options, argv, prog=PROGRAM, description=DESCRIPTION)
    return exit_code(lambda: run(options))


if __name__ == "__main__":
    sys.exit(main())
