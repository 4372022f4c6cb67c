"""All settings of a run: one frozen dataclass, which is also the command line. Loads no torch."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from baselines.config import ALL_PRESETS
from data.tasks import COURSE, OWN, TASKS, tasks_in
from heads.config import (
    MOST,
    ONE_RATE,
    RATES,
    READERS,
    REMEDIES,
    REPORT_ORDER,
    SCHEDULES,
    SELECT,
    TUNES,
    HeadConfig,
    JointConfig,
    head_config,
)
from minbert.config import POOLINGS
from runtime import options
from runtime.errors import UserError
from runtime.files import digest
from runtime.options import check, flag_of, option, options_of, shown_value
from simcse.config import PRESETS, SimCSEConfig

OBJECTIVES = tuple(ALL_PRESETS["quick"])

# Settings that change where or how a run is done, but not its numbers.
NOT_IN_NAME = ("run_dir", "resume", "dry_run", "threads", "cost_seconds")

WORDS_OF_NAME = ("pretrain", "task", "encoder", "tune")  # what folders' names begin with

# Of run folders; raised so that new ones do not get the names of those of earlier versions.
LAYOUT = 2

LAST_SEED = 2**31

FEWEST = 10  # labelled examples that are worth a training

# The schedule that a remedy against forgetting is defined for.
NEEDS = {"pcgrad": "round-robin", "replay": "sequential"}

DESCRIPTION = """Tune a BERT with SimCSE, freeze it, train heads for sentiment, paraphrase and
similarity, and compare bi- with cross-encoders: accuracy, F1, Pearson, Spearman, cost."""

# Hidden size and layers of mini: what quick's rates, ten times bert-base's, are for.
SMALL = (256, 4)

TITLE = "presets: length, batch size, rate (quick's: for encoders up to {} wide, {} layers)"
PRESET_TABLE = f"""{TITLE.format(*SMALL)}
          quick                   report                    paper
  unsup   40 steps, 64, 1e-4      1 epoch, 64, 3e-5         1 epoch, 64, 3e-5
  sup     40 steps, 64, 5e-4      3 epochs, 128, 5e-5       3 epochs, 512, 5e-5
  head    frozen encoder: 10 (sst), 5 (para), 20 (sts) epochs, 64, 1e-3 in all presets
  tuned   3 epochs, 64, 1e-3;     10/5/20 epochs, 64,       as report
          encoder 5e-4 (searched) 1e-5; encoder 1e-5
  tuned cells take at least 80 steps, so more epochs of few labels; --select: how many are kept"""

EXAMPLES = """
examples:
  python run_multitask.py --pretrain sup --task sts
  python run_multitask.py --pretrain none unsup sup --task all
  python run_multitask.py --pairs my.tsv --pretrain none unsup
