"""The cells of a training: what they are trained on, what decides their numbers, their scores."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from data.examples import Example, in_the_other_order
from data.selection import nested_rows, rows_to_try
from data.tasks import TASKS, Splits
from evaluation.clusters import clusters_of
from evaluation.metrics import is_labelled, labels_of, spearman, task_metrics
from evaluation.scoring import at_threshold, calibration, in_both_orders, score_split
from experiment.grid import PlannedHead, Training
from experiment.opening import Run, Tuned
from heads.config import HeadConfig
from heads.features import FEATURES, Features
from heads.inputs import FrozenInputs, HeadInputs, cls_is_of_interest, inputs_of
from heads.published import published_classifier
from heads.rates import Choice
from heads.saved import save_head
from heads.train import FittedHead, HeadTask, Score, by_name, head_soft
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
    head_task: HeadTask  # what it was trained on, and how
    fitted: FittedHead  # the head, and what it predicts
    encoder: SentenceEncoder  # as it is under the trained head
    choice: Choice | None  # of the encoder's rate, if there was one


def decisive(opened: Run, training: Training, tuned: Tuned) -> dict[str, Any]:
    """Return everything that decides the numbers of a training, by its name.

    What was read in tuning decides the scores on rows without overlap. The heads of a joint
    training depend on all of its tasks, in their order.
    """
    cells = [head.cell for head in training.heads]
    tuned_on = [] if cells[0].pretrain == "none" else [cells[0].pretrain, "selection"]
    return {
        "encoder": tuned.fingerprint,
        "model": asdict(tuned.encoder.model.config),  # dropout too, unless frozen
        "heads": [asdict(head) for head in training.heads],
        "published heads": [_published_head(head, tuned.encoder) for head in training.heads],
        "joint": asdict(training.joint) if training.joint else None,
        "data": {name: opened.digests[name] for name in (*(c.task for c in cells), *tuned_on)},
        "processes": world_size(),
    }


def _published_head(head: PlannedHead, encoder: SentenceEncoder) -> list[str] | None:
    """Return what decides the head of the checkpoint that a head starts from, if it does."""
    task, form = TASKS[head.cell.task], head.config.features
    classifier = published_classifier(encoder, task, head.cell.reader, form)
    return [tensors_digest(classifier.state_dict()), classifier.activation] if classifier else None


def head_task_of(opened: Run, head: PlannedHead, tuned: Tuned) -> HeadTask:
    """Return what a head is trained on, how, and by what its epoch is chosen."""
    cell, config, splits = head.cell, head.config, opened.inputs.splits[head.cell.task]
    train = in_orders(train_examples(cell, opened.inputs.to_train_on[cell.task]), config)
    inputs = inputs_of_few(opened, head, tuned)
    dev_score = score_on(splits.dev, cell.task)
    return HeadTask(cell.task, cell.reader, config, replace(splits, train=train), dev_score, inputs)


def in_orders(train: list[Any], config: HeadConfig) -> list[Any]:
    """Return the examples to train on, after them in the other order where that is asked for."""
    return [*train, *in_the_other_order(train)] if config.both_orders else train


def train_examples(cell: Coordinates, labelled: list[Any]) -> list[Any]:
    """Return the labelled examples that a head is trained on: a published one on none of ours."""
    return [] if cell.tune == "none" else [labelled[row] for row in train_rows(cell, labelled)]


def train_rows(cell: Coordinates, labelled: list[Any]) -> np.ndarray:
    """Return which of the labelled examples a head is trained on."""
    if cell.train_rows == ALL:
        return np.arange(len(labelled))
    classes = TASKS[cell.task].label_kind != "score"
    return nested_rows(labelled, int(cell.train_rows), cell.seed, classes)


def to_try(head: PlannedHead, labelled: list[Any], named: bool) -> Splits | None:
    """Return what a head's rates are tried on, as train, and what they are chosen by, as dev.

    Both are parts of what the head is trained on, and no text is in both. None where there is
    nothing to choose, or too little to choose by.

    Raises:
        UserError: too little to choose by, for rates that the user has `named`.
    """
    if not head.rates:
        return None
    cell, train = head.cell, train_examples(head.cell, labelled)
    rows = rows_to_try(train, cell.seed, TASKS[cell.task].label_kind != "score")
    if rows is None:
        if named:
            few = f"of the {len(train)} rows of {cell.task}, too few share no text with the rest"
            raise UserError(f"--rates: {few} to choose by; give one rate")
        return None
    tried_on, chosen_by = ([train[row] for row in part] for part in rows)
    return Splits(in_orders(tried_on, head.config), chosen_by, [])


def inputs_of_few(opened: Run, head: PlannedHead, tuned: Tuned) -> dict[str, HeadInputs] | None:
    """Return the inputs of a head with few labels, from the embeddings of all rows.

    A frozen encoder so reads the texts once for all sizes. None where there is nothing to share.
    """
    cell, config = head.cell, head.config
    if cell.train_rows == ALL or config.tune != "frozen":
        return None
    labelled, task = opened.inputs.to_train_on[cell.task], TASKS[cell.task]
    everything = replace(opened.inputs.splits[cell.task], train=in_orders(labelled, config))
    inputs = inputs_of(
        tuned.encoder,
        by_name(everything),
        FEATURES[cell.reader](config.features),
        config.tune,
        opened.cache,
        fingerprint=tuned.fingerprint,
        beside_cls=cls_is_of_interest(tuned.encoder, task, cell.reader),
    )
    rows = train_rows(cell, labelled)
    if config.both_orders and task.is_pair:
        rows = np.concatenate([rows, len(labelled) + rows])
    all_rows = inputs["train"]
    assert isinstance(all_rows, FrozenInputs)
    return inputs | {"train": replace(all_rows, index=all_rows.index[rows])}


def score_on(examples: Sequence[Example], task: str) -> Score:
    """Return the function of predictions of these examples that an epoch or rate is chosen by."""
    labels, metric = labels_of(examples), TASKS[task].main_metric
    return lambda predictions: task_metrics(task, predictions, labels)[metric]


def write_training(
    opened: Run, training: Training, tuned: Tuned, results: Sequence[FittedCell], work: Work
) -> None:
    """Score the heads of a training, and fill its folder, which is laid out as a run folder.

    Of several processes the first one does it.
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
            path, pretrain = folder.head_path(name), result.cell.pretrain
            save_head(result.fitted.head, path, result.head_task, key=key, pretrain=pretrain)
            cells += scored(opened, result, tuned, key, folder)
        folder.write_results(cells)
        if not training.frozen:
            histories = {result.cell.task: result.fitted.history for result in results}
            notes = {"heads": [result.cell.name for result in results], "histories": histories}
            results[0].encoder.save(folder.path / MODEL, notes)


