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
from experiment.grid import Training
from experiment.opening import Run, Tuned, kept_and_held_out
from experiment.settings import Settings
from heads.config import HeadConfig
from heads.features import FEATURES, Features
from heads.inputs import FrozenInputs, Inputs, cls_is_of_interest, inputs_of
from heads.published import own_classifier
from heads.rates import Choice
from heads.train import FittedHead, Score, by_name, head_soft, save_head
from minbert.checkpoint import tensors_digest
from minbert.encoder import SentenceEncoder
from report.cell import ALL, COSINE, Cell, Coordinates
from report.run_folder import RunFolder
from runtime.errors import UserError
from runtime.files import digest
from runtime.processes import world_size
from runtime.store import Work


@dataclass(frozen=True)
class FittedCell:
    """A trained head of the grid.

    Attributes:
        head: which one it is.
        config: how it was trained.
        fitted: the head, and what it predicts.
        encoder: as it is under the trained head.
        choice: of the encoder's rate, if there was one.
    """

    head: Coordinates
    config: HeadConfig
    fitted: FittedHead
    encoder: SentenceEncoder
    choice: Choice | None


def decisive(run: Run, training: Training, tuned: Tuned) -> dict[str, Any]:
    """Return everything that decides the numbers of a training, by its name.

    What was read in tuning decides the scores on rows without overlap. The heads of a joint
    training depend on all of its tasks, in their order.
    """
    pretrain = training.heads[0].pretrain
    tuned_on = [] if pretrain == "none" else [pretrain, "selection"]
    data = [*(head.task for head in training.heads), *tuned_on]
    return {
        "encoder": tuned.fingerprint,
        "model": asdict(tuned.encoder.model.config),  # dropout too, unless frozen
        "heads": [_decisive_of_head(run, head, tuned) for head in training.heads],
        "joint": asdict(training.joint) if training.joint else None,
        "data": {name: run.digests[name] for name in data},
        "processes": world_size(),
    }


def _decisive_of_head(run: Run, head: Coordinates, tuned: Tuned) -> dict[str, Any]:
    config = run.settings.head_config(head.task, head.tune, head.seed)
    classifier = own_classifier(tuned.encoder, TASKS[head.task], head.reader, config)
    return {
        "cell": asdict(head),
        "config": asdict(config),
        "rates": (
            run.settings.rates_to_try(head.tune) if to_try(run.settings, run.splits, head) else ()
        ),
        "classifier": (
            [tensors_digest(classifier.state_dict()), classifier.activation] if classifier else None
        ),
    }


def splits_of(run: Run, head: Coordinates, config: HeadConfig) -> Splits:
    """Return the examples of a head: what it is trained on, and dev and test as they are."""
    train = trained_on(run.splits, head)
    return replace(run.splits[head.task], train=in_orders(train, config))


def in_orders(train: list[Any], config: HeadConfig) -> list[Any]:
    """Return the examples to train on, after them in the other order where that is asked for."""
    return [*train, *in_the_other_order(train)] if config.both_orders else train


def trained_on(splits: dict[str, Splits], head: Coordinates) -> list[Any]:
    """Return the labelled examples that a head is trained on: a published one on none of ours."""
    if head.tune == "none":
        return []
    train, _ = kept_and_held_out(splits, head.task)
    return [train[row] for row in rows_of(head, train)]


def to_try(settings: Settings, splits: dict[str, Splits], head: Coordinates) -> Splits | None:
    """Return what a head's rates are tried on, as train, and what they are chosen by, as dev.

    Both are parts of what the head is trained on, and no text is in both. None where there is
    nothing to choose, or, unless the user names several rates, too little to choose by.

    Raises:
        UserError: the user names several rates, and there is too little to choose by.
    """
    if not settings.rates_to_try(head.tune):
        return None
    train = trained_on(splits, head)
    rows = rows_to_try(train, head.seed, TASKS[head.task].label_kind != "score")
    if rows is None:
        if settings.rates:
            few = f"of the {len(train)} rows of {head.task}, too few share no text with the rest"
            raise UserError(f"--rates: {few} to choose by; give one rate")
        return None
    tried_on, chosen_by = ([train[row] for row in part] for part in rows)
    config = settings.head_config(head.task, head.tune, head.seed)
    return Splits(in_orders(tried_on, config), chosen_by, [])


