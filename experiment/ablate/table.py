"""What a table of a paper consists of; the tables themselves are data, in tables.toml."""

import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

LESS, MORE, ALIKE = "<", ">", "~"
WITHIN = 0.01  # two numbers are alike, unless a claim says otherwise

# What is measured of an encoder tuned by SimCSE, without any head: Spearman's rho of the best
# checkpoint by the selection pairs, on the dev split of STS; and of the last state SimCSE's
# equations 2 and 3 on the selection pairs, both lower is better.
TUNING = ("best", "alignment", "uniformity")
# What is measured of a head: the task's main metric.
HEAD = ("score",)
# The same when a task learnt before others had just been learnt.
BEFORE = "before"


@dataclass(frozen=True)
class Row:
    """One line of a table: a name, and how it differs from the recipe.

    Attributes:
        label: as in the paper; of heads it begins with the task, `sts: sup bi`.
        published: what the paper reports, in its own units; None where it reports nothing.
        flags: what differs, as flags of run_multitask.py.
        pretrain: the objective it is tuned with.
        made: what makes the row's training file, words for `python -m data.triplets`: the form of
            the user's file, and flags; "" to train on the user's --sup-data.
        rate: multiplies the recipe's learning rate.
        linear: the head is the best linear layer instead of the usual one.
    """

    label: str
    published: float | None = None
    flags: str = ""
    pretrain: str = "unsup"
    made: str = ""
    rate: float = 1.0
    linear: bool = False


@dataclass(frozen=True)
class Expectation:
    """What the paper found, as a claim that numbers can contradict.

    Attributes:
        row, other: labels.
        relation: whether the measure of `row` is less or more than that of `other`, or alike.
        why: in a few words, with the source.
        of: which measure.
        within: how far apart two numbers that are alike may be.
    """

    row: str
    relation: str
    other: str
    why: str
    of: str = "best"
    within: float = WITHIN


@dataclass(frozen=True)
class Table:
    """A table of a paper.

    Attributes:
        name: on the command line.
        title: what it asks.
        source: where it was published.
        reading: what to make of it, a few sentences for a student.
        rows: one per line.
        expected: what the paper found; in the file `claims`: reason -> formulas, as `0 < 0.1`,
            `alignment: 0 > 0.1` of another measure than the first, `a ~ b, within 0.02`.
        needs: what must be named besides training files: `documents`, or forms of --from.
        published_on: what the published numbers were measured with.
        columns: what is measured.
        trajectory: whether a figure is drawn of alignment and uniformity during tuning.
        held_out: whether heads are scored on the test split where it has labels; else on dev.
    """

    name: str
    title: str
    source: str
    reading: str
    rows: tuple[Row, ...]
    expected: tuple[Expectation, ...]
    needs: tuple[str, ...] = ()
    published_on: str = "bert-base-uncased, STS-B dev, Spearman x 100"
    columns: tuple[str, ...] = TUNING
    trajectory: bool = False
    held_out: bool = False


FORMULA = re.compile(
    rf"(?:({'|'.join((*TUNING, *HEAD, BEFORE))}): )?(.+) ([<>~]) (.+?)(?:, within ([\d.]+))?"
)


def read_tables(path: Path = Path(__file__).parent / "tables.toml") -> dict[str, Table]:
    """Return all tables by name."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: _table(name, **values) for name, values in content.items()}


def _table(name: str, rows: list[Any], claims: dict[str, list[str]], **values: Any) -> Table:
    values = {key: tuple(v) if isinstance(v, list) else v for key, v in values.items()}
    table = Table(name, rows=tuple(Row(**row) for row in rows), expected=(), **values)
    found = []
    for why, formulas in claims.items():
        for formula in formulas:
            parts = FORMULA.fullmatch(formula)
            if parts is None:
                raise ValueError(f"{name}: no claim: {formula}")
            of, row, relation, other, within = parts.groups()
            of = of or table.columns[0]
            found.append(Expectation(row, relation, other, why, of, float(within or WITHIN)))
    return replace(table, expected=tuple(found))
