"""A table as Markdown or as CSV."""

import csv
import io
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

# First characters that make a spreadsheet read a cell as a formula (OWASP, "CSV injection").
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?", re.ASCII)


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table whose columns are as wide as their widest entry."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [
        "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |"
        for row in (header, ["-" * width for width in widths], *rows)
    ]
    return "\n".join(lines)


def csv_text(header: Sequence[str], rows: Sequence[Sequence[Any]], delimiter: str = ",") -> str:
    """Return a table as CSV; texts that a spreadsheet would compute get a "'" in front."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([_as_text(value) for value in row] for row in rows)
    return text.getvalue()


def _as_text(value: Any) -> Any:
    """Return a value that no spreadsheet reads as a formula; numbers are not changed."""
    if not isinstance(value, str) or NUMBER.fullmatch(value):
        return value
    # Full-width signs also begin a formula in some languages' versions.
    begin = unicodedata.normalize("NFKC", value).lstrip(" ")
    return f"'{value}" if begin.startswith(FORMULA) else value