The same command again reuses finished cells, tuned encoders and cached embeddings.
Exit codes: 0 done, 2 wrong input, 130 interrupted (--resume continues), 1 a bug here."""


@dataclass(frozen=True)
class Settings:
    """The settings of a run; several values of a field make a grid."""

    pretrain: tuple[str, ...] = option(
        ("none",),
        "none, or SimCSE on sentences (unsup) or triplets (sup); teacher: from a larger encoder; "
        "baselines: dual, ct, isbert, sbert",
        choices=("none", *OBJECTIVES),
        metavar="HOW",
        group="what to compare (several values make a grid)",
    )
    task: tuple[str, ...] = option(
        (),
        "; ".join(f"{task.name}: {task.about}" for task in COURSE.values())
        + "; all (sst, or what --data has)",
        choices=lambda: (*COURSE, *OWN, "all"),
        metavar="TASK",
    )
    encoder: tuple[str, ...] = option(
        ("bi", "cross"),
        "bi: apart; cross: joined; late: by token",
        choices=tuple(READERS),
        metavar="HOW",
    )
    no_baseline: bool = option(
        False,
        "without --pretrain none: no frozen bi-encoder heads on the untuned encoder, from which "
        "the verdict tells what SimCSE changed",
        rare=True,
    )
    tune: tuple[str, ...] = option(
        ("frozen",),
        "the head (frozen), the last layers too (last1, last2, last4), all (full), one encoder for "
        "all tasks (joint); none: a published head as it is",
        choices=tuple(TUNES),
        metavar="HOW",
    )
    schedule: tuple[str, ...] = option(
        ("annealed",),
        "joint: one task after the other (sequential), a batch of each in turn (round-robin), "
        "drawn by size (proportional), or by sizes that level out (annealed)",
        choices=SCHEDULES,
        rare=True,
    )
    remedies: tuple[str, ...] = option(
        ("none",),
        "joint, against forgetting: gradient surgery (pcgrad), a few batches of earlier tasks "
        "(replay)",
        choices=("none", *REMEDIES),
        rare=True,
    )
    rates: tuple[float, ...] = option(
        (),
        "full, last1, ...: encoder rates to choose from, for each cell by a part of train; one: "
        "that one (quick: 5e-5 1.5e-4 5e-4; else as published)",
        least=1e-12,
        most=MOST,
        rare=True,
    )
    select: str = option(
        "train",
        "how epochs and rates are chosen: by a part of train that shares no text with the rest, "
        "dev or test (train); epochs by dev, as in the course (dev); not at all (last)",
        choices=SELECT,
        rare=True,
    )
    train_rows: tuple[str, ...] = option(
        ("all",),
        "labelled examples to train on: 250 1000 all",
        metavar="N",
    )
    features: str = option(
        "interaction",
        "what a head sees: [u; v; |u-v|; u*v]; the report's [u; v] or [CLS]; cls: as CrossEncoder",
        choices=("interaction", "concat", "cls"),
    )
    seeds: int = option(1, "repeat with N seeds: mean and deviation", least=1, most=1000)
    seed: int = option(42, "the first seed", least=0, most=LAST_SEED, rare=True)

    backbone: str = option(
        "mini",
        "mini, mini-sts: ship with this project; a folder; a hub id: bert-base-uncased",
        metavar="NAME",
        group="where things come from",
    )
    data: str = option(
        "bundled",
        "bundled: synthetic, ships with this project; cs224n: the course's; or a folder like it",
        metavar="NAME",
    )
    pairs: tuple[str, ...] = option(
        (),
        "your own table of texts and labels, or three: train, dev, test",
        metavar="FILE",
    )
    columns: tuple[str, ...] = option(
        (),
        "of --pairs: names or numbers of the text columns and the label column (usual names are "
        "known)",
        metavar="NAME",
        rare=True,
    )
    unsup_data: str | None = option(
        None, "sentences, one per line (wiki1m_for_simcse.txt)", metavar="FILE"
    )
    sup_data: str | None = option(
        None, "rows sent0,sent1,hard_neg (nli_for_simcse.csv)", metavar="FILE"
    )
    teacher: str | None = option(
        None, "larger encoder to learn from, as --backbone", metavar="NAME"
    )
    teacher_precision: str = option(
        "auto",
        "of the teacher, which reads every sentence once; int8: fastest on a CPU, less exact",
        choices=("auto", "float32", "bfloat16", "int8"),
        rare=True,
    )
    sbert_data: str | None = option(
        None,
        "premise, hypothesis, label TSV for sbert (nli_pairs.tsv)",
        metavar="FILE",
        rare=True,
    )

    preset: str = option(
        "quick",
        "quick: for laptops; report, paper: as published (table below)",
        choices=tuple(PRESETS),
        group="how (a preset, and single values that override it)",
    )
    pooling: str | None = option(
        None,
        "token states to embedding: as the checkpoint states, else [CLS]",
        choices=POOLINGS,
        metavar="POOLER",
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
        rare=True,
    )
    threads: int | None = option(
        None, "CPU threads (all; under torchrun 1 per process)", least=1, most=1000
    )
    run_dir: Path | None = option(None, "where results go (runs/<name>)", metavar="DIR")
    resume: bool = option(False, "continue an interrupted run of this command")
    cost_seconds: float = option(
        3.0, "seconds to measure costs in after the run", least=0, most=86_400, rare=True
    )
    dry_run: bool = option(False, "print the plan and stop")

    def __post_init__(self) -> None:
        """Accept one word where several are possible, and check all values.

        Raises:
            UserError: a value that is out of bounds or unknown, or settings that do not combine.
        """
        for name in ("pretrain", "task", "encoder", "tune", "train_rows", "schedule", "remedies"):
            words = tuple(dict.fromkeys(_words(getattr(self, name))))
            if not words and name != "task":
                raise UserError(f"{name}: expected at least one value")
            object.__setattr__(self, name, words)
        for name in ("pairs", "columns"):
            object.__setattr__(self, name, _words(getattr(self, name)))
        if isinstance(self.rates, int | float):
            object.__setattr__(self, "rates", (self.rates,))
        check(self)
        self._check_data()
        if self.all_seeds[-1] > LAST_SEED:
            raise UserError(
                f"--seed {self.seed} --seeds {self.seeds}: the last seed is {self.all_seeds[-1]}; "
                f"at most {LAST_SEED}"
            )
        object.__setattr__(self, "rates", tuple(sorted({float(rate) for rate in self.rates})))
        self._check_rates()
        self._check_joint()
        for rows in self.train_rows:
            if rows != "all" and not (rows.isascii() and rows.isdigit() and int(rows) >= FEWEST):
                raise UserError(f"--train-rows {rows}: expected {FEWEST} or more, or all")
        if "joint" in self.tune and self.train_rows != ("all",):
            raise UserError("--train-rows: for heads of one task each; leave out --tune joint")
        if "none" in self.tune:
            self._check_published()

    @property
    def tasks(self) -> tuple[str, ...]:
        """Return the names of the tasks, `all` spelled out; () until --pairs has been read."""
        return tuple(COURSE) if "all" in self.task else self.task

    @property
    def in_order(self) -> tuple[str, ...]:
        """Return the tasks as joint training learns them."""
        return tuple(dict.fromkeys((*REPORT_ORDER, *COURSE))) if "all" in self.task else self.task

    @property
    def all_seeds(self) -> range:
        """Return the seeds of the run."""
        return range(self.seed, self.seed + self.seeds)

    @property
    def joints(self) -> list[JointConfig]:
        """Return the joint trainings, one per schedule."""
        remedies = tuple(name for name in REMEDIES if name in self.remedies)
        return [JointConfig(name, remedies, **self.joint) for name in self.schedule]

    @property
    def tunings(self) -> list[str]:
        """Return the ways to tune as cells name them."""
        joints = [joint.name for joint in self.joints]
        return [name for tune in self.tune for name in (joints if tune == "joint" else [tune])]

    def training_files(self) -> dict[str, tuple[str | None, str]]:
        """Return by contrastive objective the file that is named for it, and its flag.

        All objectives but two read the same sentences. None stands for the default file.
        """
        files = {}
        for objective in self.pretrain:
            if objective != "none":
                name = f"{objective}_data" if objective in ("sup", "sbert") else "unsup_data"
                files[objective] = getattr(self, name), f"--{name.replace('_', '-')}"
        return files

    def simcse_config(self, objective: str, seed: int) -> SimCSEConfig:
        """Return the contrastive stage's settings: the preset's, overridden by single values."""
        given = dict(self.simcse)
        if "num_epochs" in given:
            given.setdefault("max_steps", None)  # else the preset's few steps would cut the epochs
        config = ALL_PRESETS[self.preset][objective]
        return replace(config, seed=seed, pooling=self.pooling or config.pooling, **given)

    def head_config(self, task: str, tune: str, seed: int) -> HeadConfig:
        """Return a head's settings: the preset's, overridden by single values.

        `tune` is one of --tune, or the name of a joint training.
        """
        tune = "joint" if tune.startswith("joint") else tune
        config = head_config(self.preset, tune, task)
        if tune == "none":
            return replace(config, seed=seed)
        if len(self.rates) == 1 and tune not in ONE_RATE:
            config = replace(config, backbone_learning_rate=self.rates[0])
        if "num_epochs" in self.head:  # who names the epochs gets them
            config = replace(config, least_steps=0)
        return replace(config, seed=seed, features=self.features, **self.head)

    def rates_to_try(self, tune: str) -> tuple[float, ...]:
        """Return the encoder rates that cells tuned so choose from, () where there is no choice."""
        given = "backbone_learning_rate" in self.head
        if tune.partition("-")[0] in ONE_RATE or given or self.select == "last":
            return ()
        rates = self.rates or (RATES if self.preset == "quick" else ())
        return rates if len(rates) > 1 else ()

    def folder(self) -> Path:
        """Return the run folder: the one given, or one whose name depends on every setting."""
        if self.run_dir is not None:
            return Path(self.run_dir)
        values = {name: value for name, value in asdict(self).items() if name not in NOT_IN_NAME}
        values["layout"] = LAYOUT
        if self.pairs:  # whose labels say the task, when they have been read
            del values["task"]
        names = {name: "+".join(getattr(self, name)) for name in WORDS_OF_NAME}
        if self.pairs:
            names["task"] = "pairs"
        words = names.values()
        return Path("runs") / "_".join((*words, digest(values)[:8]))

    def to_json(self) -> dict[str, Any]:
        """Return the settings as config.json holds them."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {n: str(v) if isinstance(v, Path) else v for n, v in named.items()}

    def differences(self, options: dict[str, Any]) -> list[str]:
        """Return in words where the options of another run's config.json differ from these.

        Those that change no number are left aside, and so are those of other versions.
        """
        differing = []
        for name, value in json.loads(json.dumps(self.to_json())).items():
            if name in NOT_IN_NAME or name not in options:
                continue
            for flag, earlier, now in _compared(name, options[name], value):
                differing.append(f"{flag}: {_in_words(earlier)} there, {_in_words(now)} now")
        return differing

    def _check_data(self) -> None:
        """Fill in the tasks of a folder; raise UserError for data that is named badly, or twice."""
        (self._check_pairs if self.pairs else self._check_folder)()
        if (self.teacher is None) == ("teacher" in self.pretrain):
            raise UserError(
                "--pretrain teacher: name the encoder to learn from with --teacher"
                if self.teacher is None
                else "--teacher: nothing reads it; add --pretrain teacher"
            )

    def _check_folder(self) -> None:
        """Fill in the tasks of a folder; raise UserError for a file, or a task of no folder."""
        if self.columns:
            raise UserError("--columns: nothing reads it; add --pairs FILE")
        if Path(self.data).is_file():
            raise UserError(
                f"--data {self.data}: expected a folder; a table of pairs and labels is given "
                f"with --pairs {self.data}"
            )
        if not self.task:
            there = tasks_in(self.data) if Path(self.data).is_dir() else ()
            object.__setattr__(self, "task", there or ("sst",))
        if unfit := [name for name in self.task if name in OWN]:
            raise UserError(f"--task {unfit[0]}: is for a table of your own; add --pairs FILE")

    def _check_pairs(self) -> None:
        """Raise UserError for tables that are named badly, or settings that are for a folder."""
        if len(self.pairs) > 3:
            raise UserError("--pairs: expected one to three files: train, dev, test")
        if len(set(self.pairs)) < len(self.pairs):
            raise UserError("--pairs: the same file twice; each is train, dev or test")
        if self.columns and len(self.columns) not in (2, 3):
            raise UserError("--columns: expected FIRST SECOND LABEL, or TEXT LABEL")
        if len(self.task) > 1 or (self.task and self.task[0] not in OWN):
            raise UserError(
                f"--task {' '.join(self.task)}: the labels of --pairs say the task; leave it out, "
                f"or name one of {', '.join(OWN)}"
            )
        if "joint" in self.tune:
            raise UserError("--tune joint: --pairs is one task; leave out joint")

    def _check_published(self) -> None:
        """Raise UserError if nothing could read a published head as it is."""
        if "none" not in self.pretrain:
            raise UserError("--tune none: reads the encoder as it was published; --pretrain none")
        if "cross" not in self.encoder and any(TASKS[task].is_pair for task in self.tasks):
            raise UserError("--tune none: a published head reads joined pairs; --encoder cross")
        if self.train_rows != ("all",):
            raise UserError("--tune none: trains on no rows; leave out --train-rows")

    def _check_rates(self) -> None:
        """Raise UserError for rates that nothing reads."""
        if self.rates and set(self.tune) <= set(ONE_RATE):
            raise UserError("--rates: nothing reads it; add --tune full (joint: --backbone-lr)")
        if len(self.rates) > 1 and self.select == "last":
            raise UserError("--rates: --select last chooses nothing; give one rate")
        if self.rates and "backbone_learning_rate" in self.head:
            raise UserError("--rates, --backbone-lr: the same setting twice; leave one out")

    def _check_joint(self) -> None:
        """Raise UserError for a joint training that cannot be done, or settings of none."""
        remedies = [name for name in self.remedies if name != "none"]
        if "joint" not in self.tune:
            if remedies or self.joint or self.schedule != ("annealed",):
                raise UserError("--schedule and --remedies: nothing reads them; add --tune joint")
            return
        if len(self.tasks) < 2:
            raise UserError(f"--tune joint: {self.tasks[0]} is one task; give --task several")
        for name in self.joint:
            remedy = name.partition("_")[0]
            if remedy not in remedies:
                flag = f"--{name.replace('_', '-')}"
                raise UserError(f"{flag}: nothing reads it; add --remedies {remedy}")
        for remedy in set(remedies) & set(NEEDS):
            if self.schedule != (NEEDS[remedy],):
                raise UserError(
                    f"--remedies {remedy}: needs --schedule {NEEDS[remedy]}, and no other"
                )


