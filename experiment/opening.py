"""Find, check and read everything that the settings name, once.

`open_run` checks every file and table row that a run will need, and returns the record that goes
through the whole run. All other modules get it and open nothing again.
"""

import copy
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import torch

from baselines.isbert import FILE as ISBERT
from baselines.objectives import ALL_OBJECTIVES
from data.beir import read_searched
from data.examples import DataError, Example, SentencePair
from data.locate import data_folder, training_file
from data.overlap import Seen, disjoint
from data.pairs import OwnData, read_pairs
from data.search import positives
from data.selection import MOST, selection_pairs
from data.tasks import TASKS, Splits, Task, read_task
from evaluation.search import Finder
from experiment.grid import Stage, grid
from experiment.mining import as_csv, triplets_to_learn
from experiment.settings import Settings
from heads.published import fitting_labels
from minbert.classifier import stated_labels
from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from minbert.folder import CheckpointFolder
from minbert.hub import find_checkpoint
from minbert.pooling import choose_pooling
from minbert.tokenizer import BertTokenizer
from report.run_folder import TRAININGS, RunFolder
from runtime.device import choose_device, choose_precision
from runtime.errors import UserError
from runtime.files import digest, write_text
from runtime.processes import is_main, main_decides, main_first
from runtime.store import Work, kept
from simcse.config import SimCSEConfig
from simcse.objectives import TEACHER, Objective, check_settings, teacher_objective
from simcse.stage import Backbone, TrainingTexts, check_first, note_stages, read_texts
from simcse.teacher import Teacher

SENTENCES = "wiki1m"  # the source of the objectives that read plain sentences
UNOPENED = {**ALL_OBJECTIVES, TEACHER.name: TEACHER}  # contrastive objectives by name
TRAIN_TEXTS = "train-texts.txt"


