"""The heads of a finished run: found by name or score, opened, and applied to raw texts.

Legend: N examples, n items (see features), H hidden_size, C classes.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from baselines.isbert import load_tuned
from data.examples import DataError
from data.tasks import TASKS, Task
from heads.config import HeadConfig, with_reader
from heads.features import FEATURES, Features, Item
from heads.heads import Head, STSClassifierHead, build_head
from heads.inputs import FrozenInputs, embedded
from heads.train import HeadTask, head_logits, head_soft
from minbert.checkpoint import load_module, read_about, read_file, write_tensors
from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from runtime.errors import UserError
from runtime.files import fault_of_sealed, read_json, read_object, whole_file
from runtime.options import did_you_mean
from runtime.processes import is_main


@dataclass(frozen=True)
class SavedHead:
    """A trained head and the encoder that it was trained on, both in evaluation mode."""

    encoder: SentenceEncoder
    head: Head
    features: Features
    task: Task
    reader: str  # one of `heads.config.READERS`

    def __repr__(self) -> str:
        return f"SavedHead({self.task.name}: {self.task.about}, {self.reader}, {self.encoder!r})"

    def embed(self, items: Sequence[Item]) -> np.ndarray:
        """Return the embeddings of items, (n, *parts, H) float32; repeats are encoded again."""
        sequences = self.features.tokenize(self.encoder, items)
        return embedded(self.encoder, self.features, sequences)

    def judge(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        """Return the logits, (N,) or (N, C) float32, of examples whose items are embedded.

        Args:
            columns: the embeddings of all first items, of all second ones: (N, *parts, H) each.
        """
        # Columns concatenated, (items * N, *parts, H), as `_read` expects them.
        return head_logits(self.head, self._inputs(np.concatenate(columns), len(columns[0])))

    def logits(self, examples: Sequence[Item]) -> np.ndarray:
        """Return the logits, (N,) or (N, C) float32, of the texts of N examples."""
        return head_logits(self.head, self._read(examples))

    def soft(self, examples: Sequence[Item]) -> np.ndarray:
        """Return the scores behind the predictions, float64; see heads.heads.Head.soft."""
        return head_soft(self.head, self._read(examples))

    def predict(self, examples: Sequence[Item | str], *, probabilities: bool = False) -> np.ndarray:
        """Return the predictions (N,) of the texts of N examples: scores, 0 and 1, or classes.

        Args:
            examples: a tuple of texts each; for a task with one text, also plain texts.
            probabilities: return float64 probabilities instead: of label 1, (N,), or of each class,
                (N, C).

        Raises:
            UserError: one text instead of a list of examples; an example with a wrong number of
                texts, or with an item that is not a text; probabilities of a similarity.
        """
        if isinstance(examples, str):
            raise UserError(f"predict: {examples[:40]!r} is one text; give a list of examples")
        if probabilities and self.task.label_kind == "score":
            raise UserError(
                f"{self.task.name}: its head predicts scores, not probabilities; leave out "
                "probabilities=True"
            )
        # A missing text is a number in a column of pandas.
        alone = str, float, type(None)
        items = [(texts,) if isinstance(texts, alone) else texts for texts in examples]
        for row, texts in enumerate(items):
            if isinstance(texts, Mapping | Set):  # whose order says nothing
                kind = type(texts).__name__
                raise UserError(f"example {row} is a {kind}; give a tuple of its texts")
            if len(texts) != self.task.num_texts:
                wanted = f"{self.task.num_texts}, as {' and '.join(self.task.texts)}"
                raise UserError(f"example {row} has {len(texts)} text(s); expected {wanted}")
            if odd := [text for text in texts if not isinstance(text, str)]:
                raise UserError(f"example {row} holds {odd[0]!r:.40}, which is no text")
        items = [tuple(texts) for texts in items]
        if not items:
            classes = self.head.num_outputs
            return np.empty((0, classes) if probabilities and classes > 1 else 0)
        if probabilities:
            return self.soft(items)
        return np.asarray(self.head.predict(torch.from_numpy(self.logits(items))).numpy())

    def predict_proba(self, examples: Sequence[Item | str]) -> np.ndarray:
        """Return the probability of each class, (N, C), also of no and yes, as scikit-learn does.

        Raises:
            UserError: as `predict`.
        """
        shares = self.predict(examples, probabilities=True)
        return np.stack([1 - shares, shares], axis=1) if shares.ndim == 1 else shares

    def _read(self, examples: Sequence[Item]) -> FrozenInputs:
        # One column per item of an example: all first texts, then all second ones.
        columns = zip(*(self.features.items(texts) for texts in examples), strict=True)
        embeddings = self.embed([item for column in columns for item in column])
        return self._inputs(embeddings, len(examples))

    def _inputs(self, embeddings: np.ndarray, count: int) -> FrozenInputs:
        # Row c * N + i is item c of example i: (items, N) -> (N, items).
        index = np.arange(len(embeddings)).reshape(-1, count).T
        return FrozenInputs(embeddings, index, self.features, self.encoder.device)


def save_head(head: Head, path: Path, head_task: HeadTask, *, key: str, stage: str) -> None:
    """Write a head as safetensors; the metadata hold all that is needed to rebuild it.

    `key` is the key of the cell's results. It shows later whether the head belongs to them.
    """
    if not is_main():
        return
    about = {"task": head_task.task, "reader": head_task.reader, "pretrain": stage, "key": key}
    if head_task.splits.task is not None:
        about["labels"] = json.dumps(head_task.record.of_file)
    about["config"] = json.dumps(asdict(head_task.config))
    if isinstance(head, STSClassifierHead):
        about["activation"] = head.score_activation
    with whole_file(path) as temporary:
        write_tensors(head.state_dict(), temporary, about)


def read_head(path: Path) -> tuple[Task, str, HeadConfig]:
    """Return a saved head's task, its reader (of `heads.config.READERS`) and its settings.

    Raises:
        CheckpointError: no file that `save_head` wrote, or of an unknown task.
    """
    about = with_reader(read_about(path))
    known = {field.name for field in fields(HeadConfig)}
    try:
        FEATURES[about["reader"]], about["pretrain"]  # looked up for their KeyError
        # Settings of later versions are ignored.
        raw = json.loads(about["config"])
        config = HeadConfig(**{name: value for name, value in raw.items() if name in known})
        task = TASKS[about["task"]]
        if "labels" in about:  # trained on the user's file
            of_file: dict[str, Any] = json.loads(about["labels"])
            of_file |= {name: tuple(of_file[name]) for name in ("texts", "words")}
            task = replace(task, **of_file)
        return task, about["reader"], config
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise CheckpointError(
            f"{path}: not a head that a run saved ({error!r}); give a run's folder, or a file of "
            "its heads/"
        ) from None


def why_no_threshold(path: Path) -> str:
    """Return why no threshold can be chosen for a saved head, "" if one can."""
    task, _, _ = read_head(path)
    if task.is_pair and task.label_kind != "classes":
        return ""
    return f"predicts {task.about}; a threshold is for the scores of pairs"


def why_not_first(path: Path) -> str:
    """Return why a saved head cannot find texts in a corpus by itself, "" if it can."""
    task, _, _ = read_head(path)
    return "" if task.name == "search" else "is not the bi-encoder of a search; leave out --corpus"


def load_head(path: Path, device: str = "auto", precision: str | None = None) -> SavedHead:
    """Return a trained head and its encoder.

    Args:
        path: RUN/heads/CELL.safetensors in the folder of a finished run.
        device: `auto`, `cpu` or `cuda`.
        precision: `auto`, `float32`, ...; that of the run if None.

    Raises:
        CheckpointError: the head, its encoder or the run's config is missing or damaged.
    """
    task, reader, config = read_head(path)
    about = read_about(path)
    run = path.absolute().parent.parent
    # A tuned encoder is stored under its head's name; heads of a stage share a frozen encoder.
    folder, pooling = run / "models" / path.stem, None
    if config.tune == "frozen":
        stage = about["pretrain"]  # in a run of several encoders with the encoder's name
        untuned = stage.rpartition("+")[2] == "none"
        folder = run / "backbones" / (stage if untuned else f"{stage}-{config.seed}")
        if untuned:  # the run's pooling, not that of the checkpoint
            pooling = run_options(run).get("pooling")
    if not folder.is_dir():
        raise CheckpointError(
            f"{folder}: missing; it is the encoder of the head {path.name}; {_again(run)}"
        )
    precision = precision or run_options(run).get("precision", "auto")
    encoder = load_tuned(folder, device, precision, pooling).freeze()
    features = FEATURES[reader](config.features)
    size = features.size(encoder)
    head = build_head(task, reader, size, config.features, config.dropout)
    load_module(head, read_file(path), path)
    # The activation of a published cross-encoder is not a tensor; its name is in the metadata.
    if isinstance(head, STSClassifierHead):
        head.score_activation = about.get("activation", head.score_activation)
    return SavedHead(encoder, head.to(encoder.device).eval(), features, task, reader)


def _again(run: Path) -> str:
    """Return the remedy for missing files of a run."""
    config = run / "config.json"
    if config.is_file() and "format" not in read_object(config, DataError):
        # From before 1.1: a run into its folder is refused.
        return "a run before version 1.1 is not continued: train anew with another --run-dir"
    return "run its command again, which trains what is missing"


def run_options(run: Path) -> dict[str, Any]:
    """Return the settings that a run's config.json holds."""
    return dict(run_config(run)["options"])


