"""The assignment: its parts, what they are worth, where students write, and what asks them.

A part's task text is `tasks/NAME.md`: a paragraph, then a section per place. Feeds: make, check.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime.errors import UserError

TASKS = Path(__file__).parent / "tasks"


@dataclass(frozen=True)
class Part:
    """One part.

    Attributes:
        name: as on the command line.
        title: as in the hand-out.
        cases: function of `cases/NAME.py` -> points.
        places: the marked functions, as file:name.
        open_points: for what an instructor marks by hand.
    """

    name: str
    title: str
    cases: dict[str, int]
    places: tuple[str, ...]
    open_points: int = 0

    @property
    def points(self) -> int:
        """Return what the whole part is worth."""
        return sum(self.cases.values()) + self.open_points

    def text(self) -> "TaskText":
        """Return what the hand-out says of it."""
        introduction, *sections = (TASKS / f"{self.name}.md").read_text("utf-8").split("\n## ")
        places = dict(section.split("\n", 1) for section in sections)
        return TaskText(introduction.strip(), {name: text.strip() for name, text in places.items()})


@dataclass(frozen=True)
class TaskText:
    """The words of a part: an introduction, and place -> what to write there."""

    introduction: str
    places: dict[str, str]


PARTS = {
    part.name: part
    for part in (
        Part(
            "attention",
            "Scaled dot-product and multi-head attention",
            {"one_sequence": 2, "several_sequences": 3, "dropped": 2, "heads": 5},
            ("minbert/attention.py:attention", "minbert/model.py:BertSelfAttention.forward"),
        ),
    )
}


def chosen_parts(names: Sequence[str] = ()) -> list[Part]:
    """Return the parts of these names in the assignment's order; of no name, all.

    Raises:
        UserError: an unknown name.
    """
    for name in names:
        if name not in PARTS:
            raise UserError(f"part {name!r}: unknown; one of {', '.join(PARTS)}")
    return [part for part in PARTS.values() if not names or part.name in names]
