"""The command's options, and a row as a command: a scale's recipe, and what the row changes.

Loads no torch.
"""

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from baselines.config import ALL_PRESETS
from experiment.ablate.table import Row, Table, read_tables
from runtime.errors import UserError
from runtime.files import digest, file_digest
from runtime.options import flag_of, option, options_of, shown_value

TABLES = read_tables()

# Quick, for mini: less than half a minute per row and seed on one core. Mini's [CLS] is a poor
# embedding before tuning, as bert-base's is, so that a table has room to differ; its average, which
# its checkpoint states, would hardly move. The rates are the best of those tried for so few steps.
QUICK = "--pooling cls --simcse-batch-size 64"
STEPS, CHECKS = 40, 4
RATES = {"unsup": 1e-3, "dual": 1e-3, "sup": 5e-4}
# Of tuned heads: the one rate of the joint trainings beside them.
HEAD_RATE = "--rates 5e-4"
# Of the options, those that are handed to run_multitask.py as they are.
HANDED = ("backbone", "data", "unsup_data", "sup_data", "device", "precision", "threads")


@dataclass(frozen=True)
class AblateOptions:
    """The options of `python -m experiment.ablate`."""

    names: tuple[str, ...] = option((), "tables; all for all", flag="names", metavar="NAME")
    list: bool = option(False, "show all tables; of those named, the commands of the rows")
    scale: str = option(
        "quick",
        "quick: minutes per table, for a small encoder; paper: as published",
        choices=("quick", "paper"),
    )
    rows: tuple[str, ...] = option((), "measure only these rows", metavar="ROW")
    seeds: int = option(3, "repeat with N seeds", least=1, most=1000)
    seed: int = option(42, "the first seed", least=0, most=2**31)
    steps: int | None = option(None, f"contrastive steps (quick: {STEPS})", least=1)
    rate_factor: float = option(
        1.0, "multiplies all contrastive learning rates, for larger encoders", least=1e-6, most=1e6
    )
    backbone: str = option("mini", "as of run_multitask.py", metavar="NAME")
    data: str = option("bundled", "folder with the STS files to score by", metavar="NAME")
    unsup_data: str | None = option(
        None, "sentences, one per line; raw ones: synthetic ones are too easy", metavar="FILE"
    )
    sup_data: str | None = option(None, "sent0,sent1,hard_neg CSV", metavar="FILE")
    documents: str | None = option(
        None, "sentences in their order, a blank line between documents", metavar="FILE"
    )
    sources: tuple[str, ...] = option(
        (),
        "what triplets are made of, for supervised-data: nli (premise, hypothesis, label TSV), "
        "quora, pairs, captions, as python -m data.triplets reads them",
        flag="--from",
        metavar="FORM=FILE",
    )
    device: str = option("auto", "as of run_multitask.py", choices=("auto", "cpu", "cuda"))
    precision: str = option(
        "auto", "as of run_multitask.py", choices=("auto", "float32", "bfloat16")
    )
    threads: int | None = option(None, "CPU threads (all)", least=1, most=1000)
    out: Path = option(Path("runs/ablate"), "where results go", metavar="DIR")


def words_of(row: Row, table: Table, options: AblateOptions) -> list[str]:
    """Return the words of run_multitask.py that measure a row: all seeds; of tunings, a head too.

    A supervised row's training file, if it is made, is not among them.

    Raises:
        UserError: documents that are not named.
    """
    words = ["--pretrain", row.pretrain, "--no-baseline"]
    if "documents" in table.needs:
        if options.documents is None:
            raise UserError(f"{table.name} reads sentences in their order; add --documents FILE")
        options = replace(options, unsup_data=options.documents)
    for found, settled in options_of(AblateOptions):
        value = getattr(options, found.name)
        if found.name in HANDED and value != found.default:
            words += [flag_of(found.name, settled), str(value)]
    recipe = _of_heads if "score" in table.columns else _of_tuning
    words += recipe(row, options) + shlex.split(row.flags)
    return [*words, "--seeds", str(options.seeds), "--seed", str(options.seed)]


def _of_heads(row: Row, options: AblateOptions) -> list[str]:
    """Return the recipe of the run that a head is trained in."""
    words = ["--cost-seconds", "0"]
    if options.scale == "paper":
        words += ["--preset", "report"]
    elif "--tune full" in row.flags:
        words += HEAD_RATE.split()
    return words + (["--simcse-steps", str(options.steps)] if options.steps else [])


def _of_tuning(row: Row, options: AblateOptions) -> list[str]:
    """Return the recipe of a contrastive stage; each dev check is a point of its curve."""
    words = ["--task", "sts", "--encoder", "bi"]
    if options.scale == "paper":
        published = ALL_PRESETS["paper"][row.pretrain]
        rate, points = published.learning_rate, published.eval_steps
        words += ["--preset", "paper"]
        words += ["--simcse-steps", str(options.steps)] if options.steps else []
    else:
        steps = options.steps or STEPS
        rate, points = RATES[row.pretrain], max(1, steps // CHECKS)
        # A small file is read again and again.
        words += [*QUICK.split(), "--simcse-steps", str(steps), "--simcse-epochs", str(steps)]
        words += ["--eval-steps", str(points)]
    rate *= options.rate_factor * row.rate
    return [*words, "--geometry-steps", str(points), "--simcse-lr", shown_value(rate)]


def command_of(words: list[str]) -> str:
    """Return a command of run_multitask.py as one line."""
    return shlex.join(["python", "run_multitask.py", *words])


def training_file(row: Row, options: AblateOptions) -> tuple[list[str], str]:
    """Return the words that name a row's training file, made now unless it is there.

    Returns:
        The words of run_multitask.py, and the command that makes the file; [] and "" where the
        user's own is read.

    Raises:
        UserError: the file that it is made of was not named, or cannot be read.
    """
    if not row.made:
        return [], ""
    form, *words = row.made.split()
    named = dict(one.partition("=")[::2] for one in options.sources)
    if not named.get(form):
        raise UserError(f"no pairs of the form {form}; name them: --from {form}=FILE")
    source = Path(named[form])
    if not source.is_file():
        raise UserError(f"--from {form}={source}: no such file")
    name = "-".join(re.findall(r"\w+", row.label.lower()))
    path = options.out / "triplets" / f"{name}-{digest([row.made, file_digest(source)])[:8]}.csv"
    command = ["python", "-m", "data.triplets", form, str(source), *words, "--out", str(path)]
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run([sys.executable, *command[1:]], capture_output=True, text=True)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise UserError(f"{shlex.join(command[1:5])}: {last.removeprefix('error: ')}")
    return ["--sup-data", str(path)], shlex.join(command)
