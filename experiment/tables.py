"""Every table and figure of the pages as data: commands, published numbers and claims.

The tables are in tables.toml. The claims of a paper's table are judged by this rule: Student's t
over the seeds gives the interval of the mean difference of two rows. An ordering holds if the
interval lies on its side of 0, does not hold if it lies on the other side, and is undecided
otherwise. Two rows are alike if the interval lies within the margin of 0, and unlike if it lies
outside. Holm's correction covers all claims of a table: each interval has the level at which Holm
decides its claim, 95% or more. Rows are scored on the same pairs. The rule applies to these pairs
and to variation between seeds. With one seed everything is undecided.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from string import Template
from typing import TYPE_CHECKING, Any

from evaluation.table import markdown
from experiment.pages import beside_published

if TYPE_CHECKING:
    from evaluation.intervals import Spread

# Requirements of a table beyond the project's files, and the words in commands that show them. The
# benchmarks use MiniLM's weights without naming them.
DATA, MINILM, GPU = "data", "minilm", "gpu"
PROCESSORS = ("bfloat16", "avx2")  # kinds, as of `runtime.device.processor_kind`
SHOWN_BY = {
    DATA: ("$DATA",),
    MINILM: ("$MINILM", "-m benchmarks"),
    GPU: ("bert-base",),
    **{kind: (f"--processor {kind}",) for kind in PROCESSORS},
}

# The possible columns of a paper's table. For an encoder tuned by SimCSE: Spearman's rho of the
# cosine of the best checkpoint on the dev split of STS; and for the last state SimCSE's equations 2
# and 3 on the selection pairs, for both of which lower is better. For a head: the task's main
# metric, and in sequential joint training this metric directly after the task's phase.
TUNING = ("best", "alignment", "uniformity")
HEAD = ("score", "before")

LESS, MORE, ALIKE = "<", ">", "~"
WITHIN = 0.01  # two numbers are alike, unless a claim says otherwise
CLAIM = re.compile(
    rf"(?:({'|'.join((*TUNING, *HEAD))}): )?(.+) ([<>~]) (.+?)(?:, within ([\d.]+))?"
)
HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"
UNMEASURED = "not measured"

Scores = Mapping[str, Any]  # of a row and seed: `row`, `seed`, and the table's columns


@dataclass(frozen=True)
class Row:
    """A command, and its row in the table."""

    command: str  # as a reader types it; of several joined by `&&`, the last gives the result
    label: str = ""  # as in the paper
    published: float | None = None  # by the paper, in the paper's units
    cell: str = ""  # prefix of its cells, if the command has cells of several rows


@dataclass(frozen=True)
class Claim:
    """A finding of a paper, as a relation that numbers can contradict."""

    row: str  # its label
    relation: str  # LESS or MORE than the other row, or ALIKE
    other: str
    why: str  # in a few words, with the source
    of: str = "best"  # which column
    within: float = WITHIN  # largest difference of two numbers that are alike


@dataclass(frozen=True)
class Table:
    """A table or figure, and how it is made."""

    name: str  # of its result file, docs/results/NAME.csv, or .json where a command writes that
    rows: tuple[Row, ...]  # one per command, or per line of a paper's table
    pages: tuple[str, ...] = ()  # that show it
    quick: bool = False  # part of --quick
    # A file that its first command leaves (of a run's page with the figure's name behind #) or
    # `trajectory`, of alignment and uniformity in tuning; and the file that it becomes.
    figure: tuple[str, ...] = ()
    # For a paper's table: its question, source, measurements and data, and a few sentences of
    # interpretation for a student.
    title: str = ""
    source: str = ""
    published_on: str = "bert-base-uncased, STS-B dev, Spearman x 100"
    reading: str = ""
    columns: tuple[str, ...] = ()  # measured columns; () if all cells of the runs are shown
    held_out: bool = False  # heads are scored on the test split where it has labels; else on dev
    claims: tuple[Claim, ...] = ()  # findings of the paper

    @property
    def commands(self) -> list[str]:
        """Return the commands, each once: rows may share one."""
        return list(dict.fromkeys(row.command for row in self.rows))

    @property
    def timed(self) -> bool:
        """Return whether it measures time, and so needs the machine for itself."""
        return "-m benchmarks" in self.commands[0]

    @property
    def needs(self) -> tuple[str, ...]:
        """Return some of `data`, `minilm`, `gpu`, `bfloat16` and `avx2`."""
        text = " ".join(self.commands)
        return tuple(need for need, marks in SHOWN_BY.items() if any(m in text for m in marks))


def read_tables(path: Path) -> dict[str, Table]:
    """Return all tables by name.

    A table that is `like` another has its keys unless it states its own; `scale` names a table of
    words that replace some of the others.
    """
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    words = content.pop("words")
    tables = {}
    for name, values in content.items():
        values = {**content.get(values.get("like"), {}), **values}
        values.pop("like", None)
        tables[name] = _table(name, words | words.get(values.pop("scale", ""), {}), values)
    return tables


def _table(name: str, words: Mapping[str, Any], values: dict[str, Any]) -> Table:
    command, lines = values.pop("command", ""), values.pop("rows", [{}])
    rows = []
    for line in lines:
        keys = dict(line)
        whole = f"{keys.pop('command', command)} {keys.pop('flags', '')}"
        rows.append(Row(_spelled_out(whole, words), **keys))
    columns = values.setdefault("columns", [])
    claims = [
        _claim(name, why, text, columns[0])
        for why, texts in values.pop("claims", {}).items()
        for text in texts
    ]
    values = {key: tuple(v) if isinstance(v, list) else v for key, v in values.items()}
    return Table(name, tuple(rows), claims=tuple(claims), **values)


def _spelled_out(command: str, words: Mapping[str, Any]) -> str:
    """Return a command with the words after `$` replaced, except those for the machine."""
    while (longer := Template(command).safe_substitute(words)) != command:
        command = longer
    return " ".join(command.split())


def _claim(name: str, why: str, text: str, first_column: str) -> Claim:
    """Return a claim: `0 < 0.1`, `alignment: 0 > 0.1`, `a ~ b, within 0.02`."""
    parts = CLAIM.fullmatch(text)
    if parts is None:
        raise ValueError(f"{name}: no claim: {text}")
    of, row, relation, other, within = parts.groups()
    return Claim(row, relation, other, why, of or first_column, float(within or WITHIN))


TABLES = read_tables(Path(__file__).with_suffix(".toml"))


def judged(claims: Sequence[Claim], scores: Sequence[Scores]) -> list[str]:
    """Return a line on each claim of a table, corrected together.

    `holds: fixed 0.1 < 0.1: -0.031, 97.5% CI [-0.050, -0.012] (why)`.
    """
    from evaluation.significance import holm_levels, percent

    spreads = [_spread(claim, scores) for claim in claims]
    # A claim is decided if the interval excludes the bound of the claim.
    p_values = [
        None if spread is None else max(map(spread.p, ends_of(claim)))
        for claim, spread in zip(claims, spreads, strict=True)
    ]
    lines = []
    for claim, spread, level in zip(claims, spreads, holm_levels(p_values), strict=True):
        numbers, word = "", UNMEASURED
        if differences := _differences(claim, scores):
            numbers, word = f": {mean(differences):+.3f}", UNDECIDED
        if spread is not None:
            interval = spread.interval(level)
            numbers += f", {percent(level)} CI [{interval.low:+.3f}, {interval.high:+.3f}]"
            word = verdict(claim, interval.low, interval.high)
        text = "" if claim.of == TUNING[0] else f"{claim.of}: "
        text += f"{claim.row} {claim.relation} {claim.other}"
        text += f", within {claim.within:g}" if claim.relation == ALIKE else ""
        lines.append(f"  {word}: {text}{numbers} ({claim.why})")
    return lines


def _differences(claim: Claim, scores: Sequence[Scores]) -> list[float]:
    """Return the differences of a claim's rows by seed, [] if a row is not measured."""
    row, other = (
        {line["seed"]: line[claim.of] for line in scores if line["row"] == label}
        for label in (claim.row, claim.other)
    )
    pairs = [(row[seed], other[seed]) for seed in row if seed in other]
    return [a - b for a, b in pairs] if all(None not in pair for pair in pairs) else []


