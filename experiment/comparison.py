"""A whole run: each contrastive tuning, then each head on it; results are written as they come.

    from experiment import Settings, run
    cells = run(Settings(pretrain=("none", "sup"), task="sts", encoder=("bi", "cross")))

Reads: everything here. Feeds: run_multitask.py and your own scripts.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from textwrap import fill

import torch

from data.examples import DataError
from experiment.backbones import Say, reader_of
from experiment.cells import Cells
from experiment.grid import seeds, trainings
from experiment.inputs import Inputs
from experiment.plan import describe, notes_on_defaults, run_config
from experiment.settings import Settings
from report.cell import Cell
from report.run_folder import COMPARISONS, RunFolder
from report.table import contrasts, results_table, threshold_lines, verdict_lines
from report.verdict import Judged, judge_cells, paragraph, to_json
from runtime.device import choose_device
from runtime.processes import is_main, join_processes, main_decides
from simcse.stage import Backbone


def say_nothing(line: str) -> None:
    """Print nothing, for scripts."""


def run(settings: Settings, say: Say = say_nothing) -> list[Cell]:
    """Run a grid, or what an earlier run of its folder has not finished.

    Args:
        settings: what to compare, with what, how.
        say: called with every line of output; `print` shows them.

    Returns:
        The cells, one per head and labelled split, as in the folder's results.json.

    Raises:
        UserError: something that the settings name cannot be used; the message is one line.
        OSError: the run folder cannot be written.
    """
    join_processes(settings.device)
    if settings.threads:
        torch.set_num_threads(settings.threads)
    choose_device(settings.device)
    for line in notes_on_defaults(settings):
        say(line)
    inputs = Inputs(settings)
    folder = RunFolder(settings.folder(), read_only=not is_main())
    say(describe(inputs, folder.path))
    if settings.dry_run:
        return []
    # A folder that must not be written to is refused before anything large is read, and whatever
    # cannot be read before there is a folder.
    folder.finished_cells(settings.backbone, settings.data)
    untuned = inputs.load()
    with _alone_in(folder):
        return _fill(folder, inputs, untuned, say)


@contextmanager
def _alone_in(folder: RunFolder) -> Iterator[None]:
    """Hold the folder's lock for the block; if the first process cannot have it, all stop."""
    with ExitStack() as held:
        refusal = None
        try:
            held.enter_context(folder.alone())
        except DataError as error:
            refusal = error
        if refusal := main_decides(refusal):
            raise refusal
        yield


def _fill(folder: RunFolder, inputs: Inputs, untuned: Backbone, say: Say) -> list[Cell]:
    """Compute what the folder lacks, write it, say how it ended, and return all cells."""
    settings = inputs.settings
    earlier = folder.finished_cells(settings.backbone, settings.data)
    folder.write_json("config.json", run_config(inputs))
    grid = Cells(inputs, folder, earlier, say)
    cells: list[Cell] = []
    for seed in seeds(settings):
        for pretrain in settings.pretrain:
            reader = reader_of(inputs, untuned, pretrain, seed, folder, say)
            for training in trainings(settings, pretrain, seed):
                cells += grid.of(training, reader)
                folder.write_results(cells, earlier)
            del reader  # its weights, before the next stage needs the memory
    judged = [] if folder.read_only else judge_cells(cells, inputs.splits, folder)
    folder.write_json(COMPARISONS, to_json(judged))
    _tell(cells, judged, folder, say)
    return cells


def _tell(cells: list[Cell], judged: list[Judged], folder: RunFolder, say: Say) -> None:
    """Say how a run ended: the table, what differs where, and the verdict as the last."""
    say(results_table(cells, judged))
    if found := verdict_lines(cells, judged):
        say("\n  ".join(["bi or cross (every two cells in comparisons.json):", *found]))
    if found := threshold_lines(cells):
        say("\n  ".join(["thresholds chosen on held-out training pairs:", *found]))
    if found := contrasts(cells):
        say("\n  ".join(["where the encoders differ (all of it in phenomena.csv):", *found]))
    say(f"results, predictions, heads and curves: {folder.path}")
    if verdict := paragraph(cells, judged):
        say(f"\n{fill(verdict, 100, break_on_hyphens=False)}")
