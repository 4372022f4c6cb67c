"""The page of a class: points by part, what went wrong most, every submission."""

from collections import Counter
from collections.abc import Sequence
from statistics import mean, median, quantiles
from typing import Any

from assignment.marks import Mark, most, open_parts, ranked_names, total
from assignment.pages import STYLE, templates
from report.page.tables import Entry, Table, number, share, word
from runtime.streams import printable


def render(everybody: Sequence[Mark], about: dict[str, Any], sandbox: str) -> str:
    """Return the page of a class, one HTML document that refers to nothing outside.

    At least one has a mark. Those that cannot be read and those that the machine failed are listed
    apart, and count in no mean.
    """
    unmarked = [mark for mark in everybody if mark.machine or mark.fault]
    marks = [mark for mark in everybody if not (mark.machine or mark.fault)]
    scores = [total(mark, about) for mark in marks] or [0.0]
    stops = [
        [word(printable(mark.name)), word(case), word(why)]
        for mark in marks
        for case, why in mark.stops.items()
    ]
    page = templates(autoescape=True).get_template("class.html.j2")
    return page.render(
        style=(STYLE / "style.css").read_text(encoding="utf-8"),
        script=(STYLE / "page.js").read_text(encoding="utf-8"),
        count=len(marks),
        sandbox=sandbox,
        unmarked=Table(
            "Without a mark, and in no mean",
            ("submission", "why"),
            [[word(printable(m.name)), word(printable(_why_unmarked(m)))] for m in unmarked],
            kind="long",
        ),
        most=max((most(about, mark) for mark in marks), default=most(about)),
        mean=mean(scores),
        median=median(scores),
        parts=_parts_table(marks, about),
        mistakes=_mistakes_table(marks, about),
        cases=_cases_table(marks, about),
        stops=Table("Runs that were stopped", ("submission", "case", "why"), stops, kind="long"),
        everybody=_marks_table(marks, about),
    )


def _why_unmarked(mark: Mark) -> str:
    return f"the machine failed, grade again: {mark.machine}" if mark.machine else mark.fault


def _parts_table(marks: Sequence[Mark], about: dict[str, Any]) -> Table:
    rows = []
    by_hand = open_parts(about)
    for part in about["parts"]:
        name, points = part["name"], part["points"]
        # A part that people mark counts where they did.
        marked = [mark for mark in marks if name not in by_hand or name in mark.hand]
        scores = [total(mark, about, name) for mark in marked]
        if not scores:
            continue
        quarters = quantiles(scores, n=4, method="inclusive") if scores[1:] else scores * 3
        row = [word(part["title"]), number(points, 0), number(mean(scores), 1)]
        row += [number(score, 1) for score in quarters]
        row += [share(scores.count(score) / len(scores), 0) for score in (points, 0)]
        rows.append(row)
    quartiles = ("lower quartile", "median", "upper quartile")
    header = ("part", "points", "mean", *quartiles, "full", "zero")
    return Table("Points by part; full, zero: share of submissions", header, rows)


def _mistakes_table(marks: Sequence[Mark], about: dict[str, Any]) -> Table:
    counts = Counter(
        name for mark in marks for name in {m for r in mark.results for m in r.mistakes}
    )
    known = {mistake["name"]: mistake for mistake in about["mistakes"]}
    rows = []
    for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        row = [Entry(known[name]["says"], note=name), word(known[name]["part"])]
        rows.append([*row, number(count, 0), share(count / max(1, len(marks)), 0)])
    header = ("mistake", "part", "submissions", "share")
    return Table("Recognised mistakes, the most frequent first", header, rows, kind="long")


def _cases_table(marks: Sequence[Mark], about: dict[str, Any]) -> Table:
    wrong = Counter(r.case for mark in marks for r in mark.results if not r.passed)
    rows = []
    for case in sorted(about["cases"], key=lambda case: (-wrong[case["name"]], case["name"])):
        count = wrong[case["name"]]
        row = [word(case["name"]), number(case["points"], 0), number(count, 0)]
        rows.append([*row, share(count / max(1, len(marks)), 0)])
    header = ("case", "points", "wrong", "share wrong")
    return Table("Cases, the hardest first", header, rows, kind="long")


def _marks_table(marks: Sequence[Mark], about: dict[str, Any]) -> Table:
    unmarked = open_parts(about).keys() - {name for mark in marks for name in mark.hand}
    names = [part["name"] for part in about["parts"] if part["name"] not in unmarked]
    ranked = ranked_names(marks)
    rows = []
    for mark in marks:
        row = [Entry(printable(mark.name), note=printable("; ".join(mark.left)))]
        row += [number(total(mark, about, part), 1) for part in (None, *names)]
        row += [number(mark.leaderboard.get(name), 3) for name in ranked]
        rows.append(row)
    return Table("Every submission", ("submission", "points", *names, *ranked), rows)