@dataclass(frozen=True)
class Run:
    """One run: what `open_run` found. Encoders and training texts are loaded on first use.

    `load` loads everything, so that errors show before anything is computed.
    """

    settings: Settings
    stages: list[Stage]  # the grid
    device: torch.device
    dtype: torch.dtype  # of the encoder's products
    data_folder: Path  # of the tasks' files
    checkpoints: dict[str, CheckpointFolder]  # of the backbones, by their short names
    tokenizers: dict[str, BertTokenizer]  # likewise
    teacher_folder: Path | None  # the encoder to distil from
    splits: dict[str, Splits]  # by task
    files: dict[str, Path]  # training file by contrastive objective
    on_train: list[str]  # contrastive objectives that read the texts of the train part
    selection: list[SentencePair]  # pairs by which checkpoints are selected, [] for none
    about: str  # the user's own tables in one line, "" for the tasks of a folder

    def record(self, name: str) -> Task:
        """Return a task's record, with the scale and words of its file."""
        of_file = self.splits[name].task if name in self.splits else None
        return of_file or TASKS[name]

    @property
    def simcse_configs(self) -> dict[str, SimCSEConfig]:
        """Return the settings of each contrastive objective, with the first seed."""
        seed = self.stages[0].seed
        return {
            stage.pretrain: stage.config
            for stage in self.stages
            if stage.config is not None and stage.seed == seed
        }

    def of_model(self, model: str) -> list[Stage]:
        """Return the stages of a backbone."""
        return [stage for stage in self.stages if stage.model == model]

    def load(self) -> None:
        """Load the encoders, and read the training texts.

        A folder that must not be written to is refused before anything large is read.

        Raises:
            DataError, CheckpointError, MachineError, TrainingError: as the stages would.
            UserError: a published head reads the encoder with another pooling.
        """
        _ = self.folder, self.untuned, self.texts

    @cached_property
    def folder(self) -> RunFolder:
        """Return the run folder; see `open_folder`."""
        return open_folder(self.settings)

    @property
    def cache(self) -> Path:
        """Return the folder of frozen embeddings, which all runs share."""
        return self.folder.path.parent / "cache"

    @property
    def backbones(self) -> Path:
        """Return the folder of tuned encoders, which all runs share."""
        return self.folder.path.parent / "backbones"

    @cached_property
    def untuned(self) -> dict[str, Backbone]:
        """Return the encoders before any tuning, by their short names."""
        return {
            model: Backbone(checkpoint.path, open_backbone(self, model))
            for model, checkpoint in self.checkpoints.items()
        }

    @cached_property
    def objectives(self) -> dict[str, Objective]:
        """Return the contrastive objectives by name."""
        if not self.teacher_folder:
            return dict(ALL_OBJECTIVES)
        settings = self.settings
        teacher = Teacher(
            self.teacher_folder, self.cache, settings.device, settings.teacher_precision
        )
        return {**ALL_OBJECTIVES, "teacher": teacher_objective(teacher)}

    @property
    def texts(self) -> dict[str, TrainingTexts]:
        """Return what contrastive training reads, by the name of a tuned stage."""
        return self._texts_and_seen[0]

    @cached_property
    def _texts_and_seen(self) -> tuple[dict[str, TrainingTexts], dict[str, Seen]]:
        """Read each file once: its token ids for training, its texts for the audit."""
        texts, seen = {}, {}
        for model, backbone in self.untuned.items():
            files = dict(self.files)
            for name in self.on_train:
                files[name] = _file_of_train(self, name, backbone, self.cache)
            known = Seen()  # what the checkpoint was trained on or selected by, as far as it says
            note_stages(backbone.folder, known)
            for stage in {stage.name: stage for stage in self.of_model(model)}.values():
                seen[stage.name] = copy.deepcopy(known)
                if stage.config is not None:
                    texts[stage.name] = read_texts(
                        self.objectives[stage.pretrain],
                        files[stage.pretrain],
                        backbone,
                        self.simcse_configs[stage.pretrain],
                        self.selection,
                        self.data_folder,
                        seen[stage.name],
                    )
        return texts, seen

    @cached_property
    def digests(self) -> dict[str, str]:
        """Return the SHA-256 of everything that is trained on, selected by or scored."""
        digests = {
            stage.pretrain: self.texts[stage.name].digests[stage.pretrain]
            for stage in self.stages
            if stage.config is not None
        }
        digests["selection"] = digest([asdict(pair) for pair in self.selection])
        return digests | {task: splits.digest for task, splits in self.splits.items()}

    def seen_by(self, stage: str, trained_on: Sequence[Example]) -> Seen:
        """Return every text and pair read in training a head and the encoder of a stage."""
        seen = copy.deepcopy(self._texts_and_seen[1][stage])
        seen.add_examples(trained_on)
        return seen

    @contextmanager
    def alone(self) -> Iterator[RunFolder]:
        """Hold the folder's lock for the block; if the first process cannot have it, all stop."""
        with ExitStack() as held:
            refusal = None
            try:
                held.enter_context(self.folder.alone())
            except DataError as error:
                refusal = error
            if refusal := main_decides(refusal):
                raise refusal
            yield self.folder


def open_run(given: Settings) -> Run:
    """Find and check everything that the settings name, and read the tasks.

    Raises:
        DataError, CheckpointError, MachineError: something is missing or broken.
        UserError, TrainingError: settings that the data or the checkpoints do not allow.
    """
    folder = data_folder(given.data)
    splits, own = read_rows(given, folder)
    settings = replace(given, task=(own.task.name,)) if own else given
    device = choose_device(settings.device)
    with main_first():  # missing ones are downloaded once
        checkpoints = {
            model: CheckpointFolder.find(name) for model, name in settings.models.items()
        }
        teacher_folder = find_checkpoint(settings.teacher) if settings.teacher else None
    files = training_files(settings, folder, splits, own)
    run = Run(
        settings=settings,
        stages=grid(settings, TASKS | {own.task.name: own.task} if own else TASKS),
        device=device,
        dtype=choose_precision(settings.precision, device),
        data_folder=folder,
        checkpoints=checkpoints,
        tokenizers={
            model: BertTokenizer.from_pretrained(place) for model, place in checkpoints.items()
        },
        teacher_folder=teacher_folder,
        splits=splits,
        files={name: path for name, path in files.items() if path},
        on_train=[name for name, path in files.items() if not path],
        selection=selection_of(folder, splits, own) if files else [],
        about=own.about if own else "",
    )
    check_train_rows(run)
    check_published(run)
    check_training(run)
    return run


