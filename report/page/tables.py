"""Tables as a page shows them: words, and numbers that can be sorted by."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from evaluation.significance import shown

UNKNOWN = "–"
STEPS = 4  # shades of a heat map on each side


@dataclass(frozen=True)
class Entry:
    """One entry of a table.

    Attributes:
        text: as shown.
        value: what the column is sorted by; None for words.
        note: shown small below it.
        shade: the CSS class of its background, "" for none.
        strong: set in bold.
    """

    text: str
    value: float | None = None
    note: str = ""
    shade: str = ""
    strong: bool = False


@dataclass(frozen=True)
class Table:
    """A table; the first entry of each row is its heading."""

    caption: str
    header: tuple[str, ...]
    rows: Sequence[Sequence[Entry]]
    kind: str = ""  # a CSS class of its own

    @property
    def numbers(self) -> list[bool]:
        """Return of each column whether it holds numbers, and perhaps dashes; headings do not."""
        columns = zip(*self.rows, strict=True)
        numbers = [any(one.value is not None for one in column) for column in columns]
        return [False, *numbers[1:]] if numbers else [False] * len(self.header)


def filled(table: Table) -> Table:
    """Return a table without its columns of dashes only."""
    keep = [
        column
        for column in range(len(table.header))
        if any(row[column].text != UNKNOWN for row in table.rows)
    ]
    header = tuple(table.header[column] for column in keep)
    rows = [[row[column] for column in keep] for row in table.rows]
    return replace(table, header=header, rows=rows)


def word(text: object) -> Entry:
    """Return an entry of words."""
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


def shade(value: float, most: float, sides: tuple[str, str]) -> str:
    """Return the CSS class of a value from -most to most: `SIDE-1` to `SIDE-4`, "" near 0."""
    step = min(STEPS, round(STEPS * abs(value) / most)) if most > 0 else 0
    return f"{sides[0] if value < 0 else sides[1]}-{step}" if step else ""


def interval(low_and_high: object) -> str:
    """Return an interval in brackets with true minus signs, "" for None."""
    # None, or anything with `low` and `high`: `shown` is typed for intervals alone.
    return shown(low_and_high).replace("-", "−")  # type: ignore[arg-type]
