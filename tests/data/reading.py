"""Files to be read, and the one line that a reader says of a broken one."""

import csv
from pathlib import Path

import pytest

from data.examples import DataError


def write(folder: Path, content: str | bytes, name: str = "file.csv") -> Path:
    """Return a file of this content."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def error_of(function, *arguments, **options) -> str:
    """Return the message of the DataError; a message of several lines is a failure by itself."""
    with pytest.raises(DataError) as caught:
        result = function(*arguments, **options)
        list(result)
    message = str(caught.value)
    assert "\n" not in message
    return message


def plain_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CS224N file as Python's csv module reads them."""
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))