def training_files(
    settings: Settings, folder: Path, splits: dict[str, Splits], own: OwnData | None
) -> dict[str, Path | None]:
    """Return the file of each contrastive objective; None if it reads the texts of train.

    Raises:
        DataError: a file is missing.
    """
    files: dict[str, Path | None] = {}
    for name, (named, flag) in settings.training_files().items():
        source = UNOPENED[name].source
        reads_own = source == SENTENCES or (name == "sup" and "search" in splits)
        on_train = own is not None and named is None and reads_own
        files[name] = None if on_train else training_file(name, source, named, folder, flag)
    return files


def selection_of(
    folder: Path, splits: dict[str, Splits], own: OwnData | None
) -> list[SentencePair]:
    """Return the pairs by which checkpoints are selected: train pairs, none of them scored."""
    if own is None:
        return selection_pairs(folder, splits.get("sts"))
    train = [pair for pair in own.splits.train if isinstance(pair, SentencePair)]
    scored = [*own.splits.dev, *own.splits.test, *own.splits.all]
    return disjoint(train, scored)[:MOST] if train else []


def read_rows(settings: Settings, folder: Path) -> tuple[dict[str, Splits], OwnData | None]:
    """Return the rows of each task, and those of the user's tables or of a search by themselves.

    Raises:
        DataError: a file is missing or cannot be read.
    """
    if settings.task == ("search",):
        own = read_searched(settings.to_json(), settings.pairs, folder)
    elif settings.pairs:
        task, folds = "".join(settings.task), settings.folds or 1
        own = read_pairs(settings.pairs, settings.columns, task, settings.seed, folds)
    else:
        return {task: read_task(folder, task) for task in settings.tasks}, None
    return {own.task.name: own.splits}, own


def check_train_rows(run: Run) -> None:
    """Raise UserError for more labels than a task has."""
    for task, splits in run.splits.items():
        for rows in run.settings.train_rows:
            if rows != "all" and int(rows) > len(splits.train):
                raise UserError(
                    f"--train-rows {rows}: {task} has {len(splits.train)} training examples; "
                    "use --train-rows all"
                )


def check_training(run: Run) -> None:
    """Raise TrainingError for a contrastive stage that cannot learn from its data."""
    configs = run.simcse_configs
    if not configs:
        return
    for model, checkpoint in run.checkpoints.items():
        tokenizer = run.tokenizers[model]
        for config in configs.values():
            check_settings(checkpoint.bert_config, config)
        for name, path in run.files.items():
            check_first(UNOPENED[name], path, tokenizer, configs[name])
        for name in run.on_train:
            in_memory = replace(UNOPENED[name], read=partial(_of_train, run, name))
            if configs[name].positive == "same":  # others are drawn from a file
                check_first(in_memory, run.data_folder, tokenizer, configs[name])


def check_published(run: Run) -> None:
    """Raise CheckpointError if no published head fits a task, UserError if no reader uses it."""
    if "none" not in run.settings.tune:
        return
    models = list(run.settings.models.items())
    if "search" in run.splits:
        models = models[1:]  # the first one finds the texts
    for model, name in models:
        labels = stated_labels(run.checkpoints[model])
        if labels is None:
            raise CheckpointError(
                f"--tune none: {name} has no classification head; give a published cross-encoder"
            )
        for task in map(run.record, run.splits):
            fitting = fitting_labels(task)
            if labels not in fitting:
                wanted = " or ".join(map(str, fitting))
                raise CheckpointError(
                    f"--tune none: the head of {name} has {labels} labels, {task.name} needs "
                    f"{wanted}; --tune full trains a fresh one"
                )
            if task.is_pair and "cross" not in run.settings.reader:
                raise UserError(
                    "--tune none: a published head reads joined pairs; use --reader cross"
                )


def open_folder(settings: Settings) -> RunFolder:
    """Return the run folder; refuse that of another command, whose results would be replaced.

    Raises:
        DataError: it is of an earlier version, or of other settings; the message names them.
    """
    folder = RunFolder(settings.folder(), read_only=not is_main())
    config = folder.config()
    begun = any((folder.path / name).exists() for name in ("config.json", "results.json"))
    if begun and "format" not in config and not (folder.path / TRAININGS).is_dir():
        raise DataError(
            f"{folder.path}: holds a run of version 1.0 or earlier, which would be replaced; "
            "give another --run-dir"
        )
    if differing := settings.differences(config["options"]):
        raise DataError(
            f"{folder.path}: written by another command ({'; '.join(differing)}); "
            "give another --run-dir"
        )
    return folder