def scored(
    opened: Run, result: FittedCell, tuned: Tuned, key: str, folder: RunFolder
) -> list[Cell]:
    """Return a cell per labelled split of a trained head, and write what lies behind its scores."""
    head, fitted, features = result.cell, result.fitted, result.head_task.features
    task, splits = TASKS[head.task], opened.inputs.splits[head.task]
    train = train_examples(head, opened.inputs.to_train_on[head.task])
    # With few labels there are none to choose a threshold by.
    held_out = opened.inputs.held_out[head.task] if head.train_rows == ALL else []
    # Thresholds are chosen by labelled examples, too.
    seen = opened.seen_by(head.pretrain, [*train, *held_out])

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

    soft_of_held_out = read(held_out) if held_out else None
    cells = []
    for split, predictions in fitted.predictions.items():
        examples: list[Example] = getattr(splits, split)
        if not is_labelled(examples):
            continue
        labels, clusters = labels_of(examples), clusters_of(examples)
        scores = score_split(head.task, examples, predictions, seen)
        soft = head_soft(fitted.head, fitted.inputs[split])  # a tuned encoder reads them again
        behind = {"soft": soft}
        # What the encoder knows without any head: the cosine, or MaxSim.
        inputs = fitted.inputs[split]
        bare = features.bare(inputs.columns) if task.label_kind == "score" else None
        if bare is not None:
            behind["cosines"] = bare
            scores["metrics"][COSINE] = spearman(bare, labels)
        if split in fitted.before:
            scores["before"] = task_metrics(head.task, fitted.before[split], labels)
        # What the probabilities say beyond the predictions, where it applies.
        if task.label_kind != "score":
            scores["calibration"] = calibration(soft, labels)
        if soft_of_held_out is not None:
            chosen_by = soft_of_held_out, labels_of(held_out)
            scores["threshold"] = at_threshold(
                head.task, soft, labels, *chosen_by, clusters=clusters
            )
        if head.reader == "cross" and split == "dev":  # all pairs once more: takes its time
            swapped = read(in_the_other_order(examples))
            scores["both_orders"] = in_both_orders(head.task, soft, swapped, labels, clusters)
        cell = Cell(
            **asdict(head),
            split=split,
            key=key,
            labels=len(train),
            seconds=fitted.seconds,
            sentences_per_second=fitted.sentences_per_second,
            rates=asdict(result.choice) if result.choice else {},
            cls_cosine=_cosine_at_cls(features, inputs, labels),
            **scores,
        )
        folder.write_soft(cell, [example.id for example in examples], **behind)
        cells.append(cell)
    return cells


def _cosine_at_cls(features: Features, inputs: HeadInputs, labels: np.ndarray) -> float | None:
    """Return Spearman's correlation of cosines at [CLS] and labels, None if [CLS] is not kept."""
    if not isinstance(inputs, FrozenInputs) or inputs.cls is None:
        return None
    cosines = features.bare(replace(inputs, embeddings=inputs.cls).columns)
    assert cosines is not None, "kept for bi-encoders only"
    return spearman(cosines, labels)
