"""Make a paper's table and judge its claims: `python -m runs.papers NAME LABEL=RUN=WORDS ...`.

A row has the scores of the cells of a run that have all WORDS: of a split, or a reader. LABEL may
name `{task}`, `{pretrain}` and `{reader}`. Standard input is the text of NAME.txt: a title, the
published numbers (`0.1 = 82.5`), and the paper's claims with their reasons: `0 < 0.1 (why)`,
`alignment: 0 > 0.1 (why)`, `a ~ b, within 0.02 (why)`.

Student's t over the seeds gives the interval of the mean difference of two rows. An ordering holds
if the interval lies on its side of 0, does not hold if it lies on the other side, and is undecided
otherwise. Two rows are alike if the interval lies within the margin of 0, and unlike if it lies
outside. Holm's correction covers all claims of a table: each interval has the level at which Holm
decides its claim. Rows are scored on the same pairs, so only the variation between seeds counts.
"""

import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from data.tasks import TASKS
from evaluation.table import markdown
from runs.collect import stamp_of, write, write_rows
from runs.read import Line, spread
from runtime.commands import exit_code

# Of a tuned encoder: the cosine of the best checkpoint, and SimCSE's equations 2 and 3 (lower is
# better) of the last state. Of a head: the task's main metric, and the same directly after the
# task's phase of a sequential training.
COLUMNS = ("best", "alignment", "uniformity", "score", "before")
PUBLISHED = re.compile(r"(.+) = ([\d.]+)")
CLAIM = re.compile(
    rf"(?:({'|'.join(COLUMNS)}): )?(.+) ([<>~]) (.+?)(?:, within ([\d.]+))? (\(.+\))"
)
WITHIN = 0.01  # the margin of two rows that are alike, unless a claim says otherwise


def main(name: str, *sources: str) -> None:
    """Write NAME.csv and NAME.txt."""
    rows = [row for source in sources for row in rows_of(*source.split("="))]
    write(f"{name}.txt", text_of(name, rows, sys.stdin.read().splitlines()))
    write_rows(name, rows)


def rows_of(label: str, run: str, words: str) -> Iterator[Line]:
    """Yield a row for each cell."""
    from evaluation.metrics import COSINE
    from report.run_folder import RunFolder, read_curves

    folder, curves = RunFolder(Path(run), read_only=True), read_curves(Path(run))
    command = shlex.join(["python", *folder.config()["command"]])
    for cell in folder.cells():
        if not set(words.split()) <= {cell.split, cell.reader}:
            continue
        row = {"row": label.format(**vars(cell)), "seed": cell.seed}
        states = [x for x in curves.get(f"{cell.pretrain}-{cell.seed}", []) if "alignment" in x]
        metric = TASKS[cell.task].main_metric
        if states:
            row |= {"best": cell.metrics.get(COSINE)}
            row |= {column: states[-1][column] for column in ("alignment", "uniformity")}
        else:
            row |= {"score": cell.metrics[metric]}
            row |= {"before": cell.before[metric]} if cell.before else {}
        yield {**row, "command": command, **stamp_of(Path(run))}


def text_of(name: str, rows: Sequence[Line], text: Sequence[str]) -> str:
    """Return the table next to the published numbers, and the verdict on every claim."""
    title, *lines = text
    published = {match[1]: match[2] for match in map(PUBLISHED.fullmatch, lines) if match}
    claims = [line for line in lines if not PUBLISHED.fullmatch(line)]
    columns = [column for column in COLUMNS if any(column in row for row in rows)]
    shown = []
    for label in dict.fromkeys(row["row"] for row in rows):
        seeds = [row for row in rows if row["row"] == label]
        numbers = (spread(seeds, column) for column in columns)
        shown.append([label, *numbers, published.get(label, "-")])
    table = markdown(["row", *columns, "published"], shown)
    number = len({row["seed"] for row in rows})
    return "\n".join([f"{name}: {title} ({number} seeds)", table, *judged(claims, rows), ""])


def judged(claims: Sequence[str], rows: Sequence[Line]) -> list[str]:
    """Return a line on each claim: `holds: a < b: -0.031, 97.5% CI [-0.050, -0.012] (why)`.

    Raises:
        ValueError: a line is no claim.
    """
    from evaluation.intervals import over_seeds
    from evaluation.significance import holm_levels, percent

    first = next(column for column in COLUMNS if column in rows[0])
    parsed = [Claim.read(text, first) for text in claims]
    measured = [differences(rows, claim.row, claim.other, claim.of) for claim in parsed]
    # Only seeds vary: no sampling error of pairs, whose number then has no effect.
    spreads = [over_seeds(np.array(x), 0.0, 2) if len(x) > 1 else None for x in measured]
    # A claim is decided if the interval excludes the differences at which it ceases to be true.
    p_values = [
        None if found is None else max(found.p(-claim.margin), found.p(claim.margin))
        for claim, found in zip(parsed, spreads, strict=True)
    ]
    levels = holm_levels(p_values)
    lines = []
    for claim, values, found, level in zip(parsed, measured, spreads, levels, strict=True):
        word = "undecided" if values else "not measured"
        numbers = f": {np.mean(values):+.3f}" if values else ""
        if found is not None:
            ends = found.interval(level)
            numbers += f", {percent(level)} CI [{ends.low:+.3f}, {ends.high:+.3f}]"
            word = verdict(claim.relation, claim.margin, ends.low, ends.high)
        lines.append(f"  {word}: {claim.text}{numbers} {claim.why}")
    return lines


class Claim(NamedTuple):
    """A finding of a paper, as a relation of two rows that numbers can contradict."""

    of: str  # which column
    row: str
    relation: str
    other: str
    margin: float  # largest difference of two rows that are alike; 0 for an ordering
    why: str

    @classmethod
    def read(cls, text: str, first: str) -> "Claim":
        """Return a claim on the table's `first` column, or on the one that it names."""
        if not (parts := CLAIM.fullmatch(text)):
            raise ValueError(f"no claim: {text}")
        of, row, relation, other, within, why = parts.groups()
        margin = float(within or WITHIN) if relation == "~" else 0.0
        return cls(of or first, row, relation, other, margin, why)

    @property
    def text(self) -> str:
        """Return the claim as it is printed."""
        of = "" if self.of == COLUMNS[0] else f"{self.of}: "
        within = f", within {self.margin:g}" if self.relation == "~" else ""
        return f"{of}{self.row} {self.relation} {self.other}{within}"


def differences(rows: Sequence[Line], row: str, other: str, column: str) -> list[float]:
    """Return the differences of two rows by seed, [] if one of them is not measured."""
    scores, others = (
        {line["seed"]: line.get(column, "") for line in rows if line["row"] == label}
        for label in (row, other)
    )
    pairs = [(scores[seed], others[seed]) for seed in scores if seed in others]
    if any(value in (None, "") for pair in pairs for value in pair):
        return []
    return [float(a) - float(b) for a, b in pairs]


def verdict(relation: str, margin: float, low: float, high: float) -> str:
    """Return the verdict on a claim, from the interval of the difference of its rows."""
    if relation == "<":
        low, high = -high, -low
    if relation == "~":
        holds, fails = -margin <= low and high <= margin, low > margin or high < -margin
    else:
        holds, fails = low > 0, high < 0
    return "holds" if holds else "does not hold" if fails else "undecided"


if __name__ == "__main__":
    sys.exit(exit_code(lambda: main(*sys.argv[1:])))
