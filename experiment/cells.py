"""One training of the grid: its heads trained, or found in an earlier run, and scored.

Reads: grid, backbones, heads, evaluation. Feeds: comparison.
"""

from dataclasses import asdict, dataclass, replace

from data.examples import in_the_other_order
from data.tasks import TASKS
from evaluation.metrics import spearman, task_metrics
from evaluation.scoring import is_labelled, labels_of, score_split
from evaluation.sts import pair_cosines
from experiment.backbones import Reader, Say
from experiment.distillation import Distillation
from experiment.grid import Training
from experiment.inputs import Inputs
from experiment.keys import cell_key
from experiment.soft import Trained
from heads.config import HeadConfig
from heads.fitting import fit_head, save_head
from minbert.checkpoint import read_about
from report.cell import Cell, Coordinates
from report.run_folder import RunFolder
from runtime.processes import is_main


@dataclass(frozen=True)
class Cells:
    """What all trainings of a run share."""

    inputs: Inputs
    folder: RunFolder
    distillation: Distillation
    earlier: dict[str, list[Cell]]  # of an earlier run of the folder, by key
    say: Say

    def of(self, training: Training, reader: Reader) -> list[Cell]:
        """Return the cells of one training, one per head and labelled split."""
        return [cell for head in training.heads for cell in self._of_head(head, reader)]

    def _of_head(self, head: Coordinates, reader: Reader) -> list[Cell]:
        config = self.inputs.settings.head_config(head.task, head.tune, head.seed)
        silver = self.distillation.made_of(head)
        key = cell_key(head, reader.encoder, reader.fingerprint, config, self.inputs, silver)
        path = self.folder.head_path(head.name)
        if key in self.earlier and read_about(path).get("key") == key and self._predicted(key):
            self.say(f"cell      {head.name}: done earlier")
            return self.earlier[key]
        self.say(f"cell      {head.name}")
        trained = self._fit(head, reader, config, key)
        fitted = trained.fitted
        self.folder.add_curve(head.name, fitted.history)
        splits = self.inputs.splits[head.task]
        for split, predictions in fitted.predictions.items():
            ids = [example.id for example in getattr(splits, split)]
            self.folder.write_predictions(head.name, head.task, split, ids, predictions)
        # Last: its presence shows that the others are complete.
        save_head(fitted.head, path, head.task, head.encoder, config, key)
        return self._scored(head, trained, key)

    def _predicted(self, key: str) -> bool:
        """Return whether an earlier run's predictions, which comparisons read, are still there."""
        return all(self.folder.predictions_path(cell).is_file() for cell in self.earlier[key])

    def _fit(self, head: Coordinates, reader: Reader, config: HeadConfig, key: str) -> Trained:
        """Train the head, and with it a copy of the encoder if that is to be tuned."""
        encoder = reader.encoder if head.tune == "frozen" else reader.encoder.clone()
        task, splits = TASKS[head.task], self.inputs.splits[head.task]
        kept, held_out = self.inputs.kept_and_held_out(head.task)
        train = [*kept, *self.distillation.silver(head)]
        if config.both_orders:
            train += in_the_other_order(train)
        splits = replace(splits, train=train)
        labels, cache = labels_of(splits.dev), self.folder.path.parent / "cache"
        fitted = fit_head(
            encoder,
            splits,
            head.task,
            head.encoder,
            config,
            lambda found: task_metrics(head.task, found, labels)[task.main_metric],
            cache,
            self.folder.state_path(head.name, key),
            self.inputs.settings.resume,
            reader.fingerprint,
        )
        if head.tune != "frozen" and is_main():
            notes = {"head": head.name, "history": fitted.history}
            encoder.save(self.folder.path / "models" / head.name, notes)
        about = (encoder, reader.fingerprint, config, held_out, cache)
        return Trained(head.task, head.encoder, fitted, *about)

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
