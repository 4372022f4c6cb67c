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
        places: the functions that students write, as file:name.
        week: of the schedule.
        open_points: for what an instructor marks by hand.
    """

    name: str
    title: str
    cases: dict[str, int]
    places: tuple[str, ...]
    week: int
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


def _places(file: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{file}:{name}" for name in names)


PARTS = {
    part.name: part
    for part in (
        Part(
            "attention",
            "Scaled dot-product and multi-head attention",
            {"one_sequence": 2, "several_sequences": 3, "dropped": 2, "heads": 4},
            (
                *_places("minbert/attention.py", "attention"),
                *_places("minbert/model.py", "BertSelfAttention.forward"),
            ),
            1,
        ),
        Part(
            "layer",
            "Add and norm, and a layer",
            {"residual": 2, "residual_dropped": 2, "intermediate": 2, "layer": 2},
            _places(
                "minbert/model.py",
                *("BertResidual.forward", "BertIntermediate.forward", "BertLayer.forward"),
            ),
            1,
        ),
        Part(
            "embeddings",
            "Packed batches and embeddings",
            {
                "packed": 2,
                "packed_without_mask": 1,
                "states": 2,
                "states_dropped": 1,
                "positions_after_padding": 2,
            },
            (
                *_places("minbert/packing.py", "pack_rows"),
                *_places("minbert/model.py", "BertEmbeddings.forward"),
            ),
            1,
        ),
        Part("model", "The whole encoder", {"whole": 3}, (), 2),
        Part(
            "pooling",
            "From tokens to sentences",
            {"poolings": 3, "mean_of_tokens": 2, "segments": 2},
            _places("minbert/pooling.py", "pool_states", "mean_of_tokens", "mean_of_segments"),
            2,
        ),
        Part(
            "weights",
            "Loading a checkpoint",
            {"renamed": 2, "loaded": 2, "missing": 1, "other_shape": 1},
            _places("minbert/checkpoint.py", "_rename", "copy_tensors"),
            2,
        ),
        Part(
            "adamw",
            "AdamW",
            {"plain": 3, "decayed": 3, "tiny_gradients": 2},
            _places("assignment/starter/adamw.py", "AdamW.update"),
            2,
        ),
        Part(
            "sentiment",
            "The sentiment head",
            {"several": 3, "one": 1, "one_output": 1},
            (
                *_places("heads/heads.py", "Head.forward"),
                *_places(
                    "heads/heads.py",
                    *("SentimentHead.loss", "SentimentHead.predict", "SentimentHead.soft"),
                ),
            ),
            3,
        ),
        Part(
            "simcse",
            "SimCSE: losses and loop",
            {
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
            (
                *_places("simcse/loss.py", "cosine_matrix", "info_nce", "nt_xent"),
                *_places("simcse/loss.py", "in_batch_accuracy"),
                *_places(
                    "assignment/starter/contrastive.py",
                    *("unsupervised_views", "supervised_views", "training_step", "descend"),
                    "embed_all",
                ),
            ),
            3,
        ),
        Part(
            "pairs",
            "Similarity and paraphrase, bi- and cross-encoder",
            {"similarity": 3, "paraphrase": 3, "features": 2, "bi": 2, "cross": 2},
            (
                *_places("heads/heads.py", "STSHead.loss", "STSHead.predict"),
                *_places(
                    "heads/heads.py",
                    *("ParaphraseHead.loss", "ParaphraseHead.predict", "ParaphraseHead.soft"),
                ),
                *_places("heads/features.py", "unit_rms", "interaction"),
                *_places("heads/features.py", "BiFeatures.combine", "CrossFeatures.combine"),
            ),
            4,
        ),
        Part(
            "metrics",
            "Metrics",
            {"classes": 3, "correlations": 3, "undefined": 1},
            _places(
                "assignment/starter/metrics.py",
                *("accuracy", "macro_f1", "pearson", "spearman", "ranks"),
            ),
            4,
        ),
        Part("open", "Your own improvement, and the leaderboard", {}, (), 5, open_points=10),
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
