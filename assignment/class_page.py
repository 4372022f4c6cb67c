"""The page of a class: how marks are distributed, what went wrong most, every submission.

One HTML file that opens without a network, in the style of a run's page. Feeds: grade_command.
"""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from assignment.gradescope import plain, ranked_names, total
from assignment.grading import Mark
from report.page.figure import INK, SERIES, Figure, draw
from report.page.tables import Entry, Table, number, share, word
from runtime.terminal import printable

HERE = Path(__file__).parent / "templates"
STYLE = Path(__file__).parents[1] / "report" / "page" / "templates"
BINS = 10


def render(marks: Sequence[Mark], about: dict[str, Any]) -> str:
    """Return the page of a class, one HTML document that refers to nothing outside.

    Args:
        marks: at least one.
        about: the suite's suite.json.
    """
    environment = Environment(
        loader=FileSystemLoader([HERE, STYLE]), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    most = sum(case["points"] for case in about["cases"])
    scores = [total(mark, about) for mark in marks]
    return environment.get_template("class.html.j2").render(
        count=len(marks),
        most=most,
        mean=mean(scores),
        median=median(scores),
        distribution=distribution(scores, most),
        parts=parts_table(marks, about),
        mistakes=mistakes_table(marks, about),
        cases=cases_table(marks, about),
        stops=stops_table(marks),
        layers=layers_table(marks),
        everybody=marks_table(marks, about),
        data=[plain(mark, about) for mark in marks],
        style=(STYLE / "style.css").read_text(encoding="utf-8"),
        script=(STYLE / "page.js").read_text(encoding="utf-8"),
    )


def distribution(scores: Sequence[float], most: float) -> Figure:
    """Return the histogram of total scores, in tenths of what can be earned."""
    tenths = [min(BINS - 1, int(BINS * score / most)) if most else 0 for score in scores]
    counts = [tenths.count(tenth) for tenth in range(BINS)]
    edges = [most * tenth / BINS for tenth in range(BINS + 1)]
    rows = [
        [word(f"{low:g} to {high:g}"), number(count, 0)]
        for low, high, count in zip(edges, edges[1:], counts, strict=False)
    ]
    return draw(
        "distribution",
        "Scores",
        f"Submissions by score, in tenths of {most:g} points; the last bar has the full score.",
        Table("Submissions by score", ("points", "submissions"), rows),
        partial(_paint, edges=edges, counts=counts),
    )


def _paint(axes: Any, edges: Sequence[float], counts: Sequence[int]) -> None:
    width = edges[1] - edges[0]
    axes.bar(edges[:-1], counts, width * 0.94, align="edge", color=SERIES[0], linewidth=0)
    axes.set_xlabel("points")
    axes.set_ylabel("submissions")
    axes.grid(axis="x", visible=False)
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.axhline(0, color=INK, lw=0.8)


def parts_table(marks: Sequence[Mark], about: dict[str, Any]) -> Table:
    """Return per part how its points are distributed over submissions."""
    rows = []
    for part in about["parts"]:
        points = [case["points"] for case in about["cases"] if case["part"] == part["name"]]
        scores = [total(mark, about, part["name"]) for mark in marks]
        low, middle, high = quantiles(scores, n=4, method="inclusive") if scores[1:] else scores * 3
        full, none = scores.count(sum(points)), scores.count(0)
        rows.append([
            word(part["title"]), number(sum(points), 0), number(mean(scores), 1),
            number(low, 1), number(middle, 1), number(high, 1),
            share(full / len(scores), 0), share(none / len(scores), 0),
        ])  # fmt: skip
    header = (
        "part",
        "points",
        "mean",
        "lower quartile",
        "median",
        "upper quartile",
        "full",
        "zero",
    )
    return Table("Points by part; full, zero: share of submissions", header, rows)


def mistakes_table(marks: Sequence[Mark], about: dict[str, Any]) -> Table:
    """Return the known mistakes by how many submissions made each."""
    made = Counter(name for mark in marks for name in {r.mistake for r in mark.results} if name)
    known = {mistake["name"]: mistake for mistake in about["mistakes"]}
    rows = [
        [
            Entry(known[name]["says"], note=name), word(known[name]["part"]),
            number(count, 0), share(count / len(marks), 0),
        ]
        for name, count in sorted(made.items(), key=lambda item: (-item[1], item[0]))
    ]  # fmt: skip
    header = ("mistake", "part", "submissions", "share")
    return Table("Recognised mistakes, the commonest first", header, rows, kind="long")


def cases_table(marks: Sequence[Mark], about: dict[str, Any]) -> Table:
    """Return the cases, those first that most submissions have wrong."""
    wrong = Counter(result.case for mark in marks for result in mark.results if not result.passed)
    causes = {
        case["name"]: Counter(
            _kind(result.reason)
            for mark in marks
            for result in mark.results
            if result.case == case["name"] and not result.passed
        )
        for case in about["cases"]
    }
    rows = [
        [
            word(case["name"]), number(case["points"], 0), number(wrong[case["name"]], 0),
            share(wrong[case["name"]] / len(marks), 0),
            word(next((reason for reason, _ in causes[case["name"]].most_common(1)), None)),
        ]
        for case in sorted(about["cases"], key=lambda case: (-wrong[case["name"]], case["name"]))
    ]  # fmt: skip
    header = ("case", "points", "wrong", "share wrong", "most often")
    return Table("Cases, the hardest first", header, rows, kind="long")


def _kind(reason: str) -> str:
    """Return what many submissions' reasons have in common: no place and no number."""
    array, differs, _ = reason.partition(" of shape ")
    return f"{array} differs" if differs else reason.partition(":")[0].partition(" at [")[0]


def stops_table(marks: Sequence[Mark]) -> Table:
    """Return the runs that did not end as they should."""
    rows = [
        [word(printable(mark.name)), word(case), word(why)]
        for mark in marks
        for case, why in mark.stops.items()
    ]
    return Table("Runs that were stopped", ("submission", "case", "why"), rows, kind="long")


def layers_table(marks: Sequence[Mark]) -> Table:
    """Return the sandbox's layers and for how many submissions each held."""
    names = dict.fromkeys(name for mark in marks for name in mark.layers)
    rows = []
    for name in names:
        reasons = [mark.layers[name] for mark in marks if mark.layers.get(name)]
        held = len(marks) - len(reasons)
        rows.append([word(name), number(held, 0), word(reasons[0] if reasons else None)])
    return Table("Layers of the sandbox", ("layer", "held for", "otherwise"), rows, kind="long")


def marks_table(marks: Sequence[Mark], about: dict[str, Any]) -> Table:
    """Return every submission's points, and the scores of predictions handed in."""
    names = [part["name"] for part in about["parts"]]
    ranked = ranked_names(marks)
    rows = [
        [
            Entry(printable(mark.name), note="; ".join([*mark.left, *filter(None, [mark.fault])])),
            number(total(mark, about), 0),
            *(number(total(mark, about, name), 0) for name in names),
            *(number(mark.leaderboard.get(name), 3) for name in ranked),
        ]
        for mark in marks
    ]
    return Table("Every submission", ("submission", "points", *names, *ranked), rows)
