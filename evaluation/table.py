"""A table as Markdown or as CSV. Feeds: results, report."""

import csv
import io
from collections.abc import Sequence
from typing import Any

# What makes a spreadsheet read a cell as a formula (OWASP, "CSV injection").
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table whose columns are as wide as their widest entry."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [
        "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |"
        for row in (header, ["-" * width for width in widths], *rows)
    ]
    return "\n".join(lines)


def csv_text(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table as CSV; words of data that a spreadsheet would compute get a "'" in front."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([_as_text(value) for value in row] for row in rows)
    return text.getvalue()


def _as_text(value: Any) -> Any:
    """Return a value of which a spreadsheet makes no formula; numbers stay as they are."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
