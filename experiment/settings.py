"""All settings of a run: one frozen dataclass, which is also the command line. Loads no torch."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from baselines.config import ALL_PRESETS
from data.tasks import COURSE, OWN, tasks_in
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
NOT_IN_NAME = ("run_dir", "resume", "dry_run", "threads", "cost_seconds", "equivalence")

WORDS_OF_NAME = ("pretrain", "task", "reader", "tune")  # beginning of folder names

# Of run folders; raised so that new ones do not get names of earlier versions' folders.
LAYOUT = 2

LAST_SEED = 2**31

FOLDS = 5  # of one table

FEWEST = 10  # labelled examples of the smallest training

DESCRIPTION = """\
Compare bi-encoders and cross-encoders on sentiment, paraphrase, similarity and
search, or on your own data. Optionally tunes the encoder with SimCSE first, then
trains one head per task and reader. Reports intervals, tests and costs."""

# Hidden size and layers of mini, for which quick's rates, ten times bert-base's, are meant.
SMALL = (256, 4)

TITLE = "presets: training length, batch size, learning rate"
PRESET_TABLE = f"""{TITLE}
          quick                   report                    paper
  unsup   40 steps, 64, 1e-4      1 epoch, 64, 3e-5         1 epoch, 64, 3e-5
  sup     40 steps, 64, 5e-4      3 epochs, 128, 5e-5       3 epochs, 512, 5e-5
  head    frozen encoder: 10 (sst), 5 (para) or 20 (sts) epochs, 64, 1e-3 in all presets
  tuned   3 epochs, 64, 1e-3;     10/5/20 epochs, 64,       as report
          encoder 5e-4 (searched) 1e-5; encoder 1e-5
  The rates of "quick" suit small encoders (hidden size up to {SMALL[0]}, {SMALL[1]} layers).
  Tuned cells take at least 80 steps, so few labels have more epochs."""

EXAMPLES = """
examples:
  python run_multitask.py --pretrain sup --task sts
  python run_multitask.py --pretrain none unsup sup --task all
  python run_multitask.py --pairs my.tsv --pretrain none unsup
  python run_multitask.py --pairs questions-and-answers.tsv --corpus more-texts.txt
