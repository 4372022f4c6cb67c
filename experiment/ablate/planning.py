"""What a table of heads would take: its runs, and hours projected from a few measured steps.

Reads: heads, pricing. Feeds: the command.
"""

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from data.examples import Example
from data.tasks import Splits
from experiment.ablate.heads import grid_settings, grids
from experiment.ablate.measuring import Bench
from experiment.ablate.options import AblateOptions
from experiment.ablate.pricing import PROBE, Price, projected, stage_price, summed
from experiment.ablate.recipes import command_of
from experiment.ablate.table import Table
from experiment.grid import pairings
from experiment.opening import find_inputs, open_run
from experiment.settings import Settings
from heads.config import HeadConfig
from heads.train import fit_head
from minbert.encoder import SentenceEncoder
from runtime.errors import UserError
from runtime.training import steps_per_epoch


def planned(table: Table, options: AblateOptions) -> Iterator[str]:
    """Yield what the runs of a table of heads would be: commands, steps, hours; then the whole."""
    prices = []
    with tempfile.TemporaryDirectory() as folder:
        projection = Projection(Path(folder))
        for rows in grids(table):
            try:
                settings = grid_settings(table, rows, options)
                yield f"{table.name}: {command_of(replace(settings, resume=False))}"
                price = projection.grid(settings)
            except UserError as error:
                yield f"  {table.name}: {len(rows)} rows left out: {error}"
                continue
            yield f"  {price.steps:,} steps, {price.seconds / 3600:.2f} hours"
            prices.append(price)
    yield projected(table, options, prices)


@dataclass
class Projection:
    """Prices of the runs of a table; what runs share counts once, as they share a run folder."""

    folder: Path
    counted: set[tuple[object, ...]] = field(default_factory=set)
    rates: dict[tuple[object, ...], tuple[float, float]] = field(default_factory=dict)
    paces: dict[tuple[str, ...], "Pace"] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Prepare to measure contrastive steps."""
        self.bench = Bench(self.folder)

    def grid(self, settings: Settings) -> Price:
        """Return the price of a run's contrastive stages and heads, all seeds.

        Raises:
            UserError: something that the settings name cannot be used.
        """
        prices = [
            stage_price(
                replace(settings, pretrain=(objective,), task=("sts",), tune=("frozen",)),
                settings.seeds, self.bench, self.rates,
            )
            for objective in settings.objectives
            if self._is_new("stage", objective)
        ]  # fmt: skip
        opened = open_run(find_inputs(replace(settings, pretrain=("none",))))
        encoder = opened.backbone.encoder
        for tune in settings.tunings:
            for task, kind in pairings(settings):
                how = (tune, settings.features, task, kind)
                new = [p for p in settings.pretrain if self._is_new(*how, p)]
                # A joint training takes the steps of its tasks' own trainings.
                alone = tune if tune in settings.tune else "full"
                config = settings.head_config(task, alone, settings.seed)
                one = self._head(encoder, opened.splits[task], task, kind, config)
                count = len(new) * settings.seeds
                prices.append(Price(one.steps * count, one.seconds * count))
        return summed(prices)

    def _is_new(self, *what: object) -> bool:
        new = what not in self.counted
        self.counted.add(what)
        return new

    def _head(
        self, encoder: SentenceEncoder, splits: Splits, task: str, kind: str, config: HeadConfig
    ) -> Price:
        """Return the price of one head with one seed."""
        how = (task, kind, config.tune, config.features)
        if how not in self.paces:
            self.paces[how] = measured_pace(encoder, splits, task, kind, config, self.folder)
        pace = self.paces[how]
        steps = config.num_epochs * steps_per_epoch(len(splits.train), config.batch_size)
        checked = sentences(splits.dev) * config.num_epochs + sentences(splits.test)
        if config.tune == "frozen":  # every text is encoded once
            checked = sentences([*splits.train, *splits.dev, *splits.test])
        return Price(steps, steps * pace.step + checked / pace.speed)


@dataclass(frozen=True)
class Pace:
    """How fast a head is trained and applied.

    Attributes:
        step: seconds of an optimizer step.
        speed: sentences per second from text to prediction.
    """

    step: float
    speed: float


def measured_pace(
    encoder: SentenceEncoder,
    splits: Splits,
    task: str,
    kind: str,
    config: HeadConfig,
    cache: Path,
) -> Pace:
    """Return how fast a head is: a few steps of it, trained on the task's first examples."""
    size = config.batch_size
    few = Splits(splits.train[: PROBE * size], splits.dev[:size], [])
    started = time.perf_counter()
    fitted = fit_head(
        encoder.clone(), few, task, kind, replace(config, num_epochs=1), lambda _: 0.0, cache
    )
    seconds = time.perf_counter() - started
    read = [*few.dev, *few.dev]  # once as dev set, once to measure the speed
    if config.tune == "frozen":
        read += few.train
    step = max(0.0, seconds - sentences(read) / fitted.sentences_per_second)
    return Pace(step / steps_per_epoch(len(few.train), size), fitted.sentences_per_second)


def sentences(examples: Sequence[Example]) -> int:
    """Return the number of texts in examples."""
    return sum(len(one.texts) for one in examples)
