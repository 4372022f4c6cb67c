"""Lines of files that may hold anything, read in bounded memory. Feeds: data, search, minbert."""

from collections.abc import Iterator
from os import PathLike
from typing import IO, AnyStr

from runtime.errors import UserError

# In bytes, of files opened as text in characters: a book fits in, a file without line ends does
# not. Tokenizing takes about a hundred times as much memory as the text.
LONGEST = 2**20


def bounded_lines(
    file: IO[AnyStr], name: str | PathLike[str], error: type[UserError] = UserError
) -> Iterator[AnyStr]:
    """Yield the lines of an open file with their line ends; never more than LONGEST is held.

    Args:
        file: opened for reading, as bytes or as text.
        name: its path, for messages.
        error: what is raised.

    Raises:
        UserError: `error`: a longer line.
    """
    number = 0
    while line := file.readline(LONGEST + 1):
        number += 1
        if len(line) > LONGEST:
            unit = "bytes" if isinstance(line, bytes) else "characters"
            raise error(
                f"{name}:{number}: more than {LONGEST:,} {unit} without a line end; "
                "break the line, or check whether this is a text file"
            )
        yield line