def _words(value: Any) -> tuple[str, ...]:
    """Return the texts of one value, or of several."""
    return tuple(map(str, (value,) if isinstance(value, str | int | Path) else value))


def _compared(name: str, earlier: Any, now: Any) -> list[tuple[str, Any, Any]]:
    """Return the flag and both values of each setting in a field that is not the same in both."""
    settled = {field.name: option for field, option in options_of(Settings)}[name]
    if settled.nested is None:
        return [(flag_of(name, settled), earlier, now)] if earlier != now else []
    inner = {field.name: option for field, option in options_of(settled.nested)}
    return [
        (flag_of(key, inner[key]), earlier.get(key), now.get(key))
        for key in sorted({*earlier, *now} & {*inner})
        if earlier.get(key) != now.get(key)
    ]


def _in_words(value: Any) -> str:
    if value in (None, [], {}):
        return "not given"
    return " ".join(map(shown_value, value)) if isinstance(value, list) else shown_value(value)


def parse_options(argv: Sequence[str] | None = None) -> Settings:
    """Return the settings; `--help` and wrong flags end the program here, with codes 0 and 2."""
    return options.parse(
        Settings,
        argv,
        prog="python run_multitask.py",
        description=DESCRIPTION,
        epilog=f"{PRESET_TABLE}\n{EXAMPLES}",
    )