def _spread(claim: Claim, scores: Sequence[Scores]) -> "Spread | None":
    """Return the uncertainty of the mean difference, None for fewer than two seeds."""
    import numpy as np

    from evaluation.intervals import over_seeds

    differences = _differences(claim, scores)
    # No sampling error of pairs, which are the same for both rows; their number has no effect.
    return over_seeds(np.array(differences), 0.0, 2) if len(differences) > 1 else None


def ends_of(claim: Claim) -> tuple[float, ...]:
    """Return the differences at which a claim ceases to be true."""
    return (-claim.within, claim.within) if claim.relation == ALIKE else (0.0,)


def verdict(claim: Claim, low: float, high: float) -> str:
    """Return the verdict on a claim, from the interval of the difference of its rows."""
    if claim.relation == ALIKE:
        if -claim.within <= low and high <= claim.within:
            return HOLDS
        return FAILS if low > claim.within or high < -claim.within else UNDECIDED
    if claim.relation == LESS:
        low, high = -high, -low
    return HOLDS if low > 0 else FAILS if high < 0 else UNDECIDED


def printed(table: Table, scores: Sequence[Scores]) -> str:
    """Return a paper's table next to the published one, and the verdict on every claim."""
    header = ("row", *table.columns, "published")
    seeds = len({line["seed"] for line in scores})
    head = f"{table.name}: {table.title} ({seeds} seed{'s' if seeds != 1 else ''})"
    note = f"published: {table.source}; {table.published_on}."
    note += " Backbone, data and dev set differ from ours."
    text = markdown(header, beside_published(header, scores))
    return "\n".join([head, text, note, *judged(table.claims, scores)])
