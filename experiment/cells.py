"""A training of the grid: everything that determines its numbers, its data, and its folder."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from data.examples import Example, in_the_other_order
from data.selection import (
    MOST_TO_TRY,
    MOST_TRIALS,
    Parts,
    parts_of,
)
from data.tasks import EVERY_ROW, Splits
from evaluation.intervals import IN_FOLDS
from evaluation.metrics import is_labelled, score_on
from evaluation.scoring import score_rows
from experiment.grid import PlannedHead, Training
from experiment.opening import Run, Tuned
from experiment.rows import (
    FittedCell,
    Predicted,
    has_classes,
    in_folds,
    predicted,
    train_examples,
    train_rows,
)
from heads.choice import PATIENCE, PATIENT_EPOCHS
from heads.config import HeadConfig
from heads.features import FEATURES
from heads.inputs import FrozenInputs, HeadInputs, cls_is_of_interest, inputs_of
from heads.published import published_classifier
from heads.saved import save_head
from heads.train import HeadTask, by_name, reading_speed
from minbert.checkpoint import tensors_digest
from report.cell import Cell
from report.run_folder import MODEL, RunFolder
from runtime.errors import UserError
from runtime.files import digest
from runtime.processes import apart, is_main, world_size
from runtime.store import Work


def decisive(opened: Run, training: Training, tuned: Tuned) -> dict[str, Any]:
    """Return everything that determines the numbers of a training, by name.

    The texts read in tuning are included, since they determine the scores on rows without
    overlap. The heads of a joint training depend on all of its tasks, in their order.
    """
    cells = [head.cell for head in training.heads]
    tuned_on = [] if cells[0].pretrain == "none" else [cells[0].pretrain, "selection"]
    return {
        "encoder": tuned.fingerprint,
        "model": asdict(tuned.encoder.model.config),  # dropout too, unless frozen
        "heads": [asdict(head) for head in training.heads],
        "published heads": [_published_head(opened, head, tuned) for head in training.heads],
        "joint": asdict(training.joint) if training.joint else None,
        "data": {name: opened.digests[name] for name in (*(c.task for c in cells), *tuned_on)},
        "processes": world_size(),
        # Trials end by it; it changes which epoch a frozen head is trained to.
        **({"patience": (PATIENCE, PATIENT_EPOCHS)} if training.frozen else {}),
    } | _finder(opened, training)


def _finder(opened: Run, training: Training) -> dict[str, str]:
    """Return the encoder that finds the texts of a search for a published cross-encoder."""
    if "search" not in opened.splits or training.heads[0].cell.tune != "none":
        return {}
    return {"finder": next(iter(opened.untuned.values())).weights}


def _published_head(opened: Run, head: PlannedHead, tuned: Tuned) -> list[str] | None:
    """Return everything that determines the checkpoint's head, if the head starts from it."""
    task, form = opened.record(head.cell.task), head.config.features
    classifier = published_classifier(tuned.encoder, task, head.cell.reads_as, form)
    return [tensors_digest(classifier.state_dict()), classifier.activation] if classifier else None


def head_task_of(opened: Run, head: PlannedHead, tuned: Tuned, splits: Splits) -> HeadTask:
    """Return a head's training data, settings and dev score."""
    cell = head.cell
    train = in_orders(train_examples(cell, splits.train), head.config)
    config = head.config.for_rows(len(train))
    inputs = None
    if config.tune == "frozen" and train:
        inputs = inputs_of_head(opened, head, tuned, splits)
    dev_score = score_on(splits.dev, cell.task)
    return HeadTask(
        cell.task, cell.reads_as, config, replace(splits, train=train), dev_score, inputs
    )


def in_orders(train: list[Any], config: HeadConfig) -> list[Any]:
    """Return the examples to train on; with `both_orders`, followed by the swapped pairs."""
    return [*train, *in_the_other_order(train)] if config.both_orders else train


def parts_to_try(head: PlannedHead, splits: Splits, named: bool = False) -> list[Parts]:
    """Return for each trial the train rows to fit on, and the held-out rows to score.

    [] if no trial is needed, or if too few rows share no text with the rest, dev and test.

    Raises:
        UserError: too few held-out rows for rates that the user has `named`.
    """
    if not head.tries:
        return []
    cell, train = head.cell, train_examples(head.cell, splits.train)
    # Frozen features are computed once for all trials. A tuned encoder is trained in each trial,
    # so it has one trial per rate, on a limited number of rows.
    most, trials = (None, MOST_TRIALS) if cell.tune == "frozen" else (MOST_TO_TRY, 1)
    scored = [*splits.dev, *splits.test]
    parts = parts_of(train, scored, cell.seed, has_classes(cell), most)[:trials]
    if not parts and named and head.rates:
        few = f"of the {len(train)} rows of {cell.task}, too few share no text with the rest"
        raise UserError(f"--rates: {few}, dev and test to choose by; give one rate")
    return parts


