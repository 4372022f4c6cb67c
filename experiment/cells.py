"""One training of the grid: its heads trained, or found in an earlier run, and scored.

Reads: grid, backbones, heads, evaluation. Feeds: comparison.
"""

from dataclasses import asdict, dataclass, replace
from pathlib import Path

from data.examples import in_the_other_order
from data.tasks import SPLITS, TASKS, Splits
from evaluation.metrics import spearman, task_metrics
from evaluation.scoring import is_labelled, labels_of, score_split
from evaluation.sts import pair_cosines
from experiment.backbones import Reader, Say
from experiment.grid import Training
from experiment.inputs import Inputs
from experiment.keys import cell_key, joint_keys, kind_of
from experiment.soft import Trained
from heads.config import HeadConfig
from heads.joint import Pupil, fit_joint
from heads.train import FittedHead, Score, fit_head, save_head
from minbert.checkpoint import check_target, read_about
from minbert.encoder import SentenceEncoder
from report.cell import Cell, Coordinates
from report.run_folder import RunFolder
from runtime.processes import is_main


@dataclass(frozen=True)
class Cells:
    """What all trainings of a run share."""

    inputs: Inputs
    folder: RunFolder
    earlier: dict[str, list[Cell]]  # of an earlier run of the folder, by key
    say: Say

    def of(self, training: Training, reader: Reader) -> list[Cell]:
        """Return the cells of one training, one per head and labelled split."""
        keys = self._keys(training, reader)
        if all(map(self._is_done, training.heads, keys)):
            for head in training.heads:
                self.say(f"cell      {head.name}: done earlier")
            return [cell for key in keys for cell in self.earlier[key]]
        for head in training.heads:
            self.say(f"cell      {head.name}")
        if training.joint is None:
            (head,), (key,) = training.heads, keys
            trained = [self._fit(head, reader, key)]
        else:
            trained = self._fit_jointly(training, reader, keys[0])
        return [
            cell
            for head, one, key in zip(training.heads, trained, keys, strict=True)
            for cell in self._kept(head, one, key)
        ]

    def _keys(self, training: Training, reader: Reader) -> list[str]:
        if training.joint is not None:
            return joint_keys(training, reader.encoder, reader.fingerprint, self.inputs)
        (head,) = training.heads
        about = (reader.encoder, reader.fingerprint, self._config(head), self.inputs)
        return [cell_key(head, *about)]

    def _config(self, head: Coordinates) -> HeadConfig:
        tune = "joint" if head.tune.startswith("joint") else head.tune
        return self.inputs.settings.head_config(head.task, tune, head.seed)

    def _is_done(self, head: Coordinates, key: str) -> bool:
        """Return whether an earlier run has the cells, and the files that belong to them."""
        if key not in self.earlier:
            return False
        saved = read_about(self.folder.head_path(head.name)).get("key") == key
        splits = self.inputs.splits[head.task]
        predicted = [split for split in SPLITS[1:] if getattr(splits, split)]
        return saved and self.folder.has_predictions(head.name, head.task, predicted)

    def _kept(self, head: Coordinates, trained: Trained, key: str) -> list[Cell]:
        """Write what belongs to a head, and return its cells."""
        fitted = trained.fitted
        self.folder.add_curve(head.name, fitted.history)
        splits = self.inputs.splits[head.task]
        for split, predictions in fitted.predictions.items():
            ids = [example.id for example in getattr(splits, split)]
            self.folder.write_predictions(head.name, head.task, split, ids, predictions)
        # Last: its presence shows that the others are complete.
        path = self.folder.head_path(head.name)
        about = (head.task, trained.kind, trained.config, key, head.pretrain)
        save_head(fitted.head, path, *about)
        return self._scored(head, trained, key)

    def _fit(self, head: Coordinates, reader: Reader, key: str) -> Trained:
        """Train the head, and with it a copy of the encoder if that is to be tuned."""
        encoder = reader.encoder if head.tune == "frozen" else reader.encoder.clone()
        target = self.folder.path / "models" / head.name
        if head.tune != "frozen":
            check_target(target)
        config = self._config(head)
        fitted = fit_head(
            encoder,
            self._splits(head, config),
            head.task,
            head.encoder,
            config,
            self._dev_score(head.task),
            self._cache,
            self.folder.state_path(head.name, key),
            self.inputs.settings.resume,
            reader.fingerprint,
        )
        if head.tune != "frozen" and is_main():
            notes = {"head": head.name, "history": fitted.history}
            encoder.save(target, notes)
        return self._trained(head, fitted, encoder, reader)

    def _fit_jointly(self, training: Training, reader: Reader, key: str) -> list[Trained]:
        """Train a copy of the encoder and the heads of all tasks, in their order."""
        assert training.joint is not None
        encoder, folder = reader.encoder.clone(), self.folder.path / "models" / training.name
        check_target(folder)
        pupils = {}
        for head in training.heads:
            config = self._config(head)
            splits, score = self._splits(head, config), self._dev_score(head.task)
            pupils[head.task] = Pupil(splits, kind_of(head), config, score)
        state = self.folder.state_path(training.name, key)
        fitted = fit_joint(encoder, pupils, training.joint, state, self.inputs.settings.resume)
        if is_main():
            names = [head.name for head in training.heads]
            histories = {task: found.history for task, found in fitted.items()}
            encoder.save(folder, {"heads": names, "histories": histories})
            for name in names:  # where a head looks for its encoder
                self.folder.link(f"models/{name}", folder)
        return [self._trained(head, fitted[head.task], encoder, reader) for head in training.heads]

    @property
    def _cache(self) -> Path:
        return self.folder.path.parent / "cache"

    def _splits(self, head: Coordinates, config: HeadConfig) -> Splits:
        """Return the examples of a head: what it is trained on, and dev and test as they are."""
        kept, _ = self.inputs.kept_and_held_out(head.task)
        train = list(kept)
        if config.both_orders:
            train += in_the_other_order(train)
        return replace(self.inputs.splits[head.task], train=train)

    def _dev_score(self, task: str) -> Score:
        labels, metric = labels_of(self.inputs.splits[task].dev), TASKS[task].main_metric
        return lambda found: task_metrics(task, found, labels)[metric]

    def _trained(
        self, head: Coordinates, fitted: FittedHead, encoder: SentenceEncoder, reader: Reader
    ) -> Trained:
        _, held_out = self.inputs.kept_and_held_out(head.task)
        about = (encoder, reader.fingerprint, self._config(head), held_out, self._cache)
        return Trained(head.task, kind_of(head), fitted, *about)

    def _scored(self, head: Coordinates, trained: Trained, key: str) -> list[Cell]:
        """Return a cell per labelled split."""
        splits, fitted = self.inputs.splits[head.task], trained.fitted
        # Silver pairs add nothing that could be seen again here: they hold no text of dev or test.
        seen = self.inputs.seen_by(head.pretrain, splits.train)
        cells = []
        for split, predictions in fitted.predictions.items():
            examples = getattr(splits, split)
            if not is_labelled(examples):
                continue
            scores = score_split(head.task, examples, predictions, seen)
            record, soft = TASKS[head.task], {"soft": trained.soft(split)}
            if record.kind == "score" and record.is_pair and head.encoder != "cross":
                # What the encoder knows without any head.
                soft["cosines"] = pair_cosines(*fitted.inputs[split].columns())
                labels = labels_of(examples)
                scores["metrics"]["cosine_spearman"] = spearman(soft["cosines"], labels)
            if split in fitted.before:
                before = task_metrics(head.task, fitted.before[split], labels_of(examples))
                scores["before"] = before
            cell = Cell(
                **asdict(head),
                split=split,
                key=key,
                seconds=fitted.seconds,
                sentences_per_second=fitted.sentences_per_second,
                **scores,
                **trained.blocks(soft["soft"], examples),
            )
            self.folder.write_soft(cell, [example.id for example in examples], **soft)
            cells.append(cell)
        return cells