def rows_of(head: Coordinates, train: list[Any]) -> np.ndarray:
    """Return which of the examples a head is trained on."""
    if head.train_rows == ALL:
        return np.arange(len(train))
    classes = TASKS[head.task].label_kind != "score"
    return nested_rows(train, int(head.train_rows), head.seed, classes)


def inputs_of_few(
    run: Run, head: Coordinates, config: HeadConfig, tuned: Tuned
) -> dict[str, Inputs] | None:
    """Return the inputs of a head with few labels, from the embeddings of all rows.

    A frozen encoder so reads the texts once for all sizes. None where there is nothing to share.
    """
    if head.train_rows == ALL or config.tune != "frozen":
        return None
    everything = splits_of(run, replace(head, train_rows=ALL), config)
    features = FEATURES[head.reader](config.features)
    encoder, named = tuned.encoder, by_name(everything)
    cls = cls_is_of_interest(encoder, TASKS[head.task], head.reader)
    inputs = inputs_of(encoder, named, features, config.tune, run.cache, tuned.fingerprint, cls)
    train, _ = run.kept_and_held_out(head.task)
    rows = rows_of(head, train)
    if config.both_orders:
        rows = np.concatenate([rows, len(train) + rows])
    own = inputs["train"]
    assert isinstance(own, FrozenInputs)
    return inputs | {"train": own.of(rows)}


def score_on(examples: Sequence[Example], task: str) -> Score:
    """Return the function of predictions of these examples that an epoch or rate is chosen by."""
    labels, metric = labels_of(examples), TASKS[task].main_metric
    return lambda predictions: task_metrics(task, predictions, labels)[metric]


def write_training(
    opened: Run, training: Training, tuned: Tuned, results: Sequence[FittedCell], work: Work
) -> None:
    """Score the heads of a training, and fill its folder, which is laid out as a run folder."""
    folder = RunFolder(work.folder)
    cells = []
    for result in results:
        name, task = result.head.name, result.head.task
        folder.add_curve(name, result.fitted.history)
        for split, predictions in result.fitted.predictions.items():
            ids = [example.id for example in getattr(opened.splits[task], split)]
            folder.write_predictions(name, task, split, ids, predictions)
        key = work.key if training.joint is None else digest([work.key, task])[:16]
        save_head(
            result.fitted.head,
            folder.head_path(name),
            task,
            result.head.reader,
            result.config,
            key,
            result.head.pretrain,
        )
        cells += scored(opened, result, tuned, key, folder)
    folder.write_results(cells)


def scored(run: Run, result: FittedCell, tuned: Tuned, key: str, folder: RunFolder) -> list[Cell]:
    """Return a cell per labelled split of a trained head, and write what lies behind its scores.

    Args:
        run: whose head it is.
        result: the trained head and its predictions.
        tuned: the encoder before the training.
        key: of its cells.
        folder: where to write.
    """
    head, fitted, config = result.head, result.fitted, result.config
    task, splits = TASKS[head.task], run.splits[head.task]
    _, held_out = run.kept_and_held_out(head.task)
    train = trained_on(run.splits, head)
    if head.train_rows != ALL:
        # With few labels there are none to choose a threshold by.
        held_out = []
    # Thresholds are chosen by labelled examples, too.
    seen = run.seen_by(head.pretrain, [*train, *held_out])
    features = FEATURES[head.reader](config.features)

    def read(examples: list[Any]) -> np.ndarray:
        """Return probabilities or scores of examples that the head has not read yet."""
        named, weights = {"": examples}, tuned.fingerprint
        inputs = inputs_of(result.encoder, named, features, config.tune, run.cache, weights)
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
            scores["threshold"] = at_threshold(head.task, soft, labels, *chosen_by, clusters)
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


def _cosine_at_cls(features: Features, inputs: Inputs, labels: np.ndarray) -> float | None:
    """Return Spearman's correlation of cosines at [CLS] and labels, None if [CLS] is not kept."""
    if not isinstance(inputs, FrozenInputs) or inputs.cls is None:
        return None
    cosines = features.bare(inputs.columns_of_cls)
    assert cosines is not None, "kept for bi-encoders only"
    return spearman(cosines, labels)