def inputs_of_head(
    opened: Run, head: PlannedHead, tuned: Tuned, splits: Splits
) -> dict[str, HeadInputs]:
    """Return the inputs of a head on a frozen encoder, from the embeddings of all rows.

    So the encoder reads the texts once for all numbers of labels, for all folds and for the trials.
    """
    cell, config = head.cell, head.config
    labelled, task = splits.train, opened.record(cell.task)
    named, whole = by_name(replace(splits, train=in_orders(labelled, config))), opened.splits
    if splits is not whole.get(cell.task, splits):  # a fold reads the embeddings of the whole table
        named = {EVERY_ROW: in_orders(whole[cell.task].train, config)} | named
    inputs = inputs_of(
        tuned.encoder,
        named,
        FEATURES[cell.reads_as](config.features),
        config.tune,
        opened.cache,
        fingerprint=tuned.fingerprint,
        beside_cls=cls_is_of_interest(tuned.encoder, task, cell.reads_as),
    )
    rows = train_rows(cell, labelled)
    if config.both_orders and task.is_pair:
        rows = np.concatenate([rows, len(labelled) + rows])
    inputs.pop(EVERY_ROW, None)
    all_rows = inputs["train"]
    assert isinstance(all_rows, FrozenInputs)
    return inputs | {"train": replace(all_rows, index=all_rows.index[rows])}


def write_training(
    opened: Run,
    training: Training,
    tuned: Tuned,
    results: Sequence[FittedCell],
    folds: Sequence[FittedCell],
    work: Work,
) -> None:
    """Fill the folder of a training, which is laid out as a run folder: heads, rows and cells.

    Only the first process does it. `folds` are the heads that score a table in folds.
    """
    if not is_main():
        return
    folder = RunFolder(work.folder)
    cells = []
    with apart():
        for result in results:
            name, task = result.cell.name, result.cell.task
            splits = opened.splits[task]
            kept = predicted(opened, result, tuned, splits)
            if folds:  # of the only task of a run
                of_folds = [
                    predicted(opened, fold, tuned, of_fold)
                    for fold, of_fold in zip(folds, splits.folds, strict=True)
                ]
                kept = in_folds(kept, of_folds, splits)
            folder.add_curve(name, result.fitted.history)
            for split, rows in kept.rows.items():
                ids = [example.id for example in getattr(splits, split)]
                record = result.head_task.record
                folder.write_predictions(name, record, split, ids, rows["predictions"])
            key = work.key if training.joint is None else digest([work.key, task])[:16]
            path, stage = folder.head_path(name), result.cell.stage
            save_head(result.fitted.head, path, result.head_task, key=key, stage=stage)
            cells += scored(opened, result, kept, key, folder)
        folder.write_results(cells)
        if not training.frozen:
            histories = {result.cell.task: result.fitted.history for result in results}
            notes = {"heads": [result.cell.name for result in results], "histories": histories}
            results[0].encoder.save(folder.path / MODEL, notes)


def scored(
    opened: Run, result: FittedCell, kept: Predicted, key: str, folder: RunFolder
) -> list[Cell]:
    """Return a cell per labelled split of a trained head; write what is behind its predictions."""
    cell, fitted, splits = result.cell, result.fitted, opened.splits[result.cell.task]
    seen = opened.seen_by(cell.stage, kept.known)
    speed = reading_speed(result.encoder, fitted.head, result.head_task)
    cells = []
    for split, rows in kept.rows.items():
        examples: list[Example] = getattr(splits, split)
        if not is_labelled(examples):
            continue
        wider = IN_FOLDS if split == EVERY_ROW else 1.0
        of_split = Cell(
            **asdict(cell),
            split=split,
            key=key,
            labels=kept.labels,
            seconds=kept.seconds,
            sentences_per_second=speed,
            steps=fitted.steps,
            choice=asdict(result.chosen.choice) if result.chosen else {},
            select=opened.settings.select,
            **score_rows(cell.task, examples, rows, seen, kept.thresholds, wider),
        )
        behind = {name: array for name, array in rows.items() if name != "predictions"}
        folder.write_soft(of_split, [example.id for example in examples], **behind)
        cells.append(of_split)
    return cells
