"""Sentences to learn from: read one per line, and split from running text.

`python -m data.sentences FILE --out TXT` splits text. It keeps blank lines between documents for
`--positive next`.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from data.examples import DataError
from data.table import PathLike, numbered_lines, open_texts
from runtime.commands import begin, exit_code
from runtime.files import check_outputs, whole_file
from runtime.options import option, parse

DESCRIPTION = """\
Split text into sentences, one per line. The input has one paragraph per line and
empty lines between documents, which are kept. The end of a file ends a document. A
sentence ends at . ! or ? before a blank and a capital, a digit, a quotation mark
or a bracket, but not after an initial, a title such as Dr., or c."""

# Python's lookbehinds have one width each: one for every word that ends no sentence.
SHORT = ("[A-Z]", "c", "Mr", "Mrs", "Ms", "Dr", "St", "No", "Prof", "vs")
NOT_AFTER = "".join(rf"(?<!\b{word}\.)" for word in SHORT)
END = re.compile(rf"""(?:(?<=[.!?])|(?<=[.!?]["')\]”’])){NOT_AFTER}\s+(?=["'(\[“‘]?[A-Z0-9])""")


def iter_sentences(path: PathLike) -> Iterator[str]:
    """Yield the sentences of a file with one per line, stripped; empty lines are skipped.

    JSON lines, and tables with a header, are read by their column of texts: see `open_texts`. The
    file is streamed, so memory does not grow with it.
    """
    return filter(None, iter_documents(path))


def iter_documents(path: PathLike) -> Iterator[str]:
    """Yield sentences as `iter_sentences` does, and "" for each empty line between documents."""
    table = open_texts(path)
    for line, row in table.rows():
        text = row["text"].strip()
        if table.delimiter and not text:
            raise DataError(f"{path}:{line}: no text; fill it or delete the row")
        yield text


@dataclass(frozen=True)
class Options:
    """The options of the command line."""

    files: tuple[Path, ...] = option(
        help="text files in UTF-8; .xz, .gz and .bz2 are read directly",
        flag="files",
        metavar="FILE",
        required=True,
    )
    out: Path = option(help="file to write", required=True, metavar="TXT")


def sentences(lines: Iterable[str]) -> Iterator[str]:
    """Yield the sentences of paragraphs, and one "" between documents."""
    between = begun = False
    for line in lines:
        if not line:
            between = True
            continue
        if between and begun:
            yield ""
        between, begun = False, True
        yield from END.split(line)


def write_sentences(options: Options) -> None:
    """Write the sentences of all files, and print their number."""
    check_outputs([options.out], options.files)
    # Paragraphs, and "" after each file, since its end is also the end of a document.
    files = (chain(numbered_lines(path), [(0, "")]) for path in options.files)
    lines = (line.strip() for file in files for _, line in file)
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
    options = parse(Options, argv, prog="python -m data.sentences", description=DESCRIPTION)
    return exit_code(lambda: write_sentences(options))


if __name__ == "__main__":
    begin()
    sys.exit(main())
