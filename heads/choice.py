"""Choose the number of epochs and the learning rate of a training on held-out train examples.

Scores are unbiased only if nothing was chosen on the rows that they are measured on. So a part of
train is held out that shares no text with the rest, or with dev and test. A trial trains on the
rest and is scored on the held-out part after every epoch. With few labels, a frozen encoder has
several trials with different held-out parts, and their mean score is used. The epoch with the best
score is chosen, and the best of several encoder rates. A single trial with a frozen encoder ends
after PATIENCE steps, and PATIENT_EPOCHS epochs, without a better score. Then the head is trained
again on all of train, with the same schedule, up to the chosen epoch. All readers, frozen or tuned,
follow this rule. The predictions on the held-out parts are also used to choose the threshold of a
paraphrase head.
"""

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from data.examples import Example
from data.selection import Parts
from heads.config import JointConfig
from heads.inputs import FrozenInputs, HeadInputs, LiveInputs
from heads.joint import checks, first_end
from heads.train import Ending, HeadTask, HeadTrainer, Score, by_name, phases_of, soft_of
from minbert.encoder import SentenceEncoder
from runtime.errors import KeptError
from runtime.files import read_object, write_text
from runtime.options import shown_value
from runtime.processes import is_main
from runtime.store import Work, kept
from runtime.training import steps_per_epoch

SCORES = "scores.json"
PATIENCE, PATIENT_EPOCHS = 400, 3  # steps, and epochs; compared with others in docs/log.md
SAMPLE, BACKWARD = 64, 3.5  # examples that are timed, and how much longer a step of training is
SOFT = "{}-soft.npy"  # by task


@dataclass(frozen=True)
class Tried:
    """The trials of a task at one rate: their mean score after every epoch, and the best one."""

    rate: float  # 0 for a frozen encoder
    score: float | None
    epochs: int  # with the best score; in a joint training, with the best mean over its tasks
    curve: list[float | None]


@dataclass(frozen=True)
class Choice:
    """The chosen epochs and rate, and the trials they were chosen from."""

    rate: float  # of the encoder, 0 for a frozen one
    epochs: int
    score: float | None  # of the winner, on the rows that chose it
    tried: list[Tried]
    rows: int  # that each trial was trained on
    chosen_by: int  # rows, those of all trials together
    seconds: float
    chosen_on: str = "train"


@dataclass(frozen=True)
class Chosen:
    """The choice for a head, and the predictions of the best trials on their held-out rows."""

    choice: Choice
    held_out: list[Example]  # M of train
    soft: np.ndarray  # (M,) or (M, C), see heads.heads.Head.soft


ScoreOn = Callable[[Sequence[Example], str], Score]  # examples of a task -> their score