def run_config(run: Path) -> dict[str, Any]:
    """Return a run's config.json, with the settings in `options`."""
    path = run / "config.json"
    try:
        content = dict(read_json(path))
        return content | {"options": with_reader(content["options"])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path}: not a run's config ({error!r})") from None


# Files of a run folder that commands read.
RUN_FILES = ("config.json", "results.json", "metrics.jsonl", "comparisons.json", "costs.json")


@dataclass(frozen=True)
class FinishedCell:
    """A trained head in a run folder, and its entries in results.json."""

    path: Path  # RUN/heads/NAME.safetensors
    scores: tuple[dict[str, Any], ...]  # an entry per labelled split, dev first

    @property
    def name(self) -> str:
        return self.path.stem  # `sup-sts-bi-frozen-interaction-42`

    @property
    def files(self) -> list[Path]:
        """Files and folders of the run that commands read and must not overwrite."""
        run = self.path.parent.parent
        encoders = [run / "models" / self.name, *run.glob("backbones/*")]
        return [self.path, *(run / name for name in RUN_FILES), *encoders]

    @property
    def task(self) -> str:
        return str(self.scores[0]["task"])

    @property
    def dev_score(self) -> float:
        """The task's main metric on dev, below all others where it is not defined."""
        score = self.scores[0]["metrics"][TASKS[self.task].main_metric]
        return float("-inf") if score is None else float(score)

    @property
    def train_score(self) -> float:
        """The score on the part of train that chose the epochs, below all others without one."""
        score = self.scores[0].get("choice", {}).get("score")
        return float("-inf") if score is None else float(score)

    @property
    def labels(self) -> int:
        return self.scores[0].get("labels") or 0


