"""The command's options, and the settings of a row: a scale's recipe, and what the row changes.

Loads no torch.
"""

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiment.ablate.report_tables import FORGETTING, REPORT
from experiment.ablate.simcse_tables import SIMCSE_TABLES
from experiment.ablate.table import Row, Table
from experiment.settings import Settings
from runtime.errors import UserError
from runtime.files import digest, file_digest
from runtime.options import flag_of, option, options_of

TABLES = {table.name: table for table in (*SIMCSE_TABLES, REPORT, FORGETTING)}

SCALES = ("quick", "paper")
# Quick, for mini: less than half a minute per row and seed on one core. Mini's [CLS] is a poor
# embedding before tuning, as bert-base's is, so that a table has room to differ; its average, which
# its checkpoint states, would hardly move. The rates are the best of those tried for so few steps.
EXAMPLES = 2560
CHECKS = 4
POOLING = "cls"
RATES = {"unsup": 1e-3, "dual": 1e-3, "sup": 5e-4}
BATCH = 64


@dataclass(frozen=True)
class AblateOptions:
    """The options of `python -m experiment.ablate`."""

    names: tuple[str, ...] = option((), "tables; all for all", flag="names", metavar="NAME")
    list: bool = option(False, "show all tables: rows, what they need, and measured minutes")
    scale: str = option(
        "quick",
        "quick: minutes per table, for a small encoder; paper: as published",
        choices=SCALES,
    )
    rows: tuple[str, ...] = option((), "measure only these rows", metavar="ROW")
    seeds: int = option(3, "repeat with N seeds", least=1, most=1000)
    seed: int = option(42, "the first seed", least=0, most=2**31)
    steps: int | None = option(
        None, "contrastive steps of a batch of 64; other sizes see as many examples", least=1
    )
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
        "quora, pairs, captions, anli, as python -m data.triplets reads them",
        flag="--from",
        metavar="FORM=FILE",
    )
    device: str = option("auto", "as of run_multitask.py", choices=("auto", "cpu", "cuda"))
    precision: str = option(
        "auto", "as of run_multitask.py", choices=("auto", "float32", "bfloat16")
    )
    threads: int | None = option(None, "CPU threads (all)", least=1, most=1000)
    out: Path = option(Path("runs/ablate"), "where results go", metavar="DIR")
    dry_run: bool = option(False, "print the commands of the rows, and stop")

    def source(self, form: str) -> Path:
        """Return the file of a form of pairs.

        Raises:
            UserError: --from names none.
        """
        for one in self.sources:
            name, _, path = one.partition("=")
            if name == form and path:
                return Path(path)
        raise UserError(f"no pairs of the form {form}; name them: --from {form}=FILE")


def settings_of(
    row: Row, table: Table, options: AblateOptions, seed: int, sup_data: str | None = None
) -> Settings:
    """Return the settings of one row and seed.

    Args:
        row, table: which.
        options: the command line.
        seed: of the tuning.
        sup_data: the training file of a supervised row; None leaves it to the data folder.

    Raises:
        UserError: a setting that is unknown or out of bounds; documents that are not named.
    """
    recipe = _quick if options.scale == "quick" else _paper
    values = {
        "pretrain": row.pretrain,
        "task": "sts",
        "encoder": "bi",
        "no_baseline": True,
        "backbone": options.backbone,
        "data": options.data,
        "unsup_data": options.unsup_data,
        "sup_data": sup_data or options.sup_data,
        "device": options.device,
        "precision": options.precision,
        "threads": options.threads,
        "seed": seed,
        **recipe(row, table, options.steps, row.rate * options.rate_factor),
        **row.settings,
    }
    if "documents" in table.needs:
        if options.documents is None:
            raise UserError(f"{table.name} reads sentences in their order; add --documents FILE")
        values["unsup_data"] = options.documents
    return Settings(**values)


def _quick(row: Row, table: Table, steps: int | None, factor: float) -> dict[str, Any]:
    """Return the settings of the quick recipe: every row sees the same number of examples."""
    examples = (BATCH * steps if steps else EXAMPLES) * table.longer
    size = row.simcse.get("batch_size", BATCH)
    most = max(CHECKS, examples // size)
    simcse = {
        "batch_size": size,
        "learning_rate": RATES[row.pretrain] * factor,
        "num_epochs": most,  # a small file is read again and again
        "max_steps": most,
        "eval_steps": most // CHECKS,
        "geometry_steps": most // CHECKS,
    }
    return {"preset": "quick", "pooling": POOLING, "simcse": simcse | dict(row.simcse)}


def _paper(row: Row, table: Table, steps: int | None, factor: float) -> dict[str, Any]:
    """Return the settings of the paper's recipe; its curves have a point per dev check."""
    published = Settings(preset="paper").simcse_config(row.pretrain, 0)
    simcse = {
        "learning_rate": published.learning_rate * factor,
        "geometry_steps": published.eval_steps,
    }
    if steps:
        size = row.simcse.get("batch_size", published.batch_size)
        simcse["max_steps"] = max(1, BATCH * steps // size)
    return {"preset": "paper", "simcse": simcse | dict(row.simcse)}


def words_of(settings: Settings) -> list[str]:
    """Return the words of the command line that gives these settings, defaults left out."""
    words, default = [], Settings()
    for found, settled in options_of(Settings):
        value = getattr(settings, found.name)
        if settled.nested is not None:
            for inner, nested in options_of(settled.nested):
                if inner.name in value:
                    words += _words(flag_of(inner.name, nested), value[inner.name])
        elif value != getattr(default, found.name):
            words += _words(flag_of(found.name, settled), value)
    return words


def _words(flag: str, value: Any) -> list[str]:
    if value is None or value is False:
        return []
    if value is True:
        return [flag]
    return [flag, *map(str, value if isinstance(value, tuple) else (value,))]


def command_of(settings: Settings) -> str:
    """Return the command that tunes the same encoder and scores it with a head besides."""
    return shlex.join(["python", "run_multitask.py", *words_of(settings)])


@dataclass(frozen=True)
class Made:
    """A training file, and the command that makes it; "" where the user's own is read."""

    path: str | None
    command: str = ""


def training_file(row: Row, options: AblateOptions) -> Made:
    """Return what a supervised row trains on, made now unless it is there.

    Raises:
        UserError: the file that it is made of was not named, or cannot be read.
    """
    if not row.made:
        return Made(options.sup_data)
    form, *words = row.made
    source = options.source(form)
    if not source.is_file():
        raise UserError(f"--from {form}={source}: no such file")
    name = "-".join(re.findall(r"\w+", row.label.lower()))
    made_of = digest([row.made, file_digest(source)])[:8]
    path = options.out / "triplets" / f"{name}-{made_of}.csv"
    command = ["python", "-m", "data.triplets", form, str(source), *words, "--out", str(path)]
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run([sys.executable, *command[1:]], capture_output=True, text=True)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise UserError(f"{shlex.join(command[1:5])}: {last.removeprefix('error: ')}")
    return Made(str(path), shlex.join(command))
