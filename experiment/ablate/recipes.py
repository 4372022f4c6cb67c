"""From a row to settings: the recipe of a scale, and what the row changes. Feeds: measuring."""

import shlex
from typing import TYPE_CHECKING, Any

from experiment.ablate.table import Row, Table
from experiment.settings import Settings
from runtime.errors import UserError
from runtime.options import flag_of, options_of

if TYPE_CHECKING:
    from experiment.ablate.options import AblateOptions

SCALES = ("quick", "paper")
# Quick, for mini: less than half a minute per row and seed on one core. Mini's [CLS] is a poor
# embedding before tuning, as bert-base's is, so that a table has room to differ; its average, which
# its checkpoint states, would hardly move. The rates are the best of those tried for so few steps.
EXAMPLES = 2560
CHECKS = 4
POOLING = "cls"
RATES = {"unsup": 1e-3, "dual": 1e-3, "sup": 5e-4}
BATCH = 64


def settings_of(
    row: Row, table: Table, options: "AblateOptions", seed: int, sup_data: str | None = None
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
