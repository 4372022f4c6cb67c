"""All settings of a run: one frozen dataclass, which is also the command line.

Reads: the settings and presets of simcse and heads. Feeds: everything here. Loads no torch.
"""

from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from baselines.config import ALL_PRESETS
from data.tasks import TASKS
from experiment.combinations import check_joint
from heads.config import (
    REMEDIES,
    REPORT_ORDER,
    SCHEDULES,
    TUNES,
    HeadConfig,
    JointConfig,
    head_config,
)
from minbert.config import POOLINGS
from runtime.digests import digest
from runtime.errors import UserError
from runtime.options import check, option
from simcse.config import PRESETS, SimCSEConfig

OBJECTIVES = tuple(ALL_PRESETS["quick"])

# Settings that change where or how a run is done, but not its numbers.
NOT_IN_NAME = ("run_dir", "resume", "dry_run", "threads", "cost_seconds")


def file_setting(objective: str) -> str:
    """Return the setting that names an objective's training file; most read the same sentences."""
    return f"{objective}_data" if objective in ("sup", "sbert") else "unsup_data"


@dataclass(frozen=True)
class Settings:
    """The settings of a run; several values of a field make a grid."""

    pretrain: tuple[str, ...] = option(
        ("none",),
        "contrastive stage: none, SimCSE on sentences (unsup) or on triplets (sup); or what it is "
        "compared with: two encoders (dual), contrastive tension (ct), IS-BERT, SBERT",
        choices=("none", *OBJECTIVES),
        group="what to compare (several values make a grid)",
    )
    task: tuple[str, ...] = option(
        ("sst",),
        "; ".join(f"{task.name}: {task.about}" for task in TASKS.values()),
        choices=lambda: (*TASKS, "all"),
    )
    encoder: tuple[str, ...] = option(
        ("bi",),
        "encode two texts separately (bi) or as one joined pair (cross); one text is always bi",
        choices=("bi", "cross"),
    )
    tune: tuple[str, ...] = option(
        ("frozen",),
        "train the head only (frozen), with it the last 1, 2 or 4 layers, or the whole encoder; or "
        "one encoder for all tasks of --task, with a head each (joint)",
        choices=tuple(TUNES),
    )
    schedule: tuple[str, ...] = option(
        ("annealed",),
        "joint: task after task, as --task names them, all being sst sts para (sequential); in "
        "turn; drawn by their sizes; or by sizes that matter less and less (annealed)",
        choices=SCHEDULES,
    )
    remedies: tuple[str, ...] = option(
        ("none",),
        "joint, against forgetting: gradient surgery (pcgrad), a few batches of earlier tasks "
        "(replay)",
        choices=("none", *REMEDIES),
    )
    features: str = option(
        "interaction",
        "what the head sees: [u; v; |u-v|; u*v] (cross: [CLS] and the same of both halves), "
        "or the report's [u; v] (cross: [CLS])",
        choices=("interaction", "concat"),
    )
    seeds: int = option(
        1, "repeat with N seeds; the table gives mean and standard deviation", least=1, most=1000
    )
    seed: int = option(42, "the first seed", least=0, most=2**31)

    backbone: str = option(
        "mini",
        "mini: the small BERT that ships with this project; or a checkpoint folder or hub id, such "
        "as bert-base-uncased",
        metavar="NAME",
        group="where things come from",
    )
    data: str = option(
        "bundled",
        "bundled: synthetic data; cs224n: the course's, downloaded if absent; or a folder of files "
        "in CS224N's formats",
        metavar="NAME",
    )
    unsup_data: str | None = option(
        None,
        "sentences, one per line, for all but sup and sbert (wiki1m_for_simcse.txt in the data "
        "folder)",
        metavar="FILE",
    )
    sup_data: str | None = option(
        None, "sent0,sent1,hard_neg CSV (nli_for_simcse.csv in the data folder)", metavar="FILE"
    )
    sbert_data: str | None = option(
        None,
        "premise, hypothesis, label TSV (nli_pairs.tsv in the data folder)",
        metavar="FILE",
    )

    preset: str = option(
        "quick",
        "quick: minutes on a laptop, rates for a small encoder; report, paper: as published",
        choices=tuple(PRESETS),
        group="how (a preset, and single values that override it)",
    )
    pooling: str | None = option(
        None,
        "from token states to an embedding: what the checkpoint states, else SimCSE's [CLS]",
        choices=POOLINGS,
    )
    simcse: dict[str, Any] = option({}, nested=SimCSEConfig, rare=True)
    head: dict[str, Any] = option({}, nested=HeadConfig, rare=True)
    joint: dict[str, Any] = option({}, nested=JointConfig, rare=True, show_defaults=True)

    device: str = option(
        "auto",
        "auto: a GPU if there is one",
        choices=("auto", "cpu", "cuda"),
        group="machine and run folder",
    )
    precision: str = option(
        "auto",
        "of matrix products; auto: bfloat16 where the hardware has it",
        choices=("auto", "float32", "bfloat16"),
    )
    threads: int | None = option(
        None, "CPU threads (all; under torchrun 1 per process)", least=1, most=1000
    )
    run_dir: Path | None = option(
        None, "where results go (runs/<name made from the settings>)", metavar="DIR"
    )
    resume: bool = option(False, "continue an interrupted run of this command")
    cost_seconds: float = option(
        10.0, "seconds to measure costs in after the run, for its page", least=0, most=86_400
    )
    dry_run: bool = option(False, "print the plan and stop")

    def __post_init__(self) -> None:
        """Accept one word where several are possible, and check all values.

        Raises:
            UserError: a value that is out of bounds or unknown.
        """
        for name in ("pretrain", "task", "encoder", "tune", "schedule", "remedies"):
            value = getattr(self, name)
            words = (value,) if isinstance(value, str) else tuple(dict.fromkeys(value))
            if not words:
                raise UserError(f"{name}: expected at least one value")
            object.__setattr__(self, name, words)
        check(self)
        check_joint(self)

    @property
    def tasks(self) -> tuple[str, ...]:
        """Return the names of the tasks, `all` spelled out."""
        return tuple(TASKS) if "all" in self.task else self.task

    @property
    def in_order(self) -> tuple[str, ...]:
        """Return the tasks as joint training learns them."""
        return tuple(dict.fromkeys((*REPORT_ORDER, *TASKS))) if "all" in self.task else self.task

    @property
    def joints(self) -> list[JointConfig]:
        """Return the joint trainings, one per schedule."""
        remedies = tuple(name for name in REMEDIES if name in self.remedies)
        return [JointConfig(name, remedies, **self.joint) for name in self.schedule]

    @property
    def tunings(self) -> list[str]:
        """Return the ways to tune as cells name them."""
        joints = [joint.name for joint in self.joints]
        return [own for tune in self.tune for own in (joints if tune == "joint" else [tune])]

    @property
    def objectives(self) -> tuple[str, ...]:
        """Return the contrastive objectives to tune with."""
        return tuple(name for name in self.pretrain if name != "none")

    def training_file(self, objective: str) -> str | None:
        """Return the training file named for an objective, None for the default one."""
        named: str | None = getattr(self, file_setting(objective))
        return named

    def simcse_config(self, objective: str, seed: int) -> SimCSEConfig:
        """Return the contrastive stage's settings: the preset's, overridden by single values."""
        given = dict(self.simcse)
        if "num_epochs" in given:
            given.setdefault("max_steps", None)  # else the preset's few steps would cut the epochs
        config = ALL_PRESETS[self.preset][objective]
        return replace(config, seed=seed, pooling=self.pooling or config.pooling, **given)

    def head_config(self, task: str, tune: str, seed: int) -> HeadConfig:
        """Return a head's settings: the preset's, overridden by single values."""
        config = head_config(self.preset, tune, task)
        return replace(config, seed=seed, features=self.features, **self.head)

    def folder(self) -> Path:
        """Return the run folder: the one given, or one whose name depends on every setting."""
        if self.run_dir is not None:
            return Path(self.run_dir)
        unused = [] if "joint" in self.tune else ["schedule", "remedies", "joint"]
        left_out = (*NOT_IN_NAME, *unused)
        values = {name: value for name, value in asdict(self).items() if name not in left_out}
        words = ("+".join(getattr(self, n)) for n in ("pretrain", "task", "encoder", "tune"))
        return Path("runs") / "_".join((*words, digest(values)[:8]))

    def to_json(self) -> dict[str, Any]:
        """Return the settings as config.json holds them."""
        named = {found.name: getattr(self, found.name) for found in fields(self)}
        return {n: str(v) if isinstance(v, Path) else v for n, v in named.items()}