@dataclass(frozen=True)
class Tuned:
    """The encoder under the heads, and the fingerprint of its embeddings.

    `finders` has what the trainings of a search share: by the way of finding, and whether the texts
    are found for a published cross-encoder, the finder with its embedded corpus.
    """

    encoder: SentenceEncoder
    fingerprint: str
    finders: dict[Any, Finder] = field(default_factory=dict, repr=False)


def open_backbone(run: Run, model: str) -> SentenceEncoder:
    """Load an encoder before any tuning.

    Raises:
        CheckpointError: it cannot be used, or not with these settings.
        UserError: a published head reads the encoder with another pooling.
    """
    settings, checkpoint = run.settings, run.checkpoints[model]
    if checkpoint.has(ISBERT):
        raise CheckpointError(
            f"{checkpoint}: IS-BERT's embeddings are the mean of its convolutions, "
            "which --backbone would drop; measure it with python -m evaluation"
        )
    # A pooling set by the user replaces the checkpoint's, even if that is not supported.
    # SimCSE's [CLS] adds a pooler, so the checkpoint need not have one.
    encoder = SentenceEncoder.from_pretrained(
        checkpoint,
        settings.pooling,
        settings.device,
        settings.precision,
        tuning=True,
    )
    stages = run.of_model(model)
    untuned = [stage for stage in stages if stage.config is None]
    if settings.pooling and untuned:
        with _hint("--no-baseline" if untuned[0].baseline else ""):
            copy.copy(encoder).pool_by(settings.pooling)  # raises if the pooler is missing
    if encoder.prompts.default and len(untuned) < len(stages):
        raise CheckpointError(
            f"{checkpoint}: puts {encoder.prompts.default!r:.60} before every text, and "
            "contrastive training reads texts without it; set default_prompt_name to null, or try "
            "--pretrain none"
        )
    pooling = choose_pooling(settings.pooling, encoder.stated_pooling)
    singles = [task for task in run.splits if not run.record(task).is_pair]
    if "none" in settings.tune and singles and pooling != "cls_before_pooler":
        raise UserError(
            f"--tune none: a published head of {singles[0]} reads [CLS], not {pooling}; use "
            "--pooling cls_before_pooler"
        )
    return encoder


def as_loaded(backbone: Backbone, pooling: str | None) -> SentenceEncoder:
    """Return an encoder before any tuning: the same weights, with the user's pooling.

    Raises:
        CheckpointError: the checkpoint lacks the pooler for it.
    """
    encoder = copy.copy(backbone.encoder)
    encoder.pool_by(choose_pooling(pooling, encoder.stated_pooling))
    return encoder


def examples_of_train(run: Run, objective: str) -> list[Any]:
    """Return what SimCSE learns from the train part: its distinct texts, or triplets of a search.

    These have no hard negatives yet, which an encoder finds.
    """
    (splits,) = run.splits.values()
    if objective == "sup":
        return triplets_to_learn(splits)
    examples = positives(splits.train, splits.corpus) if splits.corpus else splits.train
    return list(dict.fromkeys(text for pair in examples for text in pair.texts if text))


def _of_train(run: Run, objective: str, path: Path) -> Iterator[Any]:
    """Yield `examples_of_train`, whatever the path is."""
    yield from examples_of_train(run, objective)


def _file_of_train(run: Run, objective: str, backbone: Backbone, root: Path) -> Path:
    """Return a file with them; triplets have hard negatives that the encoder finds."""
    if objective == "sup":
        (splits,) = run.splits.values()
        encoder = backbone.encoder
        with suppress(CheckpointError):  # tuning adds a missing pooler
            encoder = as_loaded(backbone, run.settings.pooling)
        content = as_csv(triplets_to_learn(splits, encoder))
    else:
        # JSON lines: nothing is guessed of what a text begins with.
        rows = ({"text": text} for text in examples_of_train(run, objective))
        content = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)

    def make(work: Work) -> None:
        write_text(work.folder / TRAIN_TEXTS, content)

    return kept("texts", {"texts": digest(content)}, make, root, name="texts") / TRAIN_TEXTS


@contextmanager
def _hint(flags: str) -> Iterator[None]:
    """Add to a CheckpointError the flags that avoid the problem, "" for none."""
    try:
        yield
    except CheckpointError as error:
        raise CheckpointError(f"{error}; try {flags}" if flags else f"{error}") from None
