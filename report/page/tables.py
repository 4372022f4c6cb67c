"""Tables of a page: words, and sortable numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from evaluation.intervals import Interval
from evaluation.significance import shown

UNKNOWN = "–"


@dataclass(frozen=True)
class Entry:
    """One entry of a table."""

    text: str
    value: float | None = None  # sort key of the column; None for words
    note: str = ""  # shown small below it


@dataclass(frozen=True)
class Table:
    """A table; the first entry of each row is its heading."""

    caption: str
    header: tuple[str, ...]
    rows: Sequence[Sequence[Entry]]
    kind: str = ""  # a CSS class

    @property
    def numbers(self) -> list[bool]:
        """Return for each column whether it holds only numbers and dashes; not for headings."""
        columns = zip(*self.rows, strict=True)
        numbers = [any(entry.value is not None for entry in column) for column in columns]
        return [False, *numbers[1:]] if numbers else [False] * len(self.header)


def filled(table: Table) -> Table:
    """Return a table without its columns of dashes only."""
    columns = zip(table.header, *table.rows, strict=True)
    known = [column for column in columns if any(e.text != UNKNOWN for e in column[1:])]
    header, *rows = zip(*known, strict=True)
    return replace(table, header=header, rows=rows)


def word(text: object) -> Entry:
    return Entry(UNKNOWN if text is None else str(text))


def number(value: float | None, digits: int = 3, note: str = "", sign: bool = False) -> Entry:
    """Return an entry of a number, a dash for None."""
    if value is None:
        return Entry(UNKNOWN)
    text = f"{value:{'+' if sign else ''},.{digits}f}"
    # A rounded zero has no sign, and a minus is as wide as a plus.
    text = text.lstrip("+-") if not text.strip("+-0.,") else text.replace("-", "−")
    return Entry(text, float(value), note)


def share(value: float | None, digits: int = 1) -> Entry:
    """Return an entry of a share, in percent."""
    return Entry(UNKNOWN) if value is None else Entry(f"{value:.{digits}%}", float(value))


def interval(low_and_high: Interval | None) -> str:
    """Return an interval in brackets with true minus signs, "" for None."""
    return shown(low_and_high).replace("-", "−")
