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
from runtime.errors import StateError
from runtime.files import read_json, write_text
from runtime.options import shown_value
from runtime.processes import is_main, main_decides


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
    state_path: Path,
    resume: bool = False,
) -> Choice:
    """Return the best of some rates of an encoder; of several processes, all call this.

    Args:
        encoder: stays as it is; copies are trained.
        head_task: what candidates are trained on, and as dev what they are chosen by; the encoder
            rate of its config is replaced.
        rates: to choose from.
        state_path: of the head. Beside it the candidates keep theirs, and the finished ones their
            scores; the caller deletes them, too, once the result is written.
        resume: train no finished candidate again.

    Raises:
        TrainingError: a rate is so high that training diverges.
        StateError: a damaged state.
    """
    path = state_path.with_suffix(".json")
    known: dict[str, Any] = main_decides(_finished(path) if resume and is_main() else {})
    splits = head_task.splits
    for rate in rates:
        name = str(rate)
        if name in known:
            continue
        started = time.perf_counter()
        candidate = encoder.clone()
        inputs: dict[str, HeadInputs] = {
            split: LiveInputs(candidate, rows, head_task.features)
            for split, rows in by_name(splits).items()
        }
        config = replace(head_task.config, backbone_learning_rate=rate)
        at_rate = replace(head_task, config=config)
        state = state_path.with_name(f"{name}-{state_path.name}")
        trainer = HeadTrainer(candidate, [at_rate], [inputs], state_path=state)
        trainer.run(resume, f"rate {shown_value(rate)}")
        scores = [record["dev_score"] for record in trainer.history[head_task.task]]
        known[name] = {"scores": scores, "seconds": time.perf_counter() - started}
        if is_main():
            write_text(path, json.dumps(known))
            state.unlink(missing_ok=True)
    tried = [_best(rate, known[str(rate)]["scores"]) for rate in rates]
    best = tried[_first_best([one.score for one in tried])]
    seconds = sum(known[str(rate)]["seconds"] for rate in rates)
    return Choice(best.rate, best.epoch, tried, len(splits.train), len(splits.dev), seconds)


def _best(rate: float, scores: list[float | None]) -> Tried:
    epoch = _first_best(scores)
    return Tried(rate, scores[epoch], epoch + 1)


def _first_best(scores: list[float | None]) -> int:
    """Return where the highest score is, the first of equals; an undefined one is the lowest."""
    comparable = [-math.inf if score is None else score for score in scores]
    return comparable.index(max(comparable))


def _finished(path: Path) -> dict[str, Any]:
    """Return what `choose_rate` has written of finished candidates."""
    found = read_json(path, StateError) if path.is_file() else {}
    if not isinstance(found, dict):
        raise StateError(f"{path}: not the scores of rates; delete it to start over")
    return found
