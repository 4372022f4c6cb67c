"""The contrastive stage as one call: it tunes a backbone into a content-addressed folder."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from data.examples import SentencePair
from data.overlap import DIGESTS, Seen
from data.selection import selection_pairs
from data.table import content_digest
from data.trained_on import note_file
from minbert.checkpoint import tensors_digest
from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from minbert.mlm import head_digest
from minbert.tokenizer import BertTokenizer
from runtime.errors import TrainingError
from runtime.files import digest, read_object
from runtime.processes import is_main, world_size
from runtime.store import Work, kept
from simcse.config import SimCSEConfig
from simcse.objectives import Objective, check_settings
from simcse.positives import iter_pairs, substitute
from simcse.train import SimCSETrainer
from simcse.views import ContrastiveData, supervised, unsupervised

logger = logging.getLogger(__name__)

FIRST = 2  # examples that show whether a batch of these settings can be learnt from
ROWS = 10_000  # of a file that are read before a run begins; most mistakes show in these

DevScore = Callable[[SentenceEncoder], float]
Geometry = Callable[[SentenceEncoder], dict[str, Any]]


@dataclass(frozen=True)
class Backbone:
    """An encoder as loaded, before any tuning."""

    folder: Path
    encoder: SentenceEncoder

    @cached_property
    def weights(self) -> str:
        """Return the SHA-256 of the weights; computed once, as hashing takes a moment."""
        return tensors_digest(self.encoder.model.state_dict())


@dataclass(frozen=True)
class TrainingTexts:
    """The training data of a contrastive stage."""

    name: str  # of the file
    data: ContrastiveData
    digests: dict[str, str]  # SHA-256 of the file and of the selection set
    # The training file ("trained_on") and the folder of the selection set ("selected_by"): an
    # evaluation reads them again to find texts that the tuned encoder was trained on.
    sources: dict[str, str] = field(default_factory=dict)


def read_texts(
    objective: Objective,
    path: Path,
    backbone: Backbone,
    config: SimCSEConfig,
    selection: Sequence[SentencePair],
    folder: Path,
    seen: Seen | None = None,
) -> TrainingTexts:
    """Return a training file as token ids, read once.

    Args:
        objective, path, backbone, config: the objective, the file, the encoder to tune and the
            settings.
        selection: the pairs by which checkpoints are selected, [] for none.
        folder: the data folder of these pairs.
        seen: where to note all these texts, for the leak audit.

    Raises:
        TrainingError: settings that cannot work.
    """
    check_settings(backbone.encoder.model.config, config)
    tokenizer = backbone.encoder.tokenizer
    data = _views(objective, path, tokenizer, config, seen)
    objective.check(config, data)
    if config.positive == "mlm":
        data = substitute(data, backbone.encoder, backbone.folder, config.positive_share)
    elif config.positive == "crop+mlm":
        data = substitute(data, backbone.encoder, backbone.folder)
    if seen is not None:
        seen.add_examples(selection)
    digests = {
        objective.name: content_digest(path),
        "selection": digest([asdict(pair) for pair in selection]),
    }
    sources = {"trained_on": str(path.absolute())}
    if selection:
        sources["selected_by"] = str(folder.absolute())
    return TrainingTexts(path.name, data, digests, sources)


def check_first(
    objective: Objective, path: Path, tokenizer: BertTokenizer, config: SimCSEConfig
) -> None:
    """Read the first rows of a file, so that --dry-run refuses most that `read_texts` would.

    Raises:
        DataError: of the file, as its reader.
        TrainingError: nothing can be learnt from such examples with these settings.
    """
    if config.positive == "same":
        for _ in islice(objective.read(path), ROWS):
            pass
    objective.check(config, _views(objective, path, tokenizer, config, None, most=FIRST))


def _views(
    objective: Objective,
    path: Path,
    tokenizer: BertTokenizer,
    config: SimCSEConfig,
    seen: Seen | None,
    most: int | None = None,
) -> ContrastiveData:
    """Return the examples of a file, or the first of them, with the positives of the settings.

    `mlm` replaces tokens of the positives later.
    """
    if config.positive == "same":
        examples = objective.read(path)
        return objective.views(islice(examples, most), tokenizer, config.max_length, seen)
    if objective.views is not unsupervised:
        raise TrainingError(
            f"--positive is for unsup and dual, not for {objective.name}; leave one out"
        )
    pairs = iter_pairs(path, config.positive, config.positive_share)
    return supervised(islice(pairs, most), tokenizer, config.max_length, seen)


def decisive(
    backbone: Backbone, objective: Objective, config: SimCSEConfig, digests: dict[str, str]
) -> dict[str, Any]:
    """Return everything that determines the weights of a tuned backbone, by name."""
    if config.mlm_weight or "mlm" in config.positive:
        digests = digests | {"mlm head": head_digest(backbone.folder)}
    if objective.teacher:
        digests = digests | {"teacher": objective.teacher.fingerprint}
    return {
        "objective": objective.name,
        "backbone": backbone.encoder.fingerprint(backbone.weights),
        # Its dropout makes the two views of unsupervised SimCSE.
        "model": asdict(backbone.encoder.model.config),
        "stated pooling": backbone.encoder.stated_pooling,
        "config": asdict(config),
        "data": digests,
        "processes": world_size(),  # each draws its own dropout
    }


def tuned_backbone(
    objective: Objective,
    backbone: Backbone,
    texts: TrainingTexts,
    config: SimCSEConfig,
    root: Path,
    *,
    dev_score: DevScore | None = None,
    geometry: Geometry | None = None,
    resume: bool = False,
) -> Path:
    """Return the folder of the tuned backbone, tuning it unless an earlier run did.

    Args:
        objective, backbone, texts, config: the encoder, its data and settings; the backbone is not
            changed.
        root: the folder of all tuned backbones.
        dev_score: scores the encoder for checkpoint selection; None keeps the last state.
        geometry: measures the encoder every `config.geometry_steps`, for the curves.
        resume: continue from the state of an interrupted run.

    Raises:
        KeptError: the folder is damaged.
        TrainingError: settings that cannot work.
    """

    def make(work: Work) -> None:
        started = time.perf_counter()
        encoder, data = backbone.encoder.clone(), texts.data
        if objective.teacher:
            embeddings = objective.teacher.embeddings(Path(texts.sources["trained_on"]))
            data = replace(data, labels=embeddings)
        trainer: SimCSETrainer
        # Score the encoder that is saved: a form may put modules on top of it in training.
        score = None if dev_score is None else lambda: dev_score(trainer.form.tuned_encoder)
        points = None if geometry is None else lambda: geometry(trainer.form.tuned_encoder)
        trainer = SimCSETrainer(
            encoder, data, config, score, work.state, backbone.folder, objective.form, points
        )
        history = trainer.run(resume)
        negatives = num_negatives(data.rows.shape[1], len(data), config)
        notes: dict[str, Any] = {
            "pretrain": objective.name,
            "backbone": str(backbone.folder),
            "data": texts.name,
            **texts.sources,
            "examples": len(data),
            "negatives_per_anchor": negatives if trainer.form.in_batch else None,
            "config": asdict(config),
            "pooling": encoder.pooling,
            "best_score": trainer.best_score,
            "threads": torch.get_num_threads(),  # sums in another order differ in their last digits
            "seconds": time.perf_counter() - started,  # since the last resumption, if there was one
            "history": history,
        }
        if is_main():
            trainer.form.tuned_encoder.save(work.folder, notes)

    made_of = decisive(backbone, objective, config, texts.digests)
    return kept("backbone", made_of, make, root, name=objective.name, together=True)


def num_negatives(num_views: int, num_examples: int, config: SimCSEConfig) -> int:
    """Return the number of negatives per anchor in a full batch."""
    candidates = (num_views - 1) * min(config.batch_size, num_examples)
    if config.symmetric:  # also those of the same view, except itself
        candidates += min(config.batch_size, num_examples) - 1
    return candidates - 1  # minus its partner


def read_notes(folder: Path) -> dict[str, Any]:
    """Return the notes that `tuned_backbone` saved with the weights."""
    path = folder / "training.json"
    notes = read_object(path, CheckpointError)
    for name in ("history", "best_score", "seconds"):
        if name not in notes:
            raise CheckpointError(f"{path}: {name} is missing; delete the folder to tune again")
    return {"threads": None} | notes  # earlier versions did not note them


def note_stages(folder: Path, seen: Seen, visited: frozenset[Path] = frozenset()) -> None:
    """Note the texts of a tuned folder, and of the checkpoint that it was tuned from.

    `visited` are the folders that led here: notes may name their own folder.

    Raises:
        CheckpointError: its notes are damaged.
    """
    notes = folder / "training.json"
    noted = read_object(notes, CheckpointError) if notes.is_file() else {}
    paths: dict[str, Path] = {}
    for name in ("trained_on", "selected_by", "backbone"):
        path = noted.get(name, "")
        if not isinstance(path, str) or "\0" in path:
            raise CheckpointError(f"{notes}: {name} is {path!r:.60}; expected a path")
        # The digests are in the folder of the weights.
        place = folder / path if path.endswith(DIGESTS) else Path(path)
        if name in noted and place.exists():
            paths[name] = place
        elif name in noted and (name != "backbone" or "trained_on" in noted):
            logger.warning(
                "%s: names %s, which no longer exists; its training data is unknown", notes, path
            )
    if "trained_on" in paths:
        note_file(paths["trained_on"], seen)
    if "selected_by" in paths:
        seen.add_examples(selection_pairs(paths["selected_by"]))
    visited |= {folder.resolve()}
    if "trained_on" in noted and "backbone" in paths and paths["backbone"].resolve() not in visited:
        note_stages(paths["backbone"], seen, visited)
