"""What a table consists of: rows, and what the paper would have us expect."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LESS, MORE, ALIKE = "<", ">", "~"

# What is measured of an encoder tuned by SimCSE, without any head, on the dev split of STS:
# Spearman's rho of the best checkpoint by the selection pairs, and of the last state; and of the
# last state SimCSE's equations 2 and 3, both lower is better.
TUNING = ("best", "last", "alignment", "uniformity")
# What is measured of a head: the task's main metric.
HEAD = ("score",)
# The same when a task learnt before others had just been learnt.
BEFORE = "before"


@dataclass(frozen=True)
class Row:
    """One line of a table: a name, and how it differs from the recipe.

    Attributes:
        label: as in the paper.
        pretrain: the objective it is tuned with.
        simcse: what differs in the contrastive stage, by the names of SimCSEConfig.
        published: what the paper reports, in its own units; None where it reports nothing.
        rate: multiplies the recipe's learning rate.
        settings: what differs otherwise, by the names of Settings.
        made: what makes the row's training file, words for `python -m data.triplets`: the form of
            the user's file, and flags; () to train on the user's --sup-data.
    """

    label: str
    simcse: Mapping[str, Any] = field(default_factory=dict)
    published: float | None = None
    pretrain: str = "unsup"
    rate: float = 1.0
    settings: Mapping[str, Any] = field(default_factory=dict)
    made: tuple[str, ...] = ()


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
    within: float = 0.01


@dataclass(frozen=True)
class Table:
    """A table of a paper.

    Attributes:
        name: on the command line.
        title: what it asks.
        source: where it was published.
        published_on: what the published numbers were measured with.
        rows: one per line.
        expected: what the paper found.
        reading: what to make of it, a few sentences for a student.
        needs: what must be named besides training files: `documents`, or forms of --from.
        columns: what is measured; the first is shown in the figure.
        trajectory: whether the figure is also drawn of alignment and uniformity during tuning.
        longer: how many times the quick recipe's examples its rows see.
        held_out: whether heads are scored on the test split where it has labels; else on dev.
        minutes: measured, of one seed of all rows: quick scale, mini, one thread.
    """

    name: str
    title: str
    source: str
    published_on: str
    rows: tuple[Row, ...]
    expected: tuple[Expectation, ...]
    reading: str
    needs: tuple[str, ...] = ()
    columns: tuple[str, ...] = TUNING
    trajectory: bool = False
    longer: int = 1
    held_out: bool = False
    minutes: float | None = None

    @property
    def published(self) -> dict[str, float | None]:
        """Return what the source reports of each row, by label."""
        return {row.label: row.published for row in self.rows}

    @property
    def of_heads(self) -> bool:
        """Return whether its rows are trained heads, not contrastive tunings."""
        return HEAD[0] in self.columns
