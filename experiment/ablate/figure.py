"""A measured table as figures: dots beside the published numbers, and SimCSE's figure 2.

Reads: telling, report.page. Feeds: page, the command.
"""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import report.page
from experiment.ablate.measuring import Measured
from experiment.ablate.table import Table
from experiment.ablate.telling import by_row, shown
from report.page import tables
from report.page.figure import INK, MUTED, PAPER, SERIES, SIZE, STYLES, Figure, draw, legend

STYLE = Path(report.page.__file__).parent / "templates" / "style.css"
LINE = 0.16  # inches per row, at least
FEW = 8  # rows whose names fit in the usual size of letters
GEOMETRY = ("uniformity", "alignment")
NARROWEST = 0.05  # of a scale: what is as good as equal looks so


def figures(table: Table, measured: Sequence[Measured]) -> list[Figure]:
    """Return the figures of a table, the dots first."""
    found = [_dots(table, measured)]
    if table.trajectory:
        found.append(_trajectory(table, measured))
    return found


def standalone(figure: Figure) -> str:
    """Return a figure as the content of an .svg file, in the page's light colours."""
    style = STYLE.read_text(encoding="utf-8")
    light = dict(re.findall(r"--([\w-]+): (#\w+);", style[: style.index("}")]))
    return re.sub(r"var\(--([\w-]+)\)", lambda found: light[found[1]], figure.svg) + "\n"


def _dots(table: Table, measured: Sequence[Measured]) -> Figure:
    """Return one dot per row and seed, and on a scale of their own what was published."""
    column = table.columns[0]
    rows = by_row(table, measured)
    published = [row.published for row in table.rows]
    lines = [
        [tables.word(label), tables.word(shown([one.values[column] for one in own])),
         tables.number(told, 1)]
        for (label, own), told in zip(rows.items(), published, strict=True)
    ]  # fmt: skip
    return draw(
        f"dots-{table.name}",
        table.title,
        f"Filled dots: {column}, one per seed, on the lower scale. Hollow squares: what was "
        "published, on the upper scale, of another backbone, other data and another set.",
        tables.Table(f"{column}, mean ± standard deviation", ("row", column, "published"), lines),
        partial(_paint_dots, rows=rows, published=published, column=column),
        max(SIZE[1], LINE * len(rows)),
    )


def _paint_dots(
    axes: Any, rows: dict[str, list[Measured]], published: Sequence[float | None], column: str
) -> None:
    places = range(len(rows))
    for place, own in zip(places, rows.values(), strict=True):
        values = [one.values[column] for one in own if one.values[column] is not None]
        axes.plot(values, [place] * len(values), "o", color=SERIES[0], ms=5, clip_on=False)
    axes.set_yticks(places, list(rows), fontsize=11 if len(rows) <= FEW else 8)
    axes.set_ylim(len(rows) - 0.5, -0.5)  # the first row is at the top
    axes.set_xlabel(f"{column} (dots)")
    _widen(axes, NARROWEST)
    # Above the dots, which they would cover where both scales end.
    known = [(told, place - 0.25) for place, told in zip(places, published, strict=True)
             if told is not None]  # fmt: skip
    if known:
        twin = axes.twiny()
        twin.plot(*zip(*known, strict=True), "s", mfc=PAPER, mec=SERIES[1], ms=6, clip_on=False)
        _widen(twin, NARROWEST if max(told for told, _ in known) <= 1 else 100 * NARROWEST)
        twin.set_xlabel("published (squares)", color=INK)
        twin.spines["top"].set(visible=True, color=MUTED)
        twin.grid(visible=False)


def _widen(axes: Any, least: float) -> None:
    """Let the x scale span at least so much."""
    low, high = axes.get_xlim()
    if (missing := least - (high - low)) > 0:
        axes.set_xlim(low - missing / 2, high + missing / 2)


def _trajectory(table: Table, measured: Sequence[Measured]) -> Figure:
    """Return the way of each row's first seed during tuning: SimCSE's figure 2."""
    ways = {
        label: np.array([[at[name] for name in GEOMETRY] for at in points_of(own[0])], np.float64)
        for label, own in by_row(table, measured).items()
        if own and points_of(own[0])
    }
    lines = [
        [tables.word(label), *(tables.number(value) for end in (way[0], way[-1]) for value in end)]
        for label, way in ways.items()
    ]
    ends = [f"{name}: {end}" for end in ("start", "end") for name in GEOMETRY]
    return draw(
        f"trajectory-{table.name}",
        "Alignment and uniformity during tuning",
        "Each line goes from the untuned encoder (hollow) to the last state (filled), first seed; "
        "lower is better for both.",
        tables.Table("Alignment and uniformity", ("row", *ends), lines),
        partial(_paint_ways, ways=ways),
    )


def points_of(one: Measured) -> list[dict[str, Any]]:
    """Return the records of a tuning that hold its geometry, in the order of their steps."""
    return [at for at in one.history if all(at.get(name) is not None for name in GEOMETRY)]


def _paint_ways(axes: Any, ways: dict[str, np.ndarray]) -> None:
    for k, (label, way) in enumerate(ways.items()):
        colour, style = SERIES[k % len(SERIES)], STYLES[k // len(SERIES) % len(STYLES)]
        axes.plot(*way.T, color=colour, ls=style, marker=".", label=label)
        axes.plot(*way[:1].T, "o", mfc=PAPER, mec=colour)
        axes.plot(*way[-1:].T, "o", color=colour)
    axes.set_xlabel(GEOMETRY[0])
    axes.set_ylabel(GEOMETRY[1])
    legend(axes, 4)
