"""Each encoder at its best rate: which one, and after which epoch, a part of the labels decides.

A comparison of encoders at one rate compares rates. So the candidates are trained on one part of
the training examples and scored on another that shares no text with it, never on dev; all encoders
have the same candidates, rows and epochs. The winner is then trained on everything, with the same
schedule, up to the epoch that was best; an epoch is a pass over the data, of few rows or of all.
"""

import json
import math
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from heads.inputs import HeadInputs, LiveInputs
from heads.train import HeadTask, HeadTrainer, by_name
from minbert.encoder import SentenceEncoder
from runtime.errors import KeptError
from runtime.files import read_object, write_text
from runtime.options import shown_value
from runtime.processes import is_main
from runtime.store import Work, kept

SCORES = "scores.json"


@dataclass(frozen=True)
class Tried:
    """A candidate: its rate, its best score, and the epoch, from 1, that had it."""

    rate: float
    score: float | None
    epoch: int


@dataclass(frozen=True)
class Choice:
    """The rate and the epoch that were chosen, and from what."""

    rate: float
    epoch: int
    tried: list[Tried]
    rows: int  # that each candidate was trained on
    chosen_by: int  # rows
    seconds: float


def choose_rate(
    encoder: SentenceEncoder,
    head_task: HeadTask,
    rates: tuple[float, ...],
    *,
    made_of: dict[str, Any],
    cache: Path,
    resume: bool = False,
) -> Choice:
    """Return the best of some rates of an encoder; of several processes, all call this.

    Args:
        encoder: stays as it is; copies are trained.
        head_task: what candidates are trained on, and as dev what they are chosen by; the encoder
            rate of its config is replaced.
        rates: to choose from.
        made_of: everything but the rate that decides the scores of a candidate.
        cache: the folder where these scores are kept.
        resume: continue the candidate that was interrupted.
    """
    splits = head_task.splits
    trials: list[dict[str, Any]] = []
    for rate in rates:

        def make(work: Work, rate: float = rate) -> None:
            started = time.perf_counter()
            candidate = encoder.clone()
            inputs: dict[str, HeadInputs] = {
                split: LiveInputs(candidate, rows, head_task.features)
                for split, rows in by_name(splits).items()
            }
            config = replace(head_task.config, backbone_learning_rate=rate)
            at_rate = replace(head_task, config=config)
            trainer = HeadTrainer(candidate, [at_rate], [inputs], state_path=work.state)
            trainer.run(resume, f"rate {shown_value(rate)}")
            scores = [record["dev_score"] for record in trainer.history[head_task.task]]
            trial = {"scores": scores, "seconds": time.perf_counter() - started}
            if is_main():
                write_text(work.folder / SCORES, json.dumps(trial) + "\n")

        parts = made_of | {"rate": rate}
        folder = kept("trial", parts, make, cache, name=f"rate-{rate}", together=True)
        trials.append(read_object(folder / SCORES, KeptError))
    tried = []
    for rate, trial in zip(rates, trials, strict=True):
        epoch = _first_best(trial["scores"])
        tried.append(Tried(rate, trial["scores"][epoch], epoch + 1))
    best = tried[_first_best([candidate.score for candidate in tried])]
    seconds = sum(trial["seconds"] for trial in trials)
    return Choice(best.rate, best.epoch, tried, len(splits.train), len(splits.dev), seconds)


def _first_best(scores: list[float | None]) -> int:
    """Return where the highest score is, the first of equals; an undefined one is the lowest."""
    comparable = [-math.inf if score is None else score for score in scores]
    return comparable.index(max(comparable))
