"""SimCSE-tuned BERT, frozen, with heads for sentiment, paraphrase and STS: bi- or cross-encoder?

    python run_multitask.py --pretrain sup --task sts
    python run_multitask.py --pretrain none unsup sup --task all --seeds 3

One command is a grid of cells: contrastive stage x task x reader x tuning x seed; a cell is the
score of one head on one split. `_run` below has all steps: open everything once; for each seed and
stage tune the encoder with SimCSE, freeze it, train a head per task on its embeddings, score and
write; at the end print the verdict.
From a script: `from run_multitask import Settings, run; cells = run(Settings(task="sts"))`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from experiment.settings import Settings, check_headers, parse_options
from runtime.commands import INTERRUPTED, begin, exit_code
from runtime.streams import Say

# What takes a second or more to load is imported where it is used: --help answers at once.
if TYPE_CHECKING:
    from data.selection import Parts
    from data.tasks import Splits
    from experiment.grid import Stage, Training
    from experiment.opening import Run, Tuned
    from experiment.rows import FittedCell
    from heads.choice import Chosen
    from heads.train import HeadTask
    from minbert.encoder import SentenceEncoder
    from report.cell import Cell
    from runtime.store import Work


def say_nothing(line: str) -> None:
    """Print nothing, for scripts."""


def run(settings: Settings, say: Say = say_nothing) -> list[Cell]:
    """Run a grid, or the unfinished part of an earlier run in its folder.

    Args:
        settings: the settings of the run.
        say: called with every line of output; `print` shows them.

    Returns:
        The cells, one per head and labelled split, as in the folder's results.json.

    Raises:
        UserError: a file or value in the settings cannot be used; the message is one line.
        OSError: the run folder cannot be written.
    """
    from data.overlap import read_as
    from minbert.spelling import spellings

    with read_as(spellings(settings.models.values())):
        return _run(settings, say)


def _run(settings: Settings, say: Say) -> list[Cell]:
    import torch

    from experiment.opening import open_run
    from experiment.plan import plan, run_config
    from report.table import conclusion
    from runtime.processes import join_processes

    join_processes(settings.device)  # with torchrun; otherwise one process
    if settings.threads:
        torch.set_num_threads(settings.threads)

    # Find and check every file and folder of the settings before anything is computed.
    opened = open_run(settings)
    say(plan(opened))
    if settings.dry_run:
        _ = opened.folder, opened.untuned  # they raise the errors that the run would raise
        return []

    # The encoders and the training texts are loaded once, here, and passed on.
    opened.load()
    cells: list[Cell] = []
    with opened.alone() as folder:
        folder.write_json("config.json", run_config(opened))
        for stage in opened.stages:
            tuned = contrastive_stage(opened, stage, say)
            tuned.encoder.freeze()  # nothing changes it from here on; fine-tuning trains a copy
            for training in stage.trainings:
                cells += heads_stage(opened, training, tuned, say)
                folder.write_results(cells)
            del tuned  # its weights, before the next stage needs the memory

        say(conclusion(cells, opened.splits, folder))
    return cells


def contrastive_stage(opened: Run, stage: Stage, say: Say) -> Tuned:
    """Return the encoder under the heads: as loaded, or tuned with SimCSE now or earlier."""
    import torch

    from baselines.isbert import load_tuned
    from evaluation.cosine import selection_score
    from evaluation.geometry import pair_geometry
    from experiment.opening import Tuned, as_loaded
    from simcse.stage import read_notes, tuned_backbone

    settings, folder, untuned = opened.settings, opened.folder, opened.untuned[stage.model]
    selection = opened.selection
    if stage.config is None:
        folder.link(f"backbones/{stage.name}", untuned.folder)
        encoder = as_loaded(untuned, settings.pooling)
        return Tuned(encoder, encoder.fingerprint(untuned.weights))

    def dev_score(encoder: SentenceEncoder) -> float:
        return selection_score(encoder.encode_quietly, selection)

    def geometry(encoder: SentenceEncoder) -> dict[str, float | None]:
        return pair_geometry(encoder.encode_quietly, selection)

    name = f"{stage.name}-{stage.seed}"
    say(f"tuning    {stage.name}, seed {stage.seed}")
    path = tuned_backbone(
        opened.objectives[stage.pretrain],
        untuned,
        opened.texts[stage.name],
        stage.config,
        opened.backbones,
        dev_score=dev_score if selection else None,
        geometry=geometry if selection else None,
        resume=settings.resume,
    )
    folder.link(f"backbones/{name}", path)
    notes = read_notes(path)
    folder.add_curve(name, notes["history"])
    score = "no dev check" if notes["best_score"] is None else f"dev {notes['best_score']:.4f}"
    say(f"          {score}, {notes['seconds']:.0f} s: {path}")
    threads, now = notes["threads"], torch.get_num_threads()
    if untuned.encoder.device.type == "cpu" and threads not in (None, now):
        say(f"          tuned with {threads} threads, this run has {now}: last digits may differ")
    # A tuned checkpoint states its pooling.
    encoder = load_tuned(path, settings.device, settings.precision)
    return Tuned(encoder, encoder.fingerprint())


def heads_stage(opened: Run, training: Training, tuned: Tuned, say: Say) -> list[Cell]:
    """Return the cells of one training; train and score its heads unless an earlier run did."""
    from experiment.cells import decisive
    from report.run_folder import TRAININGS
    from runtime.store import kept

    every = [one for stage in opened.stages for one in stage.trainings]
    of = f" ({every.index(training) + 1} of {len(every)})" if len(every) > 1 else ""
    names = [f"cell      {head.cell.name}" for head in training.heads]
    made_of = decisive(opened, training, tuned)
    trained = []

    def make(work: Work) -> None:  # called unless there is such a training
        say("\n".join(f"{name}{of}" for name in names))
        train_heads(opened, training, tuned, made_of, work, say)
        trained.append(training)

    root = opened.folder.path / TRAININGS
    path = kept("training", made_of, make, root, name=training.name, together=True)
    if not trained:
        say("\n".join(f"{name}: done earlier" for name in names))
    return opened.folder.add_training(path, training.name)


def train_heads(
    opened: Run, training: Training, tuned: Tuned, made_of: dict[str, Any], work: Work, say: Say
) -> None:
    """Train the heads of one training, and write them, their predictions and their scores."""
    from experiment.cells import write_training

    splits = opened.splits
    if "search" in splits:
        search_corpus(opened, training, tuned, made_of, work, say)
        return
    results = fitted_cells(opened, training, tuned, splits, made_of, work, say)
    # Every row of a table in folds is scored by the head of its fold.
    folds = []
    for task, whole in splits.items():
        for number, fold in enumerate(whole.folds):
            of_fold = made_of | {"fold": number}
            folds += fitted_cells(opened, training, tuned, {task: fold}, of_fold, work, say)
    write_training(opened, training, tuned, results, folds, work)


def search_corpus(
    opened: Run, training: Training, tuned: Tuned, made_of: dict[str, Any], work: Work, say: Say
) -> None:
    """Rank the texts of a search for every query, score the rankings, and write them."""
    from experiment.search import open_search, write_search

    search, fitted = open_search(opened, training, tuned), None
    if search.head.cell.reader == "cross":
        # It learns to tell answers from other texts that the bi-encoder finds.
        pairs, parts = search.pairs()
        (fitted,) = fitted_cells(opened, search.training, tuned, pairs, made_of, work, say, parts)
    write_search(opened, training, search, fitted, work)


def fitted_cells(
    opened: Run,
    training: Training,
    tuned: Tuned,
    splits: dict[str, Splits],
    made_of: dict[str, Any],
    work: Work,
    say: Say,
    parts: Sequence[Sequence[Parts]] | None = None,
) -> list[FittedCell]:
    """Return the heads of one training, trained and chosen on the train rows of the splits.

    `parts` are those of `parts_to_try`, if they are known already.
    """
    from experiment.cells import head_task_of, parts_to_try
    from experiment.rows import FittedCell
    from heads.temperature import calibrated
    from heads.train import fit_heads

    settings, heads = opened.settings, training.heads
    head_tasks = [head_task_of(opened, head, tuned, splits[head.cell.task]) for head in heads]
    named = bool(settings.rates)
    parts = parts or [parts_to_try(head, splits[head.cell.task], named) for head in heads]
    head_tasks, chosen, epochs = settled(opened, training, tuned, head_tasks, parts, made_of, say)
    # A frozen encoder reads every text once, and the head trains on its embeddings in seconds.
    # Otherwise a copy of the encoder is trained with the heads.
    encoder = tuned.encoder if training.frozen else tuned.encoder.clone()
    fitted_heads = fit_heads(
        encoder,
        head_tasks,
        opened.cache,
        joint=training.joint,
        fingerprint=tuned.fingerprint,
        # A head on frozen features is trained again, which takes seconds.
        state_path=None if training.frozen else work.state,
        resume=settings.resume,
        epoch=epochs,
    )

    results = []
    for head, head_task, fitted, own in zip(heads, head_tasks, fitted_heads, chosen, strict=True):
        # Probabilities are calibrated on the same held-out rows; no prediction changes.
        if own and head_task.record.label_kind in ("binary", "classes"):
            fitted, own = calibrated(fitted, own)
        results.append(FittedCell(head.cell, head_task, fitted, encoder, own))
    return results


def settled(
    opened: Run,
    training: Training,
    tuned: Tuned,
    head_tasks: list[HeadTask],
    parts: Sequence[Sequence[Parts]],
    made_of: dict[str, Any],
    say: Say,
) -> tuple[list[HeadTask], Sequence[Chosen | None], int | None]:
    """Return the tasks at the chosen rate, the choices, and the epoch to stop at.

    Epochs, and the rate of a fine-tuned encoder, are chosen on parts of train. Heads that are
    trained together share one choice. Without such parts, all epochs are trained. The epoch is
    None if dev decides (`--select dev`), and for a joint training without a choice: to its end.
    """
    from evaluation.metrics import score_on
    from heads.choice import choose, rates_in_words, time_to_tune, with_rate

    settings, first = opened.settings, training.heads[0]
    if first.cell.tune not in ("frozen", "none"):
        say(time_to_tune(tuned.encoder, head_tasks, parts, first.rates))
    if not all(parts):
        epochs = head_tasks[0].config.num_epochs
        undecided = settings.select == "dev" or training.joint
        return head_tasks, [None] * len(head_tasks), None if undecided else epochs
    chosen = choose(
        tuned.encoder,
        head_tasks,
        parts,
        first.rates,
        score_on=score_on,
        joint=training.joint,
        made_of=made_of,
        cache=opened.cache,
        resume=settings.resume,
    )
    choice = chosen[0].choice
    if len(first.rates) > 1:
        say(rates_in_words(choice))
    at_rate = [with_rate(task, choice.rate) for task in head_tasks]
    return at_rate, chosen, None if settings.select == "dev" else choice.epochs


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; return its exit code."""
    settings = parse_options(argv)
    say = partial(print, flush=True)

    def load() -> None:
        check_headers(settings)  # before what takes seconds to load
        import report.page.write  # noqa: F401  (loads all that `work` needs; see `exit_code`)

    def work() -> None:
        from report.page.write import add_costs_and_page
        from runtime.processes import leave_processes

        try:
            if run(settings, say):
                add_costs_and_page(settings.folder(), settings.cost_seconds, settings.device, say)
        finally:
            leave_processes()

    def interrupted() -> str:
        return INTERRUPTED if settings.folder().exists() else "\ninterrupted"

    return exit_code(work, interrupted, load)


if __name__ == "__main__":
    begin()
    sys.exit(main())
