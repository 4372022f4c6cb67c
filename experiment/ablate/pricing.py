"""What tables cost: a list in minutes, and a projection from a few measured steps.

Reads: tables, measuring. Feeds: the command.
"""

import resource
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from experiment.ablate.making import training_file
from experiment.ablate.measuring import Bench
from experiment.ablate.options import AblateOptions
from experiment.ablate.recipes import EXAMPLES, settings_of
from experiment.ablate.table import Table
from experiment.settings import Settings
from runtime.errors import UserError
from runtime.training import steps_per_epoch

# Seconds of processor time per row and seed of the quick recipe: mini, one core, bfloat16, CS224N's
# STS, raw sentences or NLI triplets. `dual` was not measured: it reads what `unsup` does.
# Reading 200,000 sentences takes 15 more: per table, and per row where views are drawn.
SECONDS = {"unsup": 27, "sup": 25, "dual": 27}
# Steps of a projection. The first ones are slower than the rest, which errs on the safe side.
PROBE = 3
KIB, GIB = 2**10, 2**30


def listing(tables: Sequence[Table], seeds: int) -> Iterator[str]:
    """Yield a few lines on each table: title, rows, what it needs, and its price."""
    each = ", ".join(f"{name} {seconds} s" for name, seconds in SECONDS.items())
    yield f"quick scale, mini, one free core, {seeds} seeds; measured per row and seed: {each}"
    for table in tables:
        rows = "; ".join(row.label for row in table.rows)
        yield f"{table.name}: {table.title} ({table.source})"
        yield textwrap.fill(rows, 100, initial_indent="    rows: ", subsequent_indent="    ")
        for need in table.needs:
            flag = "--documents " if need == "documents" else f"--from {need}="
            yield f"    needs: {flag}FILE"
        yield f"    price: {minutes(table, seeds)}"


def minutes(table: Table, seeds: int) -> str:
    """Return the price of a table in words."""
    if table.of_heads:
        if table.minutes is None:
            return "not measured; --dry-run plans its runs"
        return f"{table.minutes * seeds:.0f} minutes of processor time, all its rows"
    seconds = sum(SECONDS[row.pretrain] for row in table.rows) * seeds * table.longer
    return f"{seconds / 60:.0f} minutes ({EXAMPLES * table.longer:,} examples per row)"


@dataclass(frozen=True)
class Price:
    """The projected price of one row, all seeds: optimizer steps, and seconds."""

    steps: int
    seconds: float


def project(table: Table, options: AblateOptions) -> Iterator[str]:
    """Yield the projected price of a table: a few steps of each kind of row are measured.

    Raises:
        UserError: something that the settings name cannot be used.
    """
    rates: dict[tuple[object, ...], tuple[float, float]] = {}
    prices = []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        for row in table.rows:
            try:
                file = training_file(row, options).path
                settings = settings_of(row, table, options, options.seed, file)
                prices.append(stage_price(settings, options.seeds, bench, rates))
            except UserError as error:
                yield f"  {table.name}, {row.label}: left out: {error}"
    yield projected(table, options, prices)


def summed(prices: Sequence[Price]) -> Price:
    """Return the price of all."""
    return Price(sum(one.steps for one in prices), sum(one.seconds for one in prices))


def projected(table: Table, options: AblateOptions, prices: Sequence[Price]) -> str:
    """Return the last line of a projection: the price of a table, and the memory used so far."""
    whole = summed(prices)
    return (
        f"{table.name}: {whole.steps:,} steps, {whole.seconds / 3600:.2f} hours projected, "
        f"{memory():.1f} GiB, with {options.seeds} seeds at --scale {options.scale}"
    )


def stage_price(
    settings: Settings,
    seeds: int,
    bench: Bench,
    rates: dict[tuple[object, ...], tuple[float, float]],
) -> Price:
    """Return the price of a contrastive stage, all seeds.

    Args:
        settings: with one objective.
        seeds: how many.
        bench: where a few steps are measured.
        rates: what was measured of stages like it; added to.

    Raises:
        UserError: something that the settings name cannot be used.
    """
    (name,) = settings.objectives
    config = settings.simcse_config(name, settings.seed)
    # Stages of one objective and batch size cost the same per step.
    kind = (name, config.batch_size, config.chunk_tokens)
    if kind not in rates:
        rates[kind] = _probe(name, settings, bench)
    inputs = bench.opened(settings)
    steps = steps_per_epoch(len(inputs.texts[name].data), config.batch_size)
    steps = min(steps * config.num_epochs, config.max_steps or steps * config.num_epochs)
    per_step, per_check = rates[kind]
    checks = 1 + -(-steps // config.eval_steps)
    return Price(seeds * steps, seeds * (steps * per_step + checks * per_check))


def _probe(name: str, settings: Settings, bench: Bench) -> tuple[float, float]:
    """Return the seconds of a step, and of a check with its point on the curve."""
    few = {"max_steps": PROBE, "eval_steps": PROBE, "geometry_steps": PROBE, "num_epochs": PROBE}
    found = bench.measured(name, replace(settings, simcse={**settings.simcse, **few}))
    inputs = bench.opened(settings)
    speed = found.history[-1]["sentences_per_second"]
    data, config = inputs.texts[name].data, found.made["config"]
    training = PROBE * min(len(data), config["batch_size"]) * data.rows.shape[1] / speed
    return training / PROBE, max(0.0, found.seconds - training) / 2


def memory() -> float:
    """Return the most memory used so far, in GiB: the GPU's if there is one, else the process's."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / GIB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB / GIB
