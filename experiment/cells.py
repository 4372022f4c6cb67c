"""The cells of a training: their data, everything that determines their numbers, their scores."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import mean
from typing import Any

import numpy as np

from data.examples import Example, in_the_other_order
from data.selection import (
    MOST_TO_TRY,
    MOST_TRIALS,
    Parts,
    nested_rows,
    of_all_rows,
    parts_of,
)
from data.tasks import EVERY_ROW, TASKS, Splits
from evaluation.intervals import IN_FOLDS
from evaluation.metrics import best_threshold, is_labelled, labels_of, score_on
from evaluation.scoring import ABOVE_ALL, AT_BEST, best_thresholds, score_rows
from experiment.grid import PlannedHead, Training
from experiment.opening import Run, Tuned
from heads.choice import PATIENCE, PATIENT_EPOCHS, Chosen
from heads.config import HeadConfig
from heads.features import FEATURES
from heads.inputs import FrozenInputs, HeadInputs, cls_is_of_interest, inputs_of
from heads.published import published_classifier
from heads.saved import save_head
from heads.train import FittedHead, HeadTask, by_name, head_soft, reading_speed
from minbert.checkpoint import tensors_digest
from minbert.encoder import SentenceEncoder
from report.cell import ALL, Cell, Coordinates
from report.run_folder import MODEL, RunFolder
from runtime.errors import UserError
from runtime.files import digest
from runtime.processes import apart, is_main, world_size
from runtime.store import Work


@dataclass(frozen=True)
class FittedCell:
    """A trained head of the grid."""

    cell: Coordinates
    head_task: HeadTask  # its data and settings
    fitted: FittedHead  # the head and its predictions
    encoder: SentenceEncoder  # in its state after training
    chosen: Chosen | None  # epochs and rate, if a part of train chose them


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


def train_examples(cell: Coordinates, labelled: list[Any]) -> list[Any]:
    """Return the labelled examples that a head is trained on: none for a published head."""
    return [] if cell.tune == "none" else [labelled[row] for row in train_rows(cell, labelled)]


def train_rows(cell: Coordinates, labelled: list[Any]) -> np.ndarray:
    """Return which of the labelled examples a head is trained on."""
    if cell.train_rows == ALL:
        return np.arange(len(labelled))
    return nested_rows(labelled, int(cell.train_rows), cell.seed, _has_classes(cell))


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
    parts = parts_of(train, scored, cell.seed, _has_classes(cell), most)[:trials]
    if not parts and named and head.rates:
        few = f"of the {len(train)} rows of {cell.task}, too few share no text with the rest"
        raise UserError(f"--rates: {few}, dev and test to choose by; give one rate")
    return parts


def _has_classes(cell: Coordinates) -> bool:
    return TASKS[cell.task].label_kind != "score"


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


@dataclass(frozen=True)
class Predicted:
    """What is kept of a trained head; every score of its cells is a function of it."""

    rows: dict[str, dict[str, np.ndarray]]  # split -> arrays, see evaluation.scoring.Rows
    thresholds: dict[str, float]  # of the calls among them, and `n`, the rows that chose them
    known: list[Example]  # labelled examples that the head or its thresholds learnt from
    labels: int  # number of training examples
    seconds: float


def predicted(opened: Run, result: FittedCell, tuned: Tuned, splits: Splits) -> Predicted:
    """Return what a trained head, and its encoder without it, say of the rows of the splits."""
    cell, head_task, fitted = result.cell, result.head_task, result.fitted

    def read(examples: list[Any]) -> np.ndarray:
        """Return probabilities or scores of examples that the head has not read yet."""
        inputs = inputs_of(
            result.encoder,
            {"": examples},
            head_task.features,
            head_task.config.tune,
            opened.cache,
            fingerprint=tuned.fingerprint,
        )
        return head_soft(fitted.head, inputs[""])

    train, held_out = train_examples(cell, splits.train), rows_for_a_threshold(result, splits)
    thresholds: dict[str, float] = {}
    if held_out:
        soft = result.chosen.soft if result.chosen else read(held_out)
        thresholds |= best_thresholds(soft, labels_of(held_out))
    if head_task.record.label_kind == "binary" and (cell.reads_as, cell.tune) == ("bi", "frozen"):
        thresholds["cosine"] = cosine_threshold(head_task)
    rows: dict[str, dict[str, np.ndarray]] = {}
    for split, predictions in fitted.predictions.items():
        rows[split] = of_split = {"predictions": predictions, "soft": fitted.soft[split]}
        if not is_labelled(getattr(splits, split)):
            continue  # nothing else is known of rows that are not scored
        of_split |= without_head(head_task, fitted.inputs[split], thresholds)
        of_split |= {
            f"{name}_calls": (of_split["soft"] >= thresholds[name]).astype(np.float64)
            for name in AT_BEST
            if name in thresholds
        }
        if split in fitted.before:
            of_split["before"] = fitted.before[split]
        if cell.reads_as == "cross" and split == "dev":  # slow: reads all pairs again
            of_split["swapped"] = read(in_the_other_order(splits.dev))
    return Predicted(rows, thresholds, [*train, *held_out], len(train), fitted.seconds)


def in_folds(whole: Predicted, folds: Sequence[Predicted], splits: Splits) -> Predicted:
    """Return the rows of a table, each as the head of its fold sees it.

    `whole` is of the head that was trained on all rows, whose thresholds a user would take.
    """
    of_folds = [fold.rows["test"] for fold in folds]
    names = [name for name in of_folds[0] if all(name in rows for rows in of_folds)]
    rows = {name: of_all_rows(splits, [rows[name] for rows in of_folds]) for name in names}
    return Predicted(
        {EVERY_ROW: rows},
        whole.thresholds,
        [],  # a fold shares no text with the others
        round(mean(fold.labels for fold in folds)),
        sum((fold.seconds for fold in folds), whole.seconds),
    )


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
            if folds:
                of_folds = zip(folds, splits.folds, strict=True)
                parts = [predicted(opened, fold, tuned, of_fold) for fold, of_fold in of_folds]
                kept = in_folds(kept, parts, splits)
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


def without_head(
    head_task: HeadTask, inputs: HeadInputs, thresholds: Mapping[str, float]
) -> dict[str, np.ndarray]:
    """Return what the encoder's similarity of pairs, the cosine or MaxSim, gives without a head.

    Where labels are scores, it is `cosines`, and for [CLS] states `cls_cosines` if they are kept;
    with a threshold of the cosine it is `cosine_calls`.
    """
    features, found = head_task.features, {}
    if head_task.record.label_kind == "score":
        if (bare := features.bare(inputs.columns)) is not None:
            found["cosines"] = bare
        if isinstance(inputs, FrozenInputs) and inputs.cls is not None:
            of_cls = features.bare(replace(inputs, embeddings=inputs.cls).columns)
            assert of_cls is not None, "kept for bi-encoders only"
            found["cls_cosines"] = of_cls
    elif "cosine" in thresholds:
        cosines = features.bare(inputs.columns)
        assert cosines is not None, "of a bi-encoder"
        found["cosine_calls"] = (cosines >= thresholds["cosine"]).astype(np.float64)
    return found


def cosine_threshold(head_task: HeadTask) -> float:
    """Return the cosine from which a pair is called positive, with the best accuracy on train."""
    assert head_task.inputs is not None, "the encoder is frozen"
    cosines = head_task.features.bare(head_task.inputs["train"].columns)
    assert cosines is not None, "of a bi-encoder"
    best = best_threshold(cosines, labels_of(head_task.splits.train), "accuracy")
    return float(np.clip(best, -1.0, ABOVE_ALL))


def rows_for_a_threshold(result: FittedCell, splits: Splits) -> list[Example]:
    """Return the train rows on which the threshold of a binary task is chosen, [] for none.

    They share no text with dev and test. The trials predicted them without training on them; a
    published head was trained on none of our rows.
    """
    cell = result.cell
    if TASKS[cell.task].label_kind != "binary":
        return []
    if cell.tune == "none":
        scored_rows = [*splits.dev, *splits.test]
        parts = parts_of(splits.train, scored_rows, cell.seed, _has_classes(cell))
        return [splits.train[row] for _, held_out in parts for row in held_out.tolist()]
    return result.chosen.held_out if result.chosen else []
