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
from data.tasks import EVERY_ROW, TASKS, Splits, Task
from evaluation.clusters import clusters_of
from evaluation.intervals import IN_FOLDS
from evaluation.metrics import (
    AVERAGE_PRECISION,
    best_threshold,
    is_labelled,
    labels_of,
    score_on,
    spearman,
    task_metrics,
)
from evaluation.scoring import (
    ABOVE_ALL,
    Chooser,
    at_threshold,
    calibration,
    in_both_orders,
    score_split,
)
from experiment.grid import PlannedHead, Training
from experiment.opening import Run, Tuned
from heads.choice import PATIENCE, PATIENT_EPOCHS, Chosen
from heads.config import HeadConfig
from heads.features import FEATURES, Features
from heads.inputs import FrozenInputs, HeadInputs, cls_is_of_interest, inputs_of
from heads.published import published_classifier
from heads.saved import save_head
from heads.train import FittedHead, HeadTask, by_name, head_soft
from minbert.checkpoint import tensors_digest
from minbert.encoder import SentenceEncoder
from report.cell import ALL, COSINE, Cell, Coordinates
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
    folds: tuple["FittedCell", ...] = ()  # of a table in folds: the heads that scored its rows


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
    if "search" not in opened.inputs.splits or training.heads[0].cell.tune != "none":
        return {}
    return {"finder": next(iter(opened.untuned.values())).weights}


def _published_head(opened: Run, head: PlannedHead, tuned: Tuned) -> list[str] | None:
    """Return everything that determines the checkpoint's head, if the head starts from it."""
    task, form = opened.inputs.record(head.cell.task), head.config.features
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
    labelled, task = splits.train, opened.inputs.record(cell.task)
    named, whole = by_name(replace(splits, train=in_orders(labelled, config))), opened.inputs.splits
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