Running the same command again reuses finished results, tuned encoders and embeddings.
Exit codes: 0 success, 1 internal error (please report), 2 invalid input,
130 interrupted (continue with --resume)."""


@dataclass(frozen=True)
class Settings:
    """The settings of a run; several values of a field make a grid."""

    pretrain: tuple[str, ...] = option(
        ("none",),
        "contrastive training before the heads are trained: none, unsup (SimCSE on sentences), sup "
        "(SimCSE on triplets), teacher (distil a larger encoder), or a baseline: dual, ct, isbert, "
        "sbert",
        choices=("none", *OBJECTIVES),
        metavar="STAGE",
        group="experiment (options that accept several values run all combinations)",
    )
    task: tuple[str, ...] = option(
        (),
        "; ".join(f"{task.name}: {task.about}" for task in COURSE.values())
        + "; all; search: rank texts for queries (default: sst, or what --data has). With --pairs, "
        "if the labels do not tell: paraphrase, similarity (scores), classes (up to "
        f"{OWN['classes'].num_classes}); without labels: search",
        choices=lambda: (*COURSE, *OWN, "all"),
        metavar="TASK",
    )
    reader: tuple[str, ...] = option(
        ("bi", "cross"),
        "bi (reads the texts separately), cross (reads a pair together; in a search, the best "
        "texts of bi), late (ColBERT-style token matching)",
        choices=tuple(READERS),
        metavar="READER",
        earlier="--encoder",
    )
    no_baseline: bool = option(
        False,
        "skip the baseline for the effect of SimCSE: the bi-encoder head without SimCSE",
        rare=True,
    )
    tune: tuple[str, ...] = option(
        ("frozen",),
        "what to train: frozen (head only), full (head and encoder), joint (one shared encoder for "
        "all tasks), none (published cross-encoder)",
        choices=TUNES,
        metavar="MODE",
    )
    schedule: tuple[str, ...] = option(
        ("proportional",),
        "order of tasks in joint training: one after the other (sequential), a batch of each in "
        "turn (round-robin), or drawn by size (proportional)",
        choices=SCHEDULES,
        rare=True,
    )
    remedies: tuple[str, ...] = option(
        ("none",),
        "method against forgetting in sequential joint training: a few batches of earlier tasks "
        "(replay)",
        choices=("none", *REMEDIES),
        rare=True,
    )
    rates: tuple[float, ...] = option(
        (),
        "candidate learning rates of the encoder, selected on a part of train; a single "
        "value is used directly (default: 5e-5 1.5e-4 5e-4 with the preset quick, otherwise "
        "the published one)",
        least=1e-12,
        most=MOST,
        rare=True,
    )
    select: str = option(
        "train",
        "data for selecting epochs and rates: train (a part that shares no text with the "
        "rest, dev or test), dev (epochs only, as in the course), last (no selection)",
        choices=SELECT,
        rare=True,
    )
    train_rows: tuple[str, ...] = option(
        ("all",),
        "number of labelled training examples; several values draw a learning curve, such as 250 "
        "1000 all",
        metavar="N",
    )
    features: str = option(
        "interaction",
        "head input: interaction = [u; v; |u-v|; u*v]; concat = [u; v] (cross-encoder: [CLS]); cls "
        "= as in CrossEncoder",
        choices=("interaction", "concat", "cls"),
    )
    seeds: int = option(
        1, "number of random seeds; reports mean and standard deviation", least=1, most=1000
    )
    seed: int = option(42, "the first seed", least=0, most=LAST_SEED, rare=True)

    backbone: tuple[str, ...] = option(
        (),
        "mini or mini-sts (included), a folder, or a Hugging Face model ID; several are compared "
        "(default: mini; with --pairs or a search: mini-sts)",
        metavar="NAME",
        group="model and data",
    )
    data: str = option(
        "bundled",
        "bundled (included, synthetic), cs224n (course data, see data.download), or a folder in "
        "the same format",
        metavar="NAME",
    )
    pairs: tuple[str, ...] = option(
        (),
        "your own table of texts and labels; or two or three: train, dev, test",
        metavar="FILE",
    )
    corpus: str | None = option(
        None, "further texts to search, a line each or a table", metavar="FILE"
    )
    folds: int | None = option(
        None,
        "folds of one table by connected texts: every row is scored once, by heads that saw none "
        "of its texts; 1: split 80/10/10 (default: 5 with frozen encoders, else 1)",
        least=1,
        most=100,
        metavar="N",
    )
    columns: tuple[str, ...] = option(
        (),
        "columns of --pairs: FIRST SECOND LABEL (or TEXT LABEL) by name, or by number without a "
        "header (usual names are known)",
        metavar="NAME",
    )
    unsup_data: str | None = option(
        None,
        "sentences for unsup (default: wiki1m_for_simcse.txt of --data, or --pairs' train texts)",
        metavar="FILE",
    )
    sup_data: str | None = option(
        None,
        "table for sup: anchor, positive and optionally hard_neg (default: nli_for_simcse.csv "
        "of --data; in a search its answers)",
        metavar="FILE",
    )
    teacher: str | None = option(
        None, "encoder to distil from; same forms as --backbone", metavar="NAME"
    )
    teacher_precision: str = option(
        "auto",
        "precision of the teacher; int8 is fastest on a CPU and less exact",
        choices=("auto", "float32", "bfloat16", "int8"),
        rare=True,
    )
    sbert_data: str | None = option(
        None,
        "TSV for sbert with columns premise, hypothesis, label (default: nli_pairs.tsv of --data)",
        metavar="FILE",
        rare=True,
    )

    preset: str = option(
        "quick",
        "hyperparameters, see below: quick (CPU), report or paper (published settings)",
        choices=tuple(PRESETS),
        group="training",
    )
    pooling: str | None = option(
        None,
        "how token states become one sentence embedding (default: from the checkpoint, otherwise "
        "[CLS])",
        choices=POOLINGS,
        metavar="POOLER",
    )
    simcse: dict[str, Any] = option({}, nested=SimCSEConfig, rare=True)
    head: dict[str, Any] = option({}, nested=HeadConfig, rare=True)
    joint: dict[str, Any] = option({}, nested=JointConfig, rare=True, show_defaults=True)

    device: str = option(
        "auto",
        "auto uses a GPU if available",
        choices=("auto", "cpu", "cuda"),
        group="runtime and output",
    )
    precision: str = option(
        "auto",
        "precision of matrix products; auto is bfloat16 where the hardware has it",
        choices=("auto", "float32", "bfloat16"),
        rare=True,
    )
    threads: int | None = option(
        None, "CPU threads (default: all; 1 per process with torchrun)", least=1, most=1000
    )
    run_dir: Path | None = option(
        None, "output folder (default: runs/<generated name>)", metavar="DIR"
    )
    resume: bool = option(False, "continue an interrupted run")
    equivalence: float = option(
        0.02,
        "two readers are called equivalent if the confidence interval of their difference lies "
        "within this distance of 0",
        least=0,
        most=1,
        rare=True,
    )
    cost_seconds: float = option(
        3.0,
        "time for measuring costs after the run, in seconds",
        least=0,
        most=86_400,
        rare=True,
    )
    dry_run: bool = option(False, "show what would be run, then exit")

    def __post_init__(self) -> None:
        """Accept one word where several are possible, and check all values.

        Raises:
            UserError: a value that is out of bounds or unknown, or settings that do not combine.
        """
        for name in ("pretrain", "task", "reader", "tune", "train_rows", "schedule", "remedies"):
            words = tuple(dict.fromkeys(_words(getattr(self, name))))
            if not words and name != "task":
                raise UserError(f"{name}: expected at least one value")
            object.__setattr__(self, name, words)
        for name in ("pairs", "columns", "backbone"):
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
        self._check_search()
        self._check_joint()
        for rows in self.train_rows:
            if rows != "all" and not (rows.isascii() and rows.isdigit() and int(rows) >= FEWEST):
                raise UserError(f"--train-rows {rows}: expected {FEWEST} or more, or all")
        if "joint" in self.tune and self.train_rows != ("all",):
            raise UserError("--train-rows: requires single-task heads; leave out --tune joint")
        if "none" in self.tune:
            self._check_published()
        self._check_folds()

    @property
    def tasks(self) -> tuple[str, ...]:
        """Return the names of the tasks, `all` spelled out; () until --pairs has been read."""
        return tuple(COURSE) if "all" in self.task else self.task

    @property
    def models(self) -> dict[str, str]:
        """Return the encoders by their short names, which are "" for the only one of a run.

        A short name is the last part of a path or hub ID, or all of it if two are alike.
        """
        if len(self.backbone) == 1:
            return {"": self.backbone[0]}
        paths = map(Path, self.backbone)  # a folder called model has the name of its parent
        last = [path.parent.name if path.name == "model" else path.name for path in paths]
        whole = [name.strip("/").replace("/", "-") for name in self.backbone]
        return dict(zip(last if len(set(last)) == len(last) else whole, self.backbone, strict=True))

    @property
    def in_order(self) -> tuple[str, ...]:
        """Return the tasks in the order of joint training."""
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
        """Return the tuning modes under their names in cells."""
        joints = [joint.name for joint in self.joints]
        return [name for tune in self.tune for name in (joints if tune == "joint" else [tune])]

    def training_files(self) -> dict[str, tuple[str | None, str]]:
        """Return for each contrastive objective the file that the user named, and its flag.

        All objectives except two read the same sentences. None stands for the default file.
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
            given.setdefault("max_steps", None)  # the preset's few steps would limit the epochs
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
        if "num_epochs" in self.head:  # an explicit number of epochs is used unchanged
            config = replace(config, least_steps=0)
        return replace(config, seed=seed, features=self.features, **self.head)

    def rates_to_try(self, tune: str) -> tuple[float, ...]:
        """Return the candidate encoder rates of a tuning mode, () if there is no choice."""
        given = "backbone_learning_rate" in self.head
        if tune.partition("-")[0] in ONE_RATE or given or self.select == "last":
            return ()
        rates = self.rates or (RATES if self.preset == "quick" else ())
        return rates if len(rates) > 1 else ()

    def folder(self) -> Path:
        """Return the run folder: the one given, or one whose name depends on every setting."""
        if self.run_dir is not None:
            if Path(self.run_dir).is_file():
                raise UserError(f"--run-dir {self.run_dir}: is a file; name a folder")
            return Path(self.run_dir)
        values = {n: v for n, v in (asdict(self) | self._one()).items() if n not in NOT_IN_NAME}
        values["layout"] = LAYOUT
        if self.pairs:  # the task follows from the labels, which are read later
            del values["task"]
        names = {name: "+".join(getattr(self, name)) for name in WORDS_OF_NAME}
        if self.pairs:
            names["task"] = "pairs"
        words = names.values()
        return Path("runs") / "_".join((*words, digest(values)[:8]))

    def to_json(self) -> dict[str, Any]:
        """Return the settings as config.json holds them."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {n: str(v) if isinstance(v, Path) else v for n, v in named.items()} | self._one()

    def _one(self) -> dict[str, str]:
        """Return the only encoder as one word, as it was written before there could be several."""
        return {"backbone": self.backbone[0]} if len(self.backbone) == 1 else {}

    def differences(self, options: dict[str, Any]) -> list[str]:
        """Return in words how the options in another run's config.json differ from these.

        Options that change no number and options of other versions are ignored.
        """
        differing = []
        for name, value in json.loads(json.dumps(self.to_json())).items():
            if name in NOT_IN_NAME or name not in options:
                continue
            for flag, earlier, now in _compared(name, options[name], value):
                differing.append(f"{flag}: {_in_words(earlier)} there, {_in_words(now)} now")
        return differing

    def _check_data(self) -> None:
        """Fill in encoder and tasks; raise UserError for data that is named wrongly or twice."""
        (self._check_pairs if self.pairs else self._check_folder)()
        if not self.backbone:
            own = self.pairs or self.task == ("search",)
            object.__setattr__(self, "backbone", ("mini-sts" if own else "mini",))
        if len(self.models) < len(self.backbone):
            raise UserError(f"--backbone {' '.join(self.backbone)}: the same encoder twice")
        if (self.teacher is None) == ("teacher" in self.pretrain):
            raise UserError(
                "--pretrain teacher: name the encoder to learn from with --teacher"
                if self.teacher is None
                else "--teacher: has no effect; add --pretrain teacher"
            )

    def _check_folder(self) -> None:
        """Fill in the tasks of a folder; raise UserError for a file or an unknown task."""
        if self.columns:
            raise UserError("--columns: has no effect; add --pairs FILE")
        if Path(self.data).is_file():
            raise UserError(
                f"--data {self.data}: expected a folder; give a table of pairs and labels "
                f"with --pairs {self.data}"
            )
        if not self.task:
            object.__setattr__(self, "task", self._tasks_of_folder())
        if unfit := [name for name in self.task if name in OWN and name != "search"]:
            raise UserError(f"--task {unfit[0]}: requires a table; add --pairs FILE")

    def _tasks_of_folder(self) -> tuple[str, ...]:
        """Return the tasks of a folder, or of a subfolder, which is printed when it is read."""
        folder = Path(self.data)
        if not folder.is_dir():
            return ("sst",)
        for place in (folder, *sorted(folder.glob("*/"))):
            if there := tasks_in(place):
                return there
        from data.beir import is_beir  # loads numpy

        if is_beir(folder):
            return ("search",)
        names = ", ".join(task.files[0] for task in COURSE.values())
        raise UserError(
            f"--data {self.data}: contains none of {names}; give a table of any name with "
            "--pairs FILE"
        )

    def _check_pairs(self) -> None:
        """Raise UserError for wrongly named tables, or settings that apply to folders."""
        if folders := [path for path in self.pairs if Path(path).is_dir()]:
            raise UserError(
                f"--pairs {folders[0]}: is a folder; give its tables, or --data {folders[0]} for "
                "files in the course's form"
            )
        if len(self.pairs) > 3:
            raise UserError("--pairs: expected one to three files: train, dev, test")
        if len(set(map(os.path.realpath, self.pairs))) < len(self.pairs):
            raise UserError("--pairs: the same file twice; each is train, dev or test")
        if not self.task:
            from data.search import is_search  # loads numpy, which --help does without

            if self.corpus or (not self.columns and is_search(self.pairs)):
                object.__setattr__(self, "task", ("search",))
        if self.columns and len(self.columns) not in (2, 3):
            raise UserError("--columns: expected FIRST SECOND LABEL, or TEXT LABEL")
        if len(self.task) > 1 or (self.task and self.task[0] not in OWN):
            raise UserError(
                f"--task {' '.join(self.task)}: the labels of --pairs determine the task; "
                "leave it out, "
                f"or name one of {', '.join(OWN)}"
            )
        if "joint" in self.tune:
            raise UserError("--tune joint: --pairs is one task; leave out joint")

    @property
    def why_no_folds(self) -> str:
        """Return why one table cannot be scored in folds, with the remedy; "" if it can."""
        if self.task == ("search",):
            return "one search is one split of the queries; leave it out"
        if self.tune != ("frozen",):
            return "a fine-tuned encoder is trained once, not for every fold; use --tune frozen"
        for name, (named, flag) in self.training_files().items():
            if named is None and flag == "--unsup-data":
                return f"{name} would read the texts that are scored; give {flag} FILE"
        if self.train_rows != ("all",):
            return "--train-rows needs the same test rows for all sizes; leave it out"
        if self.select == "dev":
            return "--select dev needs a dev split; leave it out"
        return ""

    def _check_folds(self) -> None:
        """Fill in the number of folds; raise UserError for folds that are impossible."""
        one_table = len(self.pairs) == 1
        if self.folds is None:
            folds = FOLDS if one_table and not self.why_no_folds else 1
            object.__setattr__(self, "folds", folds)
        elif self.folds > 1 and not one_table:
            raise UserError(f"--folds {self.folds}: splits one table; give one file with --pairs")
        elif self.folds > 1 and self.why_no_folds:
            raise UserError(f"--folds {self.folds}: {self.why_no_folds}, or --folds 1")

    def _check_published(self) -> None:
        """Raise UserError if no reader can use a published head unchanged."""
        if "none" not in self.pretrain:
            raise UserError("--tune none: evaluates a published model; use --pretrain none")
        if self.train_rows != ("all",):
            raise UserError("--tune none: trains nothing; leave out --train-rows")

    def _check_search(self) -> None:
        """Raise UserError for a search with settings of other tasks, or for the reverse."""
        if "search" not in self.task:
            if self.corpus:
                raise UserError("--corpus: has no effect; add --task search")
            return
        if len(self.task) > 1:
            raise UserError("--task search: is a run of its own; leave out the other tasks")
        if "joint" in self.tune:
            raise UserError("--task search --tune joint: a search is one task; leave out joint")
        if self.train_rows != ("all",):
            raise UserError("--train-rows: is not for a search; leave it out")
        if self.select == "dev":
            raise UserError("--select dev: is not for a search; leave it out")
        if self.tune == ("none",) and "cross" in self.reader and len(self.backbone) < 2:
            raise UserError(
                "--task search --tune none: name the encoder that finds the texts, and then the "
                "published cross-encoders: --backbone mini-sts CROSS-ENCODER"
            )

    def _check_rates(self) -> None:
        """Raise UserError for rates that no training uses."""
        if self.rates and set(self.tune) <= set(ONE_RATE):
            raise UserError("--rates: has no effect; add --tune full (joint: --backbone-lr)")
        if len(self.rates) > 1 and self.select == "last":
            raise UserError("--rates: --select last chooses nothing; give one rate")
        if self.rates and "backbone_learning_rate" in self.head:
            raise UserError("--rates, --backbone-lr: the same setting twice; leave one out")

    def _check_joint(self) -> None:
        """Raise UserError for an impossible joint training, or its settings without one."""
        remedies = [name for name in self.remedies if name != "none"]
        if "joint" not in self.tune:
            if remedies or self.joint or self.schedule != ("proportional",):
                raise UserError("--schedule and --remedies: have no effect; add --tune joint")
            return
        if len(self.tasks) < 2:
            raise UserError(f"--tune joint: {self.tasks[0]} is one task; give --task several")
        if self.joint and not remedies:
            raise UserError("--replay-share: has no effect; add --remedies replay")
        if remedies and self.schedule != ("sequential",):
            raise UserError("--remedies replay: needs --schedule sequential, and no other")


def _words(value: Any) -> tuple[str, ...]:
    """Return the texts of one value, or of several.

    Raises:
        UserError: a table or a row instead of a text, a path or a number.
    """
    words = (value,) if isinstance(value, str | int | Path) else value
    if not isinstance(words, tuple | list) or any(
        not isinstance(w, str | int | Path) for w in words
    ):
        raise UserError(
            f"{type(value).__name__} in the settings: expected names or paths; write a table to a "
            "file first, for example with to_csv"
        )
    return tuple(map(str, words))


def _compared(name: str, earlier: Any, now: Any) -> list[tuple[str, Any, Any]]:
    """Return the flag and both values of each setting in a field that differs."""
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


def check_headers(settings: Settings) -> None:
    """Open the user's tables, so that a wrong column is told at once.

    Raises:
        DataError: a table has not the columns that are needed.
    """
    from data.pairs import check_header  # loads numpy

    if settings.task != ("search",):
        for at, path in enumerate(settings.pairs):
            check_header(path, settings.columns, labelled=at < 2)


def parse_options(argv: Sequence[str] | None = None) -> Settings:
    """Return the settings; `--help` and wrong flags end the program here, with codes 0 and 2."""
    return options.parse(
        Settings,
        argv,
        prog="python run_multitask.py",
        description=DESCRIPTION,
        epilog=f"{PRESET_TABLE}\n{EXAMPLES}",
    )