def finished_cells(run: Path) -> list[FinishedCell]:
    """Return the cells of a run whose heads exist, task by task, the best first.

    The best has the most labels, and then the best score on the part of train that chose its
    epochs: dev, on which thresholds may be chosen and measured later, decides nothing. If a cell of
    the task has no such score, the best is that on dev.

    Raises:
        DataError: no run folder, damaged or edited results, or no finished cell.
    """
    path = run / "results.json"
    if not path.is_file():
        raise DataError(f"{run}: no results.json in it; give the folder of a run, such as runs/sts")
    by_key = defaultdict(list)
    for entry in sorted(_results(path), key=lambda entry: entry["split"]):  # dev, then test
        by_key[entry["key"]].append(entry)
    # Each training keeps its results since version 1.1.
    kept = sorted(run.glob("trainings/*/"))
    measured = []
    for training in kept:
        if fault := fault_of_sealed(training, [path.name]):
            raise DataError(f"{training}: {fault}; delete this folder and run the command again")
        measured += _results(training / path.name)
    cells = []
    for head_path in sorted(run.glob("heads/*.safetensors")):
        # A head and its scores have the same key.
        entries = by_key.get(read_about(head_path).get("key"))
        if not entries:
            continue
        if kept and not all(entry in measured for entry in entries):
            raise DataError(
                f"{path}: {head_path.stem} has changed since it was measured; run the command "
                "again to restore it"
            )
        cells.append(FinishedCell(head_path, tuple(entries)))
    if not cells:
        raise DataError(f"{run}: no finished cell in its heads/; {_again(run)}")
    by_task = ([cell for cell in cells if cell.task == task] for task in TASKS)
    return [cell for of_task in by_task for cell in _best_first(of_task)]


def _best_first(cells: list[FinishedCell]) -> list[FinishedCell]:
    if all(cell.train_score > float("-inf") for cell in cells):
        return sorted(cells, key=lambda cell: (cell.labels, cell.train_score), reverse=True)
    return sorted(cells, key=lambda cell: cell.dev_score, reverse=True)


def _results(path: Path) -> list[dict[str, Any]]:
    try:
        entries = list(read_json(path, DataError))
        for entry in entries:
            TASKS[entry["task"]], dict(entry["metrics"]), int(entry["n"])
            str(entry["split"]) + entry["key"]
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error.__cause__, OSError):
            raise
        raise DataError(f"{path}: not a run's results ({error!r}); {_again(path.parent)}") from None
    return entries


def find_cell(
    run: Path, wanted: str | None, why_not: Callable[[Path], str] = lambda path: ""
) -> FinishedCell:
    """Return a cell by its name, or the best one (`finished_cells`), of a task if that is named.

    Args:
        run: the run folder.
        wanted: the name of a cell or of a task, or None.
        why_not: returns why a head's file is unsuitable, "" if it is suitable. The best suitable
            cell is returned; a cell that is named is returned in any case.

    Raises:
        DataError: there is no such cell, no suitable cell, or scores of several tasks cannot be
            compared.
    """
    cells = finished_cells(run)
    named = [cell for cell in cells if cell.name == wanted]
    if named:
        return named[0]
    tasks = list(dict.fromkeys(cell.task for cell in cells))
    if wanted is not None and wanted not in tasks:
        names = [cell.name for cell in cells]
        raise DataError(
            f"{run}: no finished cell with a head {wanted!r}; it has {', '.join([*tasks, *names])}"
            f"{did_you_mean(wanted, names)}"
        )
    best: dict[str, FinishedCell] = {}  # by task
    problems = []
    for cell in cells:
        if cell.task not in best and wanted in (None, cell.task):
            if problem := why_not(cell.path):
                problems.append(f"{cell.name}: {problem}")
            else:
                best[cell.task] = cell
    if not best:
        raise DataError(f"{run}: no suitable cell; {problems[0]}")
    if len(best) > 1:
        choices = " or ".join(f"--cell {task}" for task in best)
        raise DataError(f"{run}: has cells of several tasks; give {choices}, or a cell's name")
    return next(iter(best.values()))