def over_folds(result: FittedCell, folds: Sequence[FittedCell], splits: Splits) -> FittedCell:
    """Return a head that was trained on all rows, with the predictions of the folds' heads."""

    def merged(of_folds: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        return {EVERY_ROW: of_all_rows(splits, [of_fold["test"] for of_fold in of_folds])}

    fits, inputs = [fold.fitted for fold in folds], result.fitted.inputs["train"]
    assert isinstance(inputs, FrozenInputs)
    fitted = replace(
        result.fitted,
        logits=merged([fit.logits for fit in fits]),
        predictions=merged([fit.predictions for fit in fits]),
        soft=merged([fit.soft for fit in fits]),
        # Without the pairs in the other order.
        inputs={EVERY_ROW: replace(inputs, index=inputs.index[: len(splits.all)])},
        seconds=sum((fit.seconds for fit in fits), result.fitted.seconds),
    )
    return replace(result, fitted=fitted, folds=tuple(folds))


def write_training(
    opened: Run, training: Training, tuned: Tuned, results: Sequence[FittedCell], work: Work
) -> None:
    """Score the heads of a training, and fill its folder, which is laid out as a run folder.

    Only the first process does it.
    """
    if not is_main():
        return
    folder = RunFolder(work.folder)
    cells = []
    with apart():
        for result in results:
            name, task = result.cell.name, result.cell.task
            folder.add_curve(name, result.fitted.history)
            for split, predictions in result.fitted.predictions.items():
                ids = [example.id for example in getattr(opened.inputs.splits[task], split)]
                folder.write_predictions(name, result.head_task.record, split, ids, predictions)
            key = work.key if training.joint is None else digest([work.key, task])[:16]
            path, stage = folder.head_path(name), result.cell.stage
            save_head(result.fitted.head, path, result.head_task, key=key, stage=stage)
            cells += scored(opened, result, tuned, key, folder)
        folder.write_results(cells)
        if not training.frozen:
            histories = {result.cell.task: result.fitted.history for result in results}
            notes = {"heads": [result.cell.name for result in results], "histories": histories}
            results[0].encoder.save(folder.path / MODEL, notes)


def scored(
    opened: Run, result: FittedCell, tuned: Tuned, key: str, folder: RunFolder
) -> list[Cell]:
    """Return a cell per labelled split of a trained head; write its predictions and soft scores."""
    head, fitted, features = result.cell, result.fitted, result.head_task.features
    task, splits = TASKS[head.task], opened.inputs.splits[head.task]
    train = train_examples(head, splits.train)

    def read(examples: list[Any]) -> np.ndarray:
        """Return probabilities or scores of examples that the head has not read yet."""
        inputs = inputs_of(
            result.encoder,
            {"": examples},
            features,
            result.head_task.config.tune,
            opened.cache,
            fingerprint=tuned.fingerprint,
        )
        return head_soft(fitted.head, inputs[""])

    chosen, held_out = result.chosen, rows_for_a_threshold(result, splits)
    # Thresholds are also chosen on labelled examples. A fold shares no text with the others.
    seen = opened.seen_by(head.stage, [] if result.folds else [*train, *held_out])
    soft_of_held_out = chosen.soft if chosen else read(held_out) if held_out else np.empty(0)
    cells = []
    for split, predictions in fitted.predictions.items():
        examples: list[Example] = getattr(splits, split)
        if not is_labelled(examples):
            continue
        labels, clusters = labels_of(examples), clusters_of(examples)
        wider = IN_FOLDS if result.folds else 1.0
        scores = score_split(head.task, examples, predictions, seen, wider)
        soft = fitted.soft[split]
        behind = {"soft": soft} | without_head(result, splits, split)
        scores["metrics"] |= soft_metrics(task, behind, labels)
        if "cosine_calls" in behind:
            scores["threshold"] = {"cosine": cosine_threshold(result)}
        if split in fitted.before:
            scores["before"] = task_metrics(head.task, fitted.before[split], labels)
        # Results that need probabilities instead of predictions.
        if task.label_kind != "score":
            scores["calibration"] = calibration(soft, labels)
        # Chosen on the trials' predictions of held-out rows.
        if held_out:
            chosen_by = soft_of_held_out, labels_of(held_out)
            scores["threshold"] = scores.get("threshold", {}) | at_threshold(
                head.task,
                soft,
                labels,
                *chosen_by,
                clusters=clusters,
                folds=choosers(result, splits),
            )
        if head.reads_as == "cross" and split == "dev":  # slow: reads all pairs again
            swapped = read(in_the_other_order(examples))
            scores["both_orders"] = in_both_orders(head.task, soft, swapped, labels, clusters)
        cell = Cell(
            **asdict(head),
            split=split,
            key=key,
            # Of the heads that were scored.
            labels=round(mean(len(fold.train) for fold in splits.folds))
            if result.folds
            else len(train),
            seconds=fitted.seconds,
            sentences_per_second=fitted.sentences_per_second,
            steps=fitted.steps,
            choice=asdict(chosen.choice) if chosen else {},
            select=opened.settings.select,
            cls_cosine=_cosine_at_cls(features, fitted.inputs[split], labels),
            **scores,
        )
        folder.write_soft(cell, [example.id for example in examples], **behind)
        cells.append(cell)
    return cells


def soft_metrics(
    task: Task, behind: Mapping[str, np.ndarray], labels: np.ndarray
) -> dict[str, float | None]:
    """Return the metrics of what is behind N predictions: cosines, or probabilities of yes.

    Average precision is None without a positive row.
    """
    if task.label_kind == "binary":
        # Takes half a second to load, and similarities do not need it.
        from sklearn.metrics import average_precision_score

        value = average_precision_score(labels, behind["soft"]) if labels.any() else None
        return {AVERAGE_PRECISION: value if value is None else float(value)}
    return {COSINE: spearman(behind["cosines"], labels)} if "cosines" in behind else {}


def without_head(result: FittedCell, splits: Splits, split: str) -> dict[str, np.ndarray]:
    """Return what the encoder's similarity of pairs, the cosine or MaxSim, gives without a head.

    It is `cosines` (N,) where labels are scores. For labels yes and no, and a frozen bi-encoder, it
    is `cosine_calls` (N,): 1 from the threshold on that has the best accuracy on the training
    pairs; in folds, on those of each fold.
    """
    kind, inputs = result.head_task.record.label_kind, result.fitted.inputs[split]
    if kind == "score":
        bare = result.head_task.features.bare(inputs.columns)
        return {} if bare is None else {"cosines": bare}
    if kind != "binary" or (result.cell.reads_as, result.cell.tune) != ("bi", "frozen"):
        return {}
    cosines = _cosines(result, inputs)
    calls = np.empty(len(cosines))
    rows_of = [rows for rows, _ in rows_of_folds(result, splits)] or [np.full(len(calls), True)]
    for rows, one in zip(rows_of, result.folds or [result], strict=True):
        calls[rows] = cosines[rows] >= cosine_threshold(one)
    return {"cosine_calls": calls}


def cosine_threshold(result: FittedCell) -> float:
    """Return the cosine from which a pair is called positive, with the best accuracy on train."""
    assert result.head_task.inputs is not None, "the encoder is frozen"
    cosines = _cosines(result, result.head_task.inputs["train"])
    best = best_threshold(cosines, labels_of(result.head_task.splits.train), "accuracy")
    return float(np.clip(best, -1.0, ABOVE_ALL))


def _cosines(result: FittedCell, inputs: HeadInputs) -> np.ndarray:
    assert isinstance(inputs, FrozenInputs)
    cosines = result.head_task.features.bare(inputs.columns)
    assert cosines is not None, "of a bi-encoder"
    return cosines


def rows_of_folds(result: FittedCell, splits: Splits) -> list[tuple[np.ndarray, FittedCell]]:
    """Return the test rows of each fold, (N,) bool, and its head; [] without folds."""
    numbers = [np.full(len(fold.test), number) for number, fold in enumerate(splits.folds)]
    of_rows = of_all_rows(splits, numbers) if numbers else np.empty(0)
    return [(of_rows == number, fold) for number, fold in enumerate(result.folds)]


def choosers(result: FittedCell, splits: Splits) -> list[Chooser]:
    """Return the test rows of each fold, and the held-out predictions for its threshold."""
    return [
        (rows, fold.chosen.soft, labels_of(fold.chosen.held_out))
        for rows, fold in rows_of_folds(result, splits)
        if fold.chosen
    ]


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
    chosen = [fold.chosen for fold in (result, *result.folds)]
    return result.chosen.held_out if result.chosen and all(chosen) else []


def _cosine_at_cls(features: Features, inputs: HeadInputs, labels: np.ndarray) -> float | None:
    """Return Spearman's correlation of cosines at [CLS] and labels, None if [CLS] is not kept."""
    if not isinstance(inputs, FrozenInputs) or inputs.cls is None:
        return None
    cosines = features.bare(replace(inputs, embeddings=inputs.cls).columns)
    assert cosines is not None, "kept for bi-encoders only"
    return spearman(cosines, labels)