def trial_of(head_task: HeadTask, parts: Parts, score_on: ScoreOn) -> HeadTask:
    """Return the task of a trial: one part of train to train on, the other as dev."""
    train, (fit, held_out) = head_task.splits.train, parts
    if head_task.config.both_orders and head_task.record.is_pair:
        # The second half of train are the pairs of the first in the other order.
        fit = np.concatenate([fit, len(train) // 2 + fit])
    rows = {"train": fit, "dev": held_out}
    examples = {name: [train[row] for row in part.tolist()] for name, part in rows.items()}
    splits = replace(head_task.splits, train=examples["train"], dev=examples["dev"], test=[])
    inputs: dict[str, HeadInputs] | None = None
    if head_task.inputs is not None:  # frozen: nothing is encoded again
        every = head_task.inputs["train"]
        assert isinstance(every, FrozenInputs)
        inputs = {name: replace(every, index=every.index[part]) for name, part in rows.items()}
    dev_score = score_on(splits.dev, head_task.task)
    return replace(head_task, splits=splits, dev_score=dev_score, inputs=inputs)


def choose(
    encoder: SentenceEncoder,
    head_tasks: Sequence[HeadTask],
    parts: Sequence[Sequence[Parts]],
    rates: tuple[float, ...] = (),
    *,
    score_on: ScoreOn,
    joint: JointConfig | None = None,
    made_of: dict[str, Any],
    cache: Path,
    resume: bool = False,
) -> list[Chosen]:
    """Return the choices for the heads of a training; with several processes, all must call this.

    Args:
        encoder: not changed; a tuned one is copied.
        head_tasks: one, or those of a joint training, as they are trained afterwards. For a frozen
            encoder they include their inputs.
        parts: of the train examples of each, as of `data.selection.parts_of`; at least one.
        rates: of the encoder, to choose from; () keeps that of the config.
        score_on: the main metric, as in `evaluation.metrics`.
        joint: as for `fit_heads`. Its tasks share an epoch, the best by the mean of their scores;
            in a sequential training, where the last task ends last, it is the last one.
        made_of: everything but the rate that decides the scores of a trial.
        cache: the folder where these scores are kept.
        resume: continue the trial that was interrupted.
    """
    # Tasks that are trained jointly have as many trials as the task with the fewest.
    trials = [
        [trial_of(*both, score_on) for both in zip(head_tasks, of_tasks, strict=True)]
        for of_tasks in zip(*parts, strict=False)
    ]
    # Epochs with too few steps are not candidates. Steps are counted for training on all of train.
    ends = [end for end, _ in checks(phases_of(head_tasks, joint))]
    first = first_end(ends, head_tasks[0].config.least_steps)
    if joint is not None and joint.schedule == "sequential":
        first = len(ends)

    def tried_at(rate: float, number: int) -> Path:
        """Return the folder of a trial's scores and predictions; run the trial if it is missing."""

        def make(work: Work) -> None:
            at_rate = [with_rate(trial, rate) for trial in trials[number]]
            _train_trial(encoder, at_rate, joint, _ending(trials, first), work, resume)

        what = made_of | {"rate": rate, "trial": number}
        return kept("trial", what, make, cache, name=f"trial-{rate}-{number}", together=True)

    rates = rates or (head_tasks[0].config.backbone_learning_rate,)
    folders = [[tried_at(rate, number) for number in range(len(trials))] for rate in rates]
    results = [[read_object(folder / SCORES, KeptError) for folder in row] for row in folders]
    # For each task a curve per rate: the mean over trials.
    curves = {
        head_task.task: [
            _means(_defined([result["scores"][head_task.task] for result in row]))
            for row in results
        ]
        for head_task in head_tasks
    }
    best, epochs = picked(
        [_means(of_tasks) for of_tasks in zip(*curves.values(), strict=True)], first
    )
    chosen = []
    for (task, by_rate), of_task in zip(curves.items(), zip(*trials, strict=True), strict=True):
        tried = [
            Tried(rate, curve[epoch - 1], epoch, curve)
            for rate, epoch, curve in zip(rates, epochs, by_rate, strict=True)
        ]
        held_out = [example for trial in of_task for example in trial.splits.dev]
        choice = Choice(
            tried[best].rate,
            # In joint training a trial's fewer rows can mean fewer checks than there will be.
            # Rounded up:
            -(-tried[best].epochs * len(ends) // len(tried[best].curve)),
            tried[best].score,
            tried,
            len(of_task[0].splits.train),
            len(held_out),
            sum(result["seconds"] for row in results for result in row),
        )
        soft = [np.load(folder / SOFT.format(task)) for folder in folders[best]]
        chosen.append(Chosen(choice, held_out, np.concatenate(soft)))
    return chosen


def picked(table: Sequence[Sequence[float | None]], first: int) -> tuple[int, list[int]]:
    """Return the row of the best score, and for each row its best epoch, `first` or later.

    Args:
        table: held-out scores after every epoch, a row per rate; of a joint training the means
            over its tasks.
    """
    epochs = [first_best(curve, first) for curve in table]
    scores = [curve[epoch - 1] for curve, epoch in zip(table, epochs, strict=True)]
    return first_best(scores) - 1, epochs


def with_rate(head_task: HeadTask, rate: float) -> HeadTask:
    """Return a task whose encoder is trained at a rate."""
    return replace(head_task, config=replace(head_task.config, backbone_learning_rate=rate))


def _ending(trials: Sequence[Sequence[HeadTask]], first: int) -> Ending:
    """Return where a trial ends: a single one of a frozen encoder, where nothing better comes."""
    task = trials[0][0]
    if task.config.tune != "frozen" or len(trials) > 1:
        return Ending(best_from=first)
    epoch = steps_per_epoch(len(task.splits.train), task.config.batch_size)
    return Ending(best_from=first, patience=max(PATIENCE, PATIENT_EPOCHS * epoch))


def time_to_tune(
    encoder: SentenceEncoder,
    head_tasks: Sequence[HeadTask],
    parts: Sequence[Sequence[Parts]],
    rates: Sequence[float],
) -> str:
    """Return in words about how long the trials and the training of a tuned encoder will take.

    It reads a few examples, and a step of training takes about BACKWARD times as long as reading.
    """
    rows, seconds = 0, 0.0
    for head_task, of_task in zip(head_tasks, parts, strict=True):
        train, epochs = head_task.splits.train, head_task.config.num_epochs
        fitted = sum(len(fit) for fit, _ in of_task)
        read = epochs * (fitted * max(1, len(rates)) + len(train))
        inputs = LiveInputs(encoder, train[:SAMPLE], head_task.features)
        started = time.perf_counter()
        with inputs.reading():
            for batch in inputs.batches():
                inputs.batch(batch)
        seconds += (time.perf_counter() - started) / len(inputs) * BACKWARD * read
        rows += read
    trials = max(map(len, parts)) * max(1, len(rates))
    before = f"{trials} trial(s) and " if trials and all(parts) else ""
    about = f"{seconds / 60:.0f} min" if seconds > 90 else f"{seconds:.0f} s"
    return f"          {before}the training read {rows:,} examples: about {about}"


def rates_in_words(choice: Choice) -> str:
    """Return the score of each rate of the encoder, and the one that was chosen."""
    tried = [
        f"{shown_value(one.rate)}: {'undefined' if one.score is None else f'{one.score:.3f}'}"
        for one in choice.tried
    ]
    return f"          rates {', '.join(tried)}; {shown_value(choice.rate)} is used"


def _train_trial(
    encoder: SentenceEncoder,
    tasks: Sequence[HeadTask],
    joint: JointConfig | None,
    ending: Ending,
    work: Work,
    resume: bool,
) -> None:
    """Train the tasks of one trial; write their scores by epoch, and predictions at the best epoch.

    Scores of epochs after an early end are None, as undefined ones are.
    """
    started = time.perf_counter()
    config = tasks[0].config
    live = config.tune != "frozen"
    candidate = encoder.clone() if live else encoder
    inputs: list[dict[str, HeadInputs]] = [
        trial.inputs
        or {
            split: LiveInputs(candidate, rows, trial.features)
            for split, rows in by_name(trial.splits).items()
        }
        for trial in tasks
    ]
    state_path = work.state if live else None
    trainer = HeadTrainer(candidate, tasks, inputs, ending, joint=joint, state_path=state_path)
    trainer.started = started
    rate = f"trial, rate {shown_value(config.backbone_learning_rate)}" if live else "trial"
    trainer.run(resume, rate)
    if is_main():
        scores = {
            task: [r["dev_score"] for r in history] + [None] * (len(trainer.checks) - len(history))
            for task, history in trainer.history.items()
        }
        for task, head in trainer.heads.items():
            logits = trainer.logits_of_unseen(task)["dev"]
            np.save(work.folder / SOFT.format(task), soft_of(head, logits))
        result = {"scores": scores, "seconds": trainer.seconds}
        write_text(work.folder / SCORES, json.dumps(result) + "\n")


def _defined(curves: Sequence[Sequence[float | None]]) -> Sequence[Sequence[float | None]]:
    """Return the curves with any score, or all: labels that are constant have no correlation."""
    return [curve for curve in curves if any(x is not None for x in curve)] or curves


def _means(curves: Sequence[Sequence[float | None]]) -> list[float | None]:
    """Return the mean of scores after every epoch, None where one is undefined."""
    return [
        None if any(score is None for score in scores) else mean(scores)
        for scores in zip(*curves, strict=True)
    ]


def first_best(scores: Sequence[float | None], first: int = 1) -> int:
    """Return where the highest score is, from 1, the first of equals, not before `first`.

    An undefined score is the lowest.
    """
    comparable = [-math.inf if score is None else score for score in scores]
    first = min(first, len(comparable))
    return first + int(np.argmax(comparable[first - 1 :]))
