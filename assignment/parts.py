"""The assignment: its parts, what they are worth, where students write, what is often wrong there.

A part NAME has `tasks/NAME.md`, a paragraph and a section for each place to write;
`mistakes/NAME.toml`; and, in a file of `cases/`, what is asked and the inputs for it. A place is a
function, `file:name`.
"""

import hashlib
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from runtime.errors import UserError

HERE = Path(__file__).parent


def seed_of(key: int, purpose: str) -> int:
    """Return 128 bits for one purpose; the key, or another's, cannot be computed from them."""
    return int(hashlib.sha256(f"{key} {purpose}".encode()).hexdigest()[:32], 16)


@dataclass(frozen=True)
class Mistake:
    """A known mistake: a small change of our own code, and the words for a student who made it."""

    name: str  # unique among all parts
    place: str
    old: str  # text of the function's dedented body, which occurs there once; "": all of it
    says: str  # the likely cause, as the student is told
    new: str = ""  # what stands there instead


@dataclass(frozen=True)
class Part:
    """One part; `parts.toml` describes the fields."""

    name: str
    title: str
    week: int
    hours: int
    goal: str
    file: str = ""
    cases: dict[str, int] = field(default_factory=dict)
    open_points: int = 0
    figure: str = ""

    @property
    def points(self) -> int:
        return sum(self.cases.values()) + self.open_points

    @property
    def introduction(self) -> str:
        return self._sections[0].strip()

    @cached_property
    def tasks(self) -> dict[str, str]:
        """Return place -> what to write there."""
        sections = (section.split("\n", 1) for section in self._sections[1:])
        return {place: text.strip() for place, text in sections}

    @property
    def places(self) -> tuple[str, ...]:
        return tuple(self.tasks)

    @cached_property
    def mistakes(self) -> tuple[Mistake, ...]:
        """Return what is often done wrong."""
        path = HERE / "mistakes" / f"{self.name}.toml"
        if not path.is_file():
            return ()
        mistakes = []
        for place, table in tomllib.loads(path.read_text(encoding="utf-8")).items():
            old = table.pop("old", "")  # of all that do not say otherwise
            mistakes += [Mistake(name, place, **{"old": old} | m) for name, m in table.items()]
        return tuple(mistakes)

    @cached_property
    def _sections(self) -> list[str]:
        return (HERE / "tasks" / f"{self.name}.md").read_text(encoding="utf-8").split("\n## ")


def _read_parts() -> dict[str, Part]:
    tables = tomllib.loads((HERE / "parts.toml").read_text(encoding="utf-8"))
    return {name: Part(name, **table) for name, table in tables.items()}


PARTS = _read_parts()


def chosen_parts(names: Sequence[str] = ()) -> list[Part]:
    """Return the parts of these names in the assignment's order; of no name, all."""
    for name in names:
        if name not in PARTS:
            raise UserError(f"part {name!r}: unknown; one of {', '.join(PARTS)}")
    return [part for part in PARTS.values() if not names or part.name in names]
