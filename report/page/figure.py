"""Figures as inline SVG in the page's colours, with tables of their numbers.

Drawn by matplotlib without a display; the same data give the same bytes.
"""

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure as Canvas

from report.page.tables import Table

# Colours to draw with -> names of the page's colours in style.css, which differ between light and
# dark. They differ from one another and from matplotlib's default colours.
INK, MUTED, LINE, PAPER = "#010101", "#020202", "#030303", "#040404"
SERIES = tuple(f"#05050{n}" for n in range(1, 7))
COLOURS = {
    **{INK: "ink", MUTED: "muted", LINE: "line", PAPER: "paper"},
    **{colour: f"series-{n}" for n, colour in enumerate(SERIES, 1)},
}
WIDTH, HEIGHT = 5.0, 3.3  # inches; 360 points wide, as a phone is
SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 11,
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "axes.grid": True,
    "grid.color": LINE,
    "grid.linewidth": 0.8,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
}


@dataclass(frozen=True)
class Figure:
    """A figure and its description in words."""

    name: str  # its id on the page
    title: str
    description: str  # for screen readers
    svg: str  # from `<svg` to `</svg>`
    table: Table | None  # its numbers; None if another table has them


def draw(
    name: str,
    title: str,
    description: str,
    table: Table | None,
    paint: Callable[[Any], None],
    height: float = HEIGHT,
) -> Figure:
    """Return a figure of one panel, `height` inches high; `paint` draws on its axes."""
    name = re.sub(r"[^\w-]", "-", name)
    with matplotlib.rc_context(SETTINGS | {"svg.hashsalt": name}):
        canvas = Canvas(figsize=(WIDTH, height), layout="constrained")
        axes = canvas.add_subplot()
        paint(axes)
        text = io.StringIO()
        canvas.savefig(text, format="svg", metadata={"Date": None})
    svg = _spoken(_inline(text.getvalue(), name), name, title, description)
    return Figure(name, title, description, svg, table)


def in_light_colours(svg: str) -> str:
    """Return a figure's SVG as a separate file, in the page's light colours."""
    style = (Path(__file__).parent / "templates" / "style.css").read_text(encoding="utf-8")
    light = dict(re.findall(r"--([\w-]+): (#\w+);", style[: style.index("}")]))
    return re.sub(r"var\(--([\w-]+)\)", lambda name: light[name[1]], svg) + "\n"


def _inline(svg: str, name: str) -> str:
    """Return SVG for a page: no prolog, no metadata, unique ids, the page's colours."""
    svg = svg[svg.index("<svg") :].strip()
    for part in (r"<metadata>.*?</metadata>", r"<style.*?</style>", r"<!--.*?-->"):
        svg = re.sub(rf"\s*{part}", "", svg, flags=re.DOTALL)
    svg = re.sub(r' (?:width|height)="[\d.]+pt"', "", svg, count=2)
    svg = re.sub(r"font-family: [^;\"]*;? ?", "", svg)  # use the page's font
    for colour, variable in COLOURS.items():
        svg = svg.replace(colour, f"var(--{variable})")
    used = set(re.findall(r"#([\w-]+)[\")]", svg))
    svg = re.sub(r' id="([^"]*)"', lambda m: f' id="{name}-{m[1]}"' if m[1] in used else "", svg)
    return re.sub(r"#([\w-]+)([\")])", rf"#{name}-\1\2", svg)


def _spoken(svg: str, name: str, title: str, description: str) -> str:
    """Return an SVG whose title and description are read by screen readers."""
    end = svg.index(">")
    return (
        f'{svg[:end]} role="img" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-desc">{escape(description)}</desc>{svg[end + 1 :]}'
    )


def legend(axes: Any, columns: int = 2) -> None:
    """Put the legend above the panel, where it covers nothing."""
    handles, labels = axes.get_legend_handles_labels()
    if labels:
        axes.legend(
            handles,
            labels,
            loc="lower left",
            bbox_to_anchor=(0, 1.0),
            ncols=columns,
            borderaxespad=0.2,
            handlelength=1.8,
            columnspacing=1.2,
            fontsize=10.5,
        )
