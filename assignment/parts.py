"""The assignment: its parts, what they are worth, where students write, what is often wrong there.

A part NAME has three files: `tasks/NAME.md`, a paragraph and a section for each place to write;
`cases/NAME.py`, what is asked and the inputs for it; `mistakes/NAME.toml`. A place is a function,
`file:name`.
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
    """A known mistake: a small change of our own code, and the words for a student who made it.

    Attributes:
        name: unique among all parts.
        place: the function.
        old: text of its body, which occurs there once; indented as if the body were not. "": all.
        new: what stands there instead.
        says: the likely cause, as the student is told.
    """

    name: str
    place: str
    old: str
    says: str
    new: str = ""


@dataclass(frozen=True)
class Part:
    """One part.

    Attributes:
        name: as on the command line.
        title: as in the hand-out.
        week: of the schedule.
        cases: function of `cases/NAME.py` -> points.
        open_points: for what an instructor marks by hand.
        figure: of the hand-out, a file of `templates/`.
    """

    name: str
    title: str
    week: int
    cases: dict[str, int] = field(default_factory=dict)
    open_points: int = 0
    figure: str = ""

    @property
    def points(self) -> int:
        """Return what the whole part is worth."""
        return sum(self.cases.values()) + self.open_points

    @property
    def introduction(self) -> str:
        """Return the paragraph that the part begins with."""
        return self._sections[0].strip()

    @cached_property
    def tasks(self) -> dict[str, str]:
        """Return place -> what to write there."""
        sections = (section.split("\n", 1) for section in self._sections[1:])
        return {place: text.strip() for place, text in sections}

    @property
    def places(self) -> tuple[str, ...]:
        """Return the functions that students write."""
        return tuple(self.tasks)

    @cached_property
    def mistakes(self) -> tuple[Mistake, ...]:
        """Return what is often done wrong."""
        path = HERE / "mistakes" / f"{self.name}.toml"
        if not path.is_file():
            return ()
        found = []
        for place, table in tomllib.loads(path.read_text(encoding="utf-8")).items():
            old = table.pop("old", "")  # of all that do not say otherwise
            found += [Mistake(name, place, **{"old": old} | own) for name, own in table.items()]
        return tuple(found)

    @cached_property
    def _sections(self) -> list[str]:
        return (HERE / "tasks" / f"{self.name}.md").read_text(encoding="utf-8").split("\n## ")


PARTS = {
    part.name: part
    for part in (
        Part(
            "attention",
            "Scaled dot-product and multi-head attention",
            week=1,
            cases={"one_sequence": 2, "several_sequences": 3, "dropped": 2, "heads": 4},
            figure="packed.svg",
        ),
        Part(
            "layer",
            "Add and norm, and a layer",
            week=1,
            cases={"residual": 2, "residual_dropped": 2, "intermediate": 2, "layer": 2},
        ),
        Part(
            "embeddings",
            "Packed batches and embeddings",
            week=1,
            cases={
                "packed": 2,
                "packed_without_mask": 1,
                "refused": 1,
                "states": 2,
                "states_dropped": 1,
                "positions_after_padding": 1,
            },
        ),
        Part("model", "The whole encoder", week=2, cases={"whole": 3}, figure="encoder.svg"),
        Part(
            "pooling",
            "From tokens to sentences",
            week=2,
            cases={"poolings": 3, "mean_of_tokens": 2, "segments": 2},
        ),
        Part(
            "weights",
            "Loading a checkpoint",
            week=2,
            cases={"renamed": 2, "loaded": 1, "missing": 1, "other_shape": 1, "not_finite": 1},
        ),
        Part("adamw", "AdamW", week=2, cases={"plain": 3, "decayed": 3, "tiny_gradients": 2}),
        Part(
            "sentiment",
            "The sentiment head",
            week=3,
            cases={"several": 3, "one": 1, "one_output": 1},
        ),
        Part(
            "simcse",
            "SimCSE: losses and loop",
            week=3,
            cases={
                "cosines": 1,
                "unsupervised": 3,
                "supervised": 3,
                "symmetric": 2,
                "in_batch_accuracy": 1,
                "two_views": 1,
                "three_views": 1,
                "steps": 2,
                "embedded": 1,
            },
            figure="contrast.svg",
        ),
        Part(
            "pairs",
            "Similarity and paraphrase, bi- and cross-encoder",
            week=4,
            cases={"similarity": 3, "paraphrase": 3, "features": 2, "bi": 2, "cross": 2},
            figure="encoders.svg",
        ),
        Part("metrics", "Metrics", week=4, cases={"classes": 3, "correlations": 3, "undefined": 1}),
        Part("open", "Your own improvement, and the leaderboard", week=5, open_points=10),
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
